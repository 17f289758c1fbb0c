"""Brute force that only tests need, as plain as ``rwkplus.functional.reference``, which has the rest."""

from collections import Counter

import numpy as np

from rwkplus.functional.reference import node_walk_color, product_scores, walk_colors, walk_weight, walks
from tests.strategies import dense


def dense_kernel(g, h, steps, *, match_all=True, closed=False):
    """Kernel per step from the dense product graph: its adjacency sums the Kronecker products of all channels."""
    (x_g, adj_g, colors_g), (x_h, adj_h, colors_h) = dense(g), dense(h)
    if colors_g is None:
        product = np.kron(adj_g, adj_h)
    else:
        product = sum(np.kron(adj_g * colors_g[..., c], adj_h * colors_h[..., c]) for c in range(colors_g.shape[2]))
    return product_scores(product, (x_g @ x_h.T).flatten(), steps, match_all=match_all, closed=closed)


def sequence_names(graph, steps, *, match_all=True, closed=False):
    """Weighted number of walks of ``steps`` edges by the written form of what they meet."""
    counts = Counter()
    for walk in walks(graph, steps):
        if closed and walk[0] != walk[-1]:
            continue
        colors = walk_colors(graph, walk)
        nodes, edges = list(colors[::2]), colors[1::2]
        if not match_all:
            nodes[1:-1] = ["*"] * (steps - 1)
        links = ["-" if edge is None else f"-[{edge}]-" for edge in edges]
        name = str(nodes[0]) + "".join(link + str(node) for link, node in zip(links, nodes[1:], strict=True))
        counts[name] += walk_weight(graph, walk)
    return counts


def walk_signature(graph, node, steps):
    """Return what all walks of 0 to ``steps`` edges from a node see."""
    return tuple(node_walk_color(graph, node, i) for i in range(steps + 1))


def color_histogram(graph, steps):
    return Counter(walk_signature(graph, v, steps) for v in graph)

"""Slow, obviously right oracles. Reading them is proving them; property tests hold the fast paths to them."""

from collections import Counter
from itertools import pairwise

import numpy as np

from tests.strategies import dense


def walks(graph, steps):
    """Yield every walk of ``steps`` edges as the tuple of its nodes."""
    paths = [(v,) for v in graph]
    for _ in range(steps):
        paths = [(*p, u) for p in paths for u in graph[p[-1]]]
    yield from paths


def walk_colors(graph, walk):
    """Colors met along a walk: node, edge, node, ...; edges without a color count as alike."""
    colors = [graph.nodes[walk[0]]["color"]]
    for u, v in pairwise(walk):
        colors += [graph.edges[u, v].get("color"), graph.nodes[v]["color"]]
    return tuple(colors)


def walk_weight(graph, walk):
    """Product of the edge weights along a walk."""
    return float(np.prod([graph.edges[e].get("weight", 1.0) for e in pairwise(walk)]))


def count_label_sequences(graph, steps, *, closed=False):
    """Count the walks of ``steps`` edges by the colors they meet: the feature map of the kernel."""
    counts = Counter()
    for walk in walks(graph, steps):
        if not closed or walk[0] == walk[-1]:
            counts[walk_colors(graph, walk)] += walk_weight(graph, walk)
    return counts


def count_matching_walks(g, h, steps):
    """Weigh the pairs of ``steps``-edge walks on ``g`` and ``h`` with equal colors throughout (Eq. 4)."""
    pairs = ((p, q) for p in walks(g, steps) for q in walks(h, steps) if walk_colors(g, p) == walk_colors(h, q))
    return sum((walk_weight(g, p) * walk_weight(h, q) for p, q in pairs), 0.0)


def node_walk_color(graph, node, steps):
    """Return the multiset of color sequences of the walks of ``steps`` edges that begin at ``node``."""
    counts = Counter(walk_colors(graph, walk) for walk in walks(graph, steps) if walk[0] == node)
    return frozenset(counts.items())


def dense_rwk(adj_g, x_g, adj_h, x_h, steps, *, match_all=True, closed=False):
    """Kernel of one pair of graphs from the dense Kronecker product, by its definition (Eq. 6 and 9)."""
    s = (x_h @ x_g.T).flatten(order="F")  # vec stacks columns: pairs ordered by node of G, then of H
    return product_scores(np.kron(adj_g, adj_h), s, steps, match_all=match_all, closed=closed)


def product_scores(product, s, steps, *, match_all, closed):
    """Scores from the adjacency of a product graph, colors left out, and the similarities of its pairs."""
    scores = []
    for i in range(1, steps + 1):
        if match_all:
            power = np.linalg.matrix_power(np.outer(s, s) * product, i)
        else:
            power = np.outer(s, s) * np.linalg.matrix_power(product, i)
        scores.append(float(np.trace(power) if closed else power.sum()))
    return scores


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

"""Slow, obviously right oracles. Reading them is proving them; property tests hold the fast paths to them."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import networkx as nx
import numpy as np
from numpy.typing import NDArray


def walks(graph: nx.Graph, steps: int) -> Iterator[tuple[object, ...]]:
    """Yield every walk of ``steps`` edges as the tuple of its nodes."""
    paths: list[tuple[object, ...]] = [(v,) for v in graph]
    for _ in range(steps):
        paths = [(*p, u) for p in paths for u in graph[p[-1]]]
    yield from paths


def walk_colors(graph: nx.Graph, walk: tuple[object, ...]) -> tuple[object, ...]:
    """Colors met along a walk: node, edge, node, ...; edges without a color count as alike."""
    colors: list[object] = [graph.nodes[walk[0]]["color"]]
    for u, v in pairwise(walk):
        colors += [graph.edges[u, v].get("color"), graph.nodes[v]["color"]]
    return tuple(colors)


def walk_weight(graph: nx.Graph, walk: tuple[object, ...]) -> float:
    """Product of the edge weights along a walk."""
    return float(np.prod([graph.edges[e].get("weight", 1.0) for e in pairwise(walk)]))


def count_label_sequences(graph: nx.Graph, steps: int, *, closed: bool = False) -> Counter[tuple[object, ...]]:
    """Count the walks of ``steps`` edges by the colors they meet: the feature map of the kernel."""
    counts: Counter[tuple[object, ...]] = Counter()
    for walk in walks(graph, steps):
        if not closed or walk[0] == walk[-1]:
            counts[walk_colors(graph, walk)] += walk_weight(graph, walk)  # type: ignore[assignment]
    return counts


def count_matching_walks(g: nx.Graph, h: nx.Graph, steps: int) -> float:
    """Weigh the pairs of ``steps``-edge walks on ``g`` and ``h`` with equal colors throughout (Eq. 4)."""
    return sum(
        walk_weight(g, p) * walk_weight(h, q)
        for p in walks(g, steps)
        for q in walks(h, steps)
        if walk_colors(g, p) == walk_colors(h, q)
    )


def node_walk_color(graph: nx.Graph, node: object, steps: int) -> frozenset[tuple[tuple[object, ...], int]]:
    """Return the multiset of color sequences of the walks of ``steps`` edges that begin at ``node``."""
    counts = Counter(walk_colors(graph, walk) for walk in walks(graph, steps) if walk[0] == node)
    return frozenset(counts.items())


def dense_rwk(
    adj_g: NDArray[np.float64],
    x_g: NDArray[np.float64],
    adj_h: NDArray[np.float64],
    x_h: NDArray[np.float64],
    steps: int,
    *,
    match_all: bool = True,
    closed: bool = False,
) -> list[float]:
    """Kernel of one pair of graphs from the dense Kronecker product, by its definition (Eq. 6 and 9)."""
    s = (x_h @ x_g.T).flatten(order="F")  # vec stacks columns: pairs ordered by node of G, then of H
    return product_scores(np.kron(adj_g, adj_h), s, steps, match_all=match_all, closed=closed)


def product_scores(
    product: NDArray[np.floating], s: NDArray[np.floating], steps: int, *, match_all: bool, closed: bool
) -> list[float]:
    """Scores from the adjacency of a product graph, colors left out, and the similarities of its pairs."""
    scores = []
    for i in range(1, steps + 1):
        if match_all:
            power = np.linalg.matrix_power(np.outer(s, s) * product, i)
        else:
            power = np.outer(s, s) * np.linalg.matrix_power(product, i)
        scores.append(float(np.trace(power) if closed else power.sum()))
    return scores

"""What a miner must beat: hidden graphs that were never trained, and pieces copied out of the database."""

from collections import Counter
from collections.abc import Sequence

import networkx as nx
import numpy as np

from rwkplus.errors import ParameterError


def majority_label(graphs: Sequence[nx.Graph]) -> object:
    """The most frequent node label of a database; of equally frequent ones the first met."""
    counts = Counter(label for graph in graphs for _, label in graph.nodes(data="label"))
    return counts.most_common(1)[0][0]


def copied_patterns(
    graphs: Sequence[nx.Graph], n_patterns: int, pattern_size: int, *, restarts: int, seed: int
) -> list[list[nx.Graph]]:
    """For each restart, ``n_patterns`` connected pieces of ``pattern_size`` nodes cut at random out of random graphs.

    A piece grows from a random node by random neighbors and keeps every edge between its nodes. Where a database
    consists of copies of one graph of that size, a piece is that graph.
    """
    large = [graph for graph in graphs if max(map(len, nx.connected_components(graph)), default=0) >= pattern_size]
    if not large:
        raise ParameterError(f"no graph has a connected piece of {pattern_size} nodes: lower pattern_size.")
    rng = np.random.default_rng(seed)
    return [
        [_piece(large[int(rng.integers(len(large)))], pattern_size, rng) for _ in range(n_patterns)]
        for _ in range(restarts)
    ]


def _piece(graph: nx.Graph, size: int, rng: np.random.Generator) -> nx.Graph:
    parts = [sorted(part) for part in nx.connected_components(graph) if len(part) >= size]
    part = parts[int(rng.integers(len(parts)))]
    piece = [part[int(rng.integers(len(part)))]]
    while len(piece) < size:
        around = sorted(set().union(*(graph[v] for v in piece)) - set(piece))
        piece.append(around[int(rng.integers(len(around)))])
    return graph.subgraph(piece).copy()

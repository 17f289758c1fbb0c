"""Was the pattern found? And what a miner must beat: pieces copied out of the database, and the majority label."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeAlias

import networkx as nx
import numpy as np
from networkx.algorithms.isomorphism import categorical_node_match
from numpy.typing import ArrayLike

from rwkplus.errors import ParameterError, ShapeError

Found: TypeAlias = nx.Graph | tuple[ArrayLike, Sequence[Hashable] | None]
"""A graph with node attribute ``label``, or its 0/1 adjacency and labels."""


def matches_labels(labels: Sequence[Hashable], target: nx.Graph) -> bool:
    """Whether the labels are those of ``target``, each as often, whatever the edges."""
    return Counter(labels) == Counter(label for _, label in target.nodes(data="label"))


def matches_strictly(adjacency: ArrayLike, labels: Sequence[Hashable] | None, target: nx.Graph) -> bool:
    """Whether a 0/1 graph equals ``target`` in labels and in every edge, up to the order of nodes.

    Without labels (None) only the edges are compared.
    """
    graph = _as_networkx(adjacency, labels)
    node_match = None if labels is None else categorical_node_match("label", None)
    return bool(nx.is_isomorphic(graph, target, node_match=node_match))


def recovered(patterns: Iterable[Found], target: nx.Graph, strict: bool) -> bool:
    """Whether any of the patterns is ``target``: strictly, or by labels alone."""
    return any(_matches(pattern, target, strict) for pattern in patterns)


def _matches(pattern: Found, target: nx.Graph, strict: bool) -> bool:
    if isinstance(pattern, nx.Graph):
        labels: Sequence[Hashable] | None = [label for _, label in pattern.nodes(data="label")]
        adjacency: ArrayLike = nx.to_numpy_array(pattern, weight=None)
    else:
        adjacency, labels = pattern
    if strict:
        return matches_strictly(adjacency, labels, target)
    if labels is None:
        raise ShapeError("a pattern without labels can only be compared strictly.")
    return matches_labels(labels, target)


def _as_networkx(adjacency: ArrayLike, labels: Sequence[Hashable] | None) -> nx.Graph:
    adjacency = np.asarray(adjacency)
    size = adjacency.shape[0] if adjacency.ndim else 0
    if adjacency.shape != (size, size) or (labels is not None and len(labels) != size):
        found = "no labels" if labels is None else f"{len(labels)} labels"
        raise ShapeError(f"adjacency must be (M, M) with one label per node, got {adjacency.shape} and {found}.")
    if not np.isin(adjacency, (0, 1)).all():
        raise ShapeError("adjacency must be of zeros and ones: threshold the weights first.")
    graph = nx.Graph()
    graph.add_nodes_from((v, {"label": None if labels is None else labels[v]}) for v in range(size))
    graph.add_edges_from((u, v) for u, v in np.argwhere(np.triu(adjacency, 1)).tolist())
    return graph


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

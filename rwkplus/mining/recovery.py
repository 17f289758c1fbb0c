"""Was the pattern found? By its labels alone, or strictly: labels and every edge, up to isomorphism."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeAlias

import networkx as nx
import numpy as np
from networkx.algorithms.isomorphism import categorical_node_match
from numpy.typing import ArrayLike

from rwkplus.errors import ShapeError

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

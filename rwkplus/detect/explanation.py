"""Why a graph was flagged: the nodes that are unusual."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.graphs.arrays import Floats, GraphArrays, Ints

PROMINENT = 0.5
"""A node is unusual if its score is at least this share of the highest in its graph."""


class Explanation(NamedTuple):
    """The unusual nodes of one graph."""

    node_scores: Floats  #: (n,): how unusual each node is, by the detector's own measure
    nodes: tuple[int, ...]  #: the unusual ones
    part: tuple[int, ...]  #: those and their neighbors: what to look at

    @property
    def strength(self) -> dict[int, float]:
        """How strongly to draw each node of the part, between 0 and 1."""
        unusual = set(self.nodes)
        return {v: 1.0 if v in unusual else 0.5 for v in self.part}


def highest_by_graph(graphs: GraphArrays, values: Floats) -> Floats:
    """Largest value of the nodes of each graph ``(B,)``, 0 for graphs without nodes."""
    highest = np.zeros(graphs.num_graphs)
    np.maximum.at(highest, graphs.graph, values)
    return highest


def explanations(graphs: GraphArrays, node_scores: Floats) -> list[Explanation]:
    """Cut the scores of all nodes ``(N,)`` into graphs and choose the unusual nodes of each."""
    highest = highest_by_graph(graphs, node_scores)
    unusual = (node_scores > 0) & (node_scores >= PROMINENT * highest[graphs.graph])
    part = unusual.copy()
    part[graphs.source[unusual[graphs.target]]] = True
    part[graphs.target[unusual[graphs.source]]] = True
    bounds = graphs.node_ptr
    return [
        Explanation(node_scores[a:b], _places(unusual[a:b]), _places(part[a:b]))
        for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ]


def _places(marked: NDArray[np.bool_]) -> tuple[int, ...]:
    places: Ints = np.flatnonzero(marked)
    return tuple(places.tolist())

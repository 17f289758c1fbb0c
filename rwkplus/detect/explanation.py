"""Why a graph was flagged: the nodes that are unusual."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.table import GraphTable
from rwkplus.table.arrays import Floats, GraphArrays

PROMINENT = 0.5
"""A node is unusual if its score is at least this share of the highest in its graph."""


class Explanation(NamedTuple):
    """The unusual nodes of one graph, by their ids, or by their numbers where they have none."""

    node_scores: Floats  #: (n,): how unusual each node is, by the detector's own measure
    nodes: tuple[Any, ...]  #: the unusual ones
    part: tuple[Any, ...]  #: those and their neighbors: what to look at
    ids: tuple[Any, ...]  #: all nodes of the graph, in the order of the scores

    @property
    def scores(self) -> dict[Any, float]:
        """How unusual each node is, by its id."""
        return dict(zip(self.ids, self.node_scores.tolist(), strict=True))

    @property
    def strength(self) -> dict[Any, float]:
        """How strongly to draw each node of the part, between 0 and 1."""
        unusual = set(self.nodes)
        return {v: 1.0 if v in unusual else 0.5 for v in self.part}


def highest_by_graph(graphs: GraphArrays, values: Floats) -> Floats:
    """Largest value of the nodes of each graph ``(B,)``, 0 for graphs without nodes."""
    highest = np.zeros(graphs.num_graphs)
    np.maximum.at(highest, graphs.graph, values)
    return highest


def explanations(table: GraphTable, graphs: GraphArrays, node_scores: Floats) -> list[Explanation]:
    """Cut the scores of all nodes ``(N,)`` into graphs and choose the unusual nodes of each."""
    highest = highest_by_graph(graphs, node_scores)
    unusual = (node_scores > 0) & (node_scores >= PROMINENT * highest[graphs.graph])
    part = unusual.copy()
    part[graphs.source[unusual[graphs.target]]] = True
    part[graphs.target[unusual[graphs.source]]] = True
    found = []
    for i, (a, b) in enumerate(zip(graphs.node_ptr[:-1].tolist(), graphs.node_ptr[1:].tolist(), strict=True)):
        ids = tuple(table.node_ids(i))
        found.append(Explanation(node_scores[a:b], _marked(ids, unusual[a:b]), _marked(ids, part[a:b]), ids))
    return found


def _marked(ids: tuple[Any, ...], marked: NDArray[np.bool_]) -> tuple[Any, ...]:
    return tuple(ids[k] for k in np.flatnonzero(marked))

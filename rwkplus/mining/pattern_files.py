"""Patterns as files keep them: every field is checked before a pattern is made of it."""

from typing import Annotated, Any

import msgspec
import networkx as nx
import numpy as np

from rwkplus.loops.embeddings import Ints
from rwkplus.mining.contrast import ClassContrast, MeanDifference
from rwkplus.mining.pattern_parts import Condition, Occurrences
from rwkplus.table.columns import Array

FORMAT = "rwkplus patterns, version 3"
FORMATS = ("rwkplus patterns, version 1", "rwkplus patterns, version 2", FORMAT)
"""What can be read. The first listed occurrences as rows of numbers; the second knew neither directions, conditions nor
minimum images."""
DEEPEST_ID = 8
"""Levels of tuples in the id of a node."""

Count = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class StoredOccurrences(msgspec.Struct, forbid_unknown_fields=True):
    """Numbers, and ids where there are any."""

    graphs: list[Count]
    nodes: list[list[Count]]
    graph_names: list[Any] | None = None
    node_ids: list[list[Any]] | None = None


class StoredPattern(msgspec.Struct, forbid_unknown_fields=True):
    """A pattern in a file: types are checked by msgspec, all else by :meth:`check`."""

    labels: list[str]
    edges: list[tuple[Count, Count, str | None]]
    criterion: str
    score: float
    support: Count
    num_graphs: Count
    occurrences: StoredOccurrences | list[list[Count]]  # rows of numbers, as version 0.1 wrote them
    node_coverage: Share
    edge_coverage: Share
    gain: Share
    exhaustive: bool = True
    contrast: list[ClassContrast] = []
    directed: bool = False
    node_conditions: list[list[Condition]] = []
    edge_conditions: list[list[Condition]] = []
    difference: MeanDifference | None = None
    mni: Count | None = None
    num_occurrences: Count | None = None

    def check(self) -> None:
        """Raise ``ValueError`` where something would fail later."""
        self._check_graph()
        self._check_conditions()
        numbers = [self.score, self.node_coverage, self.edge_coverage, self.gain]
        numbers += [value for value in self.difference or () if value is not None]
        for part in self.contrast:
            numbers += [part.odds_ratio, part.p_value, *([] if part.corrected is None else [part.corrected])]
            if not 0 <= part.support <= part.graphs <= self.num_graphs:
                raise ValueError(f"the class {part.name!r} has more graphs than there are")
        if not np.isfinite(numbers).all():
            raise ValueError("one of its numbers is not finite")

    def _check_graph(self) -> None:
        size = len(self.labels)
        if not all(i < size and j < size for i, j, _ in self.edges):
            raise ValueError(f"an edge names a node outside 0 to {size - 1}")
        graph = nx.Graph((i, j) for i, j, _ in self.edges)
        if len(graph) != size or not size or not nx.is_connected(graph):
            raise ValueError("its nodes are not connected")
        asked = self.edge_conditions or [[]] * len(self.edges)
        told = {
            (*((i, j) if self.directed else sorted((i, j))), label, frozenset(conditions))
            for (i, j, label), conditions in zip(self.edges, asked, strict=False)
        }
        if nx.number_of_selfloops(graph) or len(told) != len(self.edges):
            raise ValueError("an edge is a loop, or listed twice")
        if len({label is None for _, _, label in self.edges}) > 1:
            raise ValueError("some edges have a label and others have none")

    def _check_conditions(self) -> None:
        for what, own, rows in (
            ("nodes", self.node_conditions, self.labels),
            ("edges", self.edge_conditions, self.edges),
        ):
            if own and len(own) != len(rows):
                raise ValueError(f"it has conditions on {len(own)} of {len(rows)} {what}")
            for condition in (condition for part in own for condition in part):
                ends = [end for end in condition[1:] if end is not None]
                if not ends or not np.isfinite(ends).all() or sorted(set(ends)) != ends:
                    raise ValueError(f"a condition on {condition.attribute!r} is no interval")

    def fields(self) -> dict[str, Any]:
        """Arguments of :class:`rwkplus.mining.Pattern`."""
        plain = {name: getattr(self, name) for name in self.__struct_fields__}
        return plain | {
            "labels": tuple(self.labels),
            "edges": tuple(self.edges),
            "occurrences": self._occurrences(),
            "contrast": tuple(self.contrast),
            "node_conditions": tuple(map(tuple, self.node_conditions)),
            "edge_conditions": tuple(map(tuple, self.edge_conditions)),
        }

    def _occurrences(self) -> Occurrences:
        values = self.occurrences
        if isinstance(values, list):
            if not all(values):
                raise ValueError("an occurrence is empty")
            values = StoredOccurrences([row[0] for row in values], [row[1:] for row in values])
        size = len(self.labels)
        graph = np.array(values.graphs, dtype=np.int64)
        if len(values.nodes) != graph.size or not all(len(row) == len(set(row)) == size for row in values.nodes):
            raise ValueError("its occurrences do not fit together")
        if (np.diff(graph) < 0).any() or (graph >= self.num_graphs).any() or np.unique(graph).size != self.support:
            raise ValueError("its occurrences are not in as many graphs as have it")
        nodes = np.array(values.nodes, dtype=np.int64).reshape(-1, size)
        return Occurrences(graph, nodes, _ids(values.graph_names, graph), _ids(values.node_ids, nodes))


def _ids(values: list[Any] | None, like: Ints) -> Array | None:
    """Ids as an array of objects of the same shape."""
    if values is None:
        return None
    if len(values) != len(like) or (like.ndim == 2 and any(len(row) != like.shape[1] for row in values)):
        raise ValueError("its ids do not fit its occurrences")
    objects = np.empty(like.size, dtype=object)
    objects[:] = [_id(part) for part in ([part for row in values for part in row] if like.ndim == 2 else values)]
    return objects.reshape(like.shape)


def _id(value: object, depth: int = 0) -> object:
    """An id as it was before JSON made lists of tuples."""
    if isinstance(value, list | tuple) and depth < DEEPEST_ID:
        return tuple(_id(part, depth + 1) for part in value)
    if value is not None and not isinstance(value, str | int | float):
        raise ValueError(f"{type(value).__name__} is no id of a graph or node")
    return value

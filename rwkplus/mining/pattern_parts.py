"""What patterns are made of, conditions and the places where they occur, and how files keep patterns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, overload

import msgspec
import networkx as nx
import numpy as np

from rwkplus.loops.embeddings import Ints
from rwkplus.mining.contrast import ClassContrast, MeanDifference
from rwkplus.table.columns import Array

FORMAT = "rwkplus patterns, version 3"
FORMATS = ("rwkplus patterns, version 1", "rwkplus patterns, version 2", FORMAT)
"""What can be read. The first listed occurrences as rows of numbers; the second knew neither directions, conditions nor
minimum images."""
DEEPEST_ID = 8
"""Levels of tuples in the id of a node."""

Count = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Condition(NamedTuple):
    """What a pattern asks of an attribute of one of its nodes or edges: ``low <= value < high``.

    >>> print(Condition("amount", 10_000, None), Condition("amount", 50, 200), sep=" | ")
    amount >= 10,000 | amount 50 to 200
    """

    attribute: str  #: the user's name of the column
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            sign, end = ("<", self.high) if self.low is None else (">=", self.low)
            return f"{self.attribute} {sign} {in_words(end)}"
        return f"{self.attribute} {in_words(self.low)} to {in_words(self.high)}"


def in_words(number: float | None) -> str:
    """The shortest way to write a number that tells it from all others; from 10,000 on with commas.

    >>> in_words(10_000.0), in_words(2026), in_words(0.1)
    ('10,000', '2026', '0.1')
    """
    if number is None:
        return ""
    value = float(number)
    return (f"{value:,}" if abs(value) >= 10_000 else str(value)).removesuffix(".0")


class Occurrence(NamedTuple):
    """One place where a pattern occurs.

    >>> Occurrence("molecule 7", (3, 4)).nodes
    (3, 4)
    """

    graph: Any  #: what the user calls the graph: its name, or its number in the database
    nodes: tuple[Any, ...]  #: ids of its nodes, or their numbers, in the order of the pattern's nodes


@dataclass(frozen=True, eq=False)
class Occurrences(Sequence[Occurrence]):
    """All places where a pattern occurs; arrays, of which an item is made when it is asked for.

    >>> Occurrences(np.array([1, 3]), np.array([[4, 5], [0, 2]]))
    <2 occurrences: Occurrence(graph=1, nodes=(4, 5)), Occurrence(graph=3, nodes=(0, 2))>
    """

    graph: Ints  # (count,): numbers of graphs, ascending
    nodes: Ints  # (count, n): numbers of nodes within their graph
    graph_names: Array | None = None  # (count,)
    node_ids: Array | None = None  # (count, n)

    def __len__(self) -> int:
        return self.graph.size

    @overload
    def __getitem__(self, index: int) -> Occurrence: ...
    @overload
    def __getitem__(self, index: slice) -> list[Occurrence]: ...
    def __getitem__(self, index: int | slice) -> Occurrence | list[Occurrence]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        graph = (self.graph if self.graph_names is None else self.graph_names)[index]
        nodes = (self.nodes if self.node_ids is None else self.node_ids)[index]
        return Occurrence(graph.item() if isinstance(graph, np.integer) else graph, tuple(nodes.tolist()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        more = ", ..." if len(self) > 2 else ""
        return f"<{len(self)} occurrences: {', '.join(map(repr, self[:2]))}{more}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: numbers, and ids where there are any.

        >>> Occurrences(np.array([1]), np.array([[4, 5]])).to_dict()
        {'graphs': [1], 'nodes': [[4, 5]]}
        """
        ids = {"graph_names": self.graph_names, "node_ids": self.node_ids}
        numbers = {"graphs": self.graph.tolist(), "nodes": self.nodes.tolist()}
        return numbers | {name: part.tolist() for name, part in ids.items() if part is not None}


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
    labelled: bool = True

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
        raise ValueError(f"{type(value).__name__} is not an id of a graph or node")
    return value

"""What patterns are made of: conditions on attributes, and the places where a pattern occurs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np

from rwkplus.loops.embeddings import Ints
from rwkplus.table.columns import Array


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

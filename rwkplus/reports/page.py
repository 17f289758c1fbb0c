"""The frame of every page: what it says is data, how it looks is one template."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import networkx as nx

from rwkplus.drawing import needs_legend
from rwkplus.table import Reader
from rwkplus.table.arrays import Floats

if TYPE_CHECKING:
    from jinja2 import Template

LARGEST_DRAWING = 60
"""Nodes; of a larger graph, the surroundings of a part are drawn."""
LISTED = 8
"""Columns whose typical values are listed."""


class Figure(NamedTuple):
    """A drawing as SVG, with what is written below it."""

    picture: str
    caption: str


class Section(NamedTuple):
    """One pattern, graph or hidden graph: a large drawing, facts, and small drawings of examples."""

    title: str
    picture: str
    facts: Mapping[str, str]
    figures: Sequence[Figure]


class Intervals(NamedTuple):
    """What the names of the intervals of an attribute stand for."""

    side: str
    what: str
    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Page:
    """Everything on a page; text is escaped where it is filled in, drawings are not."""

    title: str
    lead: str
    charts: Sequence[Figure] = ()
    colors: Mapping[str, str] = field(default_factory=dict)
    intervals: Sequence[Intervals] = ()
    sections: Sequence[Section] = ()

    def html(self) -> str:
        """The page, self-contained."""
        legend = self.colors if needs_legend(self.colors) else {}
        return _template().render({**vars(self), "legend": legend})


def intervals_of(reader: Reader) -> list[Intervals]:
    """Typical values of the intervals into which a reader cuts attributes of nodes and edges."""
    place = "log degree and the probability that a walk returns"
    return [
        Intervals(
            side,
            place if colors.structural else classes.column,
            [(name, _listed(center)) for name, center in zip(classes.names, classes.typical, strict=True)],
        )
        for side, colors in (("Node", reader.nodes), ("Edge", reader.edges))
        for classes in colors.classes
    ]


def _listed(values: Floats) -> str:
    shown = ", ".join(f"{value:.3g}" for value in values[:LISTED])
    return f"{shown} ..." if values.size > LISTED else shown


def surroundings(graph: nx.Graph, part: Iterable[int] = ()) -> nx.Graph:
    """The whole graph or, of a large one, the nodes around the part, whose first nodes matter most.

    >>> len(surroundings(nx.path_graph(100), [50])), len(surroundings(nx.path_graph(9)))
    (60, 9)
    """
    if len(graph) <= LARGEST_DRAWING:
        return graph
    kept = list(islice(part, LARGEST_DRAWING)) or [next(iter(graph))]
    reached = set(kept)
    for v in kept:  # grows while it is walked through: breadth first
        for u in nx.all_neighbors(graph, v):
            if u not in reached and len(kept) < LARGEST_DRAWING:
                reached.add(u)
                kept.append(u)
    return graph.subgraph(kept)


def how_many_drawn(graph: nx.Graph, drawn: nx.Graph) -> str:
    """Number of nodes, and how many of them are to be seen.

    >>> path = nx.path_graph(100)
    >>> how_many_drawn(path, surroundings(path, [50]))
    '100, 60 of them drawn'
    """
    return str(len(graph)) if len(graph) == len(drawn) else f"{len(graph)}, {len(drawn)} of them drawn"


def _template() -> "Template":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # few write pages

    loader = PackageLoader("rwkplus.reports")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined).get_template("page.html.j2")

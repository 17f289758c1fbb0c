"""The frame of every page: what it says is data, how it looks is one template."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import networkx as nx

from rwkplus.drawing import needs_legend
from rwkplus.files import visible
from rwkplus.table import Reader
from rwkplus.table.arrays import Floats

if TYPE_CHECKING:
    from jinja2 import Environment

LARGEST_DRAWING, AROUND = 60, 30
"""Nodes of a graph that is drawn whole and, of a larger one, nodes around a part of it that are drawn."""
LISTED = 8
"""Columns whose typical values are listed."""


class Figure(NamedTuple):
    """A drawing as SVG, with what is written below it."""

    picture: str
    caption: str = ""
    chips: Sequence[tuple[object, str]] = ()
    """Names of nodes, each by the key that its node has in the drawing."""


class Cell(NamedTuple):
    """What stands in a table, and by which number it is sorted."""

    text: object
    order: float | None = None
    words: bool = False
    link: str = ""
    share: float | None = None
    """Per cent, as a bar behind the text."""
    key: object = None
    """Of the node in the drawing that it names."""


class Table(NamedTuple):
    """Rows that people sort and filter."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Section:
    """One pattern, graph or hidden graph: a large drawing, facts, and further drawings to slide through."""

    title: str
    figure: Figure
    facts: Mapping[str, object]
    figures: Sequence[Figure] = ()
    slides: str = "example"
    table: Table | None = None
    code: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    wide: bool = False


class Choice(NamedTuple):
    """A field of the form by which people ask for graphs."""

    name: str
    title: str
    value: str
    options: Sequence[tuple[str, str]] = ()
    """Value and text of what may be chosen; without, people type."""
    kind: str = "number"
    usual: str = "any"
    """What is chosen by choosing nothing."""


class Card(NamedTuple):
    """One of many graphs, with the address of all about it."""

    link: str
    title: str
    figure: Figure


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
    numbers: Mapping[str, object] = field(default_factory=dict)
    charts: Sequence[Figure] = ()
    colors: Mapping[str, str] = field(default_factory=dict)
    intervals: Sequence[Intervals] = ()
    overview: Table | None = None
    """Of the sections, a row each, in their order."""
    sections: Sequence[Section] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    """Addresses of other pages, by their titles."""
    form: Sequence[Choice] = ()
    cards: Sequence[Card] = ()
    turns: Mapping[str, str] = field(default_factory=dict)
    """Addresses of the first, previous, next and last page of cards."""

    def html(self) -> str:
        """The page, self-contained."""
        legend = self.colors if needs_legend(self.colors) else {}
        return _templates().get_template("page.html.j2").render(vars(self) | {"legend": legend, "script": script()})


@cache
def script() -> str:
    """The script of every page."""
    return files("rwkplus.reports").joinpath("templates/page.js").read_text(encoding="utf-8")


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # few write pages

    # Text is escaped, and what would turn or hide other text is spelled out.
    def spelled(value: object) -> object:
        return visible(value) if type(value) is str else value

    loader = PackageLoader("rwkplus.reports")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, finalize=spelled)


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
    (30, 9)
    """
    if len(graph) <= LARGEST_DRAWING:
        return graph
    kept = list(islice(part, LARGEST_DRAWING)) or [next(iter(graph))]
    reached = set(kept)
    for v in kept:  # grows while it is walked through: breadth first
        for u in nx.all_neighbors(graph, v):
            if u not in reached and len(kept) < AROUND:
                reached.add(u)
                kept.append(u)
    return graph.subgraph(kept)


def how_many_drawn(graph: nx.Graph, drawn: nx.Graph) -> str:
    """Number of nodes, and how many of them are to be seen.

    >>> path = nx.path_graph(100)
    >>> how_many_drawn(path, surroundings(path, [50]))
    '100, 30 of them drawn'
    """
    return str(len(graph)) if len(graph) == len(drawn) else f"{len(graph)}, {len(drawn)} of them drawn"

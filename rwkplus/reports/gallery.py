"""Pages on the graphs of a table, thousands of them: filtered, sorted, a page at a time, and each one by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from rwkplus.drawing import draw, graphs_to_draw, label_colors
from rwkplus.errors import DataError
from rwkplus.mining import Pattern
from rwkplus.reports.page import Card, Cell, Choice, Figure, Page, Section, Table, how_many_drawn, surroundings
from rwkplus.table import Categories, GraphTable, Numbers, Reader
from rwkplus.table.arrays import Floats, Ints

Mask = NDArray[np.bool_]  # (B,)
SHOW = (24, 100, 500)
"""Graphs on a page, as people may choose."""
ROWS = 500
"""Nodes or edges of a graph that are listed."""
LABELS = 300
"""Labels to choose from."""
SORTS = {"": "number", "largest": "largest first", "smallest": "smallest first", "score": "highest score first"}


class Score(NamedTuple):
    """What a detector said of a graph."""

    score: float
    anomaly: bool
    nodes: Sequence[Any] = ()


@dataclass(frozen=True)
class Gallery:
    """The graphs of a table, with what was mined of them and said about them.

    >>> gallery = Gallery(GraphTable.of(["CCO", "CN", "CCCC"]), "molecules")
    >>> gallery.found({"min": "3"}).tolist()
    [0, 2]
    """

    table: GraphTable
    name: str
    patterns: Sequence[Pattern] = ()
    scores: Sequence[Score] = ()
    links: Mapping[str, str] = field(default_factory=dict)  # other pages, by their titles

    def __post_init__(self) -> None:
        told = {f"patterns of {pattern.num_graphs}": pattern.num_graphs for pattern in self.patterns}
        told |= {f"scores of {len(self.scores)}": len(self.scores)} if self.scores else {}
        for what, count in told.items():
            if count != len(self.table):
                raise DataError(
                    f"the report has {what} graphs, but {self.name} has {len(self.table)}.", "Is it another file?"
                )

    @cached_property
    def _labelled(self) -> GraphTable:
        """Labels of nodes and edges as one column each; numbers are left out."""
        sides = {"nodes": self.table.nodes, "edges": self.table.edges}
        numbers = [f"{side}.{name}" for side, own in sides.items() for name, c in own.items() if isinstance(c, Numbers)]
        plain = self.table.without(numbers)
        return Reader.fit(plain).labelled(plain)

    @cached_property
    def colors(self) -> dict[str, str]:
        """The color of every label, as on all other pages."""
        return label_colors({*self._names("n"), ""})

    def _column(self, side: str) -> Categories | None:
        column = (self._labelled.nodes if side == "n" else self._labelled.edges).get("label")
        return column if isinstance(column, Categories) else None

    def _names(self, side: str) -> tuple[str, ...]:
        column = self._column(side)
        return () if column is None else column.names

    @cached_property
    def _classes(self) -> list[str]:
        y = self.table.y
        return [] if y is None or y.ndim != 1 else ["" if value is None else str(value) for value in y.tolist()]

    def found(self, asked: Mapping[str, str]) -> Ints:
        """Numbers of the graphs that have all that is asked for, in the order that is asked for."""
        sizes = np.diff(self.table.node_ptr)
        keep = np.ones(len(self.table), bool)
        for name, sign in (("min", 1), ("max", -1)):
            if asked.get(name):
                keep &= sign * sizes >= sign * _number(asked, name)
        if asked.get("label"):
            keep &= self._with_label(asked["label"])
        if asked.get("pattern"):
            keep &= self._with_pattern(_number(asked, "pattern"))
        if asked.get("class"):
            keep &= np.array([own == asked["class"] for own in self._classes] or [False])
        if asked.get("id"):
            keep &= np.array(
                [asked["id"].lower() in str(self.table.graph_id(i)).lower() for i in range(len(self.table))]
            )
        if self.scores:
            keep &= self._with_score(asked)
        graphs = np.flatnonzero(keep)
        order = {"largest": -sizes, "smallest": sizes, "score": self._negated_scores}.get(asked.get("sort", ""))
        return graphs if order is None or order.size == 0 else graphs[np.argsort(order[graphs], kind="stable")]

    @cached_property
    def _negated_scores(self) -> Floats:
        return -np.array([own.score for own in self.scores])

    def _with_score(self, asked: Mapping[str, str]) -> Mask:
        keep = np.ones(len(self.table), bool)
        if asked.get("score"):
            keep &= -self._negated_scores >= _number(asked, "score")
        if asked.get("flagged"):
            keep &= np.array([own.anomaly for own in self.scores])
        return keep

    def _with_label(self, value: str) -> Mask:
        side, _, code = value.partition("-")
        column = self._column(side)
        graph = self.table.node_graph if side == "n" else self.table.edge_graph
        keep = np.zeros(len(self.table), bool)
        if column is not None and code.isascii() and code.isdigit():
            keep[graph[column.codes == int(code[:9])]] = True
        return keep

    def _with_pattern(self, number: float) -> Mask:
        keep = np.zeros(len(self.table), bool)
        if 1 <= number <= len(self.patterns):
            keep[list(self.patterns[int(number) - 1].graphs)] = True
        return keep

    def form(self, asked: Mapping[str, str]) -> list[Choice]:
        """What may be asked for."""

        def choice(name: str, title: str, options: Sequence[tuple[str, str]] = (), kind: str = "number") -> Choice:
            return Choice(name, title, asked.get(name, ""), options, kind)

        sides = {"n": "", "e": "edge: "}
        labels = [
            (f"{side}-{k}", words + own)
            for side, words in sides.items()
            for k, own in enumerate(self._names(side)[:LABELS])
        ]
        patterns = [(str(k), f"{k}. {pattern.short_name}") for k, pattern in enumerate(self.patterns, start=1)]
        classes = sorted({*self._classes} - {""})
        fields = [choice("label", "label", labels)] if labels else []
        fields += [choice("min", "min. nodes"), choice("max", "max. nodes")]
        fields += [choice("pattern", "pattern", patterns)] if patterns else []
        fields += [choice("class", "class", [(own, own) for own in classes])] if 1 < len(classes) <= 50 else []
        if self.scores:
            fields += [choice("score", "min. score"), choice("flagged", "flagged", [("1", "only flagged")])]
        fields.append(choice("id", "id", kind="search"))
        sorts = [(name, title) for name, title in SORTS.items() if name and (name != "score" or self.scores)]
        fields.append(choice("sort", "sort", sorts)._replace(usual=SORTS[""]))
        more = [(str(count), str(count)) for count in SHOW[1:]]
        return [*fields, choice("show", "per page", more)._replace(usual=str(SHOW[0]))]

    def page(self, asked: Mapping[str, str]) -> str:
        """Some of the graphs that have all that is asked for, with the form to ask."""
        graphs = self.found(asked)
        size = next((count for count in SHOW if str(count) == asked.get("show")), SHOW[0])
        last = max(-(-graphs.size // size), 1)
        number = int(min(max(_number(asked, "page") if asked.get("page") else 1, 1), last))
        shown = graphs[(number - 1) * size : number * size].tolist()
        turned = {
            title: "?" + urlencode({name: value for name, value in asked.items() if value} | {"page": to})
            for title, to in (("first", 1), ("previous", number - 1), ("next", number + 1), ("last", last))
            if 1 <= to <= last and to != number
        }
        what = f"{graphs.size:,} of {len(self.table):,} graphs"
        return Page(
            title=self.name,
            lead=f"{what}, page {number:,} of {last:,}." if graphs.size else f"{what}: no graph meets all conditions.",
            colors={label: color for label, color in self.colors.items() if label},
            links=self.links,
            form=self.form(asked),
            turns=turned,
            cards=[self._card(i, asked) for i in shown],
        ).html()

    def _card(self, i: int, asked: Mapping[str, str]) -> Card:
        """A graph among others."""
        nodes, edges = (int(np.diff(ptr[i : i + 2])[0]) for ptr in (self.table.node_ptr, self.table.edge_ptr))
        facts = [f"{nodes} nodes, {edges} edges"]
        facts += [f"class {self._classes[i]}"] if self._classes and self._classes[i] else []
        facts += [f"score {self.scores[i].score:.3g}{', flagged' * self.scores[i].anomaly}"] if self.scores else []
        pattern = int(_number(asked, "pattern")) - 1 if asked.get("pattern") else None
        figure = Figure(self._drawn(i, pattern)[0], "; ".join(facts))
        return Card(f"/graph/{i}", f"Graph {self.table.graph_id(i)}", figure)

    def _drawn(self, i: int, pattern: int | None = None, *, keys: bool = False) -> tuple[str, str]:
        """The graph with what is marked in it, perhaps with keys of its nodes, and how much of it is drawn."""
        graph = graphs_to_draw(self._labelled[i])[0]
        marked: set[Any] = set(self.scores[i].nodes) if self.scores else set()
        if pattern is not None and 0 <= pattern < len(self.patterns):
            where = self.patterns[pattern].occurrences
            marked = {v for k in np.flatnonzero(where.graph == i).tolist() for v in where[k].nodes}
        close = surroundings(graph, [v for v in graph if v in marked])
        title = f"graph {self.table.graph_id(i)}"
        numbers = {v: k for k, v in enumerate(graph)} if keys else None
        highlighted = marked & set(graph) or None
        picture = draw(close, self.colors, highlighted=highlighted, title=title, keys=numbers)
        return picture, how_many_drawn(graph, close)

    def graph(self, i: int) -> str:
        """All about one graph: a large drawing, its columns, nodes and edges."""
        part, title = self.table[i], f"Graph {self.table.graph_id(i)}"
        picture, count = self._drawn(i, keys=True)
        facts: dict[str, object] = {"nodes": count, "edges": f"{part.num_edges:,}"}
        facts |= {name: column.values()[0] for name, column in part.graphs.items() if name != "name"}
        if self.scores:
            facts |= {"score": f"{self.scores[i].score:.3g}", "flagged": "yes" if self.scores[i].anomaly else "no"}
        having = [f"{k}. {p.short_name}" for k, p in enumerate(self.patterns, start=1) if i in p.graphs]
        facts |= {"patterns": "; ".join(having) or "none"} if self.patterns else {}
        ids = part.node_ids(0)
        names = [Cell(str(own), words=True, key=v) for v, own in enumerate(ids)]
        ends = {"from" if part.directed else "one node": part.source, "to" if part.directed else "other": part.target}
        between = {name: [names[v] for v in nodes[:ROWS].tolist()] for name, nodes in ends.items()}
        tables = {
            "nodes": _listed({"id": names[:ROWS]} | {n: c.values()[:ROWS] for n, c in part.nodes.items() if n != "id"}),
            "edges": _listed(between | {n: c.values()[:ROWS] for n, c in part.edges.items()}),
        }
        around = {"previous": i - 1, "next": i + 1}
        links = {"all graphs": "/graphs"} | {t: f"/graph/{k}" for t, k in around.items() if 0 <= k < len(self.table)}
        return Page(
            title=f"{title} of {self.name}",
            lead=f"The first {ROWS} nodes and edges are listed." if max(len(ids), part.num_edges) > ROWS else "",
            colors={label: color for label, color in self.colors.items() if label},
            links=dict(self.links) | links,
            sections=[Section(title, Figure(picture), facts, tables=tables, wide=True)],
        ).html()


def _number(asked: Mapping[str, str], name: str) -> float:
    try:
        number = float(asked[name])
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise DataError(f"{name} must be a number, got {asked[name][:40]!r}.")
    return number


def _listed(columns: Mapping[str, Any]) -> Table:
    """Columns as a table; numbers are sorted as such."""
    rows = [[_cell(value) for value in row] for row in zip(*columns.values(), strict=True)]
    return Table(list(columns), rows)


def _cell(value: Any) -> Cell:  # noqa: ANN401
    if isinstance(value, Cell):
        return value
    if isinstance(value, np.ndarray):
        return Cell(", ".join(f"{part:.4g}" for part in value.tolist()), words=True)
    if isinstance(value, int | float | np.number):
        return Cell("" if value != value else f"{value:.10g}", None if value != value else float(value))
    return Cell("" if value is None else str(value), words=True)

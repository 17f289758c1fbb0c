"""Graphs put together from tables of edges, nodes and graphs: what files and data frames share."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import DataError, ParameterError, Remedy
from rwkplus.io.rows import Cells, Coded, Ints, Mistakes, Side, Tables, distinct, find, needed, typed, values_of
from rwkplus.io.sources import ReadOptions
from rwkplus.table.columns import Categories, Column, Numbers, Text, taken
from rwkplus.table.graph_table import GraphTable, pointers

TAKES = (
    "source", "target", "graph", "node", "smiles", "y", "labels", "attributes", "ignore", "weight", "directed",
    "multigraph", "drop_duplicates", "on_error",
)  # fmt: skip
"""Options of tables of edges."""


def assemble(given: Tables, options: ReadOptions, mistakes: Mistakes) -> GraphTable:
    """Make one table of those of a user, or say in the user's words what is wrong with them.

    Graphs stand in the order in which they appear, among nodes if there is such a table, else among edges; so do the
    nodes of each graph.

    Args:
        given: Columns of the table of edges and, where there are such, of those of nodes and graphs.
        options: What the columns mean, as :func:`rwkplus.io.rows.spelled` returns them.
        mistakes: Names the rows, and may know of mistakes already.
    """
    keys = {side: _keys(columns, side, options, mistakes) for side, columns in given.items()}
    _check_graph_columns(keys, options, mistakes)
    columns = {side: _columns(given[side], keys[side], side, options) for side in given}
    for side in given:
        _check_cells(side, keys[side], columns[side], options, mistakes)
    tables = {side: _Table(side, keys[side], columns[side]) for side in given}
    bad = mistakes.settle()
    tables = {side: table.without(bad.get(side)) for side, table in tables.items()}
    if not any(tables[side].numbers().size for side in ("edges", "nodes") if side in tables):
        raise mistakes.nothing_left()
    table = _Assembly(tables, options, mistakes).table()
    mistakes.warn()
    return options.applied(table)


class _Repeated(NamedTuple):
    """Edges that are there several times."""

    kept: NDArray[np.bool_]  # edges that stay
    rows: Ints  # edges that contradict others
    firsts: Ints  # those others


class _Keys(NamedTuple):
    """Columns that say what a row is about, by what they say, with the names that the user has for them."""

    cells: dict[str, Coded]
    names: dict[str, str]


def _keys(columns: Mapping[str, Cells], side: Side, options: ReadOptions, mistakes: Mistakes) -> _Keys:
    """Find the columns that say which graph and which nodes a row is about."""
    roles = {"edges": ("source", "target"), "nodes": ("node",), "graphs": ("graph",)}[side]
    names = {role: needed(getattr(options, role), columns, role, mistakes.table(side)) for role in roles}
    graph = find(options.graph, columns)
    if graph is not None:
        names["graph"] = graph
    elif options.graph != "graph":
        needed(options.graph, columns, "graph", mistakes.table(side))
    for role, name in names.items():
        other = next((r for r, n in names.items() if n == name and r != role), None)
        if other is not None:
            raise ParameterError(f"{mistakes.table(side)}: column {name!r} cannot be {role} and {other} at once.")
    return _Keys({role: _coded(columns[name]) for role, name in names.items()}, names)


def _coded(cells: Cells) -> Coded:
    if isinstance(cells, Coded):
        return cells
    try:
        return Coded.of(values_of(cells))
    except TypeError as error:
        raise DataError(f"ids must be words or numbers: {error}.") from error


def _columns(given: Mapping[str, Cells], keys: _Keys, side: Side, options: ReadOptions) -> dict[str, Column]:
    return {
        name: typed(name, cells, side, options)
        for name, cells in given.items()
        if name not in keys.names.values() and not options.leaves_out(name, side)
    }


def _check_graph_columns(keys: Mapping[Side, _Keys], options: ReadOptions, mistakes: Mistakes) -> None:
    with_graph = {side: "graph" in own.names for side, own in keys.items()}
    if "nodes" in keys and with_graph["nodes"] != with_graph["edges"]:
        raise DataError(
            f"only one of {mistakes.table('nodes')} and {mistakes.table('edges')} has a column {options.graph!r}: both "
            "need it, or none."
        )
    if "graphs" in keys and not with_graph["edges"]:
        raise DataError(
            f"{mistakes.table('edges')} has no column {options.graph!r}, which {mistakes.table('graphs')} could refer "
            "to.",
            "Add it.",
            Remedy("Or name it: {graph}", graph=...),
        )


def _check_cells(
    side: Side, keys: _Keys, columns: Mapping[str, Column], options: ReadOptions, mistakes: Mistakes
) -> None:
    """Note cells that are empty where there must be something, and numbers that are none."""
    full: dict[str, Any] = {keys.names[role]: cells for role, cells in keys.cells.items()}
    full |= {name: column for name, column in columns.items() if side == "edges" and name == options.weight}
    for name, cells in full.items():
        mistakes.add(side, np.flatnonzero(cells.missing), f"column {name!r} is empty")
    for name, column in columns.items():
        if isinstance(column, Numbers) and column.numbers.dtype.kind == "f":
            infinite = np.isinf(column.matrix()).any(1)
            mistakes.add(side, np.flatnonzero(infinite), f"column {name!r} must be a number, got infinity")


class _Table(NamedTuple):
    """One of the user's tables, of which some rows may have been left out."""

    side: Side
    keys: _Keys
    columns: dict[str, Column]
    rows: Ints | None = None  # those that are left, None for all

    def without(self, bad: Ints | None) -> "_Table":
        """Leave out rows, by their numbers in the user's table."""
        if bad is None or not bad.size:
            return self
        stays = np.ones(self.numbers().max(initial=-1) + 1, bool)
        stays[bad] = False
        return self.take(np.flatnonzero(stays[self.numbers()]))

    def take(self, rows: Ints) -> "_Table":
        """Keep some of the rows that are left."""
        keys = _Keys({role: cells.take(rows) for role, cells in self.keys.cells.items()}, self.keys.names)
        return _Table(
            self.side, keys, {name: column.take(rows) for name, column in self.columns.items()}, self.numbers()[rows]
        )

    def numbers(self) -> Ints:
        """Numbers of the rows in the user's table."""
        return np.arange(len(next(iter(self.keys.cells.values())))) if self.rows is None else self.rows


class _Assembly:
    """The graphs of some tables."""

    def __init__(self, tables: Mapping[Side, _Table], options: ReadOptions, mistakes: Mistakes) -> None:
        self.options, self.mistakes = options, mistakes
        self.edges, self.nodes, self.targets = tables["edges"], tables.get("nodes"), tables.get("graphs")
        self._number_graphs()
        self._number_nodes()

    def table(self) -> GraphTable:
        """Put the rows in order: by graph, and then as they stand in the user's tables."""
        self._check_edges()
        self._check_targets()
        self.mistakes.settle()  # what is wrong has been left out here, for those who skip it
        source, target = self.ends
        graph = self.graph_of_edges
        order = _stable_order(graph)
        edges = self.edges.columns
        if order is not None:
            graph, source, target = graph[order], source[order], target[order]
            edges = {name: column.take(order) for name, column in edges.items()}
        return GraphTable(
            self.node_ptr,
            pointers(np.bincount(graph, minlength=self.num_graphs)),
            source - self.node_ptr[graph],
            target - self.node_ptr[graph],
            self._graph_columns(),
            self._node_columns(),
            edges,
            self.options.directed,
        )

    def _number_graphs(self) -> None:
        """Number the graphs as they appear."""
        parts = [part for part in (self.nodes, self.edges, self.targets) if part is not None]
        if "graph" not in self.edges.keys.cells:
            self.graph_ids: list[Any] = [0]
            self.graph_of = {part.side: np.zeros(part.numbers().size, np.int64) for part in parts}
        else:
            codes, values = _joint([part.keys.cells["graph"] for part in parts])
            number, first = _by_appearance(codes[0], len(values))
            self.graph_of = {part.side: number[own] for part, own in zip(parts, codes, strict=True)}
            self.graph_ids = [values[k] for k in first]
        self.num_graphs = len(self.graph_ids)

    @property
    def graph_of_edges(self) -> Ints:
        """Graph of every edge that is left."""
        return self.graph_of["edges"]

    def _number_nodes(self) -> None:
        """Number the nodes of each graph as they appear."""
        nodes, edges = self.nodes, self.edges.keys.cells
        roles = [edges["source"], edges["target"], *([] if nodes is None else [nodes.keys.cells["node"]])]
        codes, self.node_values = _joint(roles)
        width = max(len(self.node_values), 1)
        ends = [self.graph_of_edges * width + own for own in codes[:2]]
        mentioned = np.stack(ends, 1).ravel() if nodes is None else self.graph_of["nodes"] * width + codes[2]
        order = np.argsort(mentioned, kind="stable")
        ordered = mentioned[order]
        new = np.ones(ordered.size, bool)
        new[1:] = ordered[1:] != ordered[:-1]
        keys, first = ordered[new], order[new]
        rank = np.lexsort((first, keys // width))
        number = np.empty(rank.size, np.int64)
        number[rank] = np.arange(rank.size)
        if nodes is None:
            row = np.empty(mentioned.size, np.int64)
            row[order] = number[np.cumsum(new) - 1]
            self.ends = list(row.reshape(-1, 2).T)
        else:
            self._note_repeated_nodes(nodes, np.sort(order[~new]))
            self.ends = [_numbers_of(own, keys, number) for own in ends]
        self.node_rows = first[rank]  # of the table of nodes, if there is one
        self.node_codes = (keys % width)[rank]
        self.node_ptr = pointers(np.bincount(keys // width, minlength=self.num_graphs))

    def _note_repeated_nodes(self, nodes: _Table, repeated: Ints) -> None:
        cells = nodes.keys.cells["node"]
        self.mistakes.add(
            "nodes",
            nodes.numbers()[repeated],
            lambda i: f"the node {cells.values[cells.codes[repeated[i]]]!r} was there before",
        )

    def _check_edges(self) -> None:
        """Leave out edges of unknown nodes, then those that are there twice."""
        known = np.ones(self.graph_of_edges.size, bool)
        for role, rows in zip(("source", "target"), self.ends, strict=True):
            self._note_unknown(role, np.flatnonzero(known & (rows < 0)))
            known &= rows >= 0
        if not known.all():
            self._keep(np.flatnonzero(known))
        source, target = self.ends
        repeated = repeated_edges(source, target, self.edges.columns, self.options)
        if repeated is not None:
            self._note_repeated_edges(repeated)
            self._keep(np.flatnonzero(repeated.kept))

    def _keep(self, rows: Ints) -> None:
        self.edges = self.edges.take(rows)
        self.graph_of["edges"] = self.graph_of_edges[rows]
        self.ends = [own[rows] for own in self.ends]

    def _note_unknown(self, role: str, rows: Ints) -> None:
        if not rows.size:
            return
        cells, name, nodes = self.edges.keys.cells[role], self.edges.keys.names[role], self.mistakes.table("nodes")
        self.mistakes.add(
            "edges",
            self.edges.numbers()[rows],
            lambda i: (
                f"column {name!r} names the node {cells.values[cells.codes[rows[i]]]!r}, which {nodes} does not have"
            ),
        )

    def _note_repeated_edges(self, repeated: _Repeated) -> None:
        rows, firsts, numbers = repeated.rows, repeated.firsts, self.edges.numbers()
        unit = self.mistakes.places["edges"].unit

        def message(i: int) -> str:
            ends = [
                repr(cells.values[cells.codes[rows[i]]])
                for cells in (self.edges.keys.cells[role] for role in ("source", "target"))
            ]
            before = self.mistakes.place("edges", int(numbers[firsts[i]]))
            return f"the edge between {ends[0]} and {ends[1]} was in {before} before"

        self.mistakes.add(
            "edges",
            numbers[rows],
            message,
            "Give an edge once, or in both directions with the same cells.",
            Remedy(f"{{drop_duplicates}} leaves out {unit}s that are equal.", drop_duplicates=True),
            Remedy(f"Where each {unit} is an edge of its own, {{multigraph}} says so.", multigraph=True),
            Remedy("Where edges lead from source to target only, {directed} says so.", directed=True),
        )

    def _check_targets(self) -> None:
        """Match the rows about graphs with the graphs."""
        if self.targets is None:
            return
        graph, cells = self.graph_of["graphs"], self.targets.keys.cells["graph"]
        numbers, table = self.targets.numbers(), self.mistakes.table("graphs")
        row_of = np.full(self.num_graphs + 1, -1)
        row_of[graph[::-1]] = np.arange(graph.size)[::-1]
        row_of[-1] = -1
        unknown = np.flatnonzero(graph < 0)
        again = np.flatnonzero((graph >= 0) & (row_of[graph] != np.arange(graph.size)))
        for rows, what in ((unknown, "has neither nodes nor edges"), (again, "was there before")):
            self.mistakes.add(
                "graphs",
                numbers[rows],
                lambda i, rows=rows, what=what: f"the graph {cells.values[cells.codes[rows[i]]]!r} {what}",  # type: ignore[misc]
            )
        self.row_of_graph = row_of[:-1]
        lacking = np.flatnonzero(self.row_of_graph < 0)
        if lacking.size:
            unit, edges = self.mistakes.places["graphs"].unit, self.mistakes.table("edges")
            names = ", ".join(repr(self.graph_ids[k]) for k in lacking[:5]) + (", ..." if lacking.size > 5 else "")
            many = "the graph" if lacking.size == 1 else f"{lacking.size:,} graphs,"
            kept = "it is kept" if lacking.size == 1 else "they are kept"
            self.mistakes.lacks(
                f"{table} has no {unit} for {many} {names} of {edges}", f"{kept}, and what would stand there is missing"
            )

    def _graph_columns(self) -> dict[str, Column]:
        """What is known of the graphs, with their names."""
        columns: dict[str, Column] = {}
        if self.targets is not None:
            columns = {name: taken(column, self.row_of_graph) for name, column in self.targets.columns.items()}
        if "graph" not in self.edges.keys.names or _is_numbered(self.graph_ids):
            return columns
        if "name" in columns:
            return {**columns, self.edges.keys.names["graph"]: Text.of(self.graph_ids)}
        return {"name": Text.of(self.graph_ids), **columns}

    def _node_columns(self) -> dict[str, Column]:
        """What is known of the nodes, with their ids."""
        columns: dict[str, Column] = {}
        if self.nodes is not None:
            rows = self.node_rows
            same = rows.size == len(self.graph_of["nodes"]) and bool((rows == np.arange(rows.size)).all())
            columns = {name: column if same else column.take(rows) for name, column in self.nodes.columns.items()}
        if self._nodes_are_numbered():
            return columns
        if "id" in columns:
            raise DataError(
                f"{self.mistakes.table('nodes')}: column {self.options.node!r} says what nodes are called, and so does "
                "'id'.",
                Remedy("Choose it instead: {node}.", node="id"),
                Remedy("Leave it out: {ignore}.", ignore=("nodes.id",)),
            )
        return {"id": Text(Coded(self.node_codes, self.node_values).cells()), **columns}

    def _nodes_are_numbered(self) -> bool:
        """Whether the ids say nothing: 0, 1, 2, ... in every graph."""
        if not all(type(value) is int for value in self.node_values):
            return False
        local = np.arange(self.node_codes.size) - np.repeat(self.node_ptr[:-1], np.diff(self.node_ptr))
        try:
            return bool((np.array(self.node_values, dtype=np.int64)[self.node_codes] == local).all())
        except OverflowError:
            return False


def _numbers_of(keys: Ints, known: Ints, numbers: Ints) -> Ints:
    """Numbers of keys by a sorted list of known ones; -1 for all others."""
    if not known.size:
        return np.full(keys.size, -1)
    place = np.minimum(np.searchsorted(known, keys), known.size - 1)
    return np.where(known[place] == keys, numbers[place], -1)


def _joint(parts: Sequence[Coded]) -> tuple[list[Ints], list[Any]]:
    """Number the values of several columns alike."""
    code: dict[Any, int] = {}
    tables: dict[int, Ints] = {}
    codes = []
    for part in parts:
        if id(part.values) not in tables:
            numbers = [code.setdefault(value, len(code)) for value in part.values]
            tables[id(part.values)] = np.array([*numbers, -1], dtype=np.int64)
        codes.append(tables[id(part.values)][part.codes])
    return codes, list(code)


def _by_appearance(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """Numbers of values in the order in which they appear, -1 for those that do not; and the values in that order."""
    first = np.full(size, codes.size)
    first[codes[::-1]] = np.arange(codes.size)[::-1]
    order = np.argsort(first, kind="stable")
    order = order[: int((first < codes.size).sum())]
    number = np.full(size, -1)
    number[order] = np.arange(order.size)
    return number, order


def _stable_order(graph: Ints) -> Ints | None:
    """Sorts rows by graph; None where they are."""
    return None if (np.diff(graph) >= 0).all() else np.argsort(graph, kind="stable")


def _is_numbered(ids: Sequence[Any]) -> bool:
    return all(type(value) is int for value in ids) and list(ids) == list(range(len(ids)))


# Edges that a table has several times


def repeated_edges(source: Ints, target: Ints, columns: Mapping[str, Column], options: ReadOptions) -> _Repeated | None:
    """Find edges that are there several times; None where all are to stay.

    An undirected edge may be given in both directions if all else is equal, and is kept once.

    >>> found = repeated_edges(np.array([0, 1, 1]), np.array([1, 0, 2]), {}, ReadOptions())
    >>> found.kept.tolist()
    [True, False, True]
    """
    own = options.directed or options.multigraph
    if (own and not options.drop_duplicates) or not source.size:
        return None
    one, other = (source, target) if options.directed else (np.minimum(source, target), np.maximum(source, target))
    key = one * (int(other.max(initial=0)) + 1) + other
    several, group = _in_groups(key)
    kept = np.ones(key.size, bool)
    if not several.size:
        return None
    if options.drop_duplicates:
        place = _place_in_group(_with_cells(group, several, columns))[0]
        kept[several[place > 0]] = False
        several, group = several[place == 0], group[place == 0]
    if own:
        return _Repeated(kept, several[:0], several[:0])
    place, first = _place_in_group(group)
    cells = _with_cells(np.zeros_like(group), several, columns)
    back = source[several] != source[several][first]
    reverse = (place == 1) & back & (cells == cells[first])
    kept[several[place > 0]] = False
    wrong = np.flatnonzero((place > 0) & ~reverse)
    return _Repeated(kept, several[wrong], several[first[wrong]])


def _in_groups(key: Ints) -> tuple[Ints, Ints]:
    """Rows that share their key with others, ascending, and a number for the key of each."""
    order = np.argsort(key, kind="stable")
    same = np.diff(key[order]) == 0
    shares = np.append(same, False) | np.append(False, same)
    rows = np.sort(order[shares])
    return rows, distinct(key[rows])


def _place_in_group(group: Ints) -> tuple[Ints, Ints]:
    """The how manieth of its group each row is, and which row is the first of it."""
    order = np.argsort(group, kind="stable")
    start = np.flatnonzero(np.diff(group[order], prepend=-1))
    sizes = np.diff(np.append(start, group.size))
    place, first = np.empty(group.size, np.int64), np.empty(group.size, np.int64)
    place[order] = np.arange(group.size) - np.repeat(start, sizes)
    first[order] = np.repeat(order[start], sizes)
    return place, first


def _with_cells(group: Ints, rows: Ints, columns: Mapping[str, Column]) -> Ints:
    """Split groups of rows by what their cells hold."""
    for column in columns.values():
        part = column.take(rows)
        if isinstance(part, Categories):
            codes = part.codes.astype(np.int64) + 1
        elif isinstance(part, Text):
            codes = Coded.of(map(repr, part.texts.tolist())).codes.astype(np.int64)
        else:
            codes = np.zeros(rows.size, np.int64)
            for numbers in part.matrix().T:
                value = distinct(np.where(np.isnan(numbers), np.inf, numbers + 0.0))
                codes = distinct(codes * (int(value.max(initial=0)) + 1) + value)
        group = distinct(group * (int(codes.max(initial=0)) + 1) + codes)
    return group

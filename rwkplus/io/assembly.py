"""Graphs put together from tables of edges, nodes and graphs: what files and data frames share."""

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import DataError, ParameterError, Remedy, RWKPlusWarning
from rwkplus.io.rows import (
    SHOWN,
    Cells,
    Factorized,
    Ints,
    RowErrors,
    Side,
    Tables,
    find_column,
    require_column,
    take_or_missing,
    to_column,
    to_list,
)
from rwkplus.io.sources import ReadOptions
from rwkplus.table.arrays import group_equal_rows
from rwkplus.table.columns import Column, Numbers, Text, pointers
from rwkplus.table.graph_table import GraphTable

ACCEPTED = (
    "source", "target", "graph", "node", "smiles", "y", "labels", "attributes", "ignore", "weight", "directed",
    "multigraph", "drop_duplicates", "on_error",
)  # fmt: skip
"""Options of tables of edges."""
ROLES: dict[Side, tuple[str, ...]] = {"edges": ("source", "target"), "nodes": ("node",), "graphs": ("graph",)}
"""Columns that each table needs."""


def assemble(given: Tables, options: ReadOptions, errors: RowErrors) -> GraphTable:
    """Make one table of those of a user, or say in the user's words what is wrong with them.

    Graphs stand in the order in which they appear, among nodes if there is such a table, else among edges; so do the
    nodes of each graph. Options name columns as :func:`rwkplus.io.rows.resolve_names` does; ``errors`` names the rows,
    and may hold some already.
    """
    names = {side: _key_names(columns, side, options, errors) for side, columns in given.items()}
    _check_graph_columns(names, options, errors)
    tables = {side: _Table.of(side, names[side], columns, options) for side, columns in given.items()}
    for table in tables.values():
        _check_cells(table, options, errors)
    bad = errors.settle()
    tables = {side: table.without(bad[side]) if side in bad else table for side, table in tables.items()}
    if not any(tables[side].rows.size for side in ("edges", "nodes") if side in tables):
        raise errors.nothing_left()
    whole = _Assembly(tables, options, errors).table()
    errors.warn()
    return options.mark_columns(whole)


def _key_names(columns: Mapping[str, Cells], side: Side, options: ReadOptions, errors: RowErrors) -> dict[str, str]:
    """What the columns are called that say which graph and which nodes a row is about."""
    names = {role: require_column(getattr(options, role), columns, role, errors.table(side)) for role in ROLES[side]}
    graph = find_column(options.graph, columns)
    if graph is not None:
        names["graph"] = graph
    elif options.graph != "graph":
        require_column(options.graph, columns, "graph", errors.table(side))
    for role, name in names.items():
        other = next((r for r, n in names.items() if n == name and r != role), None)
        if other is not None:
            raise ParameterError(f"{errors.table(side)}: column {name!r} cannot be {role} and {other} at once.")
    return names


def _check_graph_columns(names: Mapping[Side, Mapping[str, str]], options: ReadOptions, errors: RowErrors) -> None:
    with_graph = {side: "graph" in own for side, own in names.items()}
    for role, name in names["edges"].items():
        if name in options.targets and "graphs" not in names:
            raise ParameterError(f"{errors.table('edges')}: column {name!r} cannot be {role} and y at once.")
    if "nodes" in names and with_graph["nodes"] != with_graph["edges"]:
        raise DataError(
            f"only one of {errors.table('nodes')} and {errors.table('edges')} has a column {options.graph!r}: both "
            "need it, or none."
        )
    if "graphs" in names and not with_graph["edges"]:
        raise DataError(
            f"{errors.table('edges')} has no column {options.graph!r}, which {errors.table('graphs')} could refer to.",
            "Add it.",
            Remedy("Or name it: {graph}", graph=...),
        )


class _Table(NamedTuple):
    """One of the user's tables, of which some rows may have been left out."""

    side: Side
    names: dict[str, str]  # what the user calls the columns that say what a row is about, by what they say
    keys: dict[str, Factorized]
    columns: dict[str, Column]
    rows: Ints  # numbers of the rows that are left

    @classmethod
    def of(cls, side: Side, names: dict[str, str], given: Mapping[str, Cells], options: ReadOptions) -> "_Table":
        keys = {role: _coded(given[name]) for role, name in names.items()}
        columns = {
            name: to_column(name, cells, "graphs" if name in options.targets else side, options)
            for name, cells in given.items()
            if name not in names.values() and not options.ignores(name, side)
        }
        return cls(side, names, keys, columns, np.arange(len(next(iter(keys.values())))))

    def without(self, bad: Ints) -> "_Table":
        """Leave out rows, by their numbers in the user's table."""
        return self.take(np.flatnonzero(~np.isin(self.rows, bad)))

    def take(self, rows: Ints) -> "_Table":
        """Keep some of the rows that are left."""
        keys = {role: cells.take(rows) for role, cells in self.keys.items()}
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return self._replace(keys=keys, columns=columns, rows=self.rows[rows])

    def key(self, role: str, row: int) -> str:
        """What the user has in one of the cells, for errors."""
        cells = self.keys[role]
        return repr(cells.values[cells.codes[row]])


def _coded(cells: Cells) -> Factorized:
    try:
        return cells if isinstance(cells, Factorized) else Factorized.of(to_list(cells))
    except TypeError as error:
        raise DataError(f"ids must be words or numbers: {error}.") from error


def _check_cells(table: _Table, options: ReadOptions, errors: RowErrors) -> None:
    """Note cells that are empty where there must be something, and numbers that are none."""
    full: dict[str, Any] = {table.names[role]: cells for role, cells in table.keys.items()}
    if table.side == "edges" and options.weight in table.columns:
        full[options.weight] = table.columns[options.weight]
    for name, cells in full.items():
        errors.add(table.side, np.flatnonzero(cells.missing), f"column {name!r} is empty")
    for name, column in table.columns.items():
        if isinstance(column, Numbers) and column.numbers.dtype.kind == "f":
            infinite = np.isinf(column.matrix()).any(1)
            errors.add(table.side, np.flatnonzero(infinite), f"column {name!r} must be a number, got infinity")


class _Assembly:
    """The graphs of some tables."""

    def __init__(self, tables: Mapping[Side, _Table], options: ReadOptions, errors: RowErrors) -> None:
        self.options, self.errors = options, errors
        self.edges, self.nodes, self.targets = tables["edges"], tables.get("nodes"), tables.get("graphs")
        self._number_graphs()
        self._number_nodes()
        self._take_targets()
        if self.targets is not None:
            self.edges = self._without_targets(self.edges, self.targets)
            self.nodes = self.nodes and self._without_targets(self.nodes, self.targets)

    def table(self) -> GraphTable:
        """Put the rows in order: by graph, and then as they stand in the user's tables."""
        self._check_edges()
        self._check_targets()
        self.errors.settle()  # what is wrong has been left out here, for those who skip it
        if (np.diff(self.graph_of["edges"]) < 0).any():
            self._keep(np.argsort(self.graph_of["edges"], kind="stable"))
        graph, (source, target) = self.graph_of["edges"], self.ends
        return GraphTable(
            self.node_ptr,
            pointers(np.bincount(graph, minlength=self.num_graphs)),
            source - self.node_ptr[graph],
            target - self.node_ptr[graph],
            self._graph_columns(),
            self._node_columns(),
            self.edges.columns,
            self.options.directed,
        )

    def _number_graphs(self) -> None:
        """Number the graphs as they appear."""
        parts = [part for part in (self.nodes, self.edges, self.targets) if part is not None]
        if "graph" not in self.edges.keys:
            self.graph_ids: list[Any] = [0]
            self.graph_of = {part.side: np.zeros(part.rows.size, np.int64) for part in parts}
        else:
            codes, values = _joint([part.keys["graph"] for part in parts])
            present, first = np.unique(codes[0], return_index=True)
            order = present[np.argsort(first)]
            number = np.full(len(values), -1)
            number[order] = np.arange(order.size)
            self.graph_of = {part.side: number[own] for part, own in zip(parts, codes, strict=True)}
            self.graph_ids = [values[k] for k in order]
        self.num_graphs = len(self.graph_ids)

    def _number_nodes(self) -> None:
        """Number the nodes of each graph as they appear."""
        nodes, edges = self.nodes, self.edges.keys
        codes, self.node_values = _joint(
            [edges["source"], edges["target"], *([] if nodes is None else [nodes.keys["node"]])]
        )
        width = max(len(self.node_values), 1)
        ends = [self.graph_of["edges"] * width + own for own in codes[:2]]
        mentioned = np.stack(ends, 1).ravel() if nodes is None else self.graph_of["nodes"] * width + codes[2]
        keys, first, place = np.unique(mentioned, return_index=True, return_inverse=True)
        rank = np.lexsort((first, keys // width))
        number = np.empty(rank.size, np.int64)
        number[rank] = np.arange(rank.size)
        if nodes is None:
            self.ends = list(number[place].reshape(-1, 2).T)
        else:
            again = np.flatnonzero(first[place] != np.arange(place.size))
            messages = [f"the node {nodes.key('node', row)} was there before" for row in again[:SHOWN]]
            self.errors.add("nodes", nodes.rows[again], messages.__getitem__)
            self.ends = [_numbers_of(own, keys, number) for own in ends]
        self.node_rows = first[rank]  # of the table of nodes, if there is one
        self.node_codes = (keys % width)[rank]
        self.node_ptr = pointers(np.bincount(keys // width, minlength=self.num_graphs))

    def _check_edges(self) -> None:
        """Leave out edges of unknown nodes, then those that are there twice."""
        known = np.ones(self.edges.rows.size, bool)
        for role, numbers in zip(("source", "target"), self.ends, strict=True):
            unknown = np.flatnonzero(known & (numbers < 0))
            self.errors.add("edges", self.edges.rows[unknown], partial(self._unknown_node, role, unknown))
            known &= numbers >= 0
        if not known.all():
            self._keep(np.flatnonzero(known))
        source, target = self.ends
        repeated = repeated_edges(source, target, self.edges.columns, self.options)
        if repeated is not None:
            self._note_repeated_edges(repeated)
            self._keep(np.flatnonzero(repeated.kept))

    def _unknown_node(self, role: str, rows: Ints, i: int) -> str:
        name, nodes = self.edges.names[role], self.errors.table("nodes")
        return f"column {name!r} names the node {self.edges.key(role, rows[i])}, which {nodes} does not have"

    def _keep(self, rows: Ints) -> None:
        self.edges = self.edges.take(rows)
        self.graph_of["edges"] = self.graph_of["edges"][rows]
        self.ends = [own[rows] for own in self.ends]

    def _note_repeated_edges(self, repeated: "_Repeated") -> None:
        edges, unit = self.edges, self.errors.places["edges"].unit

        def message(i: int) -> str:
            ends = [edges.key(role, repeated.rows[i]) for role in ("source", "target")]
            before = self.errors.place("edges", edges.rows[repeated.firsts[i]])
            return f"the edge between {ends[0]} and {ends[1]} was in {before} before"

        self.errors.add(
            "edges",
            edges.rows[repeated.rows],
            message,
            "Give an edge once, or in both directions with the same cells.",
            Remedy(f"To drop equal {unit}s, use {{drop_duplicates}}.", drop_duplicates=True),
            Remedy(f"If each {unit} is a separate edge, use {{multigraph}}.", multigraph=True),
            Remedy("If edges point from source to target, use {directed}.", directed=True),
        )

    def _take_targets(self) -> None:
        """Take what rows of edges tell of their graph out of the table of edges."""
        columns = dict(self.edges.columns)
        names = [name for name in self.options.targets if name in columns] if self.targets is None else []
        self.told = {name: self._told_of_graphs(name, columns.pop(name)) for name in names if self.edges.rows.size}
        self.edges = self.edges._replace(columns=columns)

    def _told_of_graphs(self, name: str, column: Column) -> Column:
        """The one value that the rows of each graph have; missing where all of its cells are."""
        cells, graph = Factorized.of(column.values().tolist()), self.graph_of["edges"]
        full = np.flatnonzero(~cells.missing)
        first = np.full(self.num_graphs, -1)
        first[graph[full[::-1]]] = full[::-1]
        wrong = full[cells.codes[full] != cells.codes[first[graph[full]]]]
        if wrong.size:
            row, number = wrong[0], np.unique(graph[wrong]).size
            values = " and ".join(repr(cells.values[cells.codes[k]]) for k in (first[graph[row]], row))
            raise DataError(
                f"{self.errors.table('edges')}: column {name!r} is to be the target, but rows of the graph "
                f"{self.graph_ids[graph[row]]!r} have {values}: {number:,} of {self.num_graphs:,} graphs "
                "contradict themselves.",
                "Give all rows of a graph the same, or a table of graphs.",
            )
        return take_or_missing(column, first)

    def _without_targets(self, table: _Table, graphs: _Table) -> _Table:
        """Leave out columns that repeat the target of their graph: patterns and kernels would read the answer."""
        both = table.columns.keys() & graphs.columns.keys() & {*self.options.targets}
        again = {name for name in both if self._repeats(graphs.columns[name], table.columns[name], table.side)}
        for name in sorted(again):
            warnings.warn(
                f"{self.errors.table(table.side)}: column {name!r} repeats the target of the graph and is left out.",
                RWKPlusWarning,
                stacklevel=2,
            )
        return table._replace(columns={name: own for name, own in table.columns.items() if name not in again})

    def _repeats(self, targets: Column, column: Column, side: Side) -> bool:
        """Whether each row has the target of its graph, or nothing."""
        target, own = _joint([Factorized.of(cells.values().tolist()) for cells in (targets, column)])[0]
        target_of = np.full(self.num_graphs + 1, -1)
        target_of[self.graph_of["graphs"]] = target
        return bool(((own < 0) | (own == target_of[self.graph_of[side]])).all())

    def _check_targets(self) -> None:
        """Match the rows about graphs with the graphs."""
        if self.targets is None:
            return
        targets, graph = self.targets, self.graph_of["graphs"]
        row_of = np.full(self.num_graphs + 1, -1)
        row_of[graph[::-1]] = np.arange(graph.size)[::-1]
        row_of[-1] = -1
        unknown = np.flatnonzero(graph < 0)
        again = np.flatnonzero((graph >= 0) & (row_of[graph] != np.arange(graph.size)))
        for rows, what in ((unknown, "has neither nodes nor edges"), (again, "was there before")):
            messages = [f"the graph {targets.key('graph', row)} {what}" for row in rows[:SHOWN]]
            self.errors.add("graphs", targets.rows[rows], messages.__getitem__)
        self.row_of_graph = row_of[:-1]
        lacking = np.flatnonzero(self.row_of_graph < 0)
        if lacking.size:
            table, edges = self.errors.table("graphs"), self.errors.table("edges")
            names = ", ".join(repr(self.graph_ids[k]) for k in lacking[:5]) + (", ..." if lacking.size > 5 else "")
            many = "the graph" if lacking.size == 1 else f"{lacking.size:,} graphs,"
            kept = "it is kept" if lacking.size == 1 else "they are kept"
            self.errors.lacks(
                f"{table} has no {self.errors.places['graphs'].unit} for {many} {names} of {edges}",
                f"{kept}, and what would stand there is missing",
            )

    def _graph_columns(self) -> dict[str, Column]:
        """What is known of the graphs, with their names."""
        columns: dict[str, Column] = self.told
        if self.targets is not None:
            columns = {
                name: take_or_missing(column, self.row_of_graph) for name, column in self.targets.columns.items()
            }
        numbered = all(type(value) is int for value in self.graph_ids) and self.graph_ids == [*range(self.num_graphs)]
        if "graph" not in self.edges.names or numbered:
            return columns
        if "name" in columns:
            return {**columns, self.edges.names["graph"]: Text.of(self.graph_ids)}
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
                f"{self.errors.table('nodes')}: columns {self.options.node!r} and 'id' both hold ids of nodes.",
                Remedy("Use the other: {node}.", node="id"),
                Remedy("Or leave it out: {ignore}.", ignore=("nodes.id",)),
            )
        return {"id": Text(Factorized(self.node_codes, self.node_values).cells()), **columns}

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


def _joint(parts: Sequence[Factorized]) -> tuple[list[Ints], list[Any]]:
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


# Edges that a table has several times


class _Repeated(NamedTuple):
    """Edges that are there several times."""

    kept: NDArray[np.bool_]  # edges that stay
    rows: Ints  # edges that contradict others
    firsts: Ints  # those others


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
    _, group, times = np.unique(one * (int(other.max(initial=0)) + 1) + other, return_inverse=True, return_counts=True)
    several = np.flatnonzero(times[group] > 1)
    if not several.size:
        return None
    group, kept = group[several], np.ones(group.size, bool)
    if options.drop_duplicates:
        cells = [column.take(several) for column in columns.values()]
        place = _place_in_group(group_equal_rows(cells, group))[0]
        kept[several[place > 0]] = False
        several, group = several[place == 0], group[place == 0]
    if own:
        return _Repeated(kept, several[:0], several[:0])
    place, first = _place_in_group(group)
    same = group_equal_rows([column.take(several) for column in columns.values()], np.zeros_like(group))
    back = source[several] != source[several][first]
    reverse = (place == 1) & back & (same == same[first])
    kept[several[place > 0]] = False
    wrong = np.flatnonzero((place > 0) & ~reverse)
    return _Repeated(kept, several[wrong], several[first[wrong]])


def _place_in_group(group: Ints) -> tuple[Ints, Ints]:
    """The how manieth of its group each row is, and which row is the first of it."""
    _, first, number, sizes = np.unique(group, return_index=True, return_inverse=True, return_counts=True)
    place = np.empty(group.size, np.int64)
    place[np.argsort(number, kind="stable")] = np.arange(group.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return place, first[number]

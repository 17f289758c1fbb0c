"""Graphs in CSV files: tables of edges, nodes and targets, or molecules written as SMILES."""

from collections.abc import Sequence
from pathlib import Path

import networkx as nx
from torch_geometric.data import Data

from rwkplus.errors import DataError
from rwkplus.graphs.csv_table import Table
from rwkplus.graphs.from_networkx import from_networkx
from rwkplus.graphs.graph_names import set_names, set_node_names
from rwkplus.graphs.smiles import SMILESError, from_smiles
from rwkplus.graphs.targets import set_targets, typed
from rwkplus.types import check_ignore

EDGES_FILE, NODES_FILE, GRAPHS_FILE = "edges.csv", "nodes.csv", "graphs.csv"
EDGE_WORDS = "directed=True and multigraph=True say what lines of a table of edges mean, leave them out"
NAMES = ("graph", "name", "id")
"""Columns that name molecules; one of them is read."""


def read_csv(
    path: str | Path,
    *,
    nodes: str | Path | None = None,
    graphs: str | Path | None = None,
    directed: bool = False,
    multigraph: bool = False,
    ignore: Sequence[str] = (),
) -> list[Data]:
    r"""Read graphs from tables, or say which line of which file is wrong.

    ============== ======================= ===========================================================
    file           needs                   may have
    ============== ======================= ===========================================================
    ``edges.csv``  ``source``, ``target``  ``graph``, ``label``, ``weight``, ``attr``, ``attr_...``
    ``nodes.csv``  ``node``                ``graph``, ``label``, ``x``, ``x_...``
    ``graphs.csv`` ``graph``, ``y``
    any other      ``smiles``              ``y``; ``graph``, ``name`` or ``id``
    ============== ======================= ===========================================================

    ``graph`` tells which graph a line belongs to; without it, all lines are one graph. ``label`` is a color, ``y`` the
    target; ``attr``, ``x`` and columns that begin so are measurements. Any other column is refused unless ``ignore``
    names it.

    Args:
        path: A file of edges or of SMILES, or a folder with ``edges.csv`` and, where needed, ``nodes.csv`` and
            ``graphs.csv``.
        nodes: File with the colors of nodes, and with nodes that have no edge; only beside a file of edges.
        graphs: File with the target of every graph; only beside a file of edges.
        directed: Whether every line is an edge of its own that leads from source to target only.
        multigraph: Whether every line is an edge of its own, so that two nodes may have several. Without both, an edge
            may be given once or in both directions.
        ignore: Columns to leave out on purpose.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder) / "edges.csv"
        ...     _ = file.write_text("graph,source,target,label\nmonday,ann,bob,card\nmonday,bob,eve,cash\n")
        ...     payments = read_csv(file)
        >>> payments[0].edge_index.tolist(), payments[0].edge_label_names
        ([[0, 1, 1, 2], [1, 2, 0, 1]], ('card', 'cash'))
    """
    check_ignore(ignore)
    path = Path(path)
    if path.is_dir():
        given = nodes or _existing(path / NODES_FILE), graphs or _existing(path / GRAPHS_FILE)
        kind = {"directed": directed, "multigraph": multigraph}
        return read_csv(path / EDGES_FILE, nodes=given[0], graphs=given[1], **kind, ignore=ignore)
    table = Table.read(path, ignore)
    if "smiles" in table.columns:
        if nodes is not None or graphs is not None:
            raise DataError(f"{path} has a column of SMILES: files of nodes or graphs belong to files of edges.")
        if directed or multigraph:
            raise DataError(f"{path} has a column of SMILES: {EDGE_WORDS}.")
        check_ignore(ignore, table.header)
        return _molecules(table)
    further = [None if file is None else Table.read(file, ignore) for file in (nodes, graphs)]
    check_ignore(ignore, [name for part in (table, *further) if part is not None for name in part.header])
    kind = nx.MultiDiGraph if directed else nx.MultiGraph if multigraph else nx.Graph
    return _Database(table, further[0], kind).with_targets(further[1])


def _existing(path: Path) -> Path | None:
    return path if path.exists() else None


class _Database:
    """The graphs of a table of edges, by name."""

    def __init__(self, edges: Table, nodes: Table | None, kind: type[nx.Graph]) -> None:
        edges.check(("source", "target"), ("graph", "label", "weight"), "attr")
        self.edges, self.kind = edges, kind
        self.graphs: dict[str, nx.Graph] = {}
        if nodes is not None:
            nodes.check(("node",), ("graph", "label"), "x")
            if ("graph" in nodes.columns) != ("graph" in edges.columns):
                raise DataError(
                    f"only one of {nodes.path} and {edges.path} has a column 'graph': both need it, or none."
                )
            self._add_nodes(nodes)
        self._add_edges(edges, nodes)

    def _graph(self, row: dict[str, str]) -> nx.Graph:
        return self.graphs.setdefault(row.get("graph", ""), self.kind())

    def _add_nodes(self, nodes: Table) -> None:
        for number, row in nodes.rows:
            graph = self._graph(row)
            if row["node"] in graph:
                raise DataError(f"{nodes.path}, line {number}: the node {row['node']!r} was there before.")
            graph.add_node(row["node"], **nodes.fields(number, row, "x"))

    def _add_edges(self, edges: Table, nodes: Table | None) -> None:
        seen: dict[tuple[str | None, str, str], int] = {}
        for number, row in edges.rows:
            graph, (u, v) = self._graph(row), (row["source"], row["target"])
            fields = edges.fields(number, row, "attr")
            for end in ("source", "target"):
                if nodes is not None and row[end] not in graph:
                    raise DataError(
                        f"{edges.path}, line {number}: column {end!r} names the node {row[end]!r}, which {nodes.path} "
                        "does not have."
                    )
            forth, back = (row.get("graph"), u, v), (row.get("graph"), v, u)
            if self.kind is nx.Graph and (forth in seen or (back in seen and graph.edges[u, v] != fields)):
                raise DataError(
                    f"{edges.path}, line {number}: the edge between {u!r} and {v!r} was in line "
                    f"{seen.get(forth, seen.get(back))} before. Give it once, or in both directions with the same "
                    "cells. Where each line is an edge of its own, multigraph=True says so, or directed=True if it "
                    "leads from source to target only."
                )
            seen[forth] = number
            graph.add_edge(u, v, **fields)

    def with_targets(self, targets: Table | None) -> list[Data]:
        """Graphs as the library knows them, with targets where there is a table of them."""
        data = from_networkx(list(self.graphs.values()))
        set_names(data, list(self.graphs))
        set_node_names(data, self.graphs.values())
        if targets is None:
            return data
        targets.check(("graph", "y"))
        if "graph" not in self.edges.columns:
            raise DataError(f"{self.edges.path} has no column 'graph', which {targets.path} could refer to.")
        found: dict[str, str] = {}
        for number, row in targets.rows:
            if row["graph"] not in self.graphs or row["graph"] in found:
                what = "was there before" if row["graph"] in found else "has neither nodes nor edges"
                raise DataError(f"{targets.path}, line {number}: the graph {row['graph']!r} {what}.")
            found[row["graph"]] = row["y"]
        for name in self.graphs:
            if name not in found:
                raise DataError(f"{targets.path} has no line for the graph {name!r} of {self.edges.path}.")
        _set_targets(data, targets, [found[name] for name in self.graphs])
        return data


def _molecules(table: Table) -> list[Data]:
    names = [column for column in NAMES if column in table.columns][:1]
    table.check(("smiles",), ("y", *(names or NAMES)))
    try:
        graphs = from_smiles(row["smiles"] for _, row in table.rows)
    except SMILESError as error:
        raise DataError(f"{table.path}, line {table.rows[error.number][0]}: {error}") from error
    if "y" in table.columns:
        _set_targets(graphs, table, [row["y"] for _, row in table.rows])
    if names:
        set_names(graphs, [row.get(names[0], "") for _, row in table.rows])
    return graphs


def _set_targets(graphs: Sequence[Data], table: Table, words: Sequence[str]) -> None:
    words = [table.plain(word) for word in words]
    set_targets(graphs, typed(words) or words)

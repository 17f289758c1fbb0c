"""Graphs of igraph; every attribute becomes a column or is refused by name; and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import GraphError, MissingExtraError
from rwkplus.io.options import ReadOptions
from rwkplus.table import Column, GraphTable, Text
from rwkplus.table.columns import is_missing
from rwkplus.table.graph_table import pointers
from rwkplus.table.infer import column_of, target_column
from rwkplus.types import check_ignore

TAKES = ("ignore", "labels", "attributes", "weight", "y")
NAME = "name"
"""What igraph calls the id of a vertex."""


def from_igraph(graphs: Sequence[Any], options: ReadOptions = ReadOptions()) -> GraphTable:  # noqa: B008
    """Read graphs of igraph; the vertex attribute ``name`` is the id, graph attributes are ``name`` and the target.

    Example:
        >>> import igraph
        >>> from_igraph([igraph.Graph([(0, 1)], vertex_attrs={"label": ["C", "O"]})])
        GraphTable: 1 undirected graph, 2 nodes, 1 edge
          nodes  label: 2 labels (C, O)
    """
    options.check("graphs of igraph", TAKES)
    directed = _direction(graphs)
    ends = [np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2) for graph in graphs]
    fields = {name for graph in graphs for name in (*graph.vs.attributes(), *graph.es.attributes())}
    check_ignore(options.ignore, fields)
    table = GraphTable(
        pointers([graph.vcount() for graph in graphs]),
        pointers([graph.ecount() for graph in graphs]),
        *_ends(ends, directed=directed),
        _graph_columns(graphs, options),
        _columns([(graph.vs, graph.vcount()) for graph in graphs], "nodes", options),
        _columns([(graph.es, graph.ecount()) for graph in graphs], "edges", options),
        directed,
    )
    return options.applied(table)


def to_igraph(table: GraphTable) -> list[Any]:
    """Make graphs of igraph with all columns as attributes; ids of nodes are the attribute ``name``."""
    try:
        import igraph  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtraError("making graphs of igraph needs it: pip install igraph.") from error
    nodes = {NAME if name == "id" else name: _values(column) for name, column in table.nodes.items()}
    edges = {name: _values(column) for name, column in table.edges.items()}
    graphs = []
    for i in range(len(table)):
        rows = slice(int(table.node_ptr[i]), int(table.node_ptr[i + 1]))
        span = slice(int(table.edge_ptr[i]), int(table.edge_ptr[i + 1]))
        graphs.append(
            igraph.Graph(
                n=rows.stop - rows.start,
                edges=np.stack([table.source[span], table.target[span]], 1).tolist(),
                directed=table.directed,
                graph_attrs={name: _values(column.take(slice(i, i + 1)))[0] for name, column in table.graphs.items()},
                vertex_attrs={name: values[rows] for name, values in nodes.items()},
                edge_attrs={name: values[span] for name, values in edges.items()},
            )
        )
    return graphs


def _direction(graphs: Sequence[Any]) -> bool:
    for i, graph in enumerate(graphs):
        if not hasattr(graph, "vs") or not hasattr(graph, "get_edgelist"):
            raise GraphError(f"graph {i} is no graph of igraph, unlike graph 0: give all in one form.")
        if graph.is_directed() != graphs[0].is_directed():
            ways = "directed" if graph.is_directed() else "undirected"
            raise GraphError(
                f"graph {i} is {ways} and graph 0 is not: one answer holds for all graphs of a table. Convert with "
                ".to_directed(), which keeps every walk, or with .to_undirected()."
            )
    return bool(graphs[0].is_directed())


def _ends(parts: Sequence[NDArray[np.int64]], *, directed: bool) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Both ends of all edges; the lower number first where direction does not matter, as igraph may turn them."""
    ends = np.concatenate(parts).astype(np.int32)
    ends = ends if directed else np.sort(ends, 1)
    return ends[:, 0], ends[:, 1]


def _columns(parts: Sequence[tuple[Any, int]], side: str, options: ReadOptions) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    for name in dict.fromkeys(name for own, _ in parts for name in own.attributes()):
        if name in options.ignore or f"{side}.{name}" in options.ignore:
            continue
        given = [own[name] if name in own.attributes() else [None] * size for own, size in parts]
        values = [value for own in given for value in own]
        if side == "nodes" and name == NAME:
            columns["id"] = Text.of(None if is_missing(value) else value for value in values)
        else:
            columns[name] = column_of(name, values, options.kind(name, side), of=side)
    return columns


def _graph_columns(graphs: Sequence[Any], options: ReadOptions) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    names = [graph[NAME] if NAME in graph.attributes() else None for graph in graphs]
    if all(not is_missing(name) and name != "" for name in names):
        columns["name"] = Text.of(str(name) for name in names)
    for target in options.targets:
        values = [graph[target] if target in graph.attributes() else None for graph in graphs]
        if any(not is_missing(value) for value in values):
            columns[target] = target_column(target, values)
    return columns


def _values(column: Column) -> list[Any]:
    """Values of a column as igraph keeps them: None where one is missing."""
    pairs = zip(column.values().tolist(), column.missing.tolist(), strict=True)
    return [None if missing else value for value, missing in pairs]

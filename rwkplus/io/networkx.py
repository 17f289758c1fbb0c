"""Graphs of networkx, all four classes; every attribute becomes a column or is refused by name."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import networkx as nx
import numpy as np

from rwkplus.errors import GraphError
from rwkplus.io.options import ReadOptions
from rwkplus.table import GraphTable
from rwkplus.table.columns import Column, Numbers, Text, is_missing
from rwkplus.table.graph_table import pointers
from rwkplus.table.infer import column_of, target_column
from rwkplus.types import check_ignore

TAKES = ("ignore", "labels", "attributes", "weight", "y")


def from_networkx(graphs: Sequence[nx.Graph], options: ReadOptions = ReadOptions()) -> GraphTable:  # noqa: B008
    """Read graphs in one pass; an undirected edge stands once."""
    options.check("graphs of networkx", TAKES)
    directed = _direction(graphs)
    node_fields: list[dict[Any, Any]] = []
    edge_fields: list[dict[Any, Any]] = []
    ids: list[Any] = []
    source: list[int] = []
    target: list[int] = []
    numbered = True
    for graph in graphs:
        names = list(graph)
        place = {v: k for k, v in enumerate(names)}
        numbered = numbered and names == list(range(len(names)))
        ids += names
        node_fields += graph._node.values()
        for u, v, fields in graph.edges(data=True):
            source.append(place[u])
            target.append(place[v])
            edge_fields.append(fields)
    sizes = [len(graph) for graph in graphs], [graph.number_of_edges() for graph in graphs]
    _check_keys(node_fields, "node", graphs, sizes[0])
    _check_keys(edge_fields, "edge", graphs, sizes[1])
    check_ignore(options.ignore, _names_to_ignore(node_fields, edge_fields))
    nodes = columns_of(node_fields, "nodes", options)
    _check_ids(nodes)
    if not numbered:
        nodes = {"id": Text.of(ids), **nodes}
    table = GraphTable(
        pointers(sizes[0]),
        pointers(sizes[1]),
        np.array(source, dtype=np.int32),
        np.array(target, dtype=np.int32),
        _graph_columns(graphs, options),
        nodes,
        columns_of(edge_fields, "edges", options),
        directed,
    )
    return options.applied(table)


def columns_of(fields: Sequence[dict[Any, Any]], side: str, options: ReadOptions) -> dict[str, Column]:
    """One column for every attribute that a node or edge has; missing where others have it."""
    names = dict.fromkeys(chain.from_iterable(fields))
    left_out = {name for name in names if name in options.ignore or f"{side}.{name}" in options.ignore}
    return {
        name: column_of(name, [own.get(name) for own in fields], options.kind(name, side), of=side)
        for name in names
        if name not in left_out
    }


def _names_to_ignore(nodes: Sequence[dict[str, Any]], edges: Sequence[dict[str, Any]]) -> set[str]:
    names = {"nodes": set(chain.from_iterable(nodes)), "edges": set(chain.from_iterable(edges))}
    return {name for side, own in names.items() for each in own for name in (each, f"{side}.{each}")}


def _check_ids(nodes: dict[str, Column]) -> None:
    if "id" in nodes:
        raise GraphError(
            "nodes have an attribute 'id', which is what tables call the nodes themselves. Rename it, relabel the "
            "nodes by it with nx.relabel_nodes, or leave it out: ignore=('nodes.id',)."
        )


def _direction(graphs: Sequence[nx.Graph]) -> bool:
    for i, graph in enumerate(graphs):
        if not isinstance(graph, nx.Graph):
            raise GraphError(f"graph {i} is a {type(graph).__name__}: expected networkx graphs, all of one kind.")
        if graph.is_directed() != graphs[0].is_directed():
            ways = "directed" if graph.is_directed() else "undirected"
            raise GraphError(
                f"graph {i} is {ways} and graph 0 is not: one answer holds for all graphs of a table. Convert with "
                ".to_directed(), which keeps every walk, or with .to_undirected()."
            )
    return bool(graphs) and bool(graphs[0].is_directed())


def _check_keys(fields: Sequence[dict[Any, Any]], kind: str, graphs: Sequence[nx.Graph], sizes: Sequence[int]) -> None:
    for name in dict.fromkeys(chain.from_iterable(fields)):
        if not isinstance(name, str):
            row = next(k for k, own in enumerate(fields) if name in own)
            i = int(np.searchsorted(np.cumsum(sizes), row, side="right"))
            raise GraphError(
                f"graph {i}: a {kind} attribute is called {name!r}, which is no word: columns have names. Rename it, "
                "or delete it."
            )


def _graph_columns(graphs: Sequence[nx.Graph], options: ReadOptions) -> dict[str, Column]:
    """Names of graphs, if all have one, and their targets."""
    columns: dict[str, Column] = {}
    names = [graph.graph.get("name") for graph in graphs]
    for i, name in enumerate(names):
        if not (name is None or isinstance(name, str | int | float | tuple | np.number)):
            raise GraphError(f"graph {i}: its name is a {type(name).__name__}. Name graphs by a word or a number.")
    if all(not is_missing(name) and name != "" for name in names):
        columns["name"] = Text.of(str(name) for name in names)
    for target in options.targets:
        values = [graph.graph.get(target) for graph in graphs]
        if any(not is_missing(value) for value in values):
            columns[target] = target_column(target, values)
    return columns


def to_networkx(table: GraphTable) -> list[nx.Graph]:
    """Graphs with all columns as attributes; nodes are called by their ids."""
    kind = {(False, False): nx.Graph, (True, False): nx.DiGraph, (False, True): nx.MultiGraph}
    kinds = kind | {(True, True): nx.MultiDiGraph}
    make = kinds[table.directed, _parallel(table)]
    nodes = {name: _plain(column) for name, column in table.nodes.items() if name != "id"}
    edges = {name: _plain(column) for name, column in table.edges.items()}
    graphs = []
    for i in range(len(table)):
        graph = make(**{name: _plain(column.take(slice(i, i + 1)))[0] for name, column in table.graphs.items()})
        ids = _hashable(table.node_ids(i))
        rows = range(int(table.node_ptr[i]), int(table.node_ptr[i + 1]))
        graph.add_nodes_from((v, _fields(nodes, row)) for v, row in zip(ids, rows, strict=True))
        span = slice(int(table.edge_ptr[i]), int(table.edge_ptr[i + 1]))
        ends = zip(table.source[span].tolist(), table.target[span].tolist(), strict=True)
        for row, (u, v) in enumerate(ends, start=span.start):
            graph.add_edges_from([(ids[u], ids[v], _fields(edges, row))])
        graphs.append(graph)
    return graphs


def _hashable(ids: list[Any]) -> list[Any]:
    """What nodes are called; their numbers where this does not tell them apart."""
    try:
        distinct = len(set(ids)) == len(ids) and None not in ids
    except TypeError:
        distinct = False
    return ids if distinct else list(range(len(ids)))


def _fields(columns: dict[str, list[Any]], row: int) -> dict[str, Any]:
    return {name: values[row] for name, values in columns.items() if not is_missing(values[row])}


def _plain(column: Column) -> list[Any]:
    values: list[Any] = column.values().tolist()
    if isinstance(column, Numbers) and column.numbers.ndim > 1:
        nothing = np.asarray(np.isnan(column.matrix()).all(1))
        return [None if missing else row for row, missing in zip(values, nothing, strict=True)]
    return values


def _parallel(table: GraphTable) -> bool:
    """Whether two nodes of a graph are joined by several edges."""
    low, high = np.minimum(table.source, table.target), np.maximum(table.source, table.target)
    ends = (table.source, table.target) if table.directed else (low, high)
    key = np.stack([table.edge_graph, *ends], 1)
    return len(np.unique(key, axis=0)) < len(key)

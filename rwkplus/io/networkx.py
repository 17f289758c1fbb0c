"""Graphs of networkx, all four classes and both ways, and of igraph; an attribute is a column or refused by name."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import GraphError, Remedy
from rwkplus.io.sources import ReadOptions, graph_columns
from rwkplus.table import Column, GraphTable, Text
from rwkplus.table.arrays import parallel_edges
from rwkplus.table.columns import column_of, is_missing, plain_values, pointers
from rwkplus.table.graph_table import SIDES

ACCEPTED = ("ignore", "labels", "attributes", "weight", "y")
CLASSES: dict[tuple[bool, bool], type[nx.Graph]] = {
    (False, False): nx.Graph, (True, False): nx.DiGraph, (False, True): nx.MultiGraph, (True, True): nx.MultiDiGraph,
}  # fmt: skip
"""By whether edges are directed, and whether there are parallel ones."""


def from_networkx(graphs: Sequence[nx.Graph], options: ReadOptions = ReadOptions()) -> GraphTable:
    """Read graphs in one pass; an undirected edge stands once.

    Example:
        >>> from_networkx([nx.Graph([("ann", "bob", {"how": "card"})])])
        GraphTable: 1 undirected graph, 2 nodes, 1 edge
          nodes  id: ids
          edges  how: 1 label (card)
    """
    options.check("graphs of networkx", ACCEPTED)
    for i, graph in enumerate(graphs):
        if not isinstance(graph, nx.Graph):
            raise GraphError(f"graph {i} is a {type(graph).__name__}: expected networkx graphs, all of one kind.")
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
        for u, v, own in graph.edges(data=True):
            source.append(place[u])
            target.append(place[v])
            edge_fields.append(own)
    node_ptr = pointers([len(graph) for graph in graphs])
    edge_ptr = pointers([graph.number_of_edges() for graph in graphs])
    names_of = {"nodes": _names(node_fields, "node", node_ptr), "edges": _names(edge_fields, "edge", edge_ptr)}
    options.check_columns(names_of, sure=bool(node_fields and edge_fields))
    fields = {"nodes": node_fields, "edges": edge_fields}
    nodes, edges = (
        _columns(((name, [row.get(name) for row in own]) for name in names_of[side]), side, options)
        for side, own in fields.items()
    )
    table = GraphTable(
        node_ptr,
        edge_ptr,
        np.array(source, dtype=np.int32),
        np.array(target, dtype=np.int32),
        graph_columns(
            [graph.graph.get("name") for graph in graphs],
            {name: [graph.graph.get(name) for graph in graphs] for name in options.targets},
        ),
        _with_ids(None if numbered else ids, nodes, "Rename it, or relabel the nodes by it with nx.relabel_nodes."),
        edges,
        directed,
    )
    return options.mark_columns(table)


def _names(fields: Sequence[dict[Any, Any]], kind: str, ptr: Any) -> list[str]:  # noqa: ANN401
    """What attributes of nodes or edges are called."""
    names = list(dict.fromkeys(chain.from_iterable(fields)))
    for name in names:
        if not isinstance(name, str):
            row = next(k for k, own in enumerate(fields) if name in own)
            i = int(np.searchsorted(ptr, row, side="right")) - 1
            raise GraphError(
                f"graph {i}: an attribute of {kind}s is called {name!r}, but column names must be text.",
                "Rename it, or delete it.",
            )
    return names


def from_igraph(graphs: Sequence[Any], options: ReadOptions = ReadOptions()) -> GraphTable:
    """Read graphs of igraph; the vertex attribute ``name`` is the id, graph attributes are ``name`` and the target.

    Files in GML give vertices an ``id``, which is used where there are no names.

    Example:
        >>> import igraph
        >>> from_igraph([igraph.Graph([(0, 1)], vertex_attrs={"label": ["C", "O"]})])
        GraphTable: 1 undirected graph, 2 nodes, 1 edge
          nodes  label: 2 labels (C, O)
    """
    options.check("graphs of igraph", ACCEPTED)
    for i, graph in enumerate(graphs):
        if not hasattr(graph, "vs") or not hasattr(graph, "get_edgelist"):
            raise GraphError(f"graph {i} is not an igraph graph, but graph 0 is: give all in the same form.")
    directed = _direction(graphs)
    nodes = _values([(graph.vs, graph.vcount()) for graph in graphs])
    edges = _values([(graph.es, graph.ecount()) for graph in graphs])
    options.check_columns({"nodes": nodes, "edges": edges}, sure=any(graph.ecount() for graph in graphs))
    ids = None
    for name in ("name", "id"):
        if name in nodes and ids is None and not options.ignores(name, "nodes"):
            ids = [None if is_missing(value) else value for value in nodes.pop(name)]
    table = GraphTable(
        pointers([graph.vcount() for graph in graphs]),
        pointers([graph.ecount() for graph in graphs]),
        *_ends(graphs, directed=directed),
        graph_columns(
            [_attribute(graph, "name") for graph in graphs],
            {target: [_attribute(graph, target) for graph in graphs] for target in options.targets},
        ),
        _with_ids(ids, _columns(nodes.items(), "nodes", options), "Rename it, or the attribute 'name'."),
        _columns(edges.items(), "edges", options),
        directed,
    )
    return options.mark_columns(table)


def _attribute(graph: Any, name: str) -> Any:  # noqa: ANN401
    return graph[name] if name in graph.attributes() else None


def _values(parts: Sequence[tuple[Any, int]]) -> dict[str, list[Any]]:
    """Values of all attributes of vertices or edges, None where a graph does not have one."""
    return {
        name: [v for own, size in parts for v in (own[name] if name in own.attributes() else [None] * size)]
        for name in dict.fromkeys(name for own, _ in parts for name in own.attributes())
    }


def _ends(graphs: Sequence[Any], *, directed: bool) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Both ends of all edges; the lower number first where direction does not matter, as igraph may turn them."""
    ends = np.concatenate([np.array(graph.get_edgelist(), dtype=np.int32).reshape(-1, 2) for graph in graphs])
    ends = ends if directed else np.sort(ends, 1)
    return ends[:, 0], ends[:, 1]


# What both share


def _direction(graphs: Sequence[Any]) -> bool:
    """Whether graphs are directed, which holds for all of them or is an error."""
    ways = [graph.is_directed() for graph in graphs]
    if len(set(ways)) > 1:
        i = ways.index(not ways[0])
        raise GraphError(
            f"graph {i} is {'directed' if ways[i] else 'undirected'} and graph 0 is not: all graphs of a table "
            "must be of one kind.",
            "Convert with .to_directed(), which keeps every walk, or with .to_undirected().",
        )
    return bool(ways[0])


def _columns(values: Iterable[tuple[str, Sequence[Any]]], side: str, options: ReadOptions) -> dict[str, Column]:
    """Columns of nodes or edges from their attributes, one value per row, None where it is missing."""
    return {
        name: column_of(name, own, options.kind(name, side), of=side)
        for name, own in values
        if not options.ignores(name, side)
    }


def _with_ids(ids: Sequence[Any] | None, nodes: dict[str, Column], remedy: str) -> dict[str, Column]:
    """Columns of nodes, with what nodes are called unless that is None."""
    if "id" in nodes:
        raise GraphError(
            "nodes have an attribute 'id', which is what tables call the nodes themselves.",
            remedy,
            Remedy("Or leave it out: {ignore}.", ignore=("nodes.id",)),
        )
    return nodes if ids is None else {"id": Text.of(ids), **nodes}


# And back


class PlainGraph(NamedTuple):
    """One graph as plain values, without cells that are missing."""

    fields: dict[str, Any]
    ids: list[Any]
    nodes: list[dict[str, Any]]
    edges: Iterator[tuple[int, int, dict[str, Any]]]  # both ends by number


def plain_graphs(table: GraphTable) -> Iterator[PlainGraph]:
    """What other forms of graphs are made of.

    >>> graph = next(plain_graphs(GraphTable.of(["CO"])))
    >>> graph.nodes, list(graph.edges)
    ([{'label': 'C'}, {'label': 'O'}], [(0, 1, {'label': '-'})])
    """
    graphs, nodes, edges = (_row_fields(table, side) for side in SIDES)
    for i, own in enumerate(graphs):
        rows = slice(int(table.node_ptr[i]), int(table.node_ptr[i + 1]))
        span = slice(int(table.edge_ptr[i]), int(table.edge_ptr[i + 1]))
        ends = zip(table.source[span].tolist(), table.target[span].tolist(), edges[span], strict=True)
        yield PlainGraph(own, table.node_ids(i), nodes[rows], ends)


def _row_fields(table: GraphTable, side: str) -> list[dict[str, Any]]:
    """Graphs, nodes or edges as dictionaries of their columns, without cells that are missing and ids of nodes."""
    size = {"graphs": len(table), "nodes": table.num_nodes, "edges": table.num_edges}[side]
    rows: list[dict[str, Any]] = [{} for _ in range(size)]
    for name, column in getattr(table, side).items():
        if side != "nodes" or name != "id":
            for row, value in zip(rows, plain_values(column), strict=True):
                if value is not None:
                    row[name] = value
    return rows


def to_networkx(table: GraphTable) -> list[nx.Graph]:
    """Graphs with all columns as attributes; nodes are called by their ids.

    Example:
        >>> table = GraphTable.of([nx.Graph([("ann", "bob", {"how": "card"})])])
        >>> list(to_networkx(table)[0].edges(data=True))
        [('ann', 'bob', {'how': 'card'})]
    """
    make = CLASSES[table.directed, bool(parallel_edges(table).any())]
    graphs = []
    for own in plain_graphs(table):
        graph, ids = make(**own.fields), _hashable(own.ids)
        graph.add_nodes_from(zip(ids, own.nodes, strict=True))
        graph.add_edges_from((ids[u], ids[v], fields) for u, v, fields in own.edges)
        graphs.append(graph)
    return graphs


def _hashable(ids: list[Any]) -> list[Any]:
    """What nodes are called; their numbers where this does not tell them apart."""
    try:
        distinct = len(set(ids)) == len(ids) and None not in ids
    except TypeError:
        distinct = False
    return ids if distinct else list(range(len(ids)))

"""Graphs of networkx, all four classes; every attribute becomes a column or is refused by name; and back."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import networkx as nx
import numpy as np

from rwkplus.errors import GraphError
from rwkplus.io.sources import ReadOptions, columns_of, common_direction, graph_columns, with_ids
from rwkplus.table import GraphTable
from rwkplus.table.graph_table import parallel_edges, plain_graphs, pointers

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
    directed = common_direction([graph.is_directed() for graph in graphs])
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
        columns_of(((name, [own.get(name) for own in fields[side]]) for name in names_of[side]), side, options)
        for side in fields
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
        with_ids(None if numbered else ids, nodes, "Rename it, or relabel the nodes by it with nx.relabel_nodes."),
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
                f"graph {i}: a {kind} attribute is called {name!r}, which is no word: columns have names.",
                "Rename it, or delete it.",
            )
    return names


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

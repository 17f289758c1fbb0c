"""Graphs as people look at them: nodes by their ids, with labels; parallel edges as one."""

from collections import Counter

import networkx as nx

from rwkplus.table import GraphTable


def graphs_to_draw(table: GraphTable) -> list[nx.Graph]:
    """Graphs with node and edge attribute ``label`` and node attribute ``name``.

    They are directed where an edge has no reverse. Several edges between the same nodes are one, with all their labels.

    Args:
        table: Graphs with columns ``label``, as :meth:`rwkplus.table.Reader.labelled` makes them.
    """
    nodes, edges = table.nodes.get("label"), table.edges.get("label")
    node_labels = [""] * table.num_nodes if nodes is None else [name or "" for name in nodes.values().tolist()]
    edge_labels = [""] * table.num_edges if edges is None else [name or "" for name in edges.values().tolist()]
    return [_drawn(table, i, node_labels, edge_labels) for i in range(len(table))]


def _drawn(table: GraphTable, i: int, node_labels: list[str], edge_labels: list[str]) -> nx.Graph:
    ids = table.node_ids(i)
    graph = nx.DiGraph() if table.directed else nx.Graph()
    start = int(table.node_ptr[i])
    graph.add_nodes_from((v, {"label": node_labels[start + k], "name": str(v)}) for k, v in enumerate(ids))
    labels: dict[tuple[object, object], Counter[str]] = {}
    for row in range(int(table.edge_ptr[i]), int(table.edge_ptr[i + 1])):
        u, v = ids[table.source[row]], ids[table.target[row]]
        pair = (v, u) if not table.directed and (v, u) in labels else (u, v)
        labels.setdefault(pair, Counter())[edge_labels[row]] += 1
    graph.add_edges_from((u, v, {"label": _in_words(counted)}) for (u, v), counted in labels.items())
    return graph.to_undirected() if table.directed and _is_symmetric(graph) else graph


def _in_words(labels: Counter[str]) -> str | None:
    """The label of an edge; of several edges all labels with their numbers, as in ``card (2), cash``."""
    if labels.keys() == {""}:
        return None if labels.total() == 1 else f"{labels.total()} edges"
    return ", ".join(label if number == 1 else f"{label} ({number})" for label, number in sorted(labels.items()))


def _is_symmetric(graph: nx.DiGraph) -> bool:
    return all(graph.has_edge(v, u) and graph.edges[v, u] == fields for u, v, fields in graph.edges(data=True))

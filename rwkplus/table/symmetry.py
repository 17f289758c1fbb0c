"""Undirected edges that were listed in both directions, found and listed once."""

from dataclasses import replace

import numpy as np

from rwkplus.table.columns import Categories
from rwkplus.table.graph_table import GraphTable


def once(table: GraphTable) -> GraphTable:
    """Leave one of the two directions of every edge where all edges have their reverse."""
    key = np.zeros(table.num_edges, np.int64)
    for column in table.edges.values():
        codes = (
            column.codes
            if isinstance(column, Categories)
            else np.unique(column.values(), axis=0, return_inverse=True)[1]
        )
        codes = codes.astype(np.int64).ravel()
        key = np.unique(key * (int(codes.max(initial=0)) + 2) + codes + 1, return_inverse=True)[1]
    forth, back = table.source < table.target, table.source > table.target
    graph = table.edge_graph
    one = np.lexsort((key[forth], table.target[forth], table.source[forth], graph[forth]))
    other = np.lexsort((key[back], table.source[back], table.target[back], graph[back]))
    same = one.size == other.size and all(
        np.array_equal(a[forth][one], b[back][other])
        for a, b in ((graph, graph), (table.source, table.target), (table.target, table.source), (key, key))
    )
    if not same:
        return table
    kept = np.flatnonzero(~back)
    return replace(
        table,
        edge_ptr=np.searchsorted(graph[kept], np.arange(len(table) + 1)),
        source=table.source[kept],
        target=table.target[kept],
        edges={name: column.take(kept) for name, column in table.edges.items()},
        directed=False,
    )

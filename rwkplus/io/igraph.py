"""Graphs of igraph; every attribute becomes a column or is refused by name."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import GraphError
from rwkplus.io.sources import ReadOptions, columns_of, common_direction, graph_columns, with_ids
from rwkplus.table import GraphTable
from rwkplus.table.columns import is_missing
from rwkplus.table.graph_table import pointers

ACCEPTED = ("ignore", "labels", "attributes", "weight", "y")
NAME = "name"
"""What igraph calls the id of a vertex."""


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
            raise GraphError(f"graph {i} is no graph of igraph, unlike graph 0: give all in one form.")
    directed = common_direction([graph.is_directed() for graph in graphs])
    nodes = _values([(graph.vs, graph.vcount()) for graph in graphs])
    edges = _values([(graph.es, graph.ecount()) for graph in graphs])
    options.check_columns({"nodes": nodes, "edges": edges}, sure=any(graph.ecount() for graph in graphs))
    ids = None
    for name in (NAME, "id"):
        if name in nodes and ids is None and not options.ignores(name, "nodes"):
            ids = [None if is_missing(value) else value for value in nodes.pop(name)]
    table = GraphTable(
        pointers([graph.vcount() for graph in graphs]),
        pointers([graph.ecount() for graph in graphs]),
        *_ends(graphs, directed=directed),
        graph_columns(
            [_attribute(graph, NAME) for graph in graphs],
            {target: [_attribute(graph, target) for graph in graphs] for target in options.targets},
        ),
        with_ids(ids, columns_of(nodes.items(), "nodes", options), "Rename it, or the attribute 'name'."),
        columns_of(edges.items(), "edges", options),
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

"""Names that users gave to graphs and nodes, kept in ``graph.name`` and ``graph.node_names`` for tables and pages."""

from collections.abc import Iterable, Sequence

from torch_geometric.data import Data


def set_names(graphs: Sequence[Data], names: Sequence[object]) -> None:
    """Name all graphs, or none if one has no name."""
    if all(name not in (None, "") for name in names):
        for graph, name in zip(graphs, names, strict=True):
            graph.name = str(name)


def set_node_names(graphs: Sequence[Data], names: Iterable[Iterable[object]]) -> None:
    """Name the nodes of all graphs, in their order."""
    for graph, own in zip(graphs, names, strict=True):
        graph.node_names = list(own)


def node_name(graph: Data, v: int) -> object:
    """The name of a node, or its number."""
    names = graph.get("node_names")
    return v if names is None else names[v]


def name_of(graphs: Sequence[Data], i: int) -> str:
    """The name of a graph, or its number."""
    return str(graphs[i].get("name", i))

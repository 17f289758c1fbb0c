"""Names that users gave to their graphs, kept in ``graph.name`` for tables and pages."""

from collections.abc import Sequence

from torch_geometric.data import Data


def set_names(graphs: Sequence[Data], names: Sequence[object]) -> None:
    """Name all graphs, or none if one has no name."""
    if all(name not in (None, "") for name in names):
        for graph, name in zip(graphs, names, strict=True):
            graph.name = str(name)


def name_of(graphs: Sequence[Data], i: int) -> str:
    """The name of a graph, or its number."""
    return str(graphs[i].get("name", i))

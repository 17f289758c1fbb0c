"""Node and edge colors for graphs that come without: one-hot labels, degrees, constants."""

from copy import copy

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import degree

from rwkplus.errors import GraphError, ParameterError
from rwkplus.graphs.convert import graph_list
from rwkplus.table import Graphs
from rwkplus.tensors import check_edge_index


def one_hot(graphs: Graphs, field: str = "x", num_labels: int | None = None) -> list[Data]:
    """Replace integer labels in ``x`` or ``edge_attr`` by one-hot rows of one common width.

    Args:
        graphs: Graphs whose ``field`` holds integers of at least 0, one per node or edge.
        field: ``"x"`` or ``"edge_attr"``.
        num_labels: Number of columns; one more than the largest label by default.
    """
    graphs = graph_list(graphs)
    labels = [_integer_labels(i, graph.get(field), field) for i, graph in enumerate(graphs)]
    width = max((int(part.max()) + 1 for part in labels if part.numel()), default=1)
    if num_labels is not None:
        if width > num_labels:
            i = next(i for i, part in enumerate(labels) if part.numel() and int(part.max()) >= num_labels)
            raise GraphError(f"graph {i}: {field} holds the label {int(labels[i].max())}, num_labels is {num_labels}.")
        width = num_labels
    return [_with(graph, field, _one_hot(part, width)) for graph, part in zip(graphs, labels, strict=True)]


def one_hot_degree(graphs: Graphs, max_degree: int | None = None) -> list[Data]:
    """Give every node its out-degree as a one-hot label; degrees above ``max_degree`` share the last column.

    Example:
        >>> import networkx as nx
        >>> [graph.x.shape for graph in one_hot_degree([nx.path_graph(3), nx.star_graph(4)])]
        [torch.Size([3, 5]), torch.Size([5, 5])]
    """
    if max_degree is not None and max_degree < 1:
        raise ParameterError(f"max_degree must be at least 1, got {max_degree}.")
    graphs = graph_list(graphs)
    degrees = [_degrees(i, graph) for i, graph in enumerate(graphs)]
    cap = max_degree or max((int(d.max()) for d in degrees if d.numel()), default=1)
    names = (*map(str, range(cap)), f"{cap}+" if max_degree else str(cap))
    result = [_with(g, "x", _one_hot(d.clamp(max=cap), cap + 1)) for g, d in zip(graphs, degrees, strict=True)]
    for graph in result:
        graph.node_label_names = names
    return result


def constant_features(graphs: Graphs) -> list[Data]:
    """Give every node the same color, so that only structure counts."""
    return [
        _with(graph, "x", torch.ones(graph.num_nodes or 0, 1, device=_device(graph))) for graph in graph_list(graphs)
    ]


def is_one_hot(colors: Tensor) -> bool:
    """Whether every row is one-hot or zero (a zero row matches nothing)."""
    return bool((((colors == 0) | (colors == 1)).all()) and (colors.sum(-1) <= 1).all())


def label_numbers(colors: Tensor) -> Tensor:
    """Column of the one in each one-hot row, -1 for zero rows."""
    if colors.size(1) == 0:
        return torch.full((colors.size(0),), -1, dtype=torch.long, device=colors.device)
    highest, column = colors.max(-1)
    return torch.where(highest > 0, column, -1)


def _device(graph: Data) -> torch.device | None:
    edge_index = graph.get("edge_index")
    return None if edge_index is None else edge_index.device


def _degrees(i: int, graph: Data) -> Tensor:
    edge_index = graph.get("edge_index")
    if edge_index is None:
        raise GraphError(f"graph {i} has no edge_index. A graph without edges has torch.empty(2, 0, dtype=torch.long).")
    num_nodes = graph.num_nodes or 0
    try:
        check_edge_index(edge_index, num_nodes)
    except GraphError as error:
        raise GraphError(f"graph {i}: {error}") from error
    degrees: Tensor = degree(edge_index[0], num_nodes, dtype=torch.long)
    return degrees


def _integer_labels(i: int, value: object, field: str) -> Tensor:
    if not isinstance(value, Tensor):
        raise GraphError(f"graph {i} has no {field} to encode.")
    if value.dim() == 2 and value.size(1) == 1:
        value = value.squeeze(1)
    if value.dim() != 1 or value.is_floating_point() or value.is_complex():
        raise GraphError(
            f"graph {i}: labels in {field} must be one integer per row, got {value.dtype} of shape "
            f"{tuple(value.shape)}. Call .long() if these floats are really label numbers."
        )
    if value.numel() and int(value.min()) < 0:
        raise GraphError(f"graph {i}: {field} holds the negative label {int(value.min())}; labels count from 0.")
    return value.long()


def _one_hot(labels: Tensor, width: int) -> Tensor:
    return torch.nn.functional.one_hot(labels, width).to(torch.get_default_dtype())


def _with(graph: Data, field: str, value: Tensor) -> Data:
    """A copy with other colors, which have no names yet."""
    changed = copy(graph)
    changed[field] = value
    names = "edge_label_names" if field == "edge_attr" else "node_label_names"
    if names in changed:
        del changed[names]
    return changed

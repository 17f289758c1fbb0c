"""One graph whose nodes have labels: what a network reads of it, and which nodes are meant."""

from copy import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric import EdgeIndex
from torch_geometric.data import Data
from torch_geometric.utils import is_torch_sparse_tensor

from rwkplus.datasets.splits import Index
from rwkplus.errors import GraphError, ParameterError, ShapeError
from rwkplus.large.node_numbers import Nodes, node_numbers
from rwkplus.tasks.precision import in_precision_of
from rwkplus.tensors import check_edge_index

EDGE_FIELDS = ("edge_attr", "edge_weight")


class WholeGraph:
    """A loader of one batch: all of a graph, the nodes that count in ``index``, and their labels in ``y``.

    Tensors are the same in every epoch: features may be most of the memory.
    """

    def __init__(self, graph: Data, index: Index, y: Tensor) -> None:
        self.epoch = 0
        self.batch = graph.clone()
        self.batch.index, self.batch.y = torch.from_numpy(index), y

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Any:  # noqa: ANN401 -- an iterator of Data, which mypy wants to be generic
        yield copy(self.batch)  # networks may replace fields of what they get


def read_graph(data: object, model: nn.Module) -> Data:
    """Take the fields that a network reads, checked, floats in the type of its weights."""
    given = one_data(data)
    _check_devices(given)
    _check_features(given.get("x"), discrete=getattr(model, "categories", None) is not None)
    if not is_torch_sparse_tensor(given.get("edge_index")):  # the shape of an adjacency the convolutions look at
        check_edge_index(given.get("edge_index"), int(given.x.size(0)))
    reads = getattr(model, "reads", EDGE_FIELDS)
    edges = given.edge_index
    # PyG's own layers fail on an EdgeIndex in inference mode.
    graph = Data(x=given.x, edge_index=edges.as_tensor() if isinstance(edges, EdgeIndex) else edges)
    for field in EDGE_FIELDS:
        if given.get(field) is None:
            continue
        if field not in reads:
            raise GraphError(
                f"the graph has {field}, which {type(model).__name__} does not read as it is: del data.{field}."
            )
        graph[field] = _per_edge(field, given[field], edges)
    return in_precision_of(model, graph)


def one_data(data: object) -> Data:
    """Refuse everything but one graph of PyG."""
    if not isinstance(data, Data):
        raise GraphError(f"expected one graph as PyG's Data, got {type(data).__name__}.")
    return data


def chosen_nodes(data: Data, nodes: Nodes | None, name: str, mask: str) -> Index:
    """Read numbers or a mask of nodes; ``data[mask]`` if none are given. Ascending."""
    if nodes is None:
        nodes, name = data.get(mask), f"data.{mask}"
        if nodes is None:
            raise ParameterError(f"which nodes? There is no {name}: give a mask or numbers of nodes instead.")
    chosen = node_numbers(nodes, int(data.num_nodes), name)
    if chosen.size == 0:
        raise ParameterError(f"{name} names no node.")
    return np.sort(chosen)


def node_labels(data: Data, y: object = None) -> NDArray[Any]:
    """One label for every node, of which only those that are used must be known."""
    labels = one_data(data).get("y")
    labels = labels if y is None else y
    if labels is None:
        raise GraphError("the graph has no labels: give y, or data.y, one for every node.")
    array = labels.detach().cpu().numpy() if isinstance(labels, Tensor) else np.asarray(labels)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.shape != (data.num_nodes,):
        raise ShapeError(f"y must hold one label for each of the {data.num_nodes} nodes, its shape is {array.shape}.")
    return array


def check_known(y: NDArray[Any], index: Index) -> None:
    """Refuse nodes whose label is unknown: nan, None, or a negative number as many files have it."""
    labels = y[index]
    unknown = np.zeros(labels.shape, bool)
    if labels.dtype.kind in "if":
        unknown = ~(labels >= 0)
    elif labels.dtype == object:  # as pandas keeps names
        unknown = np.array([label is None or label != label for label in labels])
    if unknown.any():
        node = index[unknown.argmax()]
        raise ParameterError(f"node {node} has the label {y[node]}, which marks unknown ones: leave such nodes out.")


def _check_features(x: object, *, discrete: bool) -> None:
    if x is None:
        raise GraphError(
            "the graph has no node features x. Without any, data.x = torch.eye(data.num_nodes) names nodes."
        )
    if not isinstance(x, Tensor) or x.dim() != 2:
        found = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
        raise ShapeError(f"node features x must be a tensor (N, D), got {found}.")
    if not x.is_floating_point() and not discrete:
        raise ParameterError(f"node features x are {x.dtype}: call data.x.float(), or give the network its categories.")
    _check_finite("node features x", x)


def _check_finite(name: str, field: Tensor) -> None:
    values = field.values() if is_torch_sparse_tensor(field) else field
    if field.is_floating_point() and not bool(values.isfinite().all()):
        raise GraphError(f"{name} hold nan or infinite values: replace them first.")


def _per_edge(field: str, values: object, edges: Tensor) -> Tensor:
    """What edges have, checked; weights as floats ``(E,)``."""
    if not isinstance(values, Tensor):
        raise ShapeError(f"{field} must be a tensor, got {type(values).__name__}.")
    _check_finite(field, values)
    several = field == "edge_weight" and values.numel() != values.size(0)
    if several or not (is_torch_sparse_tensor(edges) or values.shape[:1] == edges.shape[1:]):
        what = "one number" if field == "edge_weight" else "one row"
        raise ShapeError(f"{field} must hold {what} for each of the {edges.size(1)} edges, got {tuple(values.shape)}.")
    if field == "edge_weight":
        values = values.flatten()
        return values if values.is_floating_point() else values.to(torch.get_default_dtype())
    return values


def _check_devices(data: Data) -> None:
    fields = ("x", "edge_index", *EDGE_FIELDS)
    places = {field: str(data[field].device) for field in fields if isinstance(data.get(field), Tensor)}
    if len(set(places.values())) > 1:
        found = ", ".join(f"{field} on {place}" for field, place in places.items())
        raise ParameterError(f"the graph is spread over devices, {found}: move it with data.to().")

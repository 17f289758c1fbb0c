"""Train a network on the nodes of one graph, all of it at once; and the estimator that does so."""

import copy
import time
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self, cast

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch_geometric import EdgeIndex
from torch_geometric.data import Data
from torch_geometric.utils import is_torch_sparse_tensor

from rwkplus.datasets.splits import Index
from rwkplus.errors import GraphError, ParameterError, ShapeError
from rwkplus.large.csr_graph import CSRGraph
from rwkplus.large.loaders import Nodes, node_numbers
from rwkplus.models.gnn import GNN
from rwkplus.models.registry import Model, build, parameters_of
from rwkplus.nn.rwk_plus_conv import one_graph
from rwkplus.tensors import check_edge_index
from rwkplus.training.dataset import device_of, in_precision_of
from rwkplus.training.estimators import NetworkEstimator, ProbabilityMixin, TrainedNetwork, refuse_weights
from rwkplus.training.layerwise import outputs_of_all
from rwkplus.training.loop import GraphTask, OneBatch, Settings, isolated, run_epochs
from rwkplus.training.targets import Classes, ClassName, Target
from rwkplus.types import Callback, seed_of

ClassWeight = Mapping[Any, float] | Literal["balanced"] | None
NODE_SETTINGS = Settings(epochs=200, lr=1e-2, halve_lr_every=50, weight_decay=5e-4)
EDGE_FIELDS = ("edge_attr", "edge_weight")


@dataclass(frozen=True)
class NodeInputs:
    """How a network reads the nodes of a graph: a PyG ``Data`` or, layer by layer, a large one."""

    width: int

    def outputs(self, model: nn.Module, X: Data | CSRGraph) -> Tensor:
        """Outputs of a network for every node ``(N, C)``, on the CPU."""
        if isinstance(X, CSRGraph):
            return outputs_of_all(cast(GNN, model), X)
        graph = _read_graph(X, model)
        if graph.num_features != self.width:
            raise ShapeError(f"x has {graph.num_features} features, in training there were {self.width}.")
        with one_graph(model), torch.inference_mode():
            outputs: Tensor = model(graph.to(device_of(model)))
        return outputs.cpu()

    def judged(
        self, model: nn.Module, target: Target, X: Data | CSRGraph, y: object, nodes: Nodes | None = None
    ) -> tuple[Tensor, Tensor]:
        """Outputs for some nodes, those of ``test_mask`` by default, and their labels, encoded."""
        labels, index = _node_labels(X, y), _chosen_nodes(X, nodes, "nodes", "test_mask")
        _check_known(labels, index)
        return self.outputs(model, X)[torch.from_numpy(index)], target.encode(labels[index])

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {"width": self.width}


class NodeTask(GraphTask):
    """Train a network on nodes; a batch is a graph with the nodes that count in ``index`` and their labels in ``y``."""

    def forward(self, batch: Data) -> Tensor:
        """Outputs of the nodes that count: ``(len(index), C)``."""
        outputs: Tensor = self.model(batch)
        if outputs.size(0) != batch.num_nodes:
            raise ParameterError(
                f"{type(self.model).__name__} gives {outputs.size(0)} outputs for {batch.num_nodes} nodes: it is made "
                "for whole graphs."
            )
        return outputs[batch.index]

    def optimizer(self) -> torch.optim.Optimizer:
        """Adam with an L2 penalty rather than decoupled decay, as usual for node classification."""
        settings = self.settings
        return torch.optim.Adam(self.parameters(), lr=settings.lr, weight_decay=settings.weight_decay, fused=True)


def some_nodes(graph: Data, index: Index, y: Tensor) -> OneBatch:
    """A loader of one graph, whose nodes ``index`` with the encoded labels ``y`` count."""
    batch = copy.copy(graph)
    batch.index, batch.y = torch.from_numpy(index), y
    return OneBatch(batch)


def train_nodes(
    model: Model,
    X: Data,
    y: object = None,
    *,
    train: Nodes | None = None,
    validation: Nodes | None = None,
    model_params: Mapping[str, Any] | None = None,
    settings: Settings = NODE_SETTINGS,
    class_weight: ClassWeight = None,
    positive: ClassName | None = None,
    callback: Callback | None = None,
) -> TrainedNetwork:
    """Train a network to classify the nodes of a graph.

    Every epoch is one step on the whole graph, whose adjacency is normalized once. The epoch that does best on the
    validation nodes is kept.

    Args:
        model: Registered name or class of a network with outputs for every node; parameters named ``level`` are set.
        X: The graph, with ``x`` and ``edge_index``.
        y: One label for every node, ``X.y`` by default; those of other nodes than these are not looked at.
        train: Mask or numbers of the nodes to learn from, ``X.train_mask`` by default.
        validation: Those that choose the epoch, ``X.val_mask`` by default.
        model_params: Keyword arguments of the network.
        settings: Epochs, learning rate and so on; ``batch_size`` and ``validation`` mean nothing here.
        class_weight: Of classes, as in :class:`NodeClassifier`.
        positive: Class that scores are about, as there.
        callback: Called after every epoch.

    Example:
        >>> from torch_geometric.datasets import KarateClub
        >>> data = KarateClub()[0]
        >>> trained = train_nodes("gnn", data, validation=~data.train_mask, settings=Settings(epochs=2))
        >>> trained.predict(data).shape
        (34,)
    """
    begin = time.perf_counter()
    labels = _node_labels(X, y)
    parts = _parts(X, labels, train, validation)
    target = _target(labels, parts, class_weight).about(positive)
    network, params = new_node_network(model, model_params or {}, _width(X), target, settings)
    graph = _read_graph(X, network)
    task = NodeTask(network, target, settings)
    loaders = [some_nodes(graph, index, target.encode(labels[index])) for index in parts]
    with one_graph(network):
        with torch.no_grad():  # a network that is not made for nodes may fail in training before that is noticed
            task.eval()(next(iter(loaders[1])))
        state = run_epochs(task, loaders[0], loaders[1], callback=callback)
    run = {"model_params": dict(model_params or {})}
    trained = TrainedNetwork.of(task, state, NodeInputs(graph.num_features), model, params, run)
    trained.validation = trained.scores(X, y, nodes=parts[1])
    trained.seconds = time.perf_counter() - begin
    return trained


@dataclass(eq=False, repr=False)
class NodeClassifier(ProbabilityMixin, NetworkEstimator):
    """Classify the nodes of a graph; what ``fit`` and ``predict`` take is one PyG ``Data`` instead of rows.

    A network needs outputs for every node. It reads the tensors of the graph themselves, not copies, and must not write
    into them. Further arguments and all attributes are those of :class:`NetworkEstimator`.

    Args:
        class_weight: What an error counts by class: ``"balanced"``, a dictionary, or all the same.

    Example:
        >>> from torch_geometric.datasets import KarateClub
        >>> data = KarateClub()[0]
        >>> classifier = NodeClassifier(epochs=5, accelerator="cpu").fit(data, validation=~data.train_mask)
        >>> classifier.predict_proba(data).shape
        (34, 4)
    """

    kinds = ("classification",)

    model: str | type[nn.Module] = "gnn"
    _: KW_ONLY
    weight_decay: float = 5e-4
    class_weight: ClassWeight = None

    def fit(
        self,
        X: Data,
        y: object = None,
        *,
        train: Nodes | None = None,
        validation: Nodes | None = None,
        callback: Callback | None = None,
    ) -> Self:
        """Train the network on some nodes of a graph, while others choose the epoch; see :func:`train_nodes`."""
        self.seed_ = seed_of(self.random_state)
        self._check()
        choices = {name: getattr(self, name) for name in ("model_params", "class_weight", "positive")}
        parts: dict[str, Any] = {"train": train, "validation": validation}
        return self._adopt(
            train_nodes(self.model, X, y, settings=self._settings(), callback=callback, **parts, **choices)
        )

    def score(self, X: Data, y: object = None, sample_weight: None = None, *, nodes: Nodes | None = None) -> float:
        """Accuracy on some nodes, those of ``X.test_mask`` by default."""
        refuse_weights(sample_weight)
        return self.scores(X, y, nodes=nodes)["accuracy"]

    def scores(self, X: Data, y: object = None, *, nodes: Nodes | None = None) -> dict[str, float]:
        """Every score on some nodes, those of ``X.test_mask`` by default."""
        check_is_fitted(self)
        return self.trained_.scores(X, y, nodes=nodes)

    def _inputs(self, values: dict[str, Any]) -> NodeInputs:
        try:
            return msgspec.convert(values, NodeInputs)
        except msgspec.ValidationError as error:
            raise ValueError(f"it does not say how its nodes are read: {error}") from error

    def _restore(self, learned: dict[str, Any], arrays: dict[str, Any]) -> None:
        super()._restore(learned, arrays)
        target = self.trained_.target
        if isinstance(self.class_weight, Mapping) and isinstance(target, Classes) and target.weights is not None:
            self.class_weight = dict(zip(target.names, target.weights, strict=True))  # JSON has only text for names


def new_node_network(
    model: Model, params: Mapping[str, Any], width: int, target: Classes, settings: Settings
) -> tuple[nn.Module, dict[str, Any]]:
    """A new network for nodes, and its parameters: outputs of nodes where it can give those of graphs as well."""
    own = dict(params)
    if "level" in parameters_of(model):
        if params.get("level", "node") != "node":
            raise ParameterError(f"classes of nodes need level='node', got {params['level']!r}.")
        own["level"] = "node"
    with isolated(settings.random_state):
        return build(model, width, target.width, own), own


def _read_graph(data: object, model: nn.Module) -> Data:
    """Take the fields that a network reads, checked, floats in the type of its weights."""
    given = _one_data(data)
    _check_devices(given)
    _check_features(given.get("x"), discrete=getattr(model, "categories", None) is not None)
    if not is_torch_sparse_tensor(given.get("edge_index")):  # the shape of an adjacency the convolutions look at
        check_edge_index(given.get("edge_index"), int(given.x.size(0)))
    reads = getattr(model, "reads", EDGE_FIELDS)
    edges = given.edge_index
    # PyG's own layers fail on an EdgeIndex in inference mode.
    graph = Data(x=given.x, edge_index=edges.as_tensor() if isinstance(edges, EdgeIndex) else edges)
    for name in EDGE_FIELDS:
        if given.get(name) is None:
            continue
        if name not in reads:
            raise GraphError(
                f"the graph has {name}, which {type(model).__name__} does not read as it is: del data.{name}."
            )
        graph[name] = _per_edge(name, given[name], edges)
    return in_precision_of(model, graph)


def _one_data(data: object) -> Data:
    """Refuse everything but one graph of PyG."""
    if not isinstance(data, Data):
        raise GraphError(f"expected one graph as PyG's Data, got {type(data).__name__}.")
    return data


def _chosen_nodes(data: Data | CSRGraph, nodes: Nodes | None, name: str, mask: str) -> Index:
    """Read numbers or a mask of nodes; ``data[mask]`` if none are given. Ascending."""
    if nodes is None:
        nodes, name = data[mask] if isinstance(data, CSRGraph) else data.get(mask), f"data.{mask}"
        if nodes is None:
            raise ParameterError(f"which nodes? There is no {name}: give a mask or numbers of nodes instead.")
    chosen = node_numbers(nodes, int(data.num_nodes), name)
    if chosen.size == 0:
        raise ParameterError(f"{name} names no node.")
    return np.sort(chosen)


def _node_labels(data: Data | CSRGraph, y: object = None) -> NDArray[Any]:
    """One label for every node, of which only those that are used must be known."""
    data = data if isinstance(data, CSRGraph) else _one_data(data)
    if y is None:
        y = data["y"] if isinstance(data, CSRGraph) else data.get("y")
    if y is None:
        raise GraphError("the graph has no labels: give y, or data.y, one for every node.")
    array = y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if array.shape != (data.num_nodes,):
        raise ShapeError(f"y must hold one label for each of the {data.num_nodes} nodes, its shape is {array.shape}.")
    return array


def _check_known(y: NDArray[Any], index: Index) -> None:
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
            "the graph has no node features x.", "Without any, data.x = torch.eye(data.num_nodes) names nodes."
        )
    if not isinstance(x, Tensor) or x.dim() != 2:
        found = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
        raise ShapeError(f"node features x must be a tensor (N, D), got {found}.")
    if not x.is_floating_point() and not discrete:
        raise ParameterError(f"node features x are {x.dtype}: call data.x.float(), or give the network its categories.")
    _check_finite("node features x", x)


def _check_finite(name: str, values: Tensor) -> None:
    own = values.values() if is_torch_sparse_tensor(values) else values
    if values.is_floating_point() and not bool(own.isfinite().all()):
        raise GraphError(f"{name} hold nan or infinite values: replace them first.")


def _per_edge(name: str, values: object, edges: Tensor) -> Tensor:
    """What edges have, checked; weights as floats ``(E,)``."""
    if not isinstance(values, Tensor):
        raise ShapeError(f"{name} must be a tensor, got {type(values).__name__}.")
    _check_finite(name, values)
    several = name == "edge_weight" and values.numel() != values.size(0)
    if several or not (is_torch_sparse_tensor(edges) or values.shape[:1] == edges.shape[1:]):
        what = "one number" if name == "edge_weight" else "one row"
        raise ShapeError(f"{name} must hold {what} for each of the {edges.size(1)} edges, got {tuple(values.shape)}.")
    if name == "edge_weight":
        values = values.flatten()
        return values if values.is_floating_point() else values.to(torch.get_default_dtype())
    return values


def _check_devices(data: Data) -> None:
    names = ("x", "edge_index", *EDGE_FIELDS)
    places = {name: str(data[name].device) for name in names if isinstance(data.get(name), Tensor)}
    if len(set(places.values())) > 1:
        found = ", ".join(f"{name} on {place}" for name, place in places.items())
        raise ParameterError(f"the graph is spread over devices, {found}: move it with data.to().")


def _width(data: Data) -> int:
    x = data.get("x")
    return x.size(1) if isinstance(x, Tensor) and x.dim() == 2 else 1  # what is wrong is told by _read_graph


def _parts(data: Data, labels: NDArray[Any], train: Nodes | None, validation: Nodes | None) -> tuple[Index, Index]:
    chosen = (train, "train", "train_mask"), (validation, "validation", "val_mask")
    parts = (_chosen_nodes(data, *chosen[0]), _chosen_nodes(data, *chosen[1]))
    for index in parts:
        _check_known(labels, index)
    both = np.intersect1d(*parts)
    if both.size:
        raise ParameterError(
            f"{both.size} nodes, the first of them {both[0]}, are used for both training and validation: "
            "the two must not overlap."
        )
    return parts


def _target(labels: NDArray[Any], parts: tuple[Index, Index], class_weight: ClassWeight) -> Classes:
    target = Classes.of(labels[np.concatenate(parts)])
    if class_weight is None:
        return target
    names, learned = np.array(target.names), labels[parts[0]]
    try:
        weights = compute_class_weight(class_weight, classes=names, y=learned)
    except ValueError as error:
        raise ParameterError(f"class_weight does not fit the classes {list(target.names)}: {error}") from error
    return Classes(target.names, tuple(weights.tolist()))

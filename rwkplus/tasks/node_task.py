"""Train a network on the nodes of one graph, all of it at once."""

import time
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight
from torch import Tensor
from torch_geometric.data import Data

from rwkplus.datasets.splits import Index
from rwkplus.errors import ParameterError
from rwkplus.large.node_numbers import Nodes
from rwkplus.models.registry import build, parameters_of
from rwkplus.nn.rwk_plus_conv import one_graph
from rwkplus.tasks.graph_task import GraphTask
from rwkplus.tasks.job import Model
from rwkplus.tasks.loop import OnEpoch, run_epochs
from rwkplus.tasks.node_data import WholeGraph, check_known, chosen_nodes, node_labels, read_graph
from rwkplus.tasks.node_model import TrainedNodes
from rwkplus.tasks.randomness import isolated
from rwkplus.tasks.settings import Settings
from rwkplus.tasks.targets import Classes, ClassName

ClassWeight = Mapping[Any, float] | Literal["balanced"] | None
NODE_SETTINGS = Settings(epochs=200, lr=1e-2, halve_lr_every=50, weight_decay=5e-4)


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


def train_nodes(
    model: Model,
    data: Data,
    y: object = None,
    *,
    train: Nodes | None = None,
    validation: Nodes | None = None,
    model_params: Mapping[str, Any] | None = None,
    settings: Settings = NODE_SETTINGS,
    class_weight: ClassWeight = None,
    positive: ClassName | None = None,
    on_epoch: OnEpoch | None = None,
) -> TrainedNodes:
    """Train a network to classify the nodes of a graph.

    Every epoch is one step on the whole graph, whose adjacency is normalized once. The epoch that does best on the
    validation nodes is kept.

    Args:
        model: Registered name or class of a network with outputs for every node; parameters named ``level`` are set.
        data: The graph, with ``x`` and ``edge_index``.
        y: One label for every node, ``data.y`` by default; those of other nodes than these are not looked at.
        train: Mask or numbers of the nodes to learn from, ``data.train_mask`` by default.
        validation: Those that choose the epoch, ``data.val_mask`` by default.
        model_params: Keyword arguments of the network.
        settings: Epochs, learning rate and so on; ``batch_size`` and ``validation`` mean nothing here.
        class_weight: What an error counts by class: ``"balanced"``, a dictionary, or all the same.
        positive: Of two classes the one that scores such as ``positive_f1`` and ``roc_auc`` are about; the second one
            by default.
        on_epoch: Called with the scores of every epoch.
    """
    begin = time.perf_counter()
    labels = node_labels(data, y)
    parts = _parts(data, labels, train, validation)
    target = _target(labels, parts, class_weight).about(positive)
    params = node_params(model, model_params or {})
    with isolated(settings.random_state):
        network = build(model, _width(data), target.width, params)
    graph = read_graph(data, network)
    task = NodeTask(network, target, settings)
    loaders = [WholeGraph(graph, index, target.encode(labels[index])) for index in parts]
    with one_graph(network):
        with torch.no_grad():  # a network that is not made for nodes may fail in training before that is noticed
            task.eval()(next(iter(loaders[1])))
        progress = run_epochs(task, loaders[0], loaders[1], on_epoch=on_epoch)
    network.load_state_dict(progress.weights)
    trained = TrainedNodes(network.eval(), graph.num_features, target, model, params, history=progress.history)
    trained.facts |= {"run": {"model_params": dict(model_params or {})}}
    trained.facts |= {"settings": settings.to_dict(), "best_epoch": progress.epoch}
    trained.facts |= {"validation": trained.scores(data, y, nodes=parts[1]), "seconds": time.perf_counter() - begin}
    return trained


def node_params(model: Model, params: Mapping[str, Any]) -> dict[str, Any]:
    """Ask for outputs of nodes where a network can give those of graphs as well."""
    if "level" not in parameters_of(model):
        return dict(params)
    if params.get("level", "node") != "node":
        raise ParameterError(f"classes of nodes need level='node', got {params['level']!r}.")
    return {**params, "level": "node"}


def _width(data: Data) -> int:
    x = data.get("x")
    return x.size(1) if isinstance(x, Tensor) and x.dim() == 2 else 1  # what is wrong is told by read_graph


def _parts(data: Data, labels: NDArray[Any], train: Nodes | None, validation: Nodes | None) -> tuple[Index, Index]:
    parts = (
        chosen_nodes(data, train, "train", "train_mask"),
        chosen_nodes(data, validation, "validation", "val_mask"),
    )
    for index in parts:
        check_known(labels, index)
    both = np.intersect1d(*parts)
    if both.size:
        raise ParameterError(
            f"{both.size} nodes, the first of them {both[0]}, are to be learned from and to validate: that would "
            "choose an epoch that knows them by heart."
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

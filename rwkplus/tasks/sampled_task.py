"""Train a network on parts of one large graph, and judge it on all of it."""

import copy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from rwkplus.errors import DataError, ParameterError
from rwkplus.large.csr_graph import CSRGraph, check_stored
from rwkplus.large.node_numbers import node_numbers
from rwkplus.models.gnn import GNN
from rwkplus.models.registry import build
from rwkplus.nn.rwk_plus_conv import one_graph
from rwkplus.tasks.graph_task import GraphTask, Judged
from rwkplus.tasks.layerwise import layerwise_outputs
from rwkplus.tasks.loop import Checkpoints, OnEpoch, run_epochs
from rwkplus.tasks.metrics import all_scores
from rwkplus.tasks.node_model import TrainedNodes
from rwkplus.tasks.node_task import node_params
from rwkplus.tasks.precision import in_precision_of
from rwkplus.tasks.progress import Row
from rwkplus.tasks.randomness import isolated
from rwkplus.tasks.sampled_batches import Cutting
from rwkplus.tasks.settings import Settings
from rwkplus.tasks.targets import Classes
from rwkplus.tasks.trained import device_of
from rwkplus.tensors import rank_and_world

METRIC = "positive_f1"
"""Of two classes, of which the second is often rare."""
Scores = dict[str, float]


@dataclass(frozen=True)
class SampledResult:
    """What came out of training on parts of a graph.

    ``trained.save`` keeps the network; on graphs that are too large for ``trained.predict``,
    :func:`~rwkplus.tasks.layerwise_outputs` gives its outputs.
    """

    trained: TrainedNodes
    best_epoch: int
    scores: dict[str, Scores]
    """Every score, by part of the graph: ``val`` and ``test``; those named ``positive`` are of the second of two."""
    history: list[Row]
    validation_seconds: float
    """Time spent judging the network in all epochs."""

    @property
    def model(self) -> GNN:
        """The network itself."""
        return cast(GNN, self.trained.model)


class SampledTask(GraphTask):
    """Learns from the first ``batch_size`` nodes of every batch; outputs for validation come layer by layer.

    Args:
        model: The network.
        target: Classes and their weights.
        settings: Learning rate and metric.
        graph: The whole graph.
    """

    def __init__(self, model: GNN, target: Classes, settings: Settings, graph: CSRGraph) -> None:
        super().__init__(model, target, settings)
        self.graph = graph
        self.validation_seconds = 0.0

    def forward(self, batch: Data) -> Tensor:
        """Outputs of the nodes that the batch was drawn for."""
        outputs: Tensor = self.model(in_precision_of(self.model, batch))
        return outputs[: batch.batch_size]

    def training_step(self, batch: Data, batch_idx: int = 0) -> Tensor:
        """Mean loss over these nodes, of all processes together."""
        batch.y = batch.y[: batch.batch_size].long()
        return super().training_step(batch, batch_idx)

    def validation_step(self, batch: Data, batch_idx: int = 0) -> Judged:  # type: ignore[override]
        """Outputs and labels of the nodes ``index``; the first process computes them for all."""
        if rank_and_world()[0] > 0:
            return torch.empty(0), torch.empty(0)
        begin = time.perf_counter()
        outputs = outputs_of_all(cast(GNN, self.model), self.graph)[batch.index.cpu()]
        self.validation_seconds += time.perf_counter() - begin
        return outputs, batch.y.cpu()

    def validation_scores(self, judged: Sequence[Judged]) -> Scores:
        """Loss and chosen metric, from the first process."""
        if rank_and_world()[0] > 0:
            return {}
        outputs, y = (torch.cat(parts) for parts in zip(*judged, strict=True))
        total, count = self.target.loss(outputs, y)
        return {"val_loss": float(total / count), "val_score": self.metric(self.target, outputs, y)}


@dataclass
class _Nodes:
    """Some nodes of a graph, as a loader for validation: one batch, without the graph."""

    index: Tensor
    y: Tensor
    epoch: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[Data]:
        yield Data(index=self.index, y=self.y, num_nodes=self.index.numel())


def train_sampled(
    graph: CSRGraph,
    model_params: Mapping[str, Any],
    *,
    settings: Settings,
    cutting: Cutting | None = None,
    class_weights: Sequence[float] | None = None,
    checkpoints: Checkpoints | None = None,
    on_epoch: OnEpoch | None = None,
) -> SampledResult:
    """Train the backbone to tell classes of nodes apart.

    The epoch that does best on the validation nodes is kept: of two classes, the one with the best F1 score of the
    second, otherwise the most accurate one; ``settings.metric`` names another score. In several processes, started by
    torchrun or ``settings.devices``, batches are divided by the nodes they are drawn for, and the graph is in memory
    once for all processes of a machine.

    Args:
        graph: With ``x``, classes numbered from 0 in ``y``, and ``train_mask``, ``val_mask`` and ``test_mask`` without
            common nodes; ``y`` of other nodes is not looked at.
        model_params: Keyword arguments of :class:`~rwkplus.models.GNN`.
        settings: Epochs, learning rate, nodes per batch and so on; ``validation`` means nothing here.
        cutting: How to make batches.
        class_weights: What an error in each class counts; all the same by default.
        checkpoints: Where to leave traces to resume from.
        on_epoch: Called with the scores of every epoch.
    """
    begin = time.perf_counter()
    check_stored(graph)
    cutting = cutting or Cutting()
    parts = parts_of(graph)
    params, target = node_params(GNN, model_params), _target(num_classes(graph, parts), class_weights)
    if settings.metric is None and target.width == 2:
        settings = replace(settings, metric=METRIC)
    channels = _width(graph, discrete=params.get("categories") is not None)
    with isolated(settings.random_state):
        model = cast(GNN, build(GNN, channels, target.width, params))
    task = SampledTask(model, target, settings, graph)
    loader = cutting.loader(graph, parts["train"], settings)
    validation = _Nodes(torch.from_numpy(parts["val"]), _labels(graph, parts["val"]))
    with one_graph(model) if cutting.cut == "full" else nullcontext():
        progress = run_epochs(task, loader, validation, checkpoints=checkpoints, on_epoch=on_epoch)
    model.load_state_dict(progress.weights)
    model.eval()

    def judge() -> dict[str, Scores]:
        outputs = outputs_of_all(model, graph)
        judged = {name: parts[name] for name in ("val", "test")}
        return {name: all_scores(target, outputs[nodes], _labels(graph, nodes)) for name, nodes in judged.items()}

    scores = _by_first(judge)
    facts = {"settings": settings.to_dict(), "best_epoch": progress.epoch, "validation": scores["val"]}
    facts["seconds"] = time.perf_counter() - begin
    trained = TrainedNodes(model, channels, target, GNN, params, facts, progress.history)
    return SampledResult(trained, progress.epoch, scores, progress.history, task.validation_seconds)


def outputs_of_all(model: GNN, graph: CSRGraph) -> Tensor:
    """Outputs of every node ``(N, C)``, on the CPU, where the graph is."""
    here = device_of(model).type == "cpu"
    return layerwise_outputs(model if here else copy.deepcopy(model).cpu(), graph)


def parts_of(graph: CSRGraph) -> dict[str, NDArray[np.int64]]:
    """Nodes to learn from, to validate and to test by their masks; no node is in two."""
    where = graph.folder or "the graph"
    parts = {
        name: node_numbers(graph[f"{name}_mask"], graph.num_nodes, f"{name}_mask of {where}")
        for name in ("train", "val", "test")
    }
    for first, second in combinations(parts, 2):
        both = np.intersect1d(parts[first], parts[second])
        if both.size:
            raise DataError(
                f"{first}_mask and {second}_mask of {where} have {both.size} nodes in common, "
                f"the first of them {both[0]}: scores would be of nodes that the network knows."
            )
    return parts


def num_classes(graph: CSRGraph, parts: Mapping[str, NDArray[np.int64]]) -> int:
    """How many classes the nodes to learn from have; the others must have some of them, and more than one."""
    where, found = graph.folder or "the graph", {name: np.unique(graph["y"][nodes]) for name, nodes in parts.items()}
    number = found["train"].size
    if graph["y"].ndim != 1 or not np.array_equal(found["train"], np.arange(number)):
        raise DataError(f"y of {where} must number classes from 0, all of them among the nodes of train_mask.")
    for name, classes in found.items():
        if classes.size < 2:
            raise DataError(f"{name}_mask of {where} must choose nodes of two classes or more.")
        unknown = np.setdiff1d(classes, found["train"])
        if unknown.size:
            raise DataError(f"{name}_mask of {where} has nodes of class {unknown[0]}, and train_mask has none.")
    return number


def _target(number: int, weights: Sequence[float] | None) -> Classes:
    if weights is not None and len(weights) != number:
        raise ParameterError(f"class_weights must be {number} numbers, one for each class; got {len(weights)}.")
    return Classes(tuple(range(number)), None if weights is None else tuple(weights))


def _labels(graph: CSRGraph, nodes: NDArray[np.int64]) -> Tensor:
    return torch.from_numpy(graph["y"][nodes].astype(np.int64))


def _width(graph: CSRGraph, *, discrete: bool) -> int:
    x = graph["x"]
    if x.ndim != 2 or (x.dtype.kind == "f") == discrete:
        kind = "integers, as there are categories" if discrete else "floats; for integers, give the network categories"
        raise DataError(f"x of {graph.folder or 'the graph'} must be (N, D) of {kind}: it is {x.dtype} {x.shape}.")
    return int(x.shape[1])


def _by_first(function: Callable[[], dict[str, Scores]]) -> dict[str, Scores]:
    """What the first process computes, in all of them."""
    rank, world = rank_and_world()
    result = [function() if rank == 0 else {}]
    if world > 1:
        torch.distributed.broadcast_object_list(result, src=0)
    return result[0]

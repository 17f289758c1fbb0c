"""Learn the classes of nodes from parts of one large graph, on one machine or several processes."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from rwkplus.datasets.splits import Index
from rwkplus.errors import DataError, ParameterError
from rwkplus.files import atomic_file
from rwkplus.large import ClusterLoader, NeighborLoader
from rwkplus.large.csr_graph import CSRGraph, check_stored
from rwkplus.large.loaders import PartLoader, node_numbers
from rwkplus.large.parts import clusters
from rwkplus.models.gnn import GNN
from rwkplus.nn.rwk_plus_conv import one_graph
from rwkplus.tensors import rank_and_world
from rwkplus.training.dataset import in_precision_of
from rwkplus.training.estimators import TrainedNetwork
from rwkplus.training.layerwise import outputs_of_all
from rwkplus.training.loop import GraphTask, Judged, Row, Settings, run_epochs
from rwkplus.training.nodes import NodeInputs, new_node_network, some_nodes
from rwkplus.training.targets import Classes, all_scores
from rwkplus.types import Callback, check_choice

if TYPE_CHECKING:
    from rwkplus.training.run_folder import Checkpoints

Cut = Literal["clusters", "neighbors", "full"]
FIELDS = ("x", "y")
RARE_CLASS_METRIC = "positive_f1"
"""Chooses the epoch on large graphs with two classes, of which the second is often rare."""


@dataclass(frozen=True)
class Cutting:
    """How to cut a graph into batches of ``settings.batch_size`` nodes.

    Args:
        cut: Whole ``"clusters"`` with the edges among them, some nodes with sampled ``"neighbors"``, or the
            ``"full"`` graph in one batch.
        cluster_size: Nodes of a cluster; several make a batch, others in every epoch.
        num_neighbors: Neighbors drawn in each hop.
        induced: Whether sampled neighborhoods have all edges among their nodes.

    Example:
        >>> Cutting("neighbors", num_neighbors=(5, 5)).cut
        'neighbors'
    """

    cut: Cut = "clusters"
    cluster_size: int = 500
    num_neighbors: tuple[int, ...] = (10, 5, 3, 2)
    induced: bool = False

    def __post_init__(self) -> None:
        check_choice("cut", self.cut, Cut)
        if self.cluster_size < 1:
            raise ParameterError(f"cluster_size must be at least 1, got {self.cluster_size}.")

    def loader(self, graph: CSRGraph, nodes: NDArray[np.int64], settings: Settings) -> PartLoader:
        """Batches to learn from ``nodes``, divided among the processes of a run."""
        seed = settings.random_state
        if self.cut == "neighbors":
            return NeighborLoader(
                graph, self.num_neighbors, nodes, settings.batch_size, induced=self.induced, random_state=seed,
                share=rank_and_world, fields=FIELDS,
            )  # fmt: skip
        number = 1 if self.cut == "full" else max(1, round(graph.num_nodes / self.cluster_size))
        together = max(1, round(settings.batch_size * number / graph.num_nodes))
        parts = stored_clusters(graph, number)
        return ClusterLoader(graph, parts, nodes, together, random_state=seed, share=rank_and_world, fields=FIELDS)


def stored_clusters(graph: CSRGraph, number: int) -> NDArray[np.int32]:
    """Clusters of a graph, kept beside its files if it has any and there can be more."""
    if number == 1 or graph.folder is None:
        return clusters(graph.indptr, graph.indices, number)
    path = graph.folder / f"clusters-{number}.npy"
    found = _read_clusters(path, graph.num_nodes, number)
    if found is None:
        found = clusters(graph.indptr, graph.indices, number)
        # Processes may get here at the same time, and a shared folder may not be ours to write into.
        with suppress(OSError), atomic_file(path) as scratch:
            np.save(scratch, found)
    return found


def _read_clusters(path: Path, num_nodes: int, number: int) -> NDArray[np.int32] | None:
    """What a file holds, or None if there is none, or not one of these clusters for these nodes."""
    try:
        found: NDArray[np.int32] = np.load(path)
    except (OSError, ValueError, EOFError):
        return None
    fits = found.shape == (num_nodes,) and found.dtype == np.int32 and 0 <= found.min() <= found.max() < number
    return found if fits else None


class SampledTask(GraphTask):
    """Learns from the first ``batch_size`` nodes of every batch; outputs for validation come layer by layer."""

    def __init__(self, model: GNN, target: Classes, settings: Settings, graph: CSRGraph) -> None:
        super().__init__(model, target, settings)
        self.graph = graph
        self.validation_seconds = 0.0

    def forward(self, batch: Data) -> Tensor:
        """Outputs of the nodes that the batch was drawn for."""
        outputs: Tensor = self.model(in_precision_of(self.model, batch))
        return outputs[: batch.batch_size]

    def training_step(self, batch: Data) -> Tensor:
        """Mean loss over these nodes, of all processes together."""
        batch.y = batch.y[: batch.batch_size].long()
        return super().training_step(batch)

    def validation_step(self, batch: Data) -> Judged:
        """Outputs and labels of the nodes ``index``; the first process computes them for all."""
        if rank_and_world()[0] > 0:
            return torch.empty(0), torch.empty(0)
        begin = time.perf_counter()
        outputs = outputs_of_all(cast(GNN, self.model), self.graph)[batch.index.cpu()]
        self.validation_seconds += time.perf_counter() - begin
        return outputs, batch.y.cpu()

    def validation_scores(self, judged: Sequence[Judged]) -> Row:
        """Loss and chosen metric, from the first process."""
        if rank_and_world()[0] > 0:
            return {}
        outputs, y = (torch.cat(parts) for parts in zip(*judged, strict=True))
        return self._judge(outputs, y)


def train_sampled(
    X: CSRGraph,
    model_params: Mapping[str, Any],
    *,
    settings: Settings,
    cutting: Cutting | None = None,
    class_weights: Sequence[float] | None = None,
    checkpoints: "Checkpoints | None" = None,
    callback: Callback | None = None,
) -> TrainedNetwork:
    """Train the backbone :class:`~rwkplus.models.GNN` on parts of one large graph, and judge it on all of it.

    The epoch that does best on the validation nodes is kept: of two classes, the one with the best F1 score of the
    second, otherwise the most accurate one; ``settings.metric`` names another score. In several processes, started by
    torchrun or ``settings.devices``, batches are divided by the nodes they are drawn for, and the graph is in memory
    once for all processes of a machine.

    Args:
        X: With ``x``, classes numbered from 0 in ``y``, and ``train_mask``, ``val_mask`` and ``test_mask`` without
            common nodes; ``y`` of other nodes is not looked at.
        model_params: Keyword arguments of :class:`~rwkplus.models.GNN`.
        settings: Epochs, learning rate, nodes per batch and so on; ``validation`` means nothing here.
        cutting: How to make batches.
        class_weights: What an error in each class counts; all the same by default.
        checkpoints: Where to leave traces to resume from.
        callback: Called after every epoch.

    Example:
        >>> n = torch.arange(60)
        >>> masks = {"train_mask": n % 3 == 0, "val_mask": n % 3 == 1, "test_mask": n % 3 == 2}
        >>> data = Data(x=torch.rand(60, 2), y=(n < 30).long(), edge_index=torch.stack([n, (n + 1) % 60]), **masks)
        >>> trained = train_sampled(CSRGraph.of(data), {"hidden_channels": 4}, settings=Settings(epochs=2))
        >>> sorted(trained.test)[:2]
        ['accuracy', 'ap']
    """
    begin = time.perf_counter()
    check_stored(X)
    cutting, parts = cutting or Cutting(), parts_of(X)
    target = _numbered_classes(num_classes(X, parts), class_weights)
    if settings.metric is None and target.width == 2:
        settings = replace(settings, metric=RARE_CLASS_METRIC)
    channels = _stored_width(X, discrete=model_params.get("categories") is not None)
    network, params = new_node_network(GNN, model_params, channels, target, settings)
    task = SampledTask(cast(GNN, network), target, settings, X)
    loader = cutting.loader(X, parts["train"], settings)
    with one_graph(network) if cutting.cut == "full" else nullcontext():
        judging = some_nodes(Data(num_nodes=0), parts["val"], _stored_labels(X, parts["val"]))
        state = run_epochs(task, loader, judging, checkpoints=checkpoints, callback=callback)
    run = {"model_params": dict(model_params)}
    trained = TrainedNetwork.of(task, state, NodeInputs(channels), GNN, params, run)

    def _judge() -> list[dict[str, float]]:
        outputs = outputs_of_all(cast(GNN, network), X)
        judged = [parts[name] for name in ("val", "test")]
        return [all_scores(target, outputs[nodes], _stored_labels(X, nodes)) for nodes in judged]

    trained.validation, trained.test = _by_first(_judge)
    trained.run["validation_seconds"] = task.validation_seconds
    trained.seconds = time.perf_counter() - begin
    return trained


def parts_of(graph: CSRGraph) -> dict[str, Index]:
    """Nodes of a large graph to learn from, to validate and to test by their masks; no node is in two."""
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
                f"the first of them {both[0]}: masks must not overlap."
            )
    return parts


def num_classes(graph: CSRGraph, parts: Mapping[str, Index]) -> int:
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


def _numbered_classes(number: int, weights: Sequence[float] | None) -> Classes:
    if weights is not None and len(weights) != number:
        raise ParameterError(f"class_weights must be {number} numbers, one for each class; got {len(weights)}.")
    return Classes(tuple(range(number)), None if weights is None else tuple(weights))


def _stored_labels(graph: CSRGraph, nodes: Index) -> Tensor:
    return torch.from_numpy(graph["y"][nodes].astype(np.int64))


def _stored_width(graph: CSRGraph, *, discrete: bool) -> int:
    x = graph["x"]
    if x.ndim != 2 or (x.dtype.kind == "f") == discrete:
        kind = "integers, as there are categories" if discrete else "floats; for integers, give the network categories"
        raise DataError(f"x of {graph.folder or 'the graph'} must be (N, D) of {kind}: it is {x.dtype} {x.shape}.")
    return int(x.shape[1])


def _by_first(function: Callable[[], list[dict[str, float]]]) -> list[dict[str, float]]:
    """What the first process computes, in all of them."""
    rank, world = rank_and_world()
    result = [function() if rank == 0 else []]
    if world > 1:
        torch.distributed.broadcast_object_list(result, src=0)
    return result[0]

"""A training run on one split of a database, and the trained network that comes out of it."""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from rwkplus.datasets.splits import Index, hold_out
from rwkplus.errors import ParameterError
from rwkplus.models.registry import name_of
from rwkplus.training.dataset import Batches, GraphDataset, Model, fitted_params, new_network
from rwkplus.training.inputs import EVALUATION_SIZE, outputs_of
from rwkplus.training.loop import GraphTask, Row, RunState, Settings, run_epochs
from rwkplus.training.targets import Numbers, Target, all_scores
from rwkplus.types import Callback

if TYPE_CHECKING:
    from rwkplus.training.run_folder import Place


@dataclass
class TrainedNetwork:
    """A network with all it takes to use it: how to read graphs or nodes, and what its outputs mean.

    :class:`rwkplus.training.GraphClassifier` and its like save it, as the attribute ``trained_``.

    Attributes:
        model: The network, in evaluation mode.
        inputs: How it reads what it is given.
        target: What its outputs mean.
        name: Registered name or class of the network.
        params: Its keyword arguments.
        settings: How it was trained.
        best_epoch: Epoch whose weights were kept, counted from 0.
        validation: Every score on the validation part, at that epoch; empty without one.
        seconds: How long training took.
        run: What tells the run from others.
        test: For large graphs, every score on the test nodes.
        history: Losses and chosen score, epoch by epoch; not in files.
    """

    model: nn.Module
    inputs: Any  # rwkplus.training.inputs.Inputs, or rwkplus.training.nodes.NodeInputs
    target: Target
    name: Model
    params: Mapping[str, Any]
    settings: Settings
    best_epoch: int
    validation: dict[str, float]
    seconds: float
    run: dict[str, Any] = field(default_factory=dict)
    test: dict[str, float] = field(default_factory=dict)
    history: list[Row] = field(default_factory=list)

    def predict(self, X: Any, **options: Any) -> NDArray[Any]:  # noqa: ANN401
        """Predict the class of every graph or node ``(B,)``, numbers ``(B,)`` or ``(B, C)``, or answers ``(B, C)``.

        Args:
            X: Graphs in any form; for networks of nodes, one graph.
            options: ``unknown_label``, for graphs: blank labels that training did not see (``"ignore"``), or refuse
                them (``"error"``).

        Example:
            >>> from rwkplus.training import Settings, train
            >>> X, y = ["C", "CC", "O", "OO"] * 5, ["alkane", "alkane", "water", "peroxide"] * 5
            >>> trained = train("gin", X, y, settings=Settings(epochs=2), ignore=("edge_attr",))
            >>> trained.predict(["CCC"]).shape, trained.predict_proba(["CCC"]).shape
            ((1,), (1, 3))
        """
        return self.target.decode(self.outputs(X, **options))

    def predict_proba(self, X: Any, **options: Any) -> NDArray[Any]:  # noqa: ANN401
        """Predict probabilities of classes, or of yes: ``(B, C)``."""
        if isinstance(self.target, Numbers):
            raise ParameterError("a regression model has no probabilities: use predict.")
        return self.target.probabilities(self.outputs(X, **options))  # type: ignore[attr-defined, no-any-return]

    def scores(self, X: Any, y: object = None, **options: Any) -> dict[str, float]:  # noqa: ANN401
        """Every score on graphs with known labels, or on some ``nodes``, those of ``test_mask`` by default."""
        return all_scores(self.target, *self.inputs.judged(self.model, self.target, X, y, **options))

    def save(self, path: str | Path) -> Path:
        """Write it as the estimator that it belongs to, into one safetensors file; :func:`rwkplus.load` opens it."""
        from rwkplus.training.estimators import estimator_of  # which is made of this

        return estimator_of(self).save(path)

    def outputs(self, X: Any, **options: Any) -> Tensor:  # noqa: ANN401
        """Raw outputs ``(B, C)``, on the CPU."""
        outputs: Tensor = self.inputs.outputs(self.model, X, **options)
        return outputs


@dataclass(frozen=True)
class Job:
    """A network to train on some graphs of a database, while others choose the best epoch."""

    data: GraphDataset
    model: Model
    params: Mapping[str, Any]
    train: Index
    validation: Index
    settings: Settings

    @classmethod
    def split(
        cls, data: GraphDataset, model: Model, params: Mapping[str, Any], index: Index, settings: Settings
    ) -> "Job":
        """Split the graphs ``index`` into training and validation, by class where there are classes."""
        classes = None if data.classes is None else data.classes[index]
        stay, held = hold_out(index, settings.validation, settings.random_state, classes)
        return cls(data, model, params, stay, held, settings)

    def run(self, place: "Place | None" = None, callback: Callback | None = None) -> TrainedNetwork:
        """Train, or take what is there already."""
        if place is not None:
            found = place.finished(self)
            if found is not None:
                return found
            callback = place.watched(callback)
        begin = time.perf_counter()
        network = new_network(self.data, self.model, self.params, self.settings.random_state)
        task = GraphTask(network, self.data.target(self.train), self.settings)
        batches = self._batches(task, self.train, self.settings.batch_size, self.settings.random_state)
        _check_batch_norm(network, self.train.size // len(batches))
        state = run_epochs(
            task,
            batches,
            self._batches(task, self.validation, EVALUATION_SIZE) if self.validation.size else None,
            checkpoints=None if place is None else place.checkpoints(self.identity()),
            callback=callback,
        )
        trained = self._trained(task, state, begin)
        if place is not None:
            place.write(trained)
        return trained

    def _batches(self, task: GraphTask, index: Index, size: int, seed: int | None = None) -> Batches:
        return Batches(self.data.store(task.model), index, size, task.target.encode(self.data.y[index]), seed)

    def _trained(self, task: GraphTask, state: RunState, begin: float) -> TrainedNetwork:
        network, scores = task.model, {}
        network.load_state_dict(state.weights)
        network.eval()
        if self.validation.size:
            labels = task.target.encode(self.data.y[self.validation])
            scores = all_scores(task.target, outputs_of(network, self.data.store(network), self.validation), labels)
        return TrainedNetwork(
            network,
            self.data.inputs,
            task.target,
            self.model,
            fitted_params(self.data.inputs, self.model, self.params),
            self.settings,
            state.epoch,
            scores,
            time.perf_counter() - begin,
            self.identity(),
            history=state.history,
        )

    def identity(self) -> dict[str, Any]:
        """What two runs must have in common for one to go on where the other stopped."""
        identity = self.settings.of_an_epoch()
        labels = repr([self.train.tolist(), self.data.y[self.train].tolist()])
        digest = hashlib.sha256(f"{self.data.digest} {labels}".encode()).hexdigest()
        identity |= {name: getattr(self.data, name) for name in ("task", "loss", "balance", "positive")}
        return identity | {"model": name_of(self.model), "model_params": dict(self.params), "graphs": digest}


def whole_job(
    model: Model, data: GraphDataset, params: Mapping[str, Any] | None = None, settings: Settings | None = None
) -> Job:
    """A run on all graphs of a database, of which ``settings.validation`` choose the best epoch.

    >>> job = whole_job("gin", GraphDataset(["C", "CC", "O", "OO"] * 5, [0, 0, 1, 1] * 5))
    >>> job.train.size, job.validation.size
    (18, 2)
    """
    return Job.split(data, model, params or {}, np.arange(len(data)), settings or Settings())


def _check_batch_norm(network: nn.Module, smallest_batch: int) -> None:
    if smallest_batch < 2 and any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in network.modules()):
        raise ParameterError(
            "BatchNorm cannot learn from batches of a single graph. Give more graphs or a larger batch_size."
        )

"""One network trained on one split of a database, with its files."""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from rwkplus.data.splits import Index, hold_out
from rwkplus.errors import DataError, ParameterError
from rwkplus.models.files import MODEL_FILE
from rwkplus.models.registry import build, name_of, name_to_save
from rwkplus.ops.collective import rank_and_world
from rwkplus.tasks.batches import EVALUATION_SIZE, Batches
from rwkplus.tasks.dataset import GraphDataset, check_fields, fitted_params
from rwkplus.tasks.graph_task import GraphTask
from rwkplus.tasks.logs import read_history, tensorboard, write_history
from rwkplus.tasks.loop import Checkpoints, OnEpoch, run_epochs
from rwkplus.tasks.metrics import all_scores
from rwkplus.tasks.progress import Progress, Row, check_identity
from rwkplus.tasks.randomness import isolated
from rwkplus.tasks.settings import Settings
from rwkplus.tasks.targets import goal_of
from rwkplus.tasks.trained import TrainedModel, outputs_of

Model = str | type[nn.Module]
HISTORY_FILE, RESUME_FILE = "history.csv", "resume.safetensors"


@dataclass(frozen=True)
class TrainResult:
    """What came out of a training run."""

    trained: TrainedModel
    best_epoch: int
    validation: dict[str, float]
    """Every score on the validation graphs, at the best epoch; empty without validation."""
    history: list[Row]
    """Losses and chosen score, epoch by epoch."""
    seconds: float


@dataclass(frozen=True)
class Place:
    """Where a run keeps its files.

    Args:
        folder: Gets ``model.safetensors``, ``history.csv`` and, while training, ``resume.safetensors``.
        resume: Take a finished model, or go on from a checkpoint, if the folder has one.
        tensorboard: Write TensorBoard's files as well.
        checkpoint_seconds: Least time between two checkpoints.
    """

    folder: Path
    resume: bool = False
    tensorboard: bool = False
    checkpoint_seconds: float = 10.0


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

    def run(self, place: Place | None = None, on_epoch: OnEpoch | None = None) -> TrainResult:
        """Train, or take what is there already."""
        if place is not None:
            name_to_save(self.model)  # an error before training rather than after
            if place.resume and (place.folder / MODEL_FILE).exists():
                return self._read(place.folder)
            on_epoch = tensorboard(place.folder, on_epoch) if place.tensorboard else on_epoch
        begin = time.perf_counter()
        network = new_network(self.data, self.model, self.params, self.settings.random_state)
        task = GraphTask(network, self.data.target(self.train), self.settings)
        batches = self._batches(task, self.train, self.settings.batch_size, self.settings.random_state)
        _check_batch_norm(network, self.train.size // len(batches))
        progress = run_epochs(
            task,
            batches,
            self._batches(task, self.validation, EVALUATION_SIZE) if self.validation.size else None,
            checkpoints=None if place is None else self._checkpoints(place),
            on_epoch=on_epoch,
        )
        result = self._result(task, progress, time.perf_counter() - begin)
        if place is not None and rank_and_world()[0] == 0:
            _write(result, place.folder)
        return result

    def _batches(self, task: GraphTask, index: Index, size: int, seed: int | None = None) -> Batches:
        return Batches(self.data.store(task.model), index, size, task.target.encode(self.data.y[index]), seed)

    def _result(self, task: GraphTask, progress: Progress, seconds: float) -> TrainResult:
        network, scores = task.model, {}
        network.load_state_dict(progress.weights)
        network.eval()
        if self.validation.size:
            labels = task.target.encode(self.data.y[self.validation])
            scores = all_scores(task.target, outputs_of(network, self.data.store(network), self.validation), labels)
        facts = {
            "run": self.identity(),
            "settings": self.settings.to_dict(),
            "best_epoch": progress.epoch,
            "validation": scores,
            "seconds": seconds,
        }
        params = fitted_params(self.data.inputs, self.model, self.params)
        trained = TrainedModel(network, self.data.inputs, task.target, self.model, params, facts)
        return TrainResult(trained, progress.epoch, scores, progress.history, seconds)

    def identity(self) -> dict[str, Any]:
        """What two runs must have in common for one to go on where the other stopped."""
        identity = self.settings.of_an_epoch()
        labels = repr([self.train.tolist(), self.data.y[self.train].tolist()])
        digest = hashlib.sha256(f"{self.data.digest} {labels}".encode()).hexdigest()
        identity |= {name: getattr(self.data, name) for name in ("task", "loss", "balance", "positive")}
        return identity | {"model": name_of(self.model), "model_params": dict(self.params), "graphs": digest}

    def _checkpoints(self, place: Place) -> Checkpoints:
        path = place.folder / RESUME_FILE
        if not place.resume:
            path.unlink(missing_ok=True)
        return Checkpoints(path, self.identity(), place.checkpoint_seconds)

    def _read(self, folder: Path) -> TrainResult:
        """Take the model of a run that came to its end."""
        trained = TrainedModel.load(folder / MODEL_FILE)
        facts = trained.facts
        check_identity(folder / MODEL_FILE, self.identity(), goal_of(trained.target) | facts.get("run", {}))
        epochs = facts.get("settings", {}).get("epochs")
        if epochs != self.settings.epochs:
            raise ParameterError(
                f"{folder} holds a run of {epochs} epochs that came to its end: start anew for {self.settings.epochs}."
            )
        try:
            history = read_history(folder / HISTORY_FILE)
            return TrainResult(trained, facts["best_epoch"], facts["validation"], history, facts["seconds"])
        except (OSError, KeyError, ValueError, TypeError) as error:
            raise DataError(f"{folder} is not complete: its {HISTORY_FILE} is missing or damaged.") from error


def new_network(data: GraphDataset, model: Model, params: Mapping[str, Any], seed: int = 0) -> nn.Module:
    """Build a network for a database, unless it would leave fields of the graphs unread."""
    with isolated(seed):
        params = fitted_params(data.inputs, model, params)
        network = build(model, data.inputs.width, data.width, params)
    check_fields(data.inputs, network)
    return network


def _check_batch_norm(network: nn.Module, smallest_batch: int) -> None:
    if smallest_batch < 2 and any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in network.modules()):
        raise ParameterError(
            "BatchNorm cannot learn from batches of a single graph. Give more graphs or a larger batch_size."
        )


def _write(result: TrainResult, folder: Path) -> None:
    """Write the history, then the model, which marks the run as finished."""
    folder.mkdir(parents=True, exist_ok=True)
    write_history(folder / HISTORY_FILE, result.history)
    result.trained.save(folder / MODEL_FILE)
    (folder / RESUME_FILE).unlink(missing_ok=True)

"""The folder of a training run: its model, its history, and what to resume it from; and training into one."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Unpack

import torch
from torch import Tensor, nn

from rwkplus.errors import DataError, MissingExtraError, ParameterError
from rwkplus.files import atomic_file, json_values, read_tensors, write_tensors
from rwkplus.models.registry import Model, name_to_save
from rwkplus.saving import MODEL_FILE, load
from rwkplus.table import Graphs
from rwkplus.tensors import rank_and_world
from rwkplus.training.dataset import DatasetOptions, GraphDataset
from rwkplus.training.estimators import Job, TrainedNetwork, estimator_of
from rwkplus.training.loop import Row, RunState, Settings
from rwkplus.types import Callback, Progress

HISTORY_FILE, RESUME_FILE = "history.csv", "resume.safetensors"
HEADER = "rwkplus run"


def train(
    model: Model,
    X: Graphs | GraphDataset,
    y: object = None,
    *,
    model_params: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    place: "Place | None" = None,
    callback: Callback | None = None,
    **options: Unpack[DatasetOptions],
) -> TrainedNetwork:
    """Train a network on all given graphs, of which ``settings.validation`` choose the best epoch.

    Arguments are those of :func:`rwkplus.training.cross_validate`; ``callback`` is called after every epoch.

    Example:
        >>> from rwkplus.datasets import load_graphs
        >>> graphs = load_graphs("functional-groups")
        >>> trained = train("gin", graphs, settings=Settings(epochs=5), ignore=("edge_attr",))
        >>> trained.predict(graphs[:2]).shape
        (2,)
    """
    data = GraphDataset.of(X, y, **options)
    return Job.split(data, model, model_params, settings=settings).run(place, callback)


@dataclass(frozen=True)
class Place:
    """Where a run keeps its files.

    Args:
        folder: Gets ``model.safetensors``, ``history.csv`` and, while training, ``resume.safetensors``.
        resume: Take a finished model, or go on from a checkpoint, if the folder has one.
        tensorboard: Write TensorBoard's files as well.
        checkpoint_seconds: Least time between two checkpoints.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from rwkplus.saving import load
        >>> with TemporaryDirectory() as folder:
        ...     X, y = ["C", "CC", "O", "OO"] * 5, [0, 0, 1, 1] * 5
        ...     _ = train("gin", X, y, settings=Settings(epochs=1), ignore=("edge_attr",), place=Place(Path(folder)))
        ...     type(load(folder)).__name__
        'GraphClassifier'
    """

    folder: Path
    resume: bool = False
    tensorboard: bool = False
    checkpoint_seconds: float = 10.0

    def finished(self, job: Job) -> TrainedNetwork | None:
        """The network of a run that came to its end, if it is to be taken."""
        name_to_save(job.model)  # an error before training rather than after
        path = self.folder / MODEL_FILE
        if not self.resume or not path.exists():
            return None
        trained: TrainedNetwork = load(path).trained_
        check_identity(path, job.identity(), trained.run)
        if trained.settings.epochs != job.settings.epochs:
            raise ParameterError(
                f"{self.folder} holds a run of {trained.settings.epochs} epochs that is complete: start a new one for "
                f"{job.settings.epochs}."
            )
        try:
            trained.history = _read_history(self.folder / HISTORY_FILE)
        except (OSError, KeyError, ValueError, TypeError) as error:
            raise DataError(f"{self.folder} is not complete: its {HISTORY_FILE} is missing or damaged.") from error
        return trained

    def watched(self, callback: Callback | None) -> Callback | None:
        """The callback, preceded by one that writes TensorBoard's files if these are wanted."""
        if not self.tensorboard:
            return callback
        check_tensorboard()
        from lightning_fabric.loggers.tensorboard import TensorBoardLogger

        return log_to(TensorBoardLogger(self.folder, name="", version=""), then=callback)

    def checkpoints(self, identity: dict[str, Any]) -> "Checkpoints":
        """What to resume from; of an earlier run that is not to be resumed it is removed."""
        path = self.folder / RESUME_FILE
        if not self.resume:
            path.unlink(missing_ok=True)
        return Checkpoints(path, identity, self.checkpoint_seconds)

    def write(self, trained: TrainedNetwork) -> None:
        """Write the history, then the model, which marks the run as finished."""
        if rank_and_world()[0] > 0:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        _write_history(self.folder / HISTORY_FILE, trained.history)
        estimator_of(trained).save(self.folder / MODEL_FILE)
        (self.folder / RESUME_FILE).unlink(missing_ok=True)


@dataclass(frozen=True)
class Checkpoints:
    """When and where a run leaves traces to resume from.

    Args:
        path: The file; read first if it exists.
        identity: What a run must have in common with the one that wrote the file.
        seconds: Least time between two writes: small graphs make short epochs.
    """

    path: Path
    identity: dict[str, Any]
    seconds: float

    def save(self, state: RunState, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Write all that a run needs to go on after an epoch, whole or not at all."""
        record = {"identity": self.identity, "history": state.history, "epoch": state.epoch}
        record |= {"score": state.score, "loss": state.loss}
        tensors = _named("now", dict(model.state_dict())) | _named("best", state.weights)
        for number, own in optimizer.state_dict()["state"].items():
            tensors |= _named(f"optimizer {number}", own)
        write_tensors(self.path, record, tensors, HEADER)

    def load(self, state: RunState, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Bring a fresh run to where :meth:`save` left it, or say why the file is none of its own."""
        if not self.path.exists():
            return
        try:
            record, tensors = read_tensors(self.path, "checkpoint of a training run", None, "pt", HEADER)
        except DataError as error:
            raise DataError(str(error), "Remove it to start over.") from error
        check_identity(self.path, self.identity, record.get("identity", {}))
        try:
            model.load_state_dict(_under("now", tensors))
            states = [_under(f"optimizer {i}", tensors) for i in range(len(list(model.parameters())))]
            groups = optimizer.state_dict()["param_groups"]
            optimizer.load_state_dict({"state": {i: s for i, s in enumerate(states) if s}, "param_groups": groups})
            state.history, state.epoch = list(record["history"]), int(record["epoch"])
            state.score, state.loss = float(record["score"]), float(record["loss"])
            state.weights = _under("best", tensors)
            state.history[state.epoch]
        except (KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
            raise DataError(
                f"{self.path} is damaged: its parts do not fit together.", "Remove it to start over."
            ) from error


def check_identity(path: Path, wanted: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Raise unless a file belongs to the run that wants to go on from it."""
    wanted, found = json_values(wanted), json_values(found)
    different = [name for name in wanted if found.get(name) != wanted[name]]
    if different:
        raise DataError(
            f"{path} belongs to another run: {', '.join(different)} differ.",
            "Resume with the same settings, or start a new run in another folder.",
        )


def check_tensorboard() -> None:
    """Raise unless the extra is installed."""
    if find_spec("tensorboard") is None:
        raise MissingExtraError("TensorBoard logs need an extra: pip install 'rwkplus[tensorboard]'.")


def log_to(*loggers: Any, then: Callback | None = None) -> Callback:  # noqa: ANN401
    """A ``callback`` that writes the losses and scores of every epoch into Lightning's loggers.

    Whatever has ``log_metrics`` and ``save`` will do: those of :mod:`lightning_fabric.loggers`, and of Lightning, such
    as ``MLFlowLogger`` and ``WandbLogger``. Finish them yourself where they ask for it: ``finalize("success")``.

    Args:
        loggers: Where to write.
        then: A callback to call afterwards.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from lightning_fabric.loggers import CSVLogger
        >>> from rwkplus import GraphClassifier
        >>> with TemporaryDirectory() as folder:
        ...     classifier = GraphClassifier("gin", epochs=2, ignore=("edge_attr",))
        ...     _ = classifier.fit(["C", "CC", "O", "OO"] * 5, [0, 0, 1, 1] * 5, callback=log_to(CSVLogger(folder)))
        ...     (metrics,) = Path(folder).rglob("metrics.csv")
        ...     metrics.read_text().splitlines()[0]
        'step,train_loss,val_loss,val_score'
    """

    def _watch(progress: Progress) -> None:
        for logger in loggers:
            metrics = {name: value for name, value in progress.values.items() if name != "epoch"}
            logger.log_metrics(metrics, progress.done - 1)
            logger.save()
        if then is not None:
            then(progress)

    return _watch


def _write_history(path: Path, history: list[Row]) -> None:
    """Write one line per epoch, the whole file or nothing."""
    with atomic_file(path) as scratch, scratch.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(history[-1]))
        writer.writeheader()
        writer.writerows(history)


def _read_history(path: Path) -> list[Row]:
    with path.open(newline="") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    return [{**row, "epoch": int(row["epoch"])} for row in rows]


def _named(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}/{name}": value for name, value in tensors.items()}


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(f"{prefix}/"): value for name, value in tensors.items() if name.startswith(f"{prefix}/")}

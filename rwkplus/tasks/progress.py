"""What a training run has reached: scores of all epochs, weights of the best one; and the file to resume from."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rwkplus.errors import DataError, NumericError, RWKPlusWarning
from rwkplus.files import json_values, read_tensors, write_tensors
from rwkplus.tasks.metrics import Metric

Row = dict[str, float]
Tensors = dict[str, Tensor]
HEADER = "rwkplus run"
UNSAID = {"lr_schedule": "halve", "loss": "squared", "balance": "none", "positive": None}
"""What is assumed of runs whose files do not tell; they may be of any task."""


@dataclass
class Progress:
    """The best epoch so far: best validation score, among equals the lowest validation loss, else the last one."""

    metric: Metric
    history: list[Row] = field(default_factory=list)
    epoch: int = -1
    score: float = math.nan
    loss: float = math.nan
    weights: Tensors = field(default_factory=dict)

    def update(self, row: Row, model: nn.Module) -> None:
        """Take note of an epoch that ended."""
        self.history.append(row)
        score, loss = row.get("val_score", math.nan), row.get("val_loss", math.nan)
        better = self.metric.rank(score, loss) > self.metric.rank(self.score, self.loss)
        if "val_score" not in row or self.epoch < 0 or better:
            self.epoch, self.score, self.loss = int(row["epoch"]), score, loss
            self.weights = {name: value.detach().clone() for name, value in model.state_dict().items()}

    @property
    def epochs_done(self) -> int:
        """Number of epochs that ended."""
        return len(self.history)

    def check(self) -> None:
        """Raise if even the best epoch has diverged, and warn if no score told which one is the best."""
        row = self.history[self.epoch]
        if not all(math.isfinite(row[loss]) for loss in ("train_loss", "val_loss") if loss in row):
            raise NumericError(
                "no epoch ended with losses that are numbers: the training diverged, or no label of the validation "
                "part is known. Try a smaller learning rate, or look at the scale of features and edge weights."
            )
        if math.isnan(row.get("val_score", 0.0)):
            warnings.warn(
                f"{self.metric.name} was not defined on the validation part in any epoch, so the first one was kept: "
                "validate on more, or choose another metric.",
                RWKPlusWarning,
                stacklevel=3,
            )


def save_run(
    path: Path, identity: Mapping[str, Any], progress: Progress, model: nn.Module, optimizer: torch.optim.Optimizer
) -> None:
    """Write all that a run needs to go on after an epoch, whole or not at all."""
    record = {"identity": dict(identity), "history": progress.history, "epoch": progress.epoch}
    record |= {"score": progress.score, "loss": progress.loss}
    tensors = _named("now", dict(model.state_dict())) | _named("best", progress.weights)
    for number, state in optimizer.state_dict()["state"].items():
        tensors |= _named(f"optimizer {number}", state)
    write_tensors(path, record, tensors, HEADER)


def load_run(
    path: Path, identity: Mapping[str, Any], progress: Progress, model: nn.Module, optimizer: torch.optim.Optimizer
) -> None:
    """Bring a fresh run to where :func:`save_run` left it, or say why the file is none of its own."""
    try:
        record, tensors = read_tensors(path, "checkpoint of a training run", None, "pt", HEADER)
    except DataError as error:
        raise DataError(f"{error} Remove it to start anew.") from error
    check_identity(path, identity, record.get("identity", {}))
    try:
        model.load_state_dict(_under("now", tensors))
        states = [_under(f"optimizer {i}", tensors) for i in range(len(list(model.parameters())))]
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": {i: s for i, s in enumerate(states) if s}, "param_groups": groups})
        progress.history, progress.epoch = record["history"], record["epoch"]
        progress.score, progress.loss = record["score"], record["loss"]
        progress.weights = _under("best", tensors)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{path} is damaged: its parts do not fit together. Remove it to start anew.") from error


def check_identity(path: Path, wanted: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Raise unless a file belongs to the run that wants to go on from it."""
    wanted, found = json_values(wanted), json_values(found)
    found = {"task": wanted.get("task"), **UNSAID, **found}
    different = [name for name in wanted if found.get(name) != wanted[name]]
    if different:
        raise DataError(
            f"{path} belongs to another run: {', '.join(different)} differ. Resume with what it was started with, or "
            "start anew in another folder."
        )


def _named(prefix: str, tensors: Mapping[str, Tensor]) -> Tensors:
    return {f"{prefix}/{name}": value for name, value in tensors.items()}


def _under(prefix: str, tensors: Tensors) -> Tensors:
    return {name.removeprefix(f"{prefix}/"): value for name, value in tensors.items() if name.startswith(f"{prefix}/")}

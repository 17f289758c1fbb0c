"""How a network is trained, in one place."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import cos, pi
from numbers import Real
from typing import Any, Literal, Self

from rwkplus.errors import ParameterError
from rwkplus.types import check_choice, check_integer

LrSchedule = Literal["halve", "cosine"]


@dataclass(frozen=True)
class Settings:
    """Settings of one training run; the defaults are those of the paper's classification experiments.

    Args:
        epochs: Passes over the training graphs.
        batch_size: Most graphs per step, over all processes.
        lr: Learning rate of Adam.
        lr_schedule: ``"halve"``, or ``"cosine"``, where the rate falls to zero along half a cosine over all epochs.
        halve_lr_every: Epochs after which the learning rate halves, again and again; 0 keeps it.
        weight_decay: Decoupled weight decay; 0 is plain Adam.
        validation: Share of the training graphs that chooses the best epoch; 0 keeps the last epoch.
        metric: Score that chooses (``accuracy``, ``roc_auc``, ``mae``, ...); the usual one of the task by default.
            Ties go to the lower validation loss.
        patience: Epochs without a better score after which to stop; None trains all epochs.
        random_state: Seed of folds, initial weights, order and dropout.
        accelerator: Lightning's name of the hardware: ``"auto"``, ``"cpu"``, ``"gpu"``.
        devices: Processes on this machine.
        num_nodes: Machines.
        threads: Threads of torch while training; None leaves them alone.
    """

    epochs: int = 200
    batch_size: int = 64
    lr: float = 1e-2
    lr_schedule: LrSchedule = "halve"
    halve_lr_every: int = 50
    weight_decay: float = 0.0
    validation: float = 0.1
    metric: str | None = None
    patience: int | None = None
    random_state: int = 0
    accelerator: str = "auto"
    devices: int = 1
    num_nodes: int = 1
    threads: int | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "devices", "num_nodes"):
            check_integer(name, getattr(self, name), 1)
        for name in ("halve_lr_every", "random_state"):
            check_integer(name, getattr(self, name), 0)
        if self.random_state >= 2**32:
            raise ParameterError(f"random_state must be less than 2**32, got {self.random_state}.")
        for name in ("patience", "threads"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), 1)
        check_choice("lr_schedule", self.lr_schedule, LrSchedule)
        self._check_number("lr", 0, None)
        self._check_number("weight_decay", 0, None, ends=True)
        self._check_number("validation", 0, 1, ends=True)
        if self.validation == 1:
            raise ParameterError("validation must be less than 1: something must be left to train on.")
        if self.patience is not None and self.validation == 0:
            raise ParameterError("patience needs validation graphs: give validation more than 0.")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Make settings from names and values; an unknown name is an error."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise ParameterError(f"there is no setting {name!r}; known are {', '.join(known)}.")
        return cls(**values)

    def lr_at(self, epoch: int) -> float:
        """Learning rate of an epoch, counted from 0."""
        if self.lr_schedule == "cosine":
            return self.lr * (1 + cos(pi * min(epoch / self.epochs, 1))) / 2
        return self.lr * 0.5 ** (epoch // self.halve_lr_every) if self.halve_lr_every else self.lr

    def to_dict(self) -> dict[str, Any]:
        """Names and values."""
        return asdict(self)

    def of_an_epoch(self) -> dict[str, Any]:
        """What alters an epoch: runs that agree in it can go on where the other stopped, with more epochs, say."""
        passing = {"epochs", "patience", "threads"} - ({"epochs"} if self.lr_schedule == "cosine" else set())
        return {name: value for name, value in self.to_dict().items() if name not in passing}

    def _check_number(self, name: str, low: float, high: float | None, *, ends: bool = False) -> None:
        value = getattr(self, name)
        number = isinstance(value, Real) and not isinstance(value, bool)
        inside = number and (low < value or (ends and value == low)) and (high is None or value <= high)
        if not inside or value in (float("inf"), float("-inf")):
            bound = f"{'at least' if ends else 'more than'} {low}" + ("" if high is None else f" and at most {high}")
            raise ParameterError(f"{name} must be a number of {bound}, got {value!r}.")

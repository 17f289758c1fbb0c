"""Training, on Lightning Fabric: settings, batches, the task that takes the steps, epochs, and the best of them."""

import logging
import math
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict, dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from rwkplus.datasets.splits import Index
from rwkplus.errors import NumericError, ParameterError, RWKPlusWarning
from rwkplus.tensors import rank_and_world, share_of_batches
from rwkplus.training.dataset import GraphStore
from rwkplus.training.processes import cat_over_processes, leave_at_exit, share_batch_norm, sum_over_processes
from rwkplus.training.targets import Metric, Target, metric_for
from rwkplus.types import Callback, LrSchedule, Progress, check_choice, check_integer, check_share

if TYPE_CHECKING:
    from rwkplus.training.run_folder import Checkpoints

Row = dict[str, float]
"""Losses and scores of an epoch."""
Judged = tuple[Tensor, Tensor]  # outputs (B, C) and encoded labels
LOGGER = "lightning_fabric"
THREADS_PER_CORE = 4
LARGEST = 1e38
"""What torch can still compute with."""


@dataclass(frozen=True)
class Settings:
    """Settings of one training run; the defaults are those of the paper's classification experiments.

    Those that estimators have as well are explained at :class:`rwkplus.training.GraphEstimator`; among equal scores,
    the lower validation loss chooses.

    Args:
        random_state: Seed of folds, initial weights, order and dropout.
        devices: Processes on this machine, which share every batch.
        num_nodes: Machines.
        threads: Threads of torch while training; None leaves them alone.

    Example:
        >>> settings = Settings(epochs=100, lr=0.1, halve_lr_every=40)
        >>> [settings.lr_at(epoch) for epoch in (0, 39, 40, 80)]
        [0.1, 0.1, 0.05, 0.025]
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
        if self.patience is not None:
            check_integer("patience", self.patience, 1)
        _check_threads(self.threads)
        check_choice("lr_schedule", self.lr_schedule, LrSchedule)
        self._check_number("lr", positive=True)
        self._check_number("weight_decay", positive=False)
        check_share("validation", self.validation)
        if self.validation == 1:
            raise ParameterError("validation must be less than 1: something must be left to train on.")
        if self.patience is not None and self.validation == 0:
            raise ParameterError("patience needs validation graphs: give validation more than 0.")

    def lr_at(self, epoch: int) -> float:
        """Learning rate of an epoch, counted from 0.

        >>> round(Settings(epochs=10, lr=0.1, lr_schedule="cosine").lr_at(5), 3)
        0.05
        """
        if self.lr_schedule == "cosine":
            return self.lr * (1 + math.cos(math.pi * min(epoch / self.epochs, 1))) / 2
        return self.lr * 0.5 ** (epoch // self.halve_lr_every) if self.halve_lr_every else self.lr

    def to_dict(self) -> dict[str, Any]:
        """Names and values."""
        return asdict(self)

    def of_an_epoch(self) -> dict[str, Any]:
        """What alters an epoch: runs that agree in it can go on where the other stopped, with more epochs, say.

        >>> Settings(epochs=3).of_an_epoch() == Settings(epochs=9).of_an_epoch()
        True
        """
        passing = {"epochs", "patience", "threads"} - ({"epochs"} if self.lr_schedule == "cosine" else set())
        return {name: value for name, value in self.to_dict().items() if name not in passing}

    def _check_number(self, name: str, *, positive: bool) -> None:
        value = getattr(self, name)
        known = isinstance(value, Real) and not isinstance(value, bool) and value < LARGEST
        if not known or not (value > 0 if positive else value >= 0):
            bound = "more than" if positive else "at least"
            raise ParameterError(f"{name} must be a number of {bound} 0, got {value!r}.")


class GraphTask(nn.Module):
    """A network, what its outputs mean, and how it takes a step; tasks of nodes derive from it."""

    def __init__(self, model: nn.Module, target: Target, settings: Settings) -> None:
        super().__init__()
        self.model = model
        self.target = target
        self.settings = settings
        self.metric = metric_for(target, settings.metric)

    def forward(self, batch: Batch) -> Tensor:
        """Outputs ``(B, C)``."""
        outputs: Tensor = self.model(batch)
        expected = (batch.num_graphs, self.target.width)
        if outputs.shape != expected:
            raise ParameterError(
                f"{type(self.model).__name__} gives outputs {tuple(outputs.shape)} where {expected} are expected: one "
                "row for every graph. Is it made for nodes?"
            )
        return outputs

    def training_step(self, batch: Batch) -> Tensor:
        """Mean loss over the known labels of the batch, of all processes together."""
        total, count = self.target.loss(self(batch), batch.y)
        world = rank_and_world()[1]
        if world > 1:  # DDP averages gradients: weigh by what each process has, or uneven batches would count twice
            total, count = total * world, sum_over_processes(count)
        return total / count.clamp(min=torch.finfo(total.dtype).tiny)  # the mean of no labels is zero

    def validation_step(self, batch: Batch) -> Judged:
        """Outputs and labels; scores of rankings need those of all graphs."""
        return self(batch), batch.y

    def validation_scores(self, judged: Sequence[Judged]) -> Row:
        """Loss and chosen metric over the batches of all processes."""
        together = cat_over_processes if rank_and_world()[1] > 1 else torch.cat
        outputs, y = (together(list(parts)) for parts in zip(*judged, strict=True))
        return self._judge(outputs, y)

    def _judge(self, outputs: Tensor, y: Tensor) -> Row:
        total, count = self.target.loss(outputs, y)
        return {"val_loss": float(total / count), "val_score": self.metric(self.target, outputs, y)}

    def optimizer(self) -> torch.optim.Optimizer:
        """Adam with decoupled weight decay."""
        settings = self.settings
        return torch.optim.AdamW(self.parameters(), lr=settings.lr, weight_decay=settings.weight_decay, fused=True)


class Loader(Protocol):
    """Batches of an epoch: graphs of a database, or parts of a single graph."""

    epoch: int

    def __iter__(self) -> Iterator[Data]: ...


class OneBatch:
    """A loader of a single batch, whose tensors are the same in every epoch: they may be most of the memory."""

    def __init__(self, batch: Data) -> None:
        self.batch, self.epoch = batch, 0

    def __iter__(self) -> Iterator[Data]:
        yield copy(self.batch)  # networks may replace fields of what they get


@dataclass
class RunState:
    """What a run has reached: all epochs, and the best of them.

    That is the one with the best validation score, among equals the lowest validation loss; without, the last one.

    Example:
        >>> from rwkplus.training.targets import Classes
        >>> state = RunState(metric_for(Classes((0, 1))))
        >>> for epoch, score in enumerate([0.5, 0.9, 0.7]):
        ...     state.update({"epoch": epoch, "val_score": score, "val_loss": 1.0}, nn.Linear(1, 1))
        >>> state.epoch, state.score
        (1, 0.9)
    """

    metric: Metric
    history: list[Row] = field(default_factory=list)
    epoch: int = -1
    score: float = math.nan
    loss: float = math.nan
    weights: dict[str, Tensor] = field(default_factory=dict)

    def update(self, row: Row, model: nn.Module) -> None:
        """Take note of an epoch that ended."""
        self.history.append(row)
        score, loss = row.get("val_score", math.nan), row.get("val_loss", math.nan)
        better = self.metric.rank(score, loss) > self.metric.rank(self.score, self.loss)
        if "val_score" not in row or self.epoch < 0 or better:
            self.epoch, self.score, self.loss = int(row["epoch"]), score, loss
            self.weights = {name: value.detach().clone() for name, value in model.state_dict().items()}

    def is_done(self, settings: Settings) -> bool:
        """Whether all epochs are over, or patience is."""
        stale = len(self.history) - 1 - self.epoch
        return len(self.history) >= settings.epochs or (settings.patience is not None and stale >= settings.patience)

    def check(self) -> None:
        """Raise if even the best epoch has diverged, and warn if no score told which one is the best."""
        row = self.history[self.epoch]
        if not all(math.isfinite(row[loss]) for loss in ("train_loss", "val_loss") if loss in row):
            raise NumericError(
                "no epoch ended with losses that are numbers: the training diverged.",
                "Try a smaller learning rate, or look at the scale of features and edge weights.",
            )
        if math.isnan(row.get("val_score", 0.0)):
            warnings.warn(
                RWKPlusWarning(
                    f"{self.metric.name} was not defined on the validation part in any epoch, so the first one was "
                    "kept: validate on more, or choose another metric."
                ),
                stacklevel=3,
            )


class Batches:
    """Batches as even as possible, divided among the processes of a run.

    A fixed batch size would leave a last batch of any size, down to the single graph that BatchNorm refuses and
    to fewer graphs than processes; here sizes differ by one at most. The order depends on the seed and the
    attribute ``epoch`` alone, so that a resumed run sees what an uninterrupted one would have seen.

    ``y`` holds the encoded labels of the graphs ``index``, which become ``batch.y``. Without a seed, order and batches
    are kept.

    Example:
        >>> from rwkplus.training import GraphDataset
        >>> data = GraphDataset(["C" * n for n in range(1, 8)], range(7), task="regression")
        >>> [batch.num_graphs for batch in Batches(GraphStore(data.tensors), np.arange(7), batch_size=3)]
        [3, 2, 2]
    """

    def __init__(
        self, store: GraphStore, index: Index, batch_size: int, y: Tensor | None = None, seed: int | None = None
    ) -> None:
        self.store = store
        self.index = np.asarray(index, np.int64)
        self.y = y
        self.seed = seed
        self.epoch = 0
        self.num_batches = -(-self.index.size // batch_size)
        self._kept: list[Batch] | None = None

    def __len__(self) -> int:
        return self.num_batches

    def __iter__(self) -> Iterator[Batch]:
        if self.seed is not None:
            generator = torch.Generator().manual_seed(derived_seed(self.seed, self.epoch))
            order = torch.randperm(self.index.size, generator=generator).numpy()
            return (self._batch(part) for part in self._parts(order))
        if self._kept is None:
            self._kept = [self._batch(part) for part in self._parts(np.arange(self.index.size))]
        return (copy(batch) for batch in self._kept)  # networks may write into what they get

    def _batch(self, part: Index) -> Batch:
        batch = self.store.batch(self.index[part])
        if self.y is not None:
            batch.y = self.y[torch.from_numpy(part)]
        return batch

    def _parts(self, order: Index) -> list[Index]:
        return share_of_batches(order, self.num_batches, *rank_and_world(), things="graphs")


def run_epochs(
    task: GraphTask,
    train: Loader,
    validation: Loader | None,
    *,
    checkpoints: "Checkpoints | None" = None,
    callback: Callback | None = None,
) -> RunState:
    """Train a task for as many epochs as its settings say, and return what it reached, unless it diverged.

    All that is random in an epoch depends on seed, epoch and process alone: a run that was killed and resumed ends
    with the very numbers of one that was not.
    """
    settings, state = task.settings, RunState(task.metric)
    with _quiet(), threads(settings.threads), isolated(settings.random_state):
        fabric = _fabric(settings)
        fabric.launch()
        if fabric.world_size > 1:
            leave_at_exit()
            share_batch_norm(task.model)
        optimizer = task.optimizer()
        module, stepper = cast(tuple[GraphTask, torch.optim.Optimizer], fabric.setup(task, optimizer))  # behave alike
        if checkpoints is not None:
            checkpoints.load(state, task, optimizer)
        written = time.monotonic()
        while not state.is_done(settings):
            row = _epoch(fabric, module, stepper, train, validation, len(state.history))
            state.update(row, task.model)
            if not fabric.is_global_zero:
                continue
            if checkpoints is not None and time.monotonic() - written >= checkpoints.seconds:
                checkpoints.save(state, task, optimizer)
                written = time.monotonic()
            if callback is not None:
                callback(Progress("epochs", len(state.history), settings.epochs, row))
    state.check()
    return state


def _epoch(
    fabric: Fabric,
    task: GraphTask,
    optimizer: torch.optim.Optimizer,
    train: Loader,
    validation: Loader | None,
    epoch: int,
) -> Row:
    """Train on every batch once, then validate."""
    settings = task.settings
    train.epoch = epoch
    _reseed(settings.random_state, epoch, fabric.global_rank)
    for group in optimizer.param_groups:
        group["lr"] = settings.lr_at(epoch)
    task.train()
    losses = []
    for batch in train:
        optimizer.zero_grad()
        loss = task.training_step(_moved(batch, fabric.device))
        fabric.backward(loss)
        optimizer.step()
        losses.append(loss.detach())
    mean_loss = torch.stack(losses).mean()
    if fabric.world_size > 1:
        mean_loss = sum_over_processes(mean_loss) / fabric.world_size
    row: Row = {"epoch": epoch, "train_loss": float(mean_loss)}
    if validation is None:
        return row
    task.eval()
    with torch.inference_mode():
        judged = [task.validation_step(_moved(batch, fabric.device)) for batch in validation]
        scores = task.validation_scores(judged)
    row |= fabric.broadcast(scores) if fabric.world_size > 1 else scores  # all must agree on when to stop
    return row


def _moved(batch: Data, device: torch.device) -> Data:
    return batch if device.type == "cpu" else batch.to(device)


def _fabric(settings: Settings) -> Fabric:
    """Choose hardware and processes; several processes share gradients by DDP."""
    devices, num_nodes = settings.devices, settings.num_nodes
    if "LOCAL_WORLD_SIZE" in os.environ:  # torchrun has started the processes already
        devices = int(os.environ["LOCAL_WORLD_SIZE"])
        num_nodes = int(os.environ["WORLD_SIZE"]) // devices
    strategy = "ddp" if devices * num_nodes > 1 else "auto"
    try:
        return Fabric(accelerator=settings.accelerator, devices=devices, num_nodes=num_nodes, strategy=strategy)
    except (ValueError, RuntimeError, ImportError) as error:
        raise ParameterError(
            f"accelerator={settings.accelerator!r} with devices={devices} is not possible here: {error}"
        ) from error


def _check_threads(number: int | None) -> None:
    """Refuse numbers of threads with which torch would break down."""
    if number is None:
        return
    check_integer("threads", number, 1)
    most = THREADS_PER_CORE * (os.cpu_count() or 1)
    if number > most:
        raise ParameterError(f"threads must be at most {most} on this machine, and 1 is often fastest; got {number}.")


@contextmanager
def threads(number: int | None) -> Iterator[None]:
    """Set torch's threads inside the block; None leaves them alone."""
    before = torch.get_num_threads()
    try:
        if number is not None:
            torch.set_num_threads(number)
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Let Lightning tell about errors only."""
    logger = logging.getLogger(LOGGER)
    before = logger.level
    try:
        logger.setLevel(logging.ERROR)
        yield
    finally:
        logger.setLevel(before)


def derived_seed(*numbers: int) -> int:
    """Mix numbers, such as seed and epoch, into one well-spread seed.

    >>> derived_seed(0, 1) == derived_seed(0, 1) != derived_seed(0, 2)
    True
    """
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


@contextmanager
def isolated(*numbers: int) -> Iterator[None]:
    """Seed torch's global generators inside the block and give them back untouched.

    Initial weights and dropout draw from the global generators; there is no other way to seed them.

    >>> with isolated(7):
    ...     first = torch.rand(2)
    >>> with isolated(7):
    ...     bool((torch.rand(2) == first).all())
    True
    """
    with torch.random.fork_rng():
        _reseed(*numbers)
        yield


def _reseed(*numbers: int) -> None:
    """Seed the global generators anew; only inside :func:`isolated`.

    ``torch.manual_seed`` would also note a stack trace for every kind of hardware that is not there: a millisecond,
    once per epoch, where an epoch may take ten.
    """
    seed = derived_seed(*numbers)
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)

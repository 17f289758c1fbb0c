"""The training loop, on Lightning Fabric: devices, processes and machines without a cost per step on small graphs."""

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import torch
from lightning.fabric import Fabric
from torch_geometric.data import Data

from rwkplus.errors import ParameterError
from rwkplus.tasks.graph_task import GraphTask
from rwkplus.tasks.processes import leave_at_exit, sum_over_processes
from rwkplus.tasks.progress import Progress, Row, load_run, save_run
from rwkplus.tasks.randomness import isolated, reseed
from rwkplus.tasks.settings import Settings
from rwkplus.tasks.shared_norm import share_batch_norm

OnEpoch = Callable[[Row], None]
LOGGERS = ("lightning.pytorch", "lightning.fabric")


class Loader(Protocol):
    """Batches of an epoch: graphs of a database, or parts of a single graph."""

    epoch: int

    def __iter__(self) -> Iterator[Data]: ...


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


def run_epochs(
    task: GraphTask,
    train: Loader,
    validation: Loader | None,
    *,
    checkpoints: Checkpoints | None = None,
    on_epoch: OnEpoch | None = None,
) -> Progress:
    """Train a task for as many epochs as its settings say, and return what it reached, unless it diverged.

    All that is random in an epoch depends on seed, epoch and process alone: a run that was killed and resumed ends
    with the very numbers of one that was not.
    """
    settings, progress = task.settings, Progress(task.metric)
    with quiet(), threads(settings.threads), isolated(settings.random_state):
        fabric = build_fabric(settings)
        fabric.launch()
        if fabric.world_size > 1:
            leave_at_exit()
            share_batch_norm(task.model)
        optimizer = task.optimizer()
        module, stepper = cast(tuple[GraphTask, torch.optim.Optimizer], fabric.setup(task, optimizer))  # behave alike
        if checkpoints is not None and checkpoints.path.exists():
            load_run(checkpoints.path, checkpoints.identity, progress, task, optimizer)
        written = time.monotonic()
        while not _is_done(progress, settings):
            row = _epoch(fabric, module, stepper, train, validation, progress.epochs_done)
            progress.update(row, task.model)
            due = checkpoints is not None and time.monotonic() - written >= checkpoints.seconds
            if due and fabric.is_global_zero:
                save_run(checkpoints.path, checkpoints.identity, progress, task, optimizer)  # type: ignore[union-attr]
                written = time.monotonic()
            if on_epoch is not None and fabric.is_global_zero:
                on_epoch(row)
    progress.check()
    return progress


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
    reseed(settings.random_state, epoch, fabric.global_rank)
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
    mean_loss = sum_over_processes(torch.stack(losses).mean()) / fabric.world_size
    row: Row = {"epoch": epoch, "train_loss": float(mean_loss)}
    if validation is None:
        return row
    task.eval()
    with torch.inference_mode():
        judged = [task.validation_step(_moved(batch, fabric.device)) for batch in validation]
        scores = task.validation_scores(judged)
    row |= fabric.broadcast(scores) if fabric.world_size > 1 else scores  # all must agree on when to stop
    return row


def _is_done(progress: Progress, settings: Settings) -> bool:
    stale = progress.epochs_done - 1 - progress.epoch
    return progress.epochs_done >= settings.epochs or (settings.patience is not None and stale >= settings.patience)


def _moved(batch: Data, device: torch.device) -> Data:
    return batch if device.type == "cpu" else batch.to(device)


def build_fabric(settings: Settings) -> Fabric:
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
def quiet() -> Iterator[None]:
    """Let Lightning tell about errors only."""
    before = {name: logging.getLogger(name).level for name in LOGGERS}
    try:
        for name in LOGGERS:
            logging.getLogger(name).setLevel(logging.ERROR)
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)

"""Scores of epochs for other programs: CSV files and TensorBoard (extra: ``tensorboard``)."""

import csv
from importlib.util import find_spec
from pathlib import Path

from rwkplus.errors import MissingExtraError
from rwkplus.files import whole_file
from rwkplus.tasks.loop import OnEpoch
from rwkplus.tasks.progress import Row


def write_history(path: Path, history: list[Row]) -> None:
    """Write one line per epoch, the whole file or nothing."""
    with whole_file(path) as scratch, scratch.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(history[-1]))
        writer.writeheader()
        writer.writerows(history)


def read_history(path: Path) -> list[Row]:
    """Read what :func:`write_history` wrote."""
    with path.open(newline="") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    return [{**row, "epoch": int(row["epoch"])} for row in rows]


def check_tensorboard() -> None:
    """Raise unless the extra is installed."""
    if find_spec("tensorboard") is None:
        raise MissingExtraError("TensorBoard logs need an extra: pip install 'rwkplus[tensorboard]'.")


def tensorboard(folder: Path, then: OnEpoch | None = None) -> OnEpoch:
    """Return a watcher that writes TensorBoard's files and calls another watcher ``then``."""
    check_tensorboard()
    from lightning.fabric.loggers.tensorboard import TensorBoardLogger

    logger = TensorBoardLogger(folder, name="", version="")

    def watch(row: Row) -> None:
        logger.log_metrics({name: value for name, value in row.items() if name != "epoch"}, int(row["epoch"]))
        if then is not None:
            then(row)

    return watch

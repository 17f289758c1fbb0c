"""Result files: what was run, where, when and what came out."""

import os
import platform
from collections.abc import Mapping
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rwkplus.files import json_text, write_atomic

PACKAGES = ("rwkplus", "torch", "torch_geometric", "scikit-learn", "numpy", "scipy", "numba", "grakel")


def save_result(name: str, config: Mapping[str, Any], values: Mapping[str, Any], folder: Path) -> Path:
    """Write ``NAME.json`` whole or not at all, with the configuration and the machine beside the values.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     save_result("result", {"epochs": 5}, {"accuracy": 0.9}, Path(folder)).name
        'result.json'
    """
    record = {"config": dict(config), "environment": environment(), "values": dict(values)}
    return write_atomic(folder / f"{name}.json", json_text(record) + "\n")


def environment() -> dict[str, Any]:
    """Hardware, versions and date.

    >>> sorted(environment())
    ['cores', 'cpu', 'date', 'python', 'versions']
    """
    return {
        "date": date.today().isoformat(),
        "python": platform.python_version(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()

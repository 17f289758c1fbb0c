"""Where measured values come from: code, command, machine and the data that were read; and whether they were edited."""

import hashlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from rwkplus.datasets.catalog import cache_folder, data_folder
from rwkplus.files import json_text, json_values

ROOT = Path(__file__).parents[1]
CODE = ("rwkplus", "experiments", "benchmarks", ":!experiments/results")
"""What must be as committed, lest a run count as one of changed code."""
UNKNOWN: Mapping[str, Any] = {"commit": None}
"""Runs from before commits were recorded."""
OPTIONS: ContextVar[Mapping[str, Any] | None] = ContextVar("OPTIONS", default=None)
"""All options of the command that runs, also those that were not typed."""
_opened: set[str] = set()


def digest_of(values: Any) -> str:  # noqa: ANN401
    """Digest of values as a JSON file holds them, whatever its order and spaces.

    >>> digest_of({"b": (1, 2.5), "a": "x"}) == digest_of({"a": "x", "b": [1, 2.5]})
    True
    """
    known = json.loads(json_text(values))
    return hashlib.sha256(json.dumps(known, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


@cache
def started() -> Mapping[str, Any]:
    """Code, command and beginning of this process. Asked for at its start: a later commit is not what it runs."""
    sys.addaudithook(_note)
    top, commit = _git("rev-parse", "--show-toplevel", "HEAD") or (None, None)
    if top is None or Path(top) != ROOT:
        commit = None
    changed = commit is not None and bool(_git("status", "--porcelain", "--", *CODE))
    return {"commit": commit, "dirty": changed, "command": _command(), "begin": _now()}


def this_run() -> dict[str, Any]:
    """What a result file says about this process, until now."""
    options = json_values({name: _plain(value) for name, value in (OPTIONS.get() or {}).items()})
    return {**started(), "end": _now(), "options": options, "inputs": inputs()}


def with_this_run(earlier: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Runs whose values are in a file, this one last and once."""
    mine = this_run()
    return [*(run for run in earlier if any(run.get(key) != mine[key] for key in ("begin", "command"))), mine]


def inputs() -> dict[str, str]:
    """Digest of each data file that this process has opened, by its path below the folder of data sets."""
    root = (data_folder() or cache_folder()).resolve()
    paths = (Path(name).resolve() for name in sorted(_opened))
    ours = (path for path in paths if root in path.parents and path.is_file())
    return {path.relative_to(root).as_posix(): _digest(path) for path in ours}


@cache
def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    """Remember the name of every file that is opened, by whatever library: the audit hook of this process."""
    if event == "open" and isinstance(arguments[0], str | os.PathLike):
        _opened.add(os.fspath(arguments[0]))


def _plain(value: Any) -> Any:  # noqa: ANN401
    return str(value) if isinstance(value, os.PathLike) else value


def _command() -> str:
    """The command line, with a module by its name and not by its file."""
    spec = sys.modules["__main__"].__spec__
    module = [] if spec is None else ["python", "-m", spec.name.removesuffix(".__main__")]
    return shlex.join([*(module or [Path(sys.argv[0]).name]), *sys.argv[1:]])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _git(*arguments: str) -> list[str] | None:
    """Lines that git prints about the clone that this file is in, or None where there is none."""
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.splitlines()

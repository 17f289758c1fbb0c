"""Result files: what was run, where, when and what came out, and what a run finds again of an earlier one."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from experiments.provenance import UNKNOWN, digest_of, with_this_run
from rwkplus.cli.run_record import environment
from rwkplus.errors import DataError, ParameterError
from rwkplus.files import damaged, json_text, json_values, read_json, write_atomic

RESULTS = Path("experiments/results")
RUNS = Path("runs")
MISSING = "missing"


def save_result(
    name: str,
    config: Mapping[str, Any],
    values: Mapping[str, Any],
    folder: Path = RESULTS,
    *,
    earlier: Iterable[Mapping[str, Any]] = (),
) -> Path:
    """Write one result file whole or not at all, with where its values come from.

    Args:
        name: Name of the file, without its suffix.
        config: What was run.
        values: What was measured.
        folder: Where result files are.
        earlier: Runs that have left some of the values, as a result file has them.
    """
    record = {
        "config": dict(config),
        "environment": environment(),
        "runs": with_this_run(earlier),
        "digest": digest_of(values),
        "values": dict(values),
    }
    return write_atomic(folder / f"{name}.json", json_text(record) + "\n")


def read_result(name: str, folder: Path = RESULTS) -> dict[str, Any]:
    """Read a result file.

    Raises:
        DataError: There is none, or its values are not those that were written.
    """
    path = folder / f"{name}.json"
    record: dict[str, Any] = read_json(path, f"there is no result file {path}: run the experiment first.")
    if record.get("digest") != digest_of(record["values"]):
        raise damaged(path, "values do not have the digest that was written with them")
    return record


def known_rows(given: Sequence[str] | None, known: Iterable[str]) -> list[str]:
    """The rows that are wanted, all of them by default, or an error that names one that does not exist.

    >>> known_rows(["GIN"], ["GCN", "GIN"]), known_rows(None, ["GCN", "GIN"])
    (['GIN'], ['GCN', 'GIN'])
    """
    names = list(known)
    if unknown := [name for name in given or () if name not in names]:
        raise ParameterError(f"there is no row {unknown[0]!r}; known are {'; '.join(names)}.")
    return list(given or names)


def finished(name: str, config: Mapping[str, Any], folder: Path = RESULTS) -> dict[str, Any]:
    """Values that an earlier run with the same configuration has left, so that it can be gone on with; mostly none.

    The command may differ: it tells how a run is asked for, by the path of its data, say, not what it is.

    Args:
        name: Name of the result file.
        config: Configuration of the run to come.
        folder: Where result files are.

    Raises:
        DataError: The file holds results of another configuration, which must not be lost.
    """
    if not exists(name, folder):
        return {}
    record, path = read_result(name, folder), folder / f"{name}.json"
    there, now = ({**part, "command": ""} for part in (record["config"], json_values(dict(config))))
    different = list(_differences(there, now))
    if different:
        raise DataError(
            f"{path} holds results with other settings: {', '.join(different)}. Move the file away, or run in another "
            "folder."
        )
    values: dict[str, Any] = record["values"]
    return values


def change_result(
    name: str, config: Mapping[str, Any], change: Callable[[dict[str, Any]], object], folder: Path = RESULTS
) -> dict[str, Any]:
    """Let ``change`` alter the values that a result file holds at this moment, write and return them.

    What another process has added since this one began is thus kept; like :func:`finished`, this refuses a file of
    another configuration.
    """
    with _one_at_a_time((folder / name).parent):
        values = finished(name, config, folder)
        earlier = read_result(name, folder).get("runs", [UNKNOWN]) if values else []
        change(values)
        save_result(name, config, values, folder, earlier=earlier)
    return values


def add_row(
    name: str, config: Mapping[str, Any], row: Mapping[str, Any], key: Sequence[str], folder: Path = RESULTS
) -> dict[str, Any]:
    """Add to the ``rows`` of a result file, unless one with the same ``key`` is there, and return all values."""

    def add(values: dict[str, Any]) -> None:
        rows = values.setdefault("rows", [])
        if not any(all(old[part] == row[part] for part in key) for old in rows):
            rows.append(dict(row))

    return change_result(name, config, add, folder)


def add_entries(
    name: str, config: Mapping[str, Any], found: Mapping[str, Mapping[str, Any]], folder: Path = RESULTS
) -> dict[str, Any]:
    """Add entries to parts of the values of a result file, such as scores by method, and return all values."""

    def add(values: dict[str, Any]) -> None:
        for part, entries in found.items():
            values[part] = {**values.get(part, {}), **entries}

    return change_result(name, config, add, folder)


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Keep others from writing into a folder between our reading and our writing, where the system can."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    place = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a network disk without locks
            fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)


def _differences(there: Any, now: Any, name: str = "") -> Iterator[str]:  # noqa: ANN401
    """Name and both values of every setting that differs, however deep."""
    if isinstance(there, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*there, *now)):
            yield from _differences(there.get(key, MISSING), now.get(key, MISSING), f"{name}.{key}".lstrip("."))
    elif there != now:
        yield f"{name} ({there if there is MISSING else repr(there)} there, {now if now is MISSING else repr(now)} now)"


def run_folder(name: str, *depends_on: Any, folder: Path = RUNS) -> Path:  # noqa: ANN401
    """Where a run keeps its networks, so that it can be killed: another folder for whatever else it depends on."""
    digest = hashlib.sha256(json.dumps(depends_on).encode()).hexdigest()[:8]
    return folder / f"{name} {digest}"


def exists(name: str, folder: Path = RESULTS) -> bool:
    """Whether there is a result file of this name."""
    return (folder / f"{name}.json").exists()

"""What experiments find again of earlier runs, and what pages in ``docs/results`` tell about theirs."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from rwkplus.errors import DataError
from rwkplus.files import json_values
from rwkplus.result_files import RESULTS, read_result

RUNS = Path("runs")
DATASET = re.compile(r"( --dataset \S+)")


def finished(
    name: str, config: Mapping[str, Any], folder: Path = RESULTS, *, ignoring: Collection[str] = ()
) -> dict[str, Any]:
    """Values that an earlier run with the same configuration has left, so that it can be gone on with; mostly none.

    Args:
        name: Name of the result file.
        config: Configuration of the run to come.
        folder: Where result files are.
        ignoring: Entries that may differ.
    """
    try:
        record = read_result(name, folder)
    except DataError:
        return {}
    wanted = json_values(dict(config))
    same = [{key: value for key, value in part.items() if key not in ignoring} for part in (record["config"], wanted)]
    values: dict[str, Any] = record["values"] if same[0] == same[1] else {}
    return values


def run_folder(name: str, *depends_on: Any, folder: Path = RUNS) -> Path:  # noqa: ANN401
    """Where a run keeps its networks, so that it can be killed: another folder for whatever else it depends on."""
    digest = hashlib.sha256(json.dumps(depends_on).encode()).hexdigest()[:8]
    return folder / f"{name} {digest}"


def describe(environment: Mapping[str, Any]) -> str:
    """One line that tells where and when something ran."""
    versions = ", ".join(f"{name} {number}" for name, number in environment["versions"].items())
    return f"{environment['date']}; {environment['cpu']}, {environment['cores']} cores; {versions}"


def exists(name: str, folder: Path = RESULTS) -> bool:
    """Whether there is a result file of this name."""
    return (folder / f"{name}.json").exists()


def existing(names: Iterable[str], kind: str, folder: Path = RESULTS) -> list[str]:
    """Those of the names that have a result file of this kind."""
    return [name for name in names if exists(f"{kind}/{name}", folder)]


def ran(*records: Mapping[str, Any]) -> str:
    """A paragraph that tells how to make these results again, and where and when they were made."""
    commands = joined_commands(record["config"]["command"] for record in records)
    dates: dict[str, list[str]] = {}
    for record in records:
        machine = describe({**record["environment"], "date": ""})
        dates.setdefault(machine, []).append(record["environment"]["date"])
    runs = [f"{' to '.join(dict.fromkeys((min(days), max(days))))}{machine}" for machine, days in dates.items()]
    name = "Command" if len(commands) == 1 else "Commands"
    return f"{name}: {', '.join(f'`{command}`' for command in commands)}. Ran on {'; and on '.join(runs)}.\n"


def joined_commands(commands: Iterable[str]) -> list[str]:
    """Different commands; those that differ in their ``--dataset`` alone become one that repeats the option.

    >>> joined_commands(["run --dataset A -n 3", "run --dataset B -n 3", "run --dataset C"])
    ['run --dataset A --dataset B -n 3', 'run --dataset C']
    """
    options: dict[tuple[str, ...], dict[str, None]] = {}
    for command in commands:
        before, *rest = DATASET.split(command, maxsplit=1)
        option, after = rest or ("", "")
        # A command without the option runs on all data sets: it is no part of one that names some.
        same = (before, after) if option else (command,)
        options.setdefault(same, {})[option] = None
    return [same[0] + "".join(found) + "".join(same[1:]) for same, found in options.items()]

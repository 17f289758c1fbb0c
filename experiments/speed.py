"""Speed and memory: the page of all benchmarks, and how memory is measured."""

import resource
import sys
from pathlib import Path

from experiments.pages import ran, rows_table
from experiments.records import RESULTS, read_result

OLD = (
    "Parts that say *commit not recorded* were measured on the code of their day, which differs from that of today: "
    "their commands may give other times.\n"
)


def speed_page(folder: Path = RESULTS) -> str | None:
    """All benchmarks that have been run."""
    names = sorted(path.stem for path in (folder / "benchmarks").glob("*.json"))
    if not names:
        return None
    records = [read_result(f"benchmarks/{name}", folder) for name in names]
    parts = ["# Speed and memory\n", *([OLD] if any("runs" not in record for record in records) else [])]
    for record in records:
        config = record["config"]
        parts += [f"## {config['title']}\n\n{config['about']}\n", rows_table(record["values"]["rows"]), ran(record)]
    return "\n".join(parts)


STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak() -> None:
    """Begin to measure; elsewhere than on Linux the peak stays that of the whole process."""
    try:
        CLEAR.write_text("5")
    except OSError:
        return


def peak_gigabytes() -> float:
    """Largest resident memory since :func:`reset_peak`, pages of mapped files included."""
    try:
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e9
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9

"""The page about speed and memory: one section per benchmark."""

from pathlib import Path

from rwkplus.reproduce.markdown import rows_table
from rwkplus.reproduce.results import ran
from rwkplus.result_files import RESULTS, read_result


def speed_page(folder: Path = RESULTS) -> str | None:
    """All benchmarks that have been run."""
    names = sorted(path.stem for path in (folder / "benchmarks").glob("*.json"))
    if not names:
        return None
    parts = ["# Speed and memory\n"]
    for name in names:
        record = read_result(f"benchmarks/{name}", folder)
        config = record["config"]
        parts += [f"## {config['title']}\n\n{config['about']}\n", rows_table(record["values"]["rows"]), ran(record)]
    return "\n".join(parts)

"""The page about planted patterns."""

from pathlib import Path
from typing import Any

import numpy as np

from rwkplus.reproduce.markdown import table
from rwkplus.reproduce.results import exists, ran
from rwkplus.result_files import RESULTS, read_result


def planted_page(folder: Path = RESULTS) -> str | None:
    """Recovery, and false alarms where they have been counted."""
    if not exists("planted", folder):
        return None
    record = read_result("planted", folder)
    config, alarms = record["config"], record["values"]["false alarms"]
    return (
        "# Planted patterns\n\n"
        f"Every graph of a database of {config['graphs']} hides a copy of one or three random patterns in a random "
        f"background of {config['background nodes'][0]} to {config['background nodes'][1]} nodes with "
        f"{config['labels']} labels; distortion is the probability of each edge of a copy to be missing.\n\n"
        "The miner is told the number of patterns, not their size. A database counts as recovered if every planted "
        f"pattern is found exactly, node for node and edge for edge; {config['databases']} databases per cell, with "
        f"seeds from {config['first_seed']} on, not used for design.\n\n"
        f"{planted_table(folder)}\n"
        "Small trees are the hardest: a tree of four nodes is complete in 73% of the copies at 10% distortion and in "
        "51% at 20%, hardly more often than the background holds such trees by chance.\n\n"
        "Recovery is measured without the control, which would only say whether there is anything to recover."
        f"{_alarm_sentence(alarms, config)}\n\n"
        f"{ran(record)}"
    )


def planted_table(folder: Path = RESULTS) -> str:
    """Recovery by shape, size and distortion."""
    rows = read_result("planted", folder)["values"]["rows"]
    distortions = sorted({row["distortion"] for row in rows})
    lines = []
    for patterns, shape, size in dict.fromkeys((row["patterns"], row["shape"], row["size"]) for row in rows):
        kind = (patterns, shape, size)
        found = {r["distortion"]: r for r in rows if (r["patterns"], r["shape"], r["size"]) == kind}
        shares = [f"{100 * found[d]['share']:.0f}%" if d in found else "" for d in distortions]
        seconds = np.mean([row["seconds each"] for row in found.values()])
        lines.append([f"{patterns} {shape}", size, *shares, f"{seconds:.1f}"])
    return table(["patterns", "nodes", *(f"{d:.0%} distortion" for d in distortions), "seconds each"], lines)


def _alarm_sentence(alarms: int | None, config: dict[str, Any]) -> str:
    if alarms is None:
        return ""
    return f" With the control, false alarms on databases without a pattern: {alarms} of {config['alarm_databases']}."

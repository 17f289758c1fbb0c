"""The page about the cost of kernel networks."""

from pathlib import Path
from typing import Any

import numpy as np

from rwkplus.reproduce.figures import show
from rwkplus.reproduce.markdown import table
from rwkplus.reproduce.results import exists, ran
from rwkplus.reproduce.scalability import WAYS
from rwkplus.result_files import RESULTS, read_result

COLUMNS = (*WAYS, "GIN")


def scalability_page(folder: Path = RESULTS) -> str | None:
    """All rows, with the exponents that fit them."""
    if not exists("scalability", folder):
        return None
    record = read_result("scalability", folder)
    config = record["config"]
    return (
        "# Cost of kernel networks\n\n"
        f"Seconds of processor time per training epoch on {config['dataset']}, one thread, batches of "
        f"{config['batch_size']}: KerGNN of one layer with hidden graphs of 6 nodes, 2 steps and 8 hidden graphs where "
        "these are not varied, without StepNorm, as in the paper's figure; a GIN of two layers and the same width "
        f"beside. All columns take turns; medians of {config['turns']}.\n\n"
        "- *RWK+ naive* builds the product graph of every egonet with every hidden graph; its epochs are scaled up "
        f"from {config['naive_batches']} batches.\n"
        "- The first three columns compute every egonet; *equal egonets once* is what the library does by itself where "
        "nodes have labels, with the same result.\n\n"
        f"{show('scalability', 'Seconds per epoch against hidden graphs, steps and graphs')}\n"
        f"{scalability_table(folder)}\n"
        "The exponent of a column is the slope of its times over sizes on logarithmic axes, by least squares: 1 is "
        "linear growth, less means that fixed costs weigh in. The paper shows linear growth with RWK+ close to RWK-, "
        "and the naive product graph far above, without figures.\n\n"
        f"{ran(record)}"
    )


def scalability_table(folder: Path = RESULTS) -> str:
    """One block per varied size."""
    rows = read_result("scalability", folder)["values"]["rows"]
    lines = []
    for what in dict.fromkeys(row["varied"] for row in rows):
        block = [row for row in rows if row["varied"] == what]
        for row in block:
            times = [f"{row[column]:.3f}" for column in COLUMNS]
            lines.append([what, f"{row['size']:g}", f"{row['graphs']:,}", f"{row['edges']:,}", *times])
        lines.append([f"{what}: exponent", "", "", "", *(f"{_exponent(block, column):.2f}" for column in COLUMNS)])
    return table(["varied", "size", "graphs", "edges", *COLUMNS], lines)


def _exponent(rows: list[dict[str, Any]], column: str) -> float:
    sizes, times = ([row[key] for row in rows] for key in ("size", column))
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])

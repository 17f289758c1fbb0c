"""Markdown pages and figures in ``docs/results`` from the files in ``results``: no number is typed by hand."""

from collections.abc import Callable
from pathlib import Path

from rwkplus.files import write_whole
from rwkplus.reproduce.anomaly_tables import anomaly_page
from rwkplus.reproduce.classification_tables import classification_page
from rwkplus.reproduce.counting_tables import counting_page
from rwkplus.reproduce.detection_tables import detection_page
from rwkplus.reproduce.explained_tables import explained_page
from rwkplus.reproduce.figures import FIGURES
from rwkplus.reproduce.kernel_quality_tables import kernel_page
from rwkplus.reproduce.mining_tables import mining_task_page
from rwkplus.reproduce.molecule_sets_tables import molecule_sets_page
from rwkplus.reproduce.nodes_tables import nodes_page
from rwkplus.reproduce.planted_tables import planted_page
from rwkplus.reproduce.scalability_tables import scalability_page
from rwkplus.reproduce.speed_tables import speed_page
from rwkplus.reproduce.twibot_tables import twibot_page
from rwkplus.result_files import RESULTS

PAGES: dict[str, Callable[[Path], str | None]] = {
    "kernels": kernel_page,
    "planted": planted_page,
    "mining_explained": explained_page,
    "speed": speed_page,
    "mining_tasks": mining_task_page,
    "classification": classification_page,
    "counting": counting_page,
    "scalability": scalability_page,
    "anomaly": anomaly_page,
    "detection": detection_page,
    "nodes": nodes_page,
    "molecules": molecule_sets_page,
    "twibot": twibot_page,
}


def write_tables(docs: Path, folder: Path = RESULTS) -> list[Path]:
    """Write every page and figure whose result files exist; return their paths."""
    written = []
    for name, page in PAGES.items():
        text = page(folder)
        if text is not None:
            written.append(write_whole(docs / f"{name}.md", text))
    for name, figure in FIGURES.items():
        text = figure(folder)
        if text is not None:
            written.append(write_whole(docs / f"{name}.svg", text))
    return written

"""Pages and figures in ``docs/results`` from the files in ``experiments/results``: no number is typed by hand."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from experiments.anomaly import anomaly_page
from experiments.classification import classification_page
from experiments.contrast import contrast_section
from experiments.contrast_features import contrast_features_section
from experiments.counting import counting_page
from experiments.data_sets import data_sets_page
from experiments.detection import detection_page
from experiments.kernels import kernel_page
from experiments.mining_explained import explained_page
from experiments.mining_figures import databases_figure, distances_figure, learned_figure
from experiments.mining_page import mining_task_page
from experiments.molecules import molecule_sets_page
from experiments.nodes import nodes_page
from experiments.nodes_init import initialization_section
from experiments.nodes_released import released_section
from experiments.overview import accuracy_figure, time_figure
from experiments.paper import paper_page
from experiments.planted import planted_page
from experiments.planted_large import planted_large_page
from experiments.planted_payments import planted_payments_section
from experiments.records import RESULTS
from experiments.scalability import scalability_figure, scalability_page
from experiments.smarts import smarts_page
from experiments.speed import speed_page
from experiments.toxicophores import toxicophores_section
from experiments.twibot import twibot_page
from rwkplus.cli.console import out
from rwkplus.errors import DataError
from rwkplus.files import write_atomic

Make = Callable[[Path], str | None]
"""From the folder of results to a text, or to None where there are no results."""
PAGES: dict[str, tuple[Make, ...]] = {
    "kernels.md": (kernel_page,),
    "planted.md": (planted_page, planted_payments_section),
    "contrast.md": (contrast_section, toxicophores_section, contrast_features_section),
    "planted_large.md": (planted_large_page,),
    "mining_explained.md": (explained_page,),
    "smarts.md": (smarts_page,),
    "speed.md": (speed_page,),
    "mining_tasks.md": (mining_task_page,),
    "classification.md": (classification_page,),
    "counting.md": (counting_page,),
    "scalability.md": (scalability_page,),
    "anomaly.md": (anomaly_page,),
    "detection.md": (detection_page,),
    "nodes.md": (nodes_page, released_section, initialization_section),
    "molecules.md": (molecule_sets_page,),
    "twibot.md": (twibot_page,),
    "data_sets.md": (data_sets_page,),
    "../paper.md": (paper_page,),
    "accuracy.svg": (accuracy_figure,),
    "time.svg": (time_figure,),
    "scalability.svg": (scalability_figure,),
    "mining_distances.svg": (distances_figure,),
    "mining_testbeds.svg": (databases_figure,),
    "mining_task_2_1.svg": (partial(learned_figure, "task-2-1"),),
    "mining_task_2_2.svg": (partial(learned_figure, "task-2-2"),),
}
"""Names of files, and the parts of each."""


def in_common_words(page: str) -> str:
    """A page that calls baselines by that name: result files, whose entries keep theirs, say guards.

    >>> in_common_words("guard: size. Guards see no structure.")
    'baseline: size. Baselines see no structure.'
    """
    return page.replace("guard", "baseline").replace("Guard", "Baseline")


def write_tables(docs: Path, folder: Path = RESULTS) -> list[Path]:
    """Write every page and figure whose result files exist; return their paths."""
    written = []
    for name, parts in PAGES.items():
        texts = [text for part in parts if (text := part(folder)) is not None]
        if texts:
            written.append(write_atomic(docs / name, in_common_words("\n".join(texts))))
    return written


def tables(
    docs: Annotated[Path, typer.Option(help="Folder to write.")] = Path("docs/results"),
) -> None:
    """Rewrite docs/results from the result files."""
    written = write_tables(docs)
    if not written:
        raise DataError(f"there is no folder {RESULTS} with result files here: run an experiment first.")
    for path in written:
        out.print(str(path))

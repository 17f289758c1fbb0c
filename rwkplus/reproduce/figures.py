"""The paper's figures, drawn from the files in ``results`` (extra: ``bench``)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rwkplus.errors import MissingExtraError
from rwkplus.reproduce.mining_rows import WITH
from rwkplus.reproduce.results import exists
from rwkplus.reproduce.scalability import WAYS
from rwkplus.result_files import RESULTS, read_result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: Any = {
    "svg.hashsalt": "rwkplus",  # the same results give the same file
    "svg.fonttype": "none",
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": "cycler('color', ['#0072b2', '#d55e00', '#777777', '#009e73', '#cc79a7'])",
    "legend.frameon": False,
    "lines.markersize": 4.0,
}
AXES = {"hidden graphs": "hidden graphs", "steps": "steps", "graphs": "share of the graphs"}


def scalability_figure(folder: Path = RESULTS) -> str | None:
    """Seconds per epoch against hidden graphs, steps and graphs."""
    if not exists("scalability", folder):
        return None
    rows = read_result("scalability", folder)["values"]["rows"]
    varied = list(dict.fromkeys(row["varied"] for row in rows))
    with _drawing(len(varied)) as (figure, panels):
        for axes, what in zip(panels, varied, strict=True):
            block = [row for row in rows if row["varied"] == what]
            sizes = [row["size"] for row in block]
            for way in (*WAYS, "GIN"):
                axes.plot(sizes, [row[way] for row in block], marker="o", label=way)
            axes.set(xscale="log", yscale="log", xlabel=AXES[what], xticks=sizes, xticklabels=[f"{x:g}" for x in sizes])
            axes.minorticks_off()
        panels[0].set_ylabel("seconds per epoch")
        return _svg(figure, panels[0])


def edit_distance_figure(folder: Path = RESULTS) -> str | None:
    """Distance of learned graphs to the true one against walk length, in the paper and here."""
    if not exists("mining_tasks/task-2-1", folder):
        return None
    rows = [row for row in read_result("mining_tasks/task-2-1", folder)["values"]["rows"] if not row["tried"]]
    beds = list(dict.fromkeys(row["testbed"] for row in rows))
    with _drawing(len(beds)) as (figure, panels):
        for axes, bed in zip(panels, beds, strict=True):
            mine = [row for row in rows if row["testbed"] == bed]
            _distances(axes, mine)
            axes.set(title=bed, xlabel="steps")
        panels[0].set_ylabel("edit distance with labels")
        return _svg(figure, panels[0])


def _distances(axes: "Axes", rows: list[dict[str, Any]]) -> None:
    lengths = sorted({row["settings"]["steps"] for row in rows})
    for i, method in enumerate(("RWNN", "RWK+CN")):
        mine = [row for row in rows if row["row"].startswith(f"{method},")]
        paper = [row["paper"][WITH][0] for row in mine]
        axes.plot(lengths, paper, "--", marker="o", markerfacecolor="white", color=f"C{i}", label=f"{method}, paper")
        values = [row["faithful"][WITH] for row in mine]
        errors = [np.std(value, ddof=1) / len(value) ** 0.5 for value in values]
        axes.errorbar(lengths, [np.mean(value) for value in values], errors, marker="o", color=f"C{i}", label=method)
    for i, (name, label) in enumerate({"untrained": "guard: untrained", "ours": "our gradient miner"}.items()):
        line = [np.mean([row[name][WITH] for row in rows if row["settings"]["steps"] == t]) for t in lengths]
        axes.plot(lengths, line, ":", marker="o", color=f"C{i + 2}", label=label)
    axes.set_xticks(lengths)


FIGURES: dict[str, Callable[[Path], str | None]] = {
    "scalability": scalability_figure,
    "mining_tasks": edit_distance_figure,
}
"""Figures by the name of the page that shows them."""


def show(name: str, caption: str) -> str:
    """Markdown that shows a figure."""
    return f"![{caption}]({name}.svg)\n"


@contextmanager
def _drawing(panels: int) -> Iterator[tuple["Figure", list["Axes"]]]:
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("figures need matplotlib: pip install 'rwkplus[bench]'.") from error
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.2 * panels, 3.0), layout="constrained")
        yield figure, list(figure.subplots(1, panels, squeeze=False)[0])


def _svg(figure: "Figure", legend: "Axes") -> str:
    figure.legend(*legend.get_legend_handles_labels(), loc="outside lower center", ncols=2 * len(figure.axes) - 1)
    text = StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()

"""The figures above the tables of results: accuracy beside other methods, and time beside other libraries."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.pages import drawing, svg
from experiments.records import RESULTS, exists, read_result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SETS = ("MUTAG", "ENZYMES", "PROTEINS", "IMDB-BINARY", "NCI1")
METHODS = {
    "node-centric, optimal assignment": "node-centric walks",
    "RWK+": "RWK+",
    "Weisfeiler-Leman (GraKeL)": "Weisfeiler-Leman (GraKeL)",
}
LOGARITHMIC = 10
"""Ratio of the longest to the shortest time beyond which bars are logarithmic."""
OURS, THEIRS = "#0072b2", "#777777"


def accuracy_figure(folder: Path = RESULTS) -> str | None:
    """Accuracy of kernels with an SVM, beside Weisfeiler-Leman and the best baseline without structure."""
    sets = [name for name in SETS if exists(f"kernel_quality/{name}", folder)]
    if not sets:
        return None
    found = [read_result(f"kernel_quality/{name}", folder)["values"]["accuracy"] for name in sets]
    with drawing(1) as (figure, (ax,)):
        figure.set_size_inches(6.4, 3.6)
        place = np.arange(len(sets))
        for k, (method, name) in enumerate(METHODS.items()):
            by_seed = [100 * np.mean(scores[method], axis=1) for scores in found]
            means, spread = [seeds.mean() for seeds in by_seed], [seeds.std(ddof=1) for seeds in by_seed]
            ax.bar(place + 0.26 * (k - 1), means, 0.24, yerr=spread, label=name, error_kw={"elinewidth": 1})
        baselines = [
            max(
                100 * float(np.mean(values))
                for name, values in scores.items()
                if name.startswith(("guard", "baseline"))
            )
            for scores in found
        ]
        ax.hlines(baselines, place - 0.4, place + 0.4, colors="black", label="best baseline that sees no structure")
        ax.set(xticks=place, xticklabels=sets, ylabel="accuracy in %", ylim=(0, 100))
        return svg(figure, ax)


def _races(folder: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """What was timed, and the seconds of every contestant."""
    for name, title, key in (
        ("gram_mutag", "Gram matrix of MUTAG", "library"),
        ("features_nci1", "features of NCI1", "features"),
        ("rwk_plus_conv", "a convolution, forward and backward", "layer"),
    ):
        if exists(f"benchmarks/{name}", folder):
            rows = read_result(f"benchmarks/{name}", folder)["values"]["rows"]
            unit = "seconds" if "seconds" in rows[0] else "milliseconds, one process"
            yield f"{title} ({unit.split(',')[0]})", {row[key]: row[unit] for row in rows if row[unit]}


def time_figure(folder: Path = RESULTS) -> str | None:
    """CPU time beside GraKeL and PyG."""
    races = list(_races(folder))
    if not races:
        return None
    with drawing(1) as (figure, (ax,)):
        ax.remove()
        rows = [len(times) for _, times in races]
        figure.set_size_inches(6.4, 0.5 * len(rows) + 0.25 * sum(rows))
        panels = figure.subplots(len(races), 1, height_ratios=rows, squeeze=False)[:, 0]
        for ax, (title, times) in zip(panels, races, strict=True):
            _race(ax, title, times)
        return svg(figure, panels[0])


def _race(ax: "Axes", title: str, times: dict[str, float]) -> None:
    names = list(times)[::-1]
    colors = [OURS if "rwkplus" in name.lower() or "RWK" in name else THEIRS for name in names]
    bars = ax.barh(names, [times[name] for name in names], color=colors)
    ax.bar_label(bars, [f" {times[name]:.3g}" for name in names])
    ax.set_title(title, loc="left", fontsize=9)
    shortest, longest = min(times.values()), max(times.values())
    if longest > LOGARITHMIC * shortest:
        ax.set_title(f"{title}, logarithmic", loc="left", fontsize=9)
        ax.set(xscale="log", xlim=(shortest / 10, 3 * longest))
    else:
        ax.set_xlim(0, 1.15 * longest)
    ax.set_xticks([])
    ax.minorticks_off()
    ax.spines["bottom"].set_visible(False)

"""What pages in ``docs/results`` are made of: tables, figures, and how their results were made."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.provenance import UNKNOWN
from experiments.records import RESULTS, exists
from rwkplus.errors import MissingExtraError
from rwkplus.files import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """A header, a rule and rows of as many cells."""
    names = list(head)
    lines: list[Iterable[object]] = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(value: object) -> str:
    r"""What stands in a cell: names of patterns and columns neither end it nor become HTML.

    >>> print(_cell("<b>a|b"), _cell(r"a\|b < 5"))
    &lt;b>a\|b a\|b < 5
    """
    text = re.sub(r"(?<!\\)\|", r"\\|", visible(" ".join(str(value).splitlines())))
    return re.sub(r"<(?=[a-zA-Z/!?])", "&lt;", text)


def rows_table(rows: Sequence[dict[str, Any]]) -> str:
    """Rows of plain values under the names that any row has."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return table(names, ([number(row.get(name, "")) for name in names] for row in rows))


def number(value: object) -> str:
    """A number, or several, as people read them."""
    if isinstance(value, list):
        return ", ".join(map(number, value))
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def mean_and_deviation(values: Sequence[float], digits: int = 1) -> str:
    """Mean ± standard deviation; a single value has none, and nothing neither.

    >>> mean_and_deviation([1, 2]), mean_and_deviation([1]), mean_and_deviation([])
    ('1.5 ± 0.5', '1.0', '')
    """
    if not len(values):
        return ""
    return f"{np.mean(values):.{digits}f}" + (f" ± {np.std(values):.{digits}f}" if len(values) > 1 else "")


def mostly(values: Mapping[str, object]) -> str:
    """The most frequent value, and the names that have another.

    >>> mostly({"MUTAG": 5, "ENZYMES": 5, "NCI1": 3})
    '5 (NCI1: 3)'
    """
    usual = Counter(values.values()).most_common(1)[0][0]
    others = ", ".join(f"{name}: {value}" for name, value in values.items() if value != usual)
    return f"{usual} ({others})" if others else str(usual)


DATASET = re.compile(r"( --dataset \S+)")


def describe(environment: Mapping[str, Any]) -> str:
    """One line that tells where something ran."""
    versions = ", ".join(f"{name} {number}" for name, number in environment["versions"].items())
    return f"{environment['cpu']}, {environment['cores']} cores; {versions}"


def commits(records: Iterable[Mapping[str, Any]]) -> str:
    """The code of results, as far as it is known.

    >>> commits([{"runs": [{"commit": "4c8ab7d1f0e", "dirty": True}]}, {"runs": [{"commit": "55a54aa2b3c"}]}])
    'commit 4c8ab7d (changed), 55a54aa'
    >>> commits([{}])
    'commit not recorded'
    """
    runs = [run for record in records for run in record.get("runs", [UNKNOWN])]
    known = {
        run["commit"][:7] + (" (changed)" if run.get("dirty") else "") if run["commit"] else "not recorded": None
        for run in runs
    }
    return f"commit {', '.join(known)}"


def existing(names: Iterable[str], kind: str, folder: Path = RESULTS) -> list[str]:
    """Those of the names that have a result file of this kind."""
    return [name for name in names if exists(f"{kind}/{name}", folder)]


def ran(*records: Mapping[str, Any]) -> str:
    """A paragraph that tells how to make these results again, and where and when they were made."""
    commands = joined_commands(record["config"]["command"] for record in records)
    machines: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        machines.setdefault(describe(record["environment"]), []).append(record)
    runs = []
    for machine, own in machines.items():
        days = [record["environment"]["date"] for record in own]
        runs.append(f"{' to '.join(dict.fromkeys((min(days), max(days))))}, {commits(own)}; {machine}")
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


def show(name: str, caption: str) -> str:
    """Markdown that shows a figure."""
    return f"![{caption}]({name}.svg)\n"


@contextmanager
def drawing(panels: int, rows: int = 1) -> Iterator[tuple["Figure", list["Axes"]]]:
    """A figure of so many panels in each row, in the style of all figures, row by row (extra: ``bench``)."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("figures need matplotlib: pip install 'rwkplus[bench]'.") from error
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.2 * panels, 3.0 * rows), layout="constrained")
        yield figure, list(figure.subplots(rows, panels, squeeze=False).flat)


def svg(figure: "Figure", legend: "Axes | None" = None) -> str:
    """The finished figure, perhaps with one legend for all panels: that of ``legend``."""
    if legend is not None:
        figure.legend(*legend.get_legend_handles_labels(), loc="outside lower center", ncols=2 * len(figure.axes) - 1)
    text = StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()

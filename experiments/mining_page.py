"""The page of the paper's mining tasks: what it claims, what differs from it, and every row."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.mining_claims import (
    EFFECTS,
    Claim,
    Results,
    claims,
    compared,
    differs,
    is_share,
    p_value,
    paper_error,
    rows_by_name,
    shows,
    standard_error,
    verdict,
)
from experiments.mining_rows import STRICT, TASKS
from experiments.pages import existing, ran, show, table
from experiments.records import RESULTS, read_result
from rwkplus.descriptive.rwk_cn import DescriptiveKCN

TITLES = {
    "task-1-1": "Task 1-1: a bipartite core (table 1)",
    "task-1-2": "Task 1-2: two triangles in chains (table 2)",
    "task-2-1": "Task 2-1: labeled graphs by edit distance (figures 2 and 3)",
    "task-2-2": "Task 2-2: structural colors (tables 3 and 4)",
}
FIGURES = {
    "task-1-1": {"mining_testbeds": "A graph of each database of Tasks 1-1 and 1-2, and what should be found in it"},
    "task-2-1": {
        "mining_task_2_1": "True graphs of Task 2-1 beside the hidden graphs of lowest loss",
        "mining_distances": "Edit distance of learned graphs to the true one against walk length",
    },
    "task-2-2": {"mining_task_2_2": "True graphs of Task 2-2 beside the hidden graphs of lowest loss"},
}
CLAIMS = (
    "What the paper claims of its miner (its section 4), value without → with. It is *present* where every comparison "
    "is better with p < 0.05. Structural colors are those of one random network, drawn with the seed.\n"
)
OTHERS = ("untrained", "copying")
OPEN = ("loss", "features", "sparsity", "lr", "epochs")
"""Settings that the paper does not tell."""

IN_NAMES = ("kernel", "combine", "steps", "views")
"""Settings that the names of rows tell."""

DEFAULTS = DescriptiveKCN().get_params()
Row = dict[str, Any]


def mining_task_page(folder: Path = RESULTS) -> str | None:
    """Markdown page of all tasks that have a result file, or None."""
    tasks = existing(TASKS, "mining_tasks", folder)
    if not tasks:
        return None
    records = {task: read_result(f"mining_tasks/{task}", folder) for task in tasks}
    parts = [
        "# Pattern mining: the paper's tasks\n",
        CLAIMS,
        claims_table(records),
        _counted(records),
        _explained(records),
    ]
    for task, record in records.items():
        parts.append(f"## {TITLES[task]}\n")
        parts += [task_table(record), *(show(*figure) for figure in FIGURES.get(task, {}).items())]
    return "\n".join([*parts, ran(*records.values())])


def claims_table(results: Results) -> str:
    """Every effect that the paper claims: its values, ours, and whether it is there."""
    lines = []
    for claim in sorted(claims(results), key=lambda claim: EFFECTS.index(claim.effect)):
        found = rows_by_name(results[claim.task], claim.testbed)
        lines.append(_claim(claim, found))
    return table(["effect", "testbed", "shown by", "paper", "here", "p", "here it is"], lines)


def _claim(claim: Claim, rows: dict[str, Row]) -> list[str]:
    paper, here, chances, outcomes = [], [], [], []
    for better, worse, measure in claim.contrasts:
        pair = [rows[worse], rows[better]]
        paper.append(" → ".join(_value(row["paper"][measure][0], measure) for row in pair))
        here.append(" → ".join(_average(row["faithful"][measure], measure) for row in pair))
        outcome, p = shows(rows[better]["faithful"][measure], rows[worse]["faithful"][measure], measure)
        chances.append(f"{p:.1g}")
        outcomes.append(outcome)
    return [claim.effect, claim.testbed, claim.shown, *map("; ".join, (paper, here, chances)), verdict(outcomes)]


def _counted(results: Results) -> str:
    by_task = {TITLES[task].split(":")[0]: compared(record) for task, record in results.items()}
    every = [different for values in by_task.values() for different in values]
    parts = ", ".join(f"{name} {sum(values)} of {len(values)}" for name, values in by_task.items())
    by_bed = _by_testbed(results)
    beds = "; ".join(f"{bed} {sum(values)} of {len(values)}" for bed, values in by_bed.items())
    return (
        f"Of {len(every)} comparisons with the paper, **{sum(every)} differ** by more than two standard errors (both "
        f"errors combined): {parts}. By testbed: {beds}. If everything were as in the paper, one in twenty would.\n\n"
        f"{_once_each(by_bed)}"
    )


def _by_testbed(results: Results) -> dict[str, list[bool]]:
    """Of every value of the paper, whether ours differs from it, by testbed."""
    rows = [row for record in results.values() for row in record["values"]["rows"]]
    beds = dict.fromkeys(row["testbed"] for row in rows)
    return {bed: compared({"values": {"rows": [row for row in rows if row["testbed"] == bed]}}) for bed in beds}


def _once_each(by_bed: Mapping[str, list[bool]]) -> str:
    """The count with one testbed for each of the paper's, where several readings of it were run."""
    readings: dict[str, list[str]] = {}
    for bed in by_bed:
        readings.setdefault(bed.split(",")[0], []).append(bed)
    several = [beds for beds in readings.values() if len(beds) > 1]
    if not several:
        return ""
    best = [min(beds, key=lambda bed: sum(by_bed[bed])) for beds in readings.values()]
    chosen = " and ".join(bed.split(", ")[1] for beds in several for bed in beds if bed in best)
    values = [different for bed in best for different in by_bed[bed]]
    return (
        "The paper tells neither how its chains are linked nor which 3-regular graph it has, and has one of each. With "
        f"those that differ least here, {chosen}, **{sum(values)} of {len(values)}** comparisons differ: a best case, "
        "since this very count chose them.\n"
    )


def _explained(results: Results) -> str:
    config = next(iter(results.values()))["config"]
    return (
        f"{config['restarts']} initializations per row. Databases and initializations have seed {config['seed']}; what "
        "the paper leaves open was settled on seeds below. Accuracies are percentages of single initializations whose "
        "labels are right, the rule that fits the paper; *strict* also asks for every edge. Edit distances are exact "
        "minima over all assignments of nodes, of edge weights scaled to [0, 1]. Mean ± standard error; p by McNemar's "
        "exact test for accuracies, by the paired t-test for distances.\n\n"
        "- **≠**: more than two standard errors from the paper. **best**: the initialization of lowest loss.\n"
        "- *untrained*: the same hidden graphs before any step (for distances with the most frequent color).\n"
        "- *copying*: connected pieces cut at random out of the database. Where a database holds copies of one graph "
        "this is that graph, so that a distance of 0 shows a right objective and not a mined pattern.\n\n"
        "[Our own gradient miner](mining_explained.md) has a page for the same tasks and seeds.\n"
    )


def task_table(record: dict[str, Any]) -> str:
    """All testbeds of one task: the paper's rows and the controls, then other readings."""
    rows, parts = record["values"]["rows"], []
    for bed in dict.fromkeys(row["testbed"] for row in rows):
        mine = [row for row in rows if row["testbed"] == bed]
        given = [row for row in mine if not row["tried"]]
        parts += [f"**{bed}** ({_settings(given)}):\n", _table(given, mine)]
        if tried := [row for row in mine if row["tried"]]:
            parts += [f"Another reading on {bed} ({_settings(tried)}):\n", _table(tried, mine)]
    return "\n".join(parts)


def _settings(rows: Sequence[Row]) -> str:
    """What the networks of all these rows have in common, and where they differ how."""
    given = [name for row in rows for name in row["settings"] if name not in IN_NAMES]
    names = dict.fromkeys((*OPEN, *given))
    values = {name: [row["settings"].get(name, DEFAULTS[name]) for row in rows] for name in names}
    return ", ".join(f"{name.replace('_', ' ')} {_written(found)}" for name, found in values.items())


def _written(values: Sequence[object]) -> str:
    """Different values, in the order of rows."""
    return " or ".join(
        dict.fromkeys("+".join(value) if isinstance(value, list | tuple) else f"{value}" for value in values)
    )


def _table(rows: Sequence[Row], testbed: Sequence[Row]) -> str:
    tested = any(row["against"] for row in rows)
    measures = _measures(rows[0])
    head = ["row", "paper", *measures, "best", *(["p"] if tested else [])]
    lines: list[list[str]] = []
    for i, row in enumerate(rows):
        cells = [_measured(row, measure) for measure in measures]
        lines.append([row["row"], _reported(row), *cells, _best(row), *([_tests(row, testbed)] if tested else [])])
        if i + 1 == len(rows) or rows[i + 1]["k"] != row["k"]:
            lines += [line + [""] * (len(head) - len(line)) for line in _controls(row, measures, rows)]
    return table(head, lines)


def _measures(row: Row) -> list[str]:
    """What is shown: what the paper reports, and whether all was found strictly."""
    strict = [measure for measure in row["faithful"] if measure.endswith(STRICT)]
    return [*row["paper"], *strict[-1:]]


def _controls(row: Row, measures: Sequence[str], rows: Sequence[Row]) -> Iterable[list[str]]:
    prefix = f"k={row['k']}, " if len({other["k"] for other in rows}) > 1 else ""
    for name in OTHERS:
        if name in row:
            yield [f"{prefix}*{name}*", "", *(_mean(row[name][measure], measure) for measure in measures)]


def _reported(row: Row) -> str:
    return " / ".join(
        _value(mean, measure) + (f" ± {paper_error(deviation):.2f}" if deviation else "")
        for measure, (mean, deviation) in row["paper"].items()
    )


def _measured(row: Row, measure: str) -> str:
    values, reported = row["faithful"][measure], row["paper"].get(measure)
    return _mean(values, measure) + (" ≠" if reported is not None and differs(values, *reported) else "")


def _best(row: Row) -> str:
    best = int(np.nanargmin(row["losses"]))
    return " / ".join(
        ("yes" if row["faithful"][measure][best] else "no")
        if is_share(measure)
        else f"{row['faithful'][measure][best]:.2f}"
        for measure in row["paper"]
    )


def _tests(row: Row, testbed: Sequence[Row]) -> str:
    """P-values against the rows that the paper compares with, measure by measure."""
    shown = []
    for name in row["against"]:
        other = next((peer["faithful"] for peer in testbed if peer["row"] == name), None)
        if name != row["row"] and other is not None:
            values = " / ".join(f"{p_value(row['faithful'][m], other[m], m):.1g}" for m in row["paper"])
            shown.append(f"{values} ({name})")
    return "; ".join(shown)


def _mean(values: Sequence[float], measure: str) -> str:
    error = standard_error(values)
    return (
        f"{_average(values, measure)} ± {100 * error:.0f}"
        if is_share(measure)
        else f"{np.mean(values):.2f} ± {error:.2f}"
    )


def _average(values: Sequence[float], measure: str) -> str:
    return _value((100 if is_share(measure) else 1) * float(np.mean(values)), measure)


def _value(value: float, measure: str) -> str:
    return f"{value:.0f}" if is_share(measure) else f"{value:.2f}"

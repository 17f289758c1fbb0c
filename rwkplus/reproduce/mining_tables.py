"""The page of Tasks 1-1 to 2-2, made from their result files."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from rwkplus.reproduce.figures import show
from rwkplus.reproduce.markdown import table
from rwkplus.reproduce.mining_rows import TASKS
from rwkplus.reproduce.results import existing, ran
from rwkplus.result_files import RESULTS, read_result

TITLES = {
    "task-1-1": "Task 1-1: a bipartite core (table 1)",
    "task-1-2": "Task 1-2: two triangles in chains (table 2)",
    "task-2-1": "Task 2-1: labeled graphs by edit distance (figures 2 and 3)",
    "task-2-2": "Task 2-2: structural colors (tables 3 and 4)",
}
RESTARTS_OF_THE_PAPER = 50


def mining_task_page(folder: Path = RESULTS) -> str | None:
    """Markdown page of all tasks that have a result file, or None."""
    tasks = existing(TASKS, "mining_tasks", folder)
    if not tasks:
        return None
    records = [read_result(f"mining_tasks/{task}", folder) for task in tasks]
    config = records[0]["config"]
    parts = [
        "# Pattern mining: the paper's tasks\n",
        f"{config['restarts']} initializations per row, database seed {config['database_seed']}, initialization seed "
        f"{config['seed']}. Accuracies are percentages of single initializations; edit distances are exact minima "
        "over all assignments of nodes, of edge weights scaled to [0, 1]. Mean ± standard error; p from the paired "
        "t-test over initializations.\n",
        "- **faithful**: the paper's networks with the defaults of `DescriptiveKCN` and the settings in the result "
        "file. What the paper leaves open (features, sparsity, epochs, diversity weight) was chosen to come close to "
        "its values on these same seeds, so agreement is a fit and not a confirmation.\n"
        "- **≠** marks a faithful row more than two standard errors from the paper (both errors combined).\n"
        "- **best**: the initialization of lowest loss.\n"
        "- **ours**: `rwkplus.descriptive.explained_patterns`, single initializations; where all graphs are the "
        "same it also sees the numbers of their nodes. These seeds were also used to design it; "
        "`rwkplus reproduce explained` reports it on [others](mining_explained.md).\n"
        "- **untrained**: the same initial hidden graphs before any step (edit distance: with the most frequent "
        "color).\n"
        "- **copying**: connected pieces cut at random out of the database; where a database holds copies of one "
        "graph, this is that graph, so that a distance of 0 shows a right objective and not a mined pattern.\n",
    ]
    for task, record in zip(tasks, records, strict=True):
        parts.append(f"## {TITLES[task]}\n")
        if task == "task-2-1":
            parts.append(show("mining_tasks", "Edit distance of learned graphs to the true one against walk length"))
        parts.append(task_table(record))
    return "\n".join([*parts, ran(*records)])


def task_table(record: dict[str, Any]) -> str:
    """All testbeds of one task: the paper's rows, then the further settings."""
    rows, parts = record["values"]["rows"], []
    for bed in dict.fromkeys(row["testbed"] for row in rows):
        mine = [row for row in rows if row["testbed"] == bed]
        parts += [f"**{bed}**\n", _table([row for row in mine if not row["tried"]], mine)]
        tried = [row for row in mine if row["tried"]]
        if tried:
            parts += [f"Further settings tried on {bed}:\n", _table(tried, mine)]
    return "\n".join(parts)


def _table(rows: Sequence[dict[str, Any]], testbed: Sequence[dict[str, Any]]) -> str:
    others = [name for name in ("ours", "untrained", "copying") if name in rows[0]]
    tested = any(row["against"] for row in rows)
    head = ["row", "measure", "paper", "faithful", "≠", "best", *(["p"] if tested else []), *others]
    lines = []
    for row in rows:
        for i, measure in enumerate(row["faithful"]):
            values = [row["row"] if i == 0 else "", measure, *_measured(row, measure)]
            if tested:
                values.append(_tests(row, measure, testbed))
            lines.append([*values, *(_mean(row[name][measure], measure) for name in others)])
    return table(head, lines)


def _measured(row: dict[str, Any], measure: str) -> list[str]:
    values = row["faithful"][measure]
    best = values[int(np.nanargmin(row["losses"]))]
    shown = ("yes" if best else "no") if _is_share(measure) else f"{best:.2f}"
    reported = row["paper"].get(measure)
    if reported is None:
        return ["", _mean(values, measure), "", shown]
    paper = f"{reported[0]:.0f}" if _is_share(measure) else f"{reported[0]:.2f} ± {_paper_error(*reported):.2f}"
    return [paper, _mean(values, measure), "≠" if differs(values, *reported) else "", shown]


def differs(values: Sequence[float], mean: float, deviation: float | None) -> bool:
    """Whether values of single initializations are more than two combined standard errors from the paper's mean.

    Args:
        values: Distances, or 0 and 1 for accuracies.
        mean: The paper's mean; a percentage for accuracies.
        deviation: The paper's standard deviation over its initializations; None for accuracies.
    """
    if deviation is None:
        hits, size = float(np.sum(values)), len(values)
        theirs = mean / 100 * RESTARTS_OF_THE_PAPER
        # One success and one failure more keep the error above zero where all or none were found.
        errors = [_share_error(hits, size), _share_error(theirs, RESTARTS_OF_THE_PAPER)]
        return bool(abs(hits / size - mean / 100) > 2 * math.hypot(*errors))
    return bool(abs(np.mean(values) - mean) > 2 * math.hypot(_error(values), _paper_error(mean, deviation)))


def _share_error(hits: float, size: int) -> float:
    share = (hits + 1) / (size + 2)
    return math.sqrt(share * (1 - share) / (size + 2))


def _paper_error(_: float, deviation: float | None) -> float:
    return (deviation or 0) / math.sqrt(RESTARTS_OF_THE_PAPER)


def _error(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def _tests(row: dict[str, Any], measure: str, testbed: Sequence[dict[str, Any]]) -> str:
    """P-values against the rows that the paper compares with."""
    shown = []
    for name in row["against"]:
        other = next((peer["faithful"][measure] for peer in testbed if peer["row"] == name), None)
        if name != row["row"] and other is not None and len(other) > 1:
            p = float(stats.ttest_rel(row["faithful"][measure], other).pvalue)
            shown.append(f"{p:.1g} ({name})")
    return "; ".join(shown)


def _mean(values: Sequence[float], measure: str) -> str:
    if _is_share(measure):
        return f"{100 * np.mean(values):.0f} ± {100 * _error(values):.0f}"
    return f"{np.mean(values):.2f} ± {_error(values):.2f}"


def _is_share(measure: str) -> bool:
    return not measure.startswith("GED")

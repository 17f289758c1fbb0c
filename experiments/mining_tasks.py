"""Tasks 1-1 to 2-2 of the paper: faithful networks, what they must beat, and our miner, side by side."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import networkx as nx
import numpy as np
import torch
import typer
from scipy import stats

from experiments.mining_rows import LABELS, STRICT, TASKS, WITH, Row, Testbed
from experiments.pages import drawing, existing, ran, show, svg, table
from experiments.progress import progress
from experiments.records import RESULTS, exists, read_result, save_result
from experiments.recovery import copied_patterns, majority_label, recovered
from rwkplus.cli.console import out
from rwkplus.descriptive.gradient import explained_patterns
from rwkplus.descriptive.rwk_cn import DescriptiveKCN
from rwkplus.mining.edit_distance import normalize_weights, weighted_edit_distance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

THRESHOLD = 0.5
"""Edge weight from which a learned edge counts in the strict rule."""

BY_ROW = ("n_patterns", "pattern_size", "n_restarts", "epochs", "random_state")
"""Settings of the network that are not defaults: the row and the command decide."""

Learned = tuple[Any, list[str]]
"""Edge weights ``(M, M)`` and labels of one pattern."""

Miner = Callable[..., list[list[nx.Graph]]]
"""``(graphs, n_patterns, pattern_size, *, restarts, seed, **options)`` to one list of patterns per restart."""

Measures = dict[str, list[float]]
"""One value per restart by measure."""


def run_task(
    task: str,
    *,
    restarts: int = 50,
    num_graphs: int = 100,
    epochs: int = 200,
    quick: bool = False,
    seed: int = 0,
    ours: Miner | None = None,
    on_step: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Run every row of a task; write ``results/mining_tasks/TASK.json`` and return the record's values.

    Args:
        task: A name in :data:`~experiments.mining_rows.TASKS`.
        restarts: Initializations per row.
        num_graphs: Graphs of a database.
        epochs: Epochs of rows that do not say otherwise.
        quick: First testbed only, without the further settings; written to ``results/mining_tasks/quick``.
        seed: Seed of the initializations; databases have their own.
        ours: Our miner, such as :func:`our_miner`; its column is left out where there is none.
        on_step: Told the name of every row before it runs.
    """
    tell = on_step or (lambda _: None)
    rows: list[dict[str, Any]] = []
    for bed in chosen_testbeds(task, quick):
        graphs = bed.graphs(num_graphs)
        beside: dict[int, dict[str, Measures]] = {}
        for row, tried in every_row(bed, quick):
            tell(f"{bed.name}: {row.name}")
            if row.k not in beside:
                beside[row.k] = _others(bed, graphs, row.k, restarts, seed, ours)
            record: dict[str, Any] = {"testbed": bed.name, "row": row.name, "tried": tried, "k": row.k}
            record |= {"settings": row.settings, "paper": row.paper, "against": row.against}
            faithful, losses = _faithful(bed, row, graphs, restarts, epochs, seed)
            record |= {"faithful": faithful, "losses": losses}
            rows.append(record if tried else record | beside[row.k])
    values = {"rows": rows}
    config = {
        "command": f"python -m experiments {task}{' --quick' if quick else f' --restarts {restarts}'}",
        "task": task,
        "restarts": restarts,
        "graphs": num_graphs,
        "epochs": epochs,
        "seed": seed,
        "database_seed": 0,
        "threshold": THRESHOLD,
        "defaults": {name: value for name, value in DescriptiveKCN().get_params().items() if name not in BY_ROW},
    }
    save_result(f"mining_tasks/{'quick/' if quick else ''}{task}", config, values)
    return {"config": config, "values": values}


def chosen_testbeds(task: str, quick: bool) -> list[Testbed]:
    """Testbeds of a task; the first only when in a hurry."""
    beds = TASKS[task]()
    return beds[:1] if quick else beds


def every_row(bed: Testbed, quick: bool) -> list[tuple[Row, bool]]:
    """Rows of the paper, then further settings (marked True)."""
    return [(row, False) for row in bed.rows] + ([] if quick else [(row, True) for row in bed.tried])


def our_miner(
    graphs: list[nx.Graph],
    n_patterns: int,
    pattern_size: int,
    *,
    restarts: int,
    seed: int,
    **options: Any,  # noqa: ANN401
) -> list[list[nx.Graph]]:
    """:func:`~rwkplus.descriptive.gradient.explained_patterns`, every restart by itself."""
    found = explained_patterns(graphs, n_patterns, pattern_size, n_restarts=restarts, random_state=seed, **options)
    return [found.to_networkx(restart) for restart in range(restarts)]


def _faithful(
    bed: Testbed, row: Row, graphs: list[nx.Graph], restarts: int, epochs: int, seed: int
) -> tuple[Measures, list[float]]:
    settings = {"n_restarts": restarts, "epochs": epochs, "random_state": seed} | row.settings
    model = DescriptiveKCN(row.k, bed.size, **settings).fit(graphs)
    learned = [list(zip(model.weights_[r], model.labels(r), strict=True)) for r in range(restarts)]
    return measure(bed, learned), model.losses_.tolist()


def _others(
    bed: Testbed, graphs: list[nx.Graph], k: int, restarts: int, seed: int, ours: Miner | None
) -> dict[str, Measures]:
    """Controls, and our miner where there is one, measured as the networks are."""
    names = sorted({label for graph in graphs for _, label in graph.nodes(data="label")})
    start = DescriptiveKCN(k, bed.size, n_restarts=restarts, random_state=seed).initial_graphs([len(names)])
    with torch.no_grad():
        weights = start.adj.unflatten(0, (restarts, k)).numpy()
        colors = start.views[0].argmax(-1).unflatten(0, (restarts, k)).tolist()
    # Edit distances are compared with the kindest guess of colors: all of the most frequent one.
    majority = str(majority_label(graphs))
    untrained = [
        [
            (w, [majority] * bed.size if bed.distances else [names[c] for c in color])
            for w, color in zip(*both, strict=True)
        ]
        for both in zip(weights, colors, strict=True)
    ]
    copied = copied_patterns(graphs, k, bed.size, restarts=restarts, seed=seed)
    measured = {"untrained": measure(bed, untrained), "copying": measure(bed, _as_learned(copied, bed.size))}
    if ours is not None:
        mined = ours(graphs, k, bed.size, restarts=restarts, seed=seed, **bed.ours)
        measured["ours"] = measure(bed, _as_learned(mined, bed.size))
    return measured


def measure(bed: Testbed, learned: Iterable[Sequence[Learned]]) -> Measures:
    """Edit distances of every restart, or whether it found each target: 1 or 0, by labels and strictly."""
    measures: Measures = {}
    for patterns in learned:
        found = _distances(bed, patterns[0]) if bed.distances else _recoveries(bed, patterns)
        for name, value in found.items():
            measures.setdefault(name, []).append(value)
    return measures


def _distances(bed: Testbed, pattern: Learned) -> dict[str, float]:
    weights, labels = pattern
    target = bed.targets["target"][0]
    scaled = normalize_weights(weights)
    return {name: weighted_edit_distance(scaled, labels, target, compare_labels=name == WITH) for name in bed.distances}


def _recoveries(bed: Testbed, patterns: Sequence[Learned]) -> dict[str, float]:
    discrete = [((np.asarray(weights) >= THRESHOLD).astype(int), labels) for weights, labels in patterns]
    found: dict[str, float] = {}
    for rule in (LABELS, STRICT):
        hits = {
            name: any(recovered(discrete, target, rule == STRICT) for target in targets)
            for name, targets in bed.targets.items()
        }
        found |= {f"{name}, {rule}": float(hit) for name, hit in hits.items()}
        if len(hits) > 1:
            found[f"both, {rule}"] = float(all(hits.values()))
    return found


def _as_learned(mined: list[list[nx.Graph]], size: int) -> list[list[Learned]]:
    """Weights and labels of graphs; one of fewer than ``size`` nodes gets nodes without edges or label."""

    def learned(graph: nx.Graph) -> Learned:
        weights = np.zeros((size, size))
        weights[: len(graph), : len(graph)] = nx.to_numpy_array(graph, weight=None)
        return weights, [str(label) for _, label in graph.nodes(data="label")] + [""] * (size - len(graph))

    return [[learned(graph) for graph in patterns] for patterns in mined]


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
        "`python -m experiments explained` reports it on [others](mining_explained.md).\n"
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


def edit_distance_figure(folder: Path = RESULTS) -> str | None:
    """Distance of learned graphs to the true one against walk length, in the paper and here."""
    if not exists("mining_tasks/task-2-1", folder):
        return None
    rows = [row for row in read_result("mining_tasks/task-2-1", folder)["values"]["rows"] if not row["tried"]]
    beds = list(dict.fromkeys(row["testbed"] for row in rows))
    with drawing(len(beds)) as (figure, panels):
        for axes, bed in zip(panels, beds, strict=True):
            mine = [row for row in rows if row["testbed"] == bed]
            _plot_distances(axes, mine)
            axes.set(title=bed, xlabel="steps")
        panels[0].set_ylabel("edit distance with labels")
        return svg(figure, panels[0])


def _plot_distances(axes: "Axes", rows: list[dict[str, Any]]) -> None:
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


Restarts = Annotated[int, typer.Option(help="Initializations per row.", min=2)]
Quick = Annotated[bool, typer.Option("--quick", help="First testbed, 5 initializations, 20 graphs; a file of its own.")]
FaithfulOnly = Annotated[bool, typer.Option("--faithful-only", help="Leave our miner out.")]


def task_1_1(restarts: Restarts = 50, quick: Quick = False, faithful_only: FaithfulOnly = False) -> None:
    """Bipartite cores (table 1); writes mining_tasks/."""
    _task("task-1-1", restarts, quick, faithful_only)


def task_1_2(restarts: Restarts = 50, quick: Quick = False, faithful_only: FaithfulOnly = False) -> None:
    """Triangle chains (table 2); writes mining_tasks/."""
    _task("task-1-2", restarts, quick, faithful_only)


def task_2_1(restarts: Restarts = 50, quick: Quick = False, faithful_only: FaithfulOnly = False) -> None:
    """Tailed triangles and rings by edit distance; writes mining_tasks/."""
    _task("task-2-1", restarts, quick, faithful_only)


def task_2_2(restarts: Restarts = 50, quick: Quick = False, faithful_only: FaithfulOnly = False) -> None:
    """Structural colors by edit distance (tables 3 and 4); writes mining_tasks/."""
    _task("task-2-2", restarts, quick, faithful_only)


def _task(task: str, restarts: int, quick: bool, faithful_only: bool) -> None:
    rows = sum(len(every_row(bed, quick)) for bed in chosen_testbeds(task, quick))
    with progress(task, total=rows) as advance:
        record = run_task(
            task,
            restarts=5 if quick else restarts,
            num_graphs=20 if quick else 100,
            quick=quick,
            ours=None if faithful_only else our_miner,
            on_step=advance,
        )
    out.print(task_table(record), soft_wrap=True)

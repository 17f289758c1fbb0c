"""Tasks 1-1 to 2-2 of the paper: its networks beside untrained ones and pieces copied out of the database."""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import networkx as nx
import numpy as np
import torch
import typer

from experiments.mining_page import task_table
from experiments.mining_rows import LABELS, STRICT, TASKS, WITH, Row, Testbed
from experiments.progress import progress
from experiments.records import save_result
from experiments.recovery import copied_patterns, majority_label, recovered
from experiments.testbeds import FIRST_SEED
from rwkplus.cli.console import out
from rwkplus.descriptive.rwk_cn import DescriptiveKCN
from rwkplus.mining.edit_distance import cheapest_assignment, normalize_weights, weighted_edit_distance

THRESHOLD = 0.5
"""Edge weight from which a learned edge counts in the strict rule."""

BY_ROW = ("n_patterns", "pattern_size", "n_restarts", "random_state")
"""Settings of the network that are not defaults: the row and the command decide."""

Learned = tuple[Any, list[str]]
"""Edge weights ``(M, M)`` and labels of one pattern."""

Measures = dict[str, list[float]]
"""One value per restart by measure."""


def run_task(
    task: str,
    *,
    restarts: int = 50,
    num_graphs: int = 100,
    epochs: int | None = None,
    quick: bool = False,
    seed: int = FIRST_SEED,
    on_step: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Run every row of a task; write ``results/mining_tasks/TASK.json`` and return the record's values.

    Args:
        task: A name in :data:`~experiments.mining_rows.TASKS`.
        restarts: Initializations per row.
        num_graphs: Graphs of a database.
        epochs: Epochs of every row, instead of its own.
        quick: First testbed only, without the further settings; written to ``results/mining_tasks/quick``.
        seed: Seed of databases and initializations.
        on_step: Told the name of every row before it runs.
    """
    tell = on_step or (lambda _: None)
    rows: list[dict[str, Any]] = []
    for bed in chosen_testbeds(task, quick):
        graphs = bed.graphs(num_graphs, seed)
        beside: dict[int, dict[str, Measures]] = {}
        for row, tried in every_row(bed, quick):
            tell(f"{bed.name}: {row.name}")
            if row.k not in beside:
                beside[row.k] = _controls(bed, graphs, row.k, restarts, seed)
            record: dict[str, Any] = {"testbed": bed.name, "row": row.name, "tried": tried, "k": row.k}
            record |= {"settings": row.settings, "paper": row.paper, "against": row.against}
            record |= _faithful(bed, row, graphs, restarts, epochs, seed)
            rows.append(record if tried else record | beside[row.k])
    values = {"rows": rows}
    config = {
        "command": f"python -m experiments {task}{' --quick' if quick else f' --restarts {restarts}'}",
        "task": task,
        "restarts": restarts,
        "graphs": num_graphs,
        "seed": seed,
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


def _faithful(
    bed: Testbed, row: Row, graphs: list[nx.Graph], restarts: int, epochs: int | None, seed: int
) -> dict[str, Any]:
    """What the paper's network found: measures and loss of every restart, and the hidden graph to draw."""
    settings = {"n_restarts": restarts, "random_state": seed} | row.settings
    settings |= {} if epochs is None else {"epochs": epochs}
    model = DescriptiveKCN(row.k, bed.size, **settings).fit(graphs)
    learned = [list(zip(model.weights_[r], model.labels(r), strict=True)) for r in range(restarts)]
    found = {"faithful": measure(bed, learned), "losses": model.losses_.tolist()}
    return found | ({"drawn": drawn(bed, learned[model.best_][0])} if bed.distances else {})


def drawn(bed: Testbed, pattern: Learned) -> dict[str, Any]:
    """Scaled weights and labels of a hidden graph, its nodes in the order of the target that costs least."""
    scaled, labels, target = normalize_weights(pattern[0]), pattern[1], bed.targets["target"][0]
    places = cheapest_assignment(scaled, labels, target, compare_labels=WITH in bed.distances)
    order = np.argsort(places)
    return {"weights": scaled[np.ix_(order, order)].round(4).tolist(), "labels": [labels[v] for v in order]}


def _controls(bed: Testbed, graphs: list[nx.Graph], k: int, restarts: int, seed: int) -> dict[str, Measures]:
    """What the networks must beat, measured as they are."""
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
    return {"untrained": measure(bed, untrained), "copying": measure(bed, _as_learned(copied))}


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


def _as_learned(copied: list[list[nx.Graph]]) -> list[list[Learned]]:
    """Weights and labels of graphs."""

    def learned(graph: nx.Graph) -> Learned:
        return nx.to_numpy_array(graph, weight=None), [str(label) for _, label in graph.nodes(data="label")]

    return [[learned(graph) for graph in patterns] for patterns in copied]


Restarts = Annotated[int, typer.Option(help="Initializations per row.", min=2)]
Quick = Annotated[bool, typer.Option("--quick", help="First testbed, 5 initializations, 20 graphs; a file of its own.")]


def task_1_1(restarts: Restarts = 50, quick: Quick = False) -> None:
    """Bipartite cores (table 1); writes mining_tasks/."""
    _task("task-1-1", restarts, quick)


def task_1_2(restarts: Restarts = 50, quick: Quick = False) -> None:
    """Triangle chains (table 2); writes mining_tasks/."""
    _task("task-1-2", restarts, quick)


def task_2_1(restarts: Restarts = 50, quick: Quick = False) -> None:
    """Tailed triangles and rings by edit distance; writes mining_tasks/."""
    _task("task-2-1", restarts, quick)


def task_2_2(restarts: Restarts = 50, quick: Quick = False) -> None:
    """Structural colors by edit distance (tables 3 and 4); writes mining_tasks/."""
    _task("task-2-2", restarts, quick)


def _task(task: str, restarts: int, quick: bool) -> None:
    rows = sum(len(every_row(bed, quick)) for bed in chosen_testbeds(task, quick))
    with progress(task, total=rows) as advance:
        record = run_task(
            task,
            restarts=5 if quick else restarts,
            num_graphs=20 if quick else 100,
            quick=quick,
            on_step=advance,
        )
    out.print(task_table(record), soft_wrap=True)

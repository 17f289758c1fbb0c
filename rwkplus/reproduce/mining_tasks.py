"""Tasks 1-1 to 2-2 of the paper: faithful networks, what they must beat, and our miner, side by side."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import networkx as nx
import numpy as np
import torch

from experiments.recovery import copied_patterns, majority_label, recovered
from rwkplus.descriptive.gradient import explained_patterns
from rwkplus.descriptive.rwk_cn import DescriptiveKCN
from rwkplus.mining.edit_distance import normalize_weights, weighted_edit_distance
from rwkplus.reproduce.mining_rows import LABELS, STRICT, TASKS, WITH, Row, Testbed
from rwkplus.result_files import save_result

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
        task: A name in :data:`~rwkplus.reproduce.mining_rows.TASKS`.
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
        "command": f"rwkplus reproduce {task}{' --quick' if quick else f' --restarts {restarts}'}",
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
    found = explained_patterns(graphs, n_patterns, pattern_size, restarts=restarts, random_state=seed, **options)
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

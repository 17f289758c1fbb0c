"""The paper's mining tasks with :func:`rwkplus.descriptive.explained_patterns`, on seeds kept for reporting."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args

import networkx as nx
import numpy as np
import typer

from experiments import testbeds
from experiments.pages import existing, ran, rows_table
from experiments.progress import progress
from experiments.records import RESULTS, read_result, save_result
from experiments.recovery import copied_patterns, majority_label, recovered
from experiments.testbeds import FIRST_SEED
from rwkplus.datasets.generators import Linking, triangle_chains
from rwkplus.descriptive.gradient import ExplainedPatterns, explained_patterns
from rwkplus.descriptive.views import Paint
from rwkplus.mining.edit_distance import normalize_weights, weighted_edit_distance

TASK_1: dict[str, Any] = {"steps": 3, "closed": (3,), "epochs": 150, "kicks": 20}
TASK_2: dict[str, Any] = {"closed": (3, 4), "epochs": 150, "kicks": 300}
"""A restart that explains everything is not kicked again, so the many kicks of Task 2 are an upper bound."""

WITHOUT_KICKS = {"kicks": 0}
WITHOUT_GRADIENT = {"epochs": 0}
ABLATIONS: dict[str, dict[str, Any]] = {
    "without kicks": WITHOUT_KICKS,
    "without gradient": WITHOUT_GRADIENT,
    "without either": WITHOUT_KICKS | WITHOUT_GRADIENT,
}
SIZES = (2, 3, 4)
GROUP = 10
"""Restarts of which the best by the objective is taken."""

Row = dict[str, Any]
Tell = Callable[[str], None]
Task = Callable[[Sequence[int], int, Tell], tuple[list[Row], Row]]
"""Seeds, restarts per seed and whom to tell, to rows and settings."""


def run_explained_tasks(
    quick: bool = False, *, first_seed: int = FIRST_SEED, on_step: Tell | None = None
) -> dict[str, list[Row]]:
    """Run Tasks 1-1, 1-2 and 2; write ``results/mining_explained/TASK.json`` and return the rows by task.

    Args:
        quick: One database and ten restarts per cell, no ablation; written to ``results/mining_explained/quick``.
        first_seed: First seed of databases and initializations.
        on_step: Told the name of every cell before it runs.
    """
    tell = on_step or (lambda _: None)
    seeds = range(first_seed, first_seed + (1 if quick else 3))
    restarts = 10 if quick else 50
    tasks: Mapping[str, Task] = {
        "task-1-1": _task_1_1,
        "task-1-2": partial(_task_1_2, ablate=not quick),
        "task-2": _task_2,
    }
    results = {}
    for name, task in tasks.items():
        rows, settings = task(seeds, restarts, tell)
        config = {
            "command": f"python -m experiments explained{' --quick' if quick else ''}",
            "task": name,
            "seeds": list(seeds) if name != "task-2" else [first_seed],
            "restarts per seed": restarts,
            "settings": settings,
        }
        save_result(f"mining_explained/{'quick/' if quick else ''}{name}", config, {"rows": rows})
        results[name] = rows
    return results


def _task_1_1(seeds: Sequence[int], restarts: int, tell: Tell) -> tuple[list[Row], Row]:
    tell("task 1-1")
    targets = [testbeds.butterfly(), testbeds.three_star("red"), testbeds.three_star("blue")]
    hits, leaders = [], []
    for seed in seeds:
        found = explained_patterns(
            testbeds.bipartite_graphs(seed=seed), 1, 4, n_restarts=restarts, random_state=seed, **TASK_1
        )
        hit = np.array([any(recovered(graphs, t, strict=True) for t in targets) for graphs in _every(found)])
        hits.append(hit)
        leaders.append(_best_of_groups(found, hit))
    return [{"testbed": "bipartite", **_shares("found", hits), "best of 10": _percent(leaders)}], TASK_1


def _task_1_2(seeds: Sequence[int], restarts: int, tell: Tell, *, ablate: bool) -> tuple[list[Row], Row]:
    rows = []
    for linking in get_args(Linking):
        databases = [triangle_chains(linking=linking, random_state=seed) for seed in seeds]
        for k in SIZES:
            tell(f"task 1-2, {linking}, k = {k}")
            first, second, both, leaders = [], [], [], []
            for seed, graphs in zip(seeds, databases, strict=True):
                found = explained_patterns(graphs, k, 3, n_restarts=restarts, random_state=seed, **TASK_1)
                p1, p2 = _chain_hits(found)
                first.append(p1)
                second.append(p2)
                both.append(p1 & p2)
                leaders.append(_best_of_groups(found, p1 & p2))
            row = {"linking": linking, "k": k, "P1": _percent(first), "P2": _percent(second)}
            row |= _shares("both", both) | {"best of 10": _percent(leaders)}
            if ablate:
                row |= _ablated(databases[0], k, restarts, seeds[0])
            rows.append(row)
    return rows, TASK_1 | {"ablations": "first seed only"}


def _ablated(graphs: Sequence[nx.Graph], k: int, restarts: int, seed: int) -> Row:
    row = {}
    for name, change in ABLATIONS.items():
        found = explained_patterns(graphs, k, 3, n_restarts=restarts, random_state=seed, **TASK_1 | change)
        p1, p2 = _chain_hits(found)
        row[f"both, {name}"] = _percent([p1 & p2])
    return row


def _task_2(seeds: Sequence[int], restarts: int, tell: Tell) -> tuple[list[Row], Row]:
    by_steps = {"tailed triangle": testbeds.tailed_triangle(), "ring RBRBRB": testbeds.ring("RBRBRB")}
    by_view = {
        "prism": testbeds.prism(),
        "K33": testbeds.complete_bipartite_33(),
        "ring RRBRRB": testbeds.ring("RRBRRB"),
    }
    cells: list[tuple[str, nx.Graph, int, Paint]] = [
        *((name, target, steps, "labels") for name, target in by_steps.items() for steps in (2, 4, 6)),
        *((name, target, 3, view) for name, target in by_view.items() for view in get_args(Paint)),
    ]
    rows = [_distances(*cell, restarts, seeds[0], tell) for cell in cells]
    return rows, TASK_2


def _distances(name: str, target: nx.Graph, steps: int, view: Paint, restarts: int, seed: int, tell: Tell) -> Row:
    tell(f"task 2, {name}, {steps} steps, {view}")
    graphs, size = testbeds.copies(target), len(target)
    found = explained_patterns(
        graphs, 1, size, n_restarts=restarts, steps=steps, random_state=seed, view=view, **TASK_2
    )
    rng = np.random.default_rng(seed)
    random = [np.triu(rng.random((size, size)), 1) for _ in range(restarts)]
    majority = [str(majority_label(graphs))] * size
    copied = copied_patterns(graphs, 1, size, restarts=restarts, seed=seed)
    methods = {
        "ours": [(adj[0], found.labels(r)[0]) for r, adj in enumerate(found.adjacency)],
        "untrained": [(normalize_weights(upper + upper.T), majority) for upper in random],
        "copying": [
            (nx.to_numpy_array(graph, weight=None), [label for _, label in graph.nodes(data="label")])
            for (graph,) in copied
        ],
    }
    row: Row = {"testbed": name, "steps": steps, "view": view, "explained": float(found.explained.min())}
    for method, learned in methods.items():
        for words, compare in (("without", False), ("with", True)):
            values = [weighted_edit_distance(*pattern, target, compare_labels=compare) for pattern in learned]
            row[f"{method}, {words} labels"] = float(np.mean(values))
    return row


def _every(found: ExplainedPatterns) -> list[list[nx.Graph]]:
    return [found.to_networkx(restart) for restart in range(len(found.explained))]


def _chain_hits(found: ExplainedPatterns) -> tuple[Any, Any]:
    p1, p2 = testbeds.chain_patterns()
    hits = [[recovered(graphs, target, strict=True) for target in (p1, p2)] for graphs in _every(found)]
    return tuple(np.array(hits).T)


def _best_of_groups(found: ExplainedPatterns, hit: Any) -> Any:  # noqa: ANN401
    """Whether the restart that explains most is a hit, for every group of ten restarts."""
    score = found.explained.reshape(-1, GROUP)
    return hit.reshape(-1, GROUP)[np.arange(len(score)), (score > score.max(1, keepdims=True) - 1e-9).argmax(1)]


def _shares(name: str, hits: Sequence[Any]) -> Row:
    return {name: _percent(hits), "restarts": int(sum(map(len, hits))), "by seed": [_percent([part]) for part in hits]}


def _percent(hits: Sequence[Any]) -> float:
    return round(100 * float(np.concatenate(hits).mean()), 2)


TITLES = {
    "task-1-1": "Task 1-1: a bipartite core",
    "task-1-2": "Task 1-2: two triangles in chains",
    "task-2": "Task 2: copies of one graph, by edit distance",
}


def explained_page(folder: Path = RESULTS) -> str | None:
    """All tasks that have been run."""
    tasks = existing(TITLES, "mining_explained", folder)
    if not tasks:
        return None
    parts = [
        "# Our gradient miner on the paper's tasks\n",
        "`explained_patterns` on databases and initializations with seeds not used for design.\n",
        "- Accuracies are shares of single restarts in percent, strict: every label and every edge.\n"
        "- *Best of 10* counts, of every ten restarts, only the one that explains most.\n"
        "- *Explained* is the share of the walk features that the patterns explain, of the worst restart.\n"
        "- Distances are exact edit distances; an untrained graph and copying an input graph stand beside, since Task "
        "2's databases are copies of the target.\n",
    ]
    records = [read_result(f"mining_explained/{task}", folder) for task in tasks]
    for task, record in zip(tasks, records, strict=True):
        config = record["config"]
        settings = ", ".join(f"{key} {value}" for key, value in config["settings"].items())
        seeds = f"{'Seed' if len(config['seeds']) == 1 else 'Seeds'} {', '.join(map(str, config['seeds']))}"
        restarts = f"{seeds}; {config['restarts per seed']} restarts each; {settings}.\n"
        parts += [f"## {TITLES[task]}\n", restarts, rows_table(record["values"]["rows"])]
    return "\n".join([*parts, ran(*records)])


def explained(quick: Annotated[bool, typer.Option("--quick", help="Few restarts; a file of its own.")] = False) -> None:
    """Our gradient miner on the paper's tasks, at seeds not used for design; writes mining_explained/."""
    with progress("explained") as advance:
        run_explained_tasks(quick, on_step=advance)

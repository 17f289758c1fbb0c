"""The page about node classification."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rwkplus.evaluate import corrected_paired_test
from rwkplus.reproduce.markdown import mean_and_deviation, table
from rwkplus.reproduce.nodes import DATASETS, GUARDS, METHODS, PAPER, PUBLISHED, Row, result_name
from rwkplus.reproduce.nodes_init import INITIALIZATIONS, RESULT
from rwkplus.reproduce.results import exists, ran
from rwkplus.result_files import RESULTS, read_result

ALL = (*DATASETS, "PubMed")
TEST_SHARE = 1 / 3
"""Test nodes per training node of our splits, whose training sets overlap."""


def nodes_page(folder: Path = RESULTS) -> str | None:
    """All data sets that have been run, on our splits and on published ones, and how layers begin."""
    random, published = _run(ALL, False, folder), _run(PUBLISHED, True, folder)
    if not random and not published:
        return None
    records = [read_result(result_name(name, False), folder) for name in random]
    records += [read_result(result_name(name, True), folder) for name in published]
    settings = records[0]["config"]["settings"]
    parts = [
        "# Node classification\n",
        "RWKPlusConv, GCNConv and GINConv in one backbone: linear layer with BatchNorm and ReLU, two convolutions of "
        "width 128 with BatchNorm, ReLU and residual, and an MLP. RWKPlusConv walks 4 steps on citations and 2 "
        "elsewhere, as in the paper. Accuracy in percent, mean ± standard deviation over seeds; p compares "
        "RWKPlusConv with GCNConv, paired and corrected for overlapping training sets.\n",
        "- Graphs are undirected, rows of features sum to the same number. Every seed draws a split into 60, 20 and 20 "
        "percent, by class, and initial weights.\n"
        f"- Adam with an L2 penalty of {settings['weight_decay']}, learning rate {settings['lr']} halved every "
        f"{settings['halve_lr_every']} epochs (the paper: 0.001, every 10), {settings['epochs']} epochs.\n"
        f"- All methods choose among the same candidates ({_candidates(records)}) by accuracy on the validation nodes, "
        "which also choose the epoch; test nodes are looked at once.\n"
        "- *No edges* is the same backbone on a graph without edges; guards see features or classes alone.\n"
        "- Chameleon and Squirrel consist mostly of copied pages, so that test nodes stand in the training set; "
        "without the copies they are *filtered*.\n",
        nodes_table(random, folder=folder) if random else "",
    ]
    if published:
        parts += [
            "## Published splits\n",
            "20 labels per class, few for this backbone: two plain layers of GCN reach 81.5 on Cora (Kipf and Welling, "
            "2017). Seeds vary initial weights only, so that p is of a plain paired t-test: it tells whether layers "
            "differ on this split, not on others.\n",
        ]
        parts += [nodes_table(published, folder=folder, published=True)]
    return "\n".join([*parts, ran(*records), *_initialization(folder)])


def _candidates(records: Sequence[dict[str, Any]]) -> str:
    """What methods choose among; on which sets, if not on all of them among the same."""
    sets: dict[str, list[str]] = {}
    for config in (record["config"] for record in records):
        values = {
            key: sorted({candidate[key] for candidate in config["candidates"]}) for key in config["candidates"][0]
        }
        grid = ", ".join(f"{key} {' or '.join(map(str, found))}" for key, found in values.items())
        sets.setdefault(grid, []).append(config["dataset"])
    if len(sets) == 1:
        return next(iter(sets))
    return "; ".join(f"{', '.join(dict.fromkeys(names))}: {grid}" for grid, names in sets.items())


def nodes_table(names: Sequence[str], *, folder: Path = RESULTS, published: bool = False) -> str:
    """One row per data set: paper, ours, guards."""
    paper = [] if published else ["GCN (paper)", "RWK+Conv (paper)"]
    head = ["data set", "seeds", *paper, *METHODS, "p", *(f"guard: {guard}" for guard in GUARDS)]
    lines = []
    for name in names:
        rows = _complete(read_result(result_name(name, published), folder)["values"]["rows"])
        accuracy = {method: _accuracies(rows, method) for method in (*METHODS, *GUARDS)}
        reported = [f"{value:.1f}" for value in PAPER[name]] if name in PAPER else ["", ""]
        lines.append(
            [
                name,
                len({row["seed"] for row in rows}),
                *(reported if paper else []),
                *(_percent(accuracy[method]) for method in METHODS),
                _p_value(accuracy["RWKPlusConv"], accuracy["GCNConv"], 0 if published else TEST_SHARE),
                *(_percent(accuracy[guard]) for guard in GUARDS),
            ]
        )
    return table(head, lines)


def initialization_table(rows: Sequence[Row]) -> str:
    """Mean validation accuracy of each initialization by data set."""
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    lines = []
    for name in INITIALIZATIONS:
        own = [row for row in rows if row["initialization"] == name]
        means = [100 * np.mean([row["validation"] for row in own if row["dataset"] == set_]) for set_ in datasets]
        lines.append([name, *(f"{mean:.1f}" for mean in (*means, np.mean(means)))])
    return table(["initialization", *datasets, "mean"], lines)


def _initialization(folder: Path) -> list[str]:
    if not exists(RESULT, folder):
        return []
    record = read_result(RESULT, folder)
    rows, config = record["values"]["rows"], record["config"]
    seeds = sorted({row["seed"] for row in rows})
    return [
        "## How RWKPlusConv begins\n",
        "The initialization was chosen by accuracy on validation nodes, in percent, of splits with seeds "
        f"{', '.join(map(str, seeds))}, which no experiment uses; {config['settings']['epochs']} epochs, learning rate "
        f"{config['settings']['lr']}, dropout {config['dropout']}. Hidden colors and hidden adjacency are drawn from "
        "Glorot's distribution, scaled; *balanced* subtracts the mean from every row of the adjacency.\n",
        initialization_table(rows),
        ran(record),
    ]


def _run(names: Sequence[str], published: bool, folder: Path) -> list[str]:
    return [name for name in names if exists(result_name(name, published), folder)]


def _complete(rows: Sequence[Row]) -> list[Row]:
    """Keep the seeds that every method has: an experiment may have been interrupted."""
    methods = {row["method"] for row in rows}
    seen = [{row["seed"] for row in rows if row["method"] == method} for method in methods]
    return [row for row in rows if row["seed"] in set.intersection(*seen)]


def _accuracies(rows: Sequence[Row], method: str) -> dict[int, float]:
    return {row["seed"]: row["accuracy"] for row in rows if row["method"] == method}


def _percent(accuracy: dict[int, float]) -> str:
    return mean_and_deviation([100 * value for value in accuracy.values()])


def _p_value(first: dict[int, Any], second: dict[int, Any], test_share: float) -> str:
    """Of a paired test over seeds; ``test_share`` corrects for training sets that overlap, 0 if there is but one."""
    both = sorted(first.keys() & second.keys())
    if len(both) < 2:
        return ""
    return f"{corrected_paired_test([first[s] for s in both], [second[s] for s in both], test_share):.2g}"

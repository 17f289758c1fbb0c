"""The page about walk kernels with a support vector machine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rwkplus.evaluate import corrected_paired_test
from rwkplus.reproduce.kernel_quality import DATASETS, FOLDS, METHODS
from rwkplus.reproduce.markdown import mean_and_deviation, mostly, table
from rwkplus.reproduce.results import existing, ran
from rwkplus.result_files import RESULTS, read_result

PEER = "Weisfeiler-Leman (GraKeL)"


def kernel_page(folder: Path = RESULTS) -> str | None:
    """All data sets that have been run."""
    datasets = existing(DATASETS, "kernel_quality", folder)
    if not datasets:
        return None
    records = {name: read_result(f"kernel_quality/{name}", folder) for name in datasets}
    config = records[datasets[0]]["config"]
    inner = mostly({name: record["config"]["inner_folds"] for name, record in records.items()})
    return (
        "# Walk kernels with a support vector machine\n\n"
        f"{config['folds']}-fold nested cross-validation, {len(config['seeds'])} seeds. Walk length (or iterations, "
        f"{config['steps'][0]} to {config['steps'][-1]}) and the SVM's cost "
        f"({', '.join(f'{cost:g}' for cost in config['costs'])}) are chosen inside each training part, by "
        f"cross-validation in {inner} folds. All kernels are normalized and see node labels only; data sets without "
        "labels get one-hot degrees.\n\n"
        "Mean ± standard deviation over seeds; differences are paired over all folds, with p-values from the t-test "
        "corrected for overlapping training sets (Nadeau and Bengio 2003).\n\n"
        f"{quality_table(datasets, folder)}\n"
        "Guards see no structure: the majority class, the numbers of nodes and edges, the sums of node and edge "
        f"colors. {_guard_warning(records)}\n\n"
        f"{ran(*records.values())}"
    )


def quality_table(datasets: Sequence[str], folder: Path = RESULTS) -> str:
    """Accuracy of every method and guard by data set, and how ours compare with Weisfeiler-Leman."""
    scores = [read_result(f"kernel_quality/{name}", folder)["values"]["accuracy"] for name in datasets]
    guards = [name for name in scores[0] if name.startswith("guard")]
    rows = [
        [method, *(mean_and_deviation(100 * np.mean(accuracy[method], axis=1)) for accuracy in scores)]
        for method in (*METHODS, *guards)
    ]
    rows += [
        [f"{method} minus Weisfeiler-Leman", *(_difference(accuracy, method) for accuracy in scores)]
        for method in METHODS
        if method != PEER
    ]
    return table(["accuracy in %", *datasets], rows)


def _difference(accuracy: dict[str, list[list[float]]], method: str) -> str:
    mine, peer = np.ravel(accuracy[method]), np.ravel(accuracy[PEER])
    p = corrected_paired_test(mine, peer, test_share=1 / (FOLDS - 1))
    return f"{100 * (mine - peer).mean():+.1f} (p = {p:.2g})"


def _guard_warning(records: dict[str, dict[str, Any]]) -> str:
    """Name the data sets on which a guard does as well as every kernel."""
    telling = []
    for name, record in records.items():
        means = {method: np.mean(scores) for method, scores in record["values"]["accuracy"].items()}
        guard = max((method for method in means if method.startswith("guard")), key=lambda method: means[method])
        if means[guard] >= max(means[method] for method in METHODS):
            telling.append(f"{name} ({guard.removeprefix('guard: ')}, {100 * means[guard]:.1f})")
    if not telling:
        return "No guard does as well as the best kernel."
    return (
        f"**A guard does as well as every kernel on {', '.join(telling)}**: accuracy there says little about structure."
    )

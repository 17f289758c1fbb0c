"""The page about graph classification."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rwkplus.evaluate import corrected_paired_test
from rwkplus.reproduce.classification import METHODS, PAPER
from rwkplus.reproduce.cross_validated import FOLDS
from rwkplus.reproduce.markdown import mean_and_deviation, mostly, table
from rwkplus.reproduce.results import existing, ran
from rwkplus.result_files import RESULTS, read_result

GUARDS = ("majority", "size", "histogram")


def classification_page(folder: Path = RESULTS) -> str | None:
    """All data sets that have been run."""
    names = existing(PAPER, "classification", folder)
    if not names:
        return None
    records = {name: read_result(f"classification/{name}", folder) for name in names}
    settings = records[names[0]]["config"]["settings"]
    epochs = mostly({name: record["config"]["settings"]["epochs"] for name, record in records.items()})
    return (
        "# Graph classification by KerGNN\n\n"
        f"{FOLDS}-fold cross-validation with one tenth of each training part for validation, which chooses the epoch "
        "and the number of steps (2 or 3; for GIN, of layers). One layer, 8 hidden graphs of 6 nodes, egonets of up to "
        f"10 nodes, node labels or one-hot degrees. {epochs} epochs of Adam, learning rate {settings['lr']}, halved "
        f"every {settings['halve_lr_every']} epochs, batches of {settings['batch_size']}.\n\n"
        "Mean ± standard deviation over folds, in percent; the p-value compares RWK+ with RWK-, both without StepNorm, "
        "as in the paper's table, corrected for overlapping training sets.\n\n"
        f"{classification_table(names, folder)}\n"
        f"{_summary({name: record['values']['scores'] for name, record in records.items()})}"
        "Guards see no structure: the majority class, the numbers of nodes and edges, the sums of node colors.\n\n"
        f"{ran(*records.values())}"
    )


def classification_table(names: list[str], folder: Path = RESULTS) -> str:
    """One row per data set: paper, ours, guards."""
    head = ["data set", "RWK- (paper)", "RWK+ (paper)", *METHODS, "p", *(f"guard: {guard}" for guard in GUARDS)]
    rows = []
    for name in names:
        scores = read_result(f"classification/{name}", folder)["values"]["scores"]
        ours = [mean_and_deviation([100 * fold["accuracy"] for fold in scores.get(method, [])]) for method in METHODS]
        guards = [f"{100 * np.mean(scores['guards'][guard]):.1f}" if "guards" in scores else "" for guard in GUARDS]
        rows.append([name, *(f"{value:.1f}" for value in PAPER[name]), *ours, _p_value(scores), *guards])
    return table(head, rows)


def _summary(scores: Mapping[str, Any]) -> str:
    """Where ours reach the paper, and means over sets; of ENZYMES only the form that the paper's code reads."""
    kernels = [method for method in METHODS if method != "GIN"]
    names = [name for name in scores if name != "ENZYMES" and all(method in scores[name] for method in kernels)]
    if not names:
        return ""
    accuracy = {
        kernel: [100 * np.mean([fold["accuracy"] for fold in scores[name][kernel]]) for name in names]
        for kernel in kernels
    }
    reached = {
        kernel: sum(round(ours, 1) >= PAPER[name][1] for name, ours in zip(names, accuracy[kernel], strict=True))
        for kernel in ("RWK+", "RWK+ with StepNorm")
    }
    means = ", ".join(f"{kernel} {np.mean(accuracy[kernel]):.1f}" for kernel in kernels)
    return (
        f"Of the {len(names)} data sets that are complete (ENZYMES with attributes, as the paper's code reads it), "
        f"RWK+ reaches the paper's value on {reached['RWK+']}, and with StepNorm on {reached['RWK+ with StepNorm']}. "
        f"Means over these sets: {means}.\n\n"
    )


def _p_value(scores: dict[str, Any]) -> str:
    if "RWK+" not in scores or "RWK-" not in scores:
        return ""
    plus, minus = ([fold["accuracy"] for fold in scores[method]] for method in ("RWK+", "RWK-"))
    return f"{corrected_paired_test(plus, minus, 1 / (FOLDS - 1)):.2g}"

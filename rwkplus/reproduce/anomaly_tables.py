"""The page about anomalous graphs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_rel, wilcoxon

from rwkplus.reproduce.anomaly import METHODS, PAPER, SCORES, UNDRAWN
from rwkplus.reproduce.cross_validated import FOLDS
from rwkplus.reproduce.markdown import mean_and_deviation, table
from rwkplus.reproduce.results import existing, ran
from rwkplus.result_files import RESULTS, read_result

GUARDS = ("majority", "size", "histogram")
NAMES = {"recall": "macro recall", "positive_recall": "recall of actives", "roc_auc": "AUROC", "ap": "AUPRC"}
Scores = dict[str, float]
PAIRS = {
    "degrees": ("iGAD + RWK", "iGAD + RWK+"),
    "atoms": ("iGAD + RWK, atoms", "iGAD + RWK+, atoms"),
}
"""Rows that differ in nothing but the kernel, by what colors nodes."""


def anomaly_page(folder: Path = RESULTS) -> str | None:
    """All screens that have been run."""
    names = existing(PAPER, "anomaly", folder)
    if not names:
        return None
    records = {name: read_result(f"anomaly/{name}", folder) for name in names}
    settings = records[names[0]]["config"]["settings"]
    return (
        "# Anomalous graphs by iGAD\n\n"
        "Real anti-cancer screens with all inactive compounds at hand and so many active ones, drawn with a seed, that "
        "they are as rare as in the published screen. **These are smaller than the paper's sets** (see N), so its "
        "figures are not comparable one to one.\n\n"
        f"{FOLDS}-fold cross-validation; one tenth of each training part chooses hidden graphs (8, 16), their nodes "
        "(5, 10), steps (2, 3) and the epoch by macro recall. Both kernels see one-hot degrees, or atoms, and have "
        "StepNorm. Up "
        f"to {settings['epochs']} epochs of Adam{_stop(settings)}, learning rate {settings['lr']}, halved every "
        f"{settings['halve_lr_every']} epochs, batches of {settings['batch_size']}.\n\n"
        "Macro recall in percent, mean ± standard deviation over folds.\n\n"
        f"{anomaly_table(names, folder)}\n"
        f"{_comparisons(names, folder, _macro_recall)}\n\n"
        "## With the actives that were not drawn\n\n"
        "A test part has few actives, and their recall is as uncertain. No network has seen the actives that the draw "
        "left out, and recall does not depend on how rare a class is: here the recall of actives is taken of all of "
        "them, for the same networks, and averaged with the recall of inactives in the test part.\n\n"
        f"{_undrawn_table(names, folder)}\n"
        f"{_comparisons(names, folder, _with_undrawn)}\n\n"
        f"## Other scores\n\n{_score_table(names, folder)}\n"
        "Guards see no structure: the majority class, the numbers of nodes and edges, the counts of atoms.\n\n"
        f"{ran(*(_as_run(record) for record in records.values()))}"
    )


def _as_run(record: dict[str, Any]) -> dict[str, Any]:
    """The record with the command of the rows that were run, which may be fewer than it would run by itself."""
    config, done = record["config"], [method for method in METHODS if method in record["values"]["scores"]]
    chosen = "".join(f" --method '{method}'" for method in done if len(done) < len(METHODS))
    return record | {"config": config | {"command": config["command"] + chosen}}


def _stop(settings: dict[str, Any]) -> str:
    patience = settings["patience"]
    return "" if patience is None else f" until {patience} epochs bring no better validation score"


def anomaly_table(names: list[str], folder: Path = RESULTS) -> str:
    """Macro recall: one row per screen with paper, ours and guards."""
    methods = _methods(names, folder)
    head = ["screen", "N", "actives", "RWK (paper)", "RWK+ (paper)", *methods, *(f"guard: {name}" for name in GUARDS)]
    rows = []
    for name in names:
        record = read_result(f"anomaly/{name}", folder)
        config, scores = record["config"], record["values"]["scores"]
        ours = [_spread(scores.get(method), "recall") for method in methods]
        guards = [f"{100 * np.mean(scores['guards'][guard]):.1f}" if "guards" in scores else "" for guard in GUARDS]
        rate = f"{config['actives']} ({config['rate']:.1%})"
        rows.append([name, f"{config['graphs']:,}", rate, *PAPER[name], *ours, *guards])
    return table(head, rows)


def _score_table(names: list[str], folder: Path) -> str:
    head = ["screen", "method", *(NAMES.get(score, f"macro {score.upper()}") for score in SCORES)]
    rows = []
    for name in names:
        scores = read_result(f"anomaly/{name}", folder)["values"]["scores"]
        rows += [
            [name, method, *(_spread(scores[method], score) for score in SCORES)]
            for method in METHODS
            if method in scores
        ]
    return table(head, rows)


def _undrawn_table(names: list[str], folder: Path) -> str:
    rows, methods = [], _methods(names, folder)
    for name in names:
        record = read_result(f"anomaly/{name}", folder)
        scores = record["values"]["scores"]
        ours = [
            mean_and_deviation([100 * _with_undrawn(fold["scores"]) for fold in scores.get(method, [])])
            for method in methods
        ]
        rows.append([name, f"{record['config']['undrawn']:,}", *ours])
    return table(["screen", "actives not drawn", *methods], rows)


def _methods(names: list[str], folder: Path) -> list[str]:
    """Those that have been run on some screen."""
    found = {method for name in names for method in read_result(f"anomaly/{name}", folder)["values"]["scores"]}
    return [method for method in METHODS if method in found]


def _macro_recall(scores: Scores) -> float:
    return scores["recall"]


def _with_undrawn(scores: Scores) -> float:
    """Macro recall with that of actives taken of those that were not drawn."""
    recall_of_inactives = 2 * scores["recall"] - scores["positive_recall"]
    return (recall_of_inactives + scores[UNDRAWN]) / 2


def _comparisons(names: list[str], folder: Path, score: Callable[[Scores], float]) -> str:
    """Say on how many screens RWK+ is ahead, with paired tests over screens, for all colors that were run."""
    told = [_comparison(names, folder, score, colors) for colors in PAIRS]
    return "\n".join(f"- {line}" for line in told if line)


def _comparison(names: list[str], folder: Path, score: Callable[[Scores], float], colors: str) -> str | None:
    pairs = []
    for name in names:
        scores = read_result(f"anomaly/{name}", folder)["values"]["scores"]
        if all(method in scores for method in PAIRS[colors]):
            pairs.append([np.mean([score(fold["scores"]) for fold in scores[method]]) for method in PAIRS[colors]])
    if len(pairs) < 2:
        return None
    plain, plus = np.array(pairs).T
    ahead = int((plus > plain).sum())
    return (
        f"By {colors}, RWK+ is ahead of RWK on {ahead} of {len(pairs)} screens, by {100 * (plus - plain).mean():+.1f} "
        f"on average (paired over screens: t-test p = {ttest_rel(plus, plain).pvalue:.2g}, "
        f"Wilcoxon p = {wilcoxon(plus, plain).pvalue:.2g})."
    )


def _spread(folds: list[dict[str, Any]] | None, score: str) -> str:
    return mean_and_deviation([100 * fold["scores"][score] for fold in folds or []])

"""What a network for molecules must beat: a constant, and linear models that count atoms and bonds."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import average_precision_score, mean_absolute_error, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from rwkplus.data.molecule_sets import MoleculeSet

Array = NDArray[Any]
PENALTIES = (0.01, 1.0, 100.0)
RANKINGS: dict[str, Callable[[Array, Array], float]] = {"roc_auc": roc_auc_score, "ap": average_precision_score}


def molecule_guards(molecules: MoleculeSet, metric: str) -> dict[str, float]:
    """Test score of a constant and of linear models of counts; the penalty is chosen on the validation molecules.

    Args:
        molecules: Molecules with their split.
        metric: ``"mae"`` for numbers, ``"roc_auc"`` or ``"ap"`` for answers, the mean over questions.
    """
    y = torch.cat([graph.y.view(1, -1) for graph in molecules.graphs]).double().numpy()
    atoms, bonds = counts(molecules, "x"), counts(molecules, "edge_attr")
    guards = {"constant": None, "atoms": atoms, "atoms and bonds": np.concatenate([atoms, bonds], 1)}
    judge = _number_score if metric == "mae" else _answer_scores(RANKINGS[metric])
    scores = {}
    for name, features in guards.items():
        columns = [judge(molecules, features, column) for column in y.T]
        scores[name] = float(np.nanmean(columns))
    return scores


def counts(molecules: MoleculeSet, field: str) -> Array:
    """How often each value of each column of ``x`` or ``edge_attr`` occurs in each molecule: ``(B, all values)``."""
    values = [graph[field].view(graph[field].size(0), -1) for graph in molecules.graphs]
    owner = torch.repeat_interleave(torch.tensor([len(part) for part in values]))
    everything = torch.cat(values)
    return np.concatenate([_histogram(column, owner, len(values)) for column in everything.T], 1)


def _histogram(column: Tensor, owner: Tensor, num_graphs: int) -> Array:
    width = int(column.max()) + 1 if column.numel() else 1
    return torch.bincount(owner * width + column, minlength=num_graphs * width).view(num_graphs, width).numpy()


def _number_score(molecules: MoleculeSet, features: Array | None, y: Array) -> float:
    train, validation, test = molecules.train, molecules.validation, molecules.test
    if features is None:
        return float(np.abs(y[test] - np.median(y[train])).mean())
    fitted = [make_pipeline(StandardScaler(), Ridge(penalty)).fit(features[train], y[train]) for penalty in PENALTIES]
    best = min(fitted, key=lambda model: mean_absolute_error(y[validation], model.predict(features[validation])))
    return float(mean_absolute_error(y[test], best.predict(features[test])))


def _answer_scores(ranking: Callable[[Array, Array], float]) -> Callable[[MoleculeSet, Array | None, Array], float]:
    def judge(molecules: MoleculeSet, features: Array | None, y: Array) -> float:
        parts = [part[~np.isnan(y[part])] for part in (molecules.train, molecules.validation, molecules.test)]
        if any(np.unique(y[part]).size < 2 for part in parts):
            return float("nan")
        train, validation, test = parts
        if features is None:
            return float(ranking(y[test], np.zeros(len(test))))
        fitted = [_logistic(1 / penalty, features[train], y[train]) for penalty in PENALTIES]
        best = max(fitted, key=lambda model: ranking(y[validation], model.decision_function(features[validation])))
        return float(ranking(y[test], best.decision_function(features[test])))

    return judge


def _logistic(cost: float, features: Array, y: Sequence[float] | Array) -> Any:  # noqa: ANN401
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # close enough for a guard
        return make_pipeline(StandardScaler(), LogisticRegression(C=cost, max_iter=300)).fit(features, y)

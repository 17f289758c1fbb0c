"""Nested cross-validation of precomputed kernels: everything is chosen inside the training folds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.svm import SVC

from rwkplus.data.splits import stratified_folds
from rwkplus.errors import ParameterError, ShapeError

Array = NDArray[np.float64]
Classes = NDArray[np.int64]

COSTS = (0.1, 1.0, 10.0, 100.0)


@dataclass(frozen=True)
class NestedScores:
    """Accuracy on every outer test fold, and what the inner folds chose for it."""

    accuracy: list[float]
    chosen: list[tuple[Any, float]]


def nested_cross_validation(
    grams: Mapping[Any, Array],
    y: Classes,
    *,
    folds: int = 10,
    inner_folds: int = 5,
    seed: int = 0,
    costs: Sequence[float] = COSTS,
    n_jobs: int | None = None,
    on_fold: Callable[[], None] | None = None,
) -> NestedScores:
    """Score a family of Gram matrices by an SVM.

    For every outer fold, the Gram matrix and the SVM's cost are chosen by cross-validation inside the
    training part; ties go to the candidate named first and to the smaller cost.

    Args:
        grams: Candidate Gram matrices, for instance one per number of steps.
        y: Classes.
        folds: Outer folds, stratified and shuffled by ``seed``.
        inner_folds: Folds of each training part.
        seed: Seed of all shuffling.
        costs: Candidate values of C.
        n_jobs: Outer folds at a time.
        on_fold: Called after every outer fold.
    """
    y = np.asarray(y)
    if not grams:
        raise ParameterError("grams is empty: give at least one Gram matrix.")
    for name, gram in grams.items():
        if gram.shape != (len(y), len(y)):
            raise ShapeError(f"Gram matrix {name!r} has shape {gram.shape}, but there are {len(y)} classes in y.")
    work = (
        delayed(_outer_fold)(grams, y, train, test, inner_folds, seed, costs)
        for train, test in stratified_folds(y, folds, seed)
    )
    accuracy, chosen = [], []
    for score, choice in Parallel(n_jobs=n_jobs, return_as="generator")(work):
        accuracy.append(score)
        chosen.append(choice)
        if on_fold is not None:
            on_fold()
    return NestedScores(accuracy, chosen)


def _outer_fold(
    grams: Mapping[Any, Array],
    y: Classes,
    train: Classes,
    test: Classes,
    inner_folds: int,
    seed: int,
    costs: Sequence[float],
) -> tuple[float, tuple[Any, float]]:
    inner = stratified_folds(y[train], inner_folds, seed)
    best, choice = -1.0, (next(iter(grams)), costs[0])
    for name, gram in grams.items():
        scores = np.mean([_scores(gram, y, train[fit], train[held], costs) for fit, held in inner], axis=0)
        if scores.max() > best:
            best, choice = float(scores.max()), (name, costs[int(scores.argmax())])
    return _scores(grams[choice[0]], y, train, test, [choice[1]])[0], choice


def _scores(gram: Array, y: Classes, fit: Classes, held: Classes, costs: Sequence[float]) -> list[float]:
    """Accuracy on ``held`` for every cost; the matrix is cut only once."""
    fitted, later = gram[np.ix_(fit, fit)], gram[np.ix_(held, fit)]
    models = (SVC(kernel="precomputed", C=cost, cache_size=500).fit(fitted, y[fit]) for cost in costs)
    return [float(accuracy_score(y[held], model.predict(later))) for model in models]

"""Nested cross-validation of kernels, and the baselines that a score must beat before it tells about structure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rwkplus.datasets.splits import stratified_folds
from rwkplus.errors import ParameterError, ShapeError
from rwkplus.table import Graphs, GraphTable, Reader
from rwkplus.types import Callback, Progress

Array = NDArray[np.float64]
Classes = NDArray[np.int64]

COSTS = (0.1, 1.0, 10.0, 100.0)


@dataclass(frozen=True)
class NestedScores:
    """Accuracy on every outer test fold, and what the inner folds chose for it: the Gram matrix and the cost."""

    accuracy: list[float]
    chosen: list[tuple[Any, float]]


def nested_cross_validation(
    grams: Mapping[Any, Array],
    y: Classes,
    *,
    folds: int = 10,
    inner_folds: int = 5,
    random_state: int = 0,
    costs: Sequence[float] = COSTS,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> NestedScores:
    """Score a family of Gram matrices by an SVM.

    For every outer fold, the Gram matrix and the SVM's cost are chosen by cross-validation inside the training part;
    ties go to the candidate named first and to the smaller cost.

    Args:
        grams: Candidate Gram matrices, for instance one per number of steps.
        y: Classes.
        folds: Outer folds, stratified and shuffled.
        inner_folds: Folds of each training part.
        random_state: Seed of all shuffling.
        costs: Candidate values of C.
        n_jobs: Outer folds at a time.
        callback: Called after every outer fold.

    Example:
        >>> y = np.arange(40) % 2
        >>> grams = {"constant": np.ones((40, 40)), "classes": (y[:, None] == y).astype(float)}
        >>> scores = nested_cross_validation(grams, y, folds=2, inner_folds=2)
        >>> scores.accuracy, scores.chosen
        ([1.0, 1.0], [('classes', 0.1), ('classes', 0.1)])
    """
    y = np.asarray(y)
    if not grams:
        raise ParameterError("grams is empty.", "Give at least one Gram matrix.")
    for name, gram in grams.items():
        if gram.shape != (len(y), len(y)):
            raise ShapeError(f"Gram matrix {name!r} has shape {gram.shape}, but there are {len(y)} classes in y.")
    work = (
        delayed(_outer_fold)(grams, y, train, test, inner_folds, random_state, costs)
        for train, test in stratified_folds(y, folds, random_state)
    )
    accuracy, chosen = [], []
    for score, choice in Parallel(n_jobs=n_jobs, return_as="generator")(work):
        accuracy.append(score)
        chosen.append(choice)
        if callback is not None:
            callback(Progress("folds", len(accuracy), folds))
    return NestedScores(accuracy, chosen)


def _outer_fold(
    grams: Mapping[Any, Array],
    y: Classes,
    train: Classes,
    test: Classes,
    inner_folds: int,
    random_state: int,
    costs: Sequence[float],
) -> tuple[float, tuple[Any, float]]:
    inner = stratified_folds(y[train], inner_folds, random_state)
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


def baseline_scores(
    X: Graphs,
    y: Classes,
    *,
    folds: int = 10,
    inner_folds: int = 5,
    random_state: int = 0,
    balanced: bool = False,
    ignore: Sequence[str] = (),
) -> dict[str, list[float]]:
    """Accuracy per outer fold of models that see no structure, in the folds of :func:`nested_cross_validation`.

    ``majority`` sees only the classes, ``size`` the numbers of nodes and edges, ``histogram`` the sums of node and
    edge labels and attributes. The linear models choose their regularization inside the training folds.

    Args:
        X: Graphs.
        y: Classes.
        folds: Outer folds, stratified and shuffled.
        inner_folds: Folds of each training part.
        random_state: Seed of all shuffling.
        balanced: Give all classes the same weight, however rare; scores are then mean recalls over classes.
        ignore: Columns that the baselines must not see.

    Example:
        Walks tell the two classes of this set apart; counts of atoms and bonds do not.

        >>> from rwkplus.datasets import functional_groups
        >>> graphs = functional_groups(40)
        >>> scores = baseline_scores(graphs, graphs.y, folds=2, inner_folds=2)
        >>> list(scores), scores["majority"]
        (['majority', 'size', 'histogram'], [0.5, 0.5])
    """
    size, histogram = sizes_and_histograms(X, ignore)
    y = np.asarray(y)
    if y.shape != (len(size),):
        raise ShapeError(f"y has shape {y.shape}, but there are {len(size)} graphs.", "Give one class per graph.")
    baselines = {"majority": (size, DummyClassifier()), "size": (size, None), "histogram": (histogram, None)}
    scores: dict[str, list[float]] = {name: [] for name in baselines}
    for train, test in stratified_folds(y, folds, random_state):
        for name, (features, model) in baselines.items():
            fitted = (model or _linear(inner_folds, balanced)).fit(features[train], y[train])
            score = balanced_accuracy_score if balanced else accuracy_score
            scores[name].append(float(score(y[test], fitted.predict(features[test]))))
    return scores


def _linear(inner_folds: int, balanced: bool) -> ClassifierMixin:
    weight, score = ("balanced", "balanced_accuracy") if balanced else (None, "accuracy")
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000, class_weight=weight))
    return GridSearchCV(model, {"logisticregression__C": COSTS}, cv=inner_folds, scoring=score)


def sizes_and_histograms(X: Graphs, ignore: Sequence[str] = ()) -> tuple[Array, Array]:
    """Numbers of nodes and edges ``(B, 2)``, and sums of node and edge features, of every graph.

    Example:
        >>> import networkx as nx
        >>> size, _ = sizes_and_histograms([nx.path_graph(3), nx.cycle_graph(3)])
        >>> size
        array([[3., 4.],
               [3., 6.]])
    """
    table = GraphTable.of(X)
    arrays = Reader.fit(table, ignore).read(table, labels=False)
    edge_graph = arrays.graph[arrays.source]
    size = np.stack([np.diff(arrays.node_ptr), np.diff(arrays.edge_ptr)], 1).astype(np.float64)
    sums = [_sums(arrays.graph, arrays.x, len(table))]
    if arrays.edge_attr is not None:
        sums.append(_sums(edge_graph, arrays.edge_attr, len(table)))
    return size, np.concatenate(sums, 1)


def _sums(owner: NDArray[np.int64], rows: Array, num_graphs: int) -> Array:
    return np.stack([np.bincount(owner, column, num_graphs) for column in rows.T], 1)

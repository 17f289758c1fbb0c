"""Trivial guards: what a score must beat before it says anything about structure."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rwkplus.data.splits import stratified_folds
from rwkplus.errors import ShapeError
from rwkplus.evaluate.nested import COSTS, Classes
from rwkplus.table import Graphs, GraphTable, Reader


def guard_scores(
    graphs: Graphs,
    y: Classes,
    *,
    folds: int = 10,
    inner_folds: int = 5,
    seed: int = 0,
    balanced: bool = False,
    ignore: Sequence[str] = (),
) -> dict[str, list[float]]:
    """Accuracy per outer fold of models that see no structure; the folds of :func:`nested_cross_validation`.

    ``majority`` sees only the classes, ``size`` the numbers of nodes and edges, ``histogram`` the sums of
    node and edge colors. The linear models choose their regularization inside the training folds. If ``balanced``,
    classes weigh the same, however rare, and scores are mean recalls over classes. Fields to ``ignore`` are not seen.
    """
    size, histogram = sizes_and_histograms(graphs, ignore)
    y = np.asarray(y)
    if y.shape != (len(size),):
        raise ShapeError(f"y has shape {y.shape}, but there are {len(size)} graphs: give one class per graph.")
    guards = {"majority": (size, DummyClassifier()), "size": (size, None), "histogram": (histogram, None)}
    scores: dict[str, list[float]] = {name: [] for name in guards}
    for train, test in stratified_folds(y, folds, seed):
        for name, (features, model) in guards.items():
            fitted = (model or _linear(inner_folds, balanced)).fit(features[train], y[train])
            score = balanced_accuracy_score if balanced else accuracy_score
            scores[name].append(float(score(y[test], fitted.predict(features[test]))))
    return scores


def _linear(inner_folds: int, balanced: bool) -> ClassifierMixin:
    weight, score = ("balanced", "balanced_accuracy") if balanced else (None, "accuracy")
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000, class_weight=weight))
    return GridSearchCV(model, {"logisticregression__C": COSTS}, cv=inner_folds, scoring=score)


def sizes_and_histograms(graphs: Graphs, ignore: Sequence[str] = ()) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Numbers of nodes and edges ``(B, 2)``, and sums of node and edge features, of every graph."""
    table = GraphTable.of(graphs)
    arrays = Reader.fit(table, ignore).read(table, labels=False)
    edge_graph = arrays.graph[arrays.source]
    size = np.stack([np.diff(arrays.node_ptr), np.diff(arrays.edge_ptr)], 1).astype(np.float64)
    sums = [_sums(arrays.graph, arrays.x, len(table))]
    if arrays.edge_attr is not None:
        sums.append(_sums(edge_graph, arrays.edge_attr, len(table)))
    return size, np.concatenate(sums, 1)


def _sums(owner: NDArray[np.int64], rows: NDArray[np.float64], num_graphs: int) -> NDArray[np.float64]:
    return np.stack([np.bincount(owner, column, num_graphs) for column in rows.T], 1)

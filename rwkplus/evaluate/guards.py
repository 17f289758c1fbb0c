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
from torch_geometric.data import Data

from rwkplus.data.splits import stratified_folds
from rwkplus.errors import ShapeError
from rwkplus.evaluate.nested import COSTS, Classes
from rwkplus.graphs import as_batch


def guard_scores(
    graphs: Sequence[Data],
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


def sizes_and_histograms(
    graphs: Sequence[Data], ignore: Sequence[str] = ()
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Numbers of nodes and edges ``(B, 2)``, and sums of node and edge colors, of every graph."""
    batch = as_batch(graphs, ignore=ignore)
    edge_graph = batch.batch[batch.edge_index[0]]
    num_graphs = batch.ptr.numel() - 1
    nodes = batch.ptr.diff().double()
    edges = nodes.new_zeros(num_graphs).index_add(0, edge_graph, nodes.new_ones(edge_graph.numel()))
    sums = [nodes.new_zeros(num_graphs, batch.x.size(1)).index_add(0, batch.batch, batch.x.double())]
    if batch.get("edge_attr") is not None:
        colors = batch.edge_attr.double()
        sums.append(nodes.new_zeros(num_graphs, colors.size(1)).index_add(0, edge_graph, colors))
    size = np.stack([nodes.numpy(), edges.numpy()], 1)
    return size, np.concatenate([part.numpy() for part in sums], 1)

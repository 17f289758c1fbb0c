"""What makes a graph new, told by its similarities to reference graphs."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.base import OutlierMixin

from rwkplus.table.arrays import Floats

Method = Literal["nearest", "density", "lof", "svm", "forest"]
NARROWEST = 1e-3
"""Smallest bandwidth of a density: where most references have a twin, the median distance to the nearest is 0."""


class Novelty(ABC):
    """Learns from the similarities of references ``(R, R)``, between 0 and 1; scores are higher for newer graphs."""

    @abstractmethod
    def fit(self, gram: Floats) -> Self:
        """Learn from the references."""

    @abstractmethod
    def scores(self, similarity: Floats) -> Floats:
        """Score graphs by their similarities to the references ``(B, R)``."""

    @abstractmethod
    def own_scores(self, gram: Floats) -> Floats:
        """Score the references, each without itself where that can be told ``(R,)``."""

    def second_scores(self, similarity: Floats) -> Floats:
        """What decides between graphs of the same score ``(B,)``: how unlike all references they are on average.

        >>> Nearest(1).second_scores(np.array([[1.0, 0.5], [1.0, 0.0]])).round(3)
        array([0.25, 0.5 ])
        """
        return np.asarray(1 - similarity.mean(1))

    def own_second_scores(self, gram: Floats) -> Floats:
        """The same for references ``(R,)``, each compared with the others."""
        return self.second_scores(_others(gram)) if len(gram) > 1 else np.zeros(1)


class Nearest(Novelty):
    """Mean distance to the most similar references: small only where something alike is known.

    >>> gram = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> Nearest(1).fit(gram).own_scores(gram).round(3)
    array([1.   , 1.   , 1.414])
    """

    def __init__(self, n_neighbors: int) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, gram: Floats) -> Self:
        """Learn nothing: the references are all there is to know."""
        return self

    def scores(self, similarity: Floats) -> Floats:
        """Mean distance to the nearest references."""
        count = min(self.n_neighbors, similarity.shape[1])
        nearest = -np.partition(-similarity, count - 1, axis=1)[:, :count]
        return np.asarray(distance(nearest).mean(1))

    def own_scores(self, gram: Floats) -> Floats:
        """Mean distance to the nearest other references."""
        return self.scores(_others(gram)) if len(gram) > 1 else np.zeros(1)


class Density(Novelty):
    """Negative logarithm of a Gaussian kernel density, as wide as references are apart.

    >>> gram = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> Density().fit(gram).own_scores(gram).round(3)
    array([0.026, 0.026, 0.307])
    """

    def fit(self, gram: Floats) -> Self:
        """Learn the bandwidth: the median distance of a reference to its nearest."""
        self.bandwidth = max(float(np.median(Nearest(1).own_scores(gram))), NARROWEST)
        return self

    def scores(self, similarity: Floats) -> Floats:
        """Negative log density, up to a constant."""
        from scipy.special import logsumexp

        return -np.asarray(logsumexp((similarity - 1) / self.bandwidth**2, axis=1))

    def own_scores(self, gram: Floats) -> Floats:
        """Negative log density made by the other references."""
        return self.scores(_others(gram)) if len(gram) > 1 else np.zeros(1)


class Learned(Novelty):
    """One of scikit-learn's detectors, with its default settings, on similarities or distances."""

    def __init__(self, model: OutlierMixin, *, distances: bool = False) -> None:
        self.model = model
        self.distances = distances

    def fit(self, gram: Floats) -> Self:
        """Fit the model."""
        self.model.fit(self._input(gram))
        return self

    def scores(self, similarity: Floats) -> Floats:
        """Negative of the model's scores, which are low for anomalies."""
        return -np.asarray(self.model.score_samples(self._input(similarity)))

    def own_scores(self, gram: Floats) -> Floats:
        """The same; the local outlier factor leaves a reference out of its own neighbors."""
        if hasattr(self.model, "negative_outlier_factor_"):
            return -np.asarray(self.model.negative_outlier_factor_)
        return self.scores(gram)

    def _input(self, similarity: Floats) -> Floats:
        if not self.distances:
            return similarity
        square = len(similarity) == similarity.shape[1]
        apart = distance(similarity)
        if square and np.allclose(np.diagonal(similarity), 1):
            np.fill_diagonal(apart, 0)  # rounding
        return apart


class CountForest(Novelty):
    """An isolation forest on counts, and the share of what is counted that no reference has.

    A forest cuts between values that it has seen, so that it is blind to new columns. What is new sets a graph apart
    at once: its share moves the score from the forest's towards 1, the highest there is.
    """

    def __init__(self, seed: int) -> None:
        from sklearn.ensemble import IsolationForest

        self.forest = IsolationForest(random_state=seed)

    def fit(self, gram: csr_matrix) -> Self:
        """Learn from the counts of the references ``(R, F)``, the last column their shares of new things: none."""
        self.forest.fit(gram[:, :-1])
        self.rarity = 1 / np.maximum(gram[:, :-1].getnnz(axis=0), 1)
        return self

    def scores(self, similarity: csr_matrix) -> Floats:
        """Score graphs by their counts, the last column their shares of new things."""
        known = -np.asarray(self.forest.score_samples(similarity[:, :-1]))
        new = similarity[:, [-1]].toarray().ravel()
        return np.asarray(known + new * (1 - known))

    def own_scores(self, gram: csr_matrix) -> Floats:
        """The same."""
        return self.scores(gram)

    def second_scores(self, similarity: csr_matrix) -> Floats:
        """How rare the things are that a graph has: each counts as one part of the references that have it."""
        return np.asarray(similarity[:, :-1] @ self.rarity)

    def own_second_scores(self, gram: csr_matrix) -> Floats:
        """The same."""
        return self.second_scores(gram)


def with_new_share(counts: csr_matrix, totals: Sequence[float] | Floats) -> csr_matrix:
    """Append the share of ``totals`` that is not among the known counts.

    >>> from scipy.sparse import csr_matrix
    >>> with_new_share(csr_matrix(np.array([[3.0, 0.0], [1.0, 1.0]])), [4, 2]).toarray()
    array([[3.  , 0.  , 0.25],
           [1.  , 1.  , 0.  ]])
    """
    known = np.asarray(counts.sum(1)).ravel()
    return hstack([counts, csr_matrix(1 - known / np.maximum(totals, 1)).T], format="csr")


def novelty(method: Method, n_neighbors: int | None, references: int, seed: int) -> Novelty:
    """Make an unfitted judge of novelty; scikit-learn's detectors are imported only if one is asked for.

    >>> novelty("lof", None, references=10, seed=0).model.n_neighbors
    9
    """
    if method == "nearest":
        return Nearest(n_neighbors or 1)
    if method == "density":
        return Density()
    if method == "svm":
        from sklearn.svm import OneClassSVM

        return Learned(OneClassSVM(kernel="precomputed"))
    if method == "forest":
        from sklearn.ensemble import IsolationForest

        return Learned(IsolationForest(random_state=seed))
    from sklearn.neighbors import LocalOutlierFactor

    count = max(1, min(n_neighbors or 20, references - 1))
    return Learned(LocalOutlierFactor(count, metric="precomputed", novelty=True), distances=True)


def distance(similarity: Floats) -> Floats:
    """Distance in the space of a normalized kernel.

    >>> distance(np.array([1.0, 0.5, 0.0])).round(3)
    array([0.   , 1.   , 1.414])
    """
    return np.sqrt(np.maximum(2 - 2 * similarity, 0))


def _others(gram: Floats) -> Floats:
    """The similarities to the other references: ``(R, R - 1)``."""
    size = len(gram)
    return np.asarray(gram[~np.eye(size, dtype=bool)].reshape(size, size - 1))

"""Nystroem features: graphs as their similarities to a few landmark graphs."""

from typing import Self

import numpy as np
from numpy.random import Generator, RandomState
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rwkplus.errors import ParameterError
from rwkplus.kernels.random_walk import RandomWalkKernel
from rwkplus.table import Graphs, GraphTable
from rwkplus.types import is_positive_integer


class RandomWalkNystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Low-dimensional features whose inner products approximate a walk kernel.

    For continuous colors, and for databases where a full Gram matrix does not fit: time and memory grow
    with graphs times landmarks. With every graph a landmark the kernel is reproduced exactly.

    Args:
        kernel: The kernel; ``RandomWalkKernel()`` by default. Its arguments can be searched as
            ``kernel__steps`` and so on.
        n_components: Number of landmarks, drawn without replacement from the fitted graphs; fewer graphs
            than that are all landmarks.
        random_state: Seed of the draw.

    Attributes:
        landmarks_: Indices of the landmark graphs.
        kernel_: The kernel, fitted to them.

    Example:
        >>> from rwkplus.datasets import load_graphs
        >>> graphs = load_graphs("functional-groups")[:40]
        >>> RandomWalkNystroem(n_components=8, random_state=0).fit_transform(graphs).shape
        (40, 8)
    """

    def __init__(
        self,
        kernel: RandomWalkKernel | None = None,
        n_components: int = 100,
        *,
        random_state: int | RandomState | Generator | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, graphs: Graphs, y: object = None) -> Self:
        """Draw landmarks and prepare the projection onto their span."""
        if not is_positive_integer(self.n_components):
            raise ParameterError(f"n_components must be an integer of at least 1, got {self.n_components!r}.")
        if not (self.kernel is None or isinstance(self.kernel, RandomWalkKernel)):
            raise ParameterError(f"kernel must be a RandomWalkKernel or None, got {self.kernel!r}.")
        kernel = RandomWalkKernel() if self.kernel is None else clone(self.kernel)
        table = GraphTable.of(graphs, ignore=tuple(kernel.ignore))
        given = self.random_state
        random = given if isinstance(given, Generator) else check_random_state(given)
        landmarks = np.sort(random.permutation(len(table))[: self.n_components])
        gram = kernel.fit_transform(table[landmarks])
        values, vectors = np.linalg.eigh(gram)
        # Directions the landmarks do not span stay zero instead of being blown up.
        inverse_root = np.where(values > values.max(initial=0) * 1e-12, 1 / np.sqrt(np.maximum(values, 1e-300)), 0.0)
        self.landmarks_, self.kernel_, self._n_features_out = landmarks, kernel, landmarks.size
        self.normalization_ = (vectors * inverse_root) @ vectors.T
        return self

    def fit_transform(self, graphs: Graphs, y: object = None) -> NDArray[np.float64]:
        """Fit, and return the features of the same graphs, which are read only once."""
        table = GraphTable.of(graphs, ignore=() if self.kernel is None else tuple(self.kernel.ignore))
        return self.fit(table).transform(table)

    def transform(self, graphs: Graphs) -> NDArray[np.float64]:
        """Return the features of graphs: ``(B, n_components)``."""
        check_is_fitted(self)
        return np.asarray(self.kernel_.transform(graphs) @ self.normalization_)

    def __sklearn_tags__(self) -> object:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

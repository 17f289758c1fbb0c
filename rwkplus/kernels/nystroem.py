"""Features that approximate a walk kernel by its values with a few landmark graphs, for scikit-learn."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.random import Generator, RandomState
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rwkplus.errors import ParameterError
from rwkplus.kernels.graph_kernel import GraphKernel
from rwkplus.kernels.random_walk import RandomWalkKernel
from rwkplus.saving import array, check_entries
from rwkplus.table import Graphs, GraphTable
from rwkplus.table.arrays import Floats, Ints
from rwkplus.types import check_integer


@dataclass(eq=False, repr=False)
class RandomWalkNystroem(ClassNamePrefixFeaturesOutMixin, GraphKernel):
    """Low-dimensional features whose inner products approximate a walk kernel.

    For continuous colors, and for databases where a full Gram matrix does not fit: time and memory grow
    with graphs times landmarks. With every graph a landmark the kernel is reproduced exactly.

    Args:
        kernel: The kernel; ``RandomWalkKernel()`` by default. Its arguments can be searched as
            ``kernel__steps`` and so on.
        n_components: Number of landmarks, drawn without replacement from the fitted graphs; fewer graphs
            than that are all landmarks.
        random_state: Seed of the draw, a generator of numpy, or None for another draw every time.

    Attributes:
        landmarks_: Indices of the landmark graphs.
        kernel_: The kernel, fitted to them.

    Example:
        >>> from rwkplus.datasets import load_graphs
        >>> graphs = load_graphs("functional-groups")[:40]
        >>> RandomWalkNystroem(n_components=8, random_state=0).fit_transform(graphs).shape
        (40, 8)
    """

    kernel: RandomWalkKernel | None = None
    n_components: int = 100
    _: KW_ONLY
    random_state: int | RandomState | Generator | None = None

    def fit(self, X: Graphs, y: object = None) -> Self:
        """Draw landmarks among the graphs ``X`` and prepare the projection onto their span.

        >>> RandomWalkNystroem(n_components=2, random_state=0).fit(["CCO", "CCN", "CC"]).landmarks_
        array([1, 2])
        """
        kernel = self._new_kernel()
        table = GraphTable.of(X, ignore=tuple(kernel.ignore))
        given = self.random_state
        random = given if isinstance(given, Generator) else check_random_state(given)
        landmarks = np.sort(random.permutation(len(table))[: self.n_components])
        gram = kernel.fit_transform(table[landmarks])
        values, vectors = np.linalg.eigh(gram)
        # Directions the landmarks do not span stay zero instead of being blown up.
        inverse_root = np.where(values > values.max(initial=0) * 1e-12, 1 / np.sqrt(np.maximum(values, 1e-300)), 0.0)
        self._keep(kernel, landmarks, (vectors * inverse_root) @ vectors.T)
        return self

    def fit_transform(self, X: Graphs, y: object = None) -> NDArray[np.float64]:
        """Fit, and return the features of the same graphs, which are read only once.

        >>> RandomWalkNystroem(n_components=2, random_state=0).fit_transform(["CCO", "CCN", "CC"]).shape
        (3, 2)
        """
        table = GraphTable.of(X, ignore=tuple(self._new_kernel().ignore))
        return self.fit(table).transform(table)

    def transform(self, X: Graphs) -> NDArray[np.float64]:
        """Return the features of graphs: ``(B, n_components)``.

        >>> features = RandomWalkNystroem(n_components=2, random_state=0).fit(["CCO", "CCN"])
        >>> rows = features.transform(["CCO", "CCN"])
        >>> (rows @ rows.T).round()  # every graph is a landmark: the kernel itself
        array([[38., 16.],
               [16., 38.]])
        """
        check_is_fitted(self)
        return np.asarray(self.kernel_.transform(X) @ self.normalization_)

    def _new_kernel(self) -> RandomWalkKernel:
        """Check all parameters."""
        check_integer("n_components", self.n_components, 1)
        if not (self.kernel is None or isinstance(self.kernel, RandomWalkKernel)):
            raise ParameterError(f"kernel must be a RandomWalkKernel or None, got {self.kernel!r}.")
        return RandomWalkKernel() if self.kernel is None else clone(self.kernel)

    def _keep(self, kernel: RandomWalkKernel, landmarks: Ints, normalization: Floats) -> None:
        self.kernel_, self.landmarks_, self.normalization_ = kernel, landmarks, normalization
        self._n_features_out = landmarks.size

    def _learned(self) -> tuple[dict[str, Any], Mapping[str, NDArray[Any]]]:
        learned, arrays = self.kernel_._learned()
        arrays = {f"kernel.{name}": part for name, part in arrays.items()}
        return {"kernel": learned}, arrays | {"landmarks": self.landmarks_, "normalization": self.normalization_}

    def _restore(self, learned: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        check_entries(learned, "kernel")
        kernel, normalization = self._new_kernel(), array(arrays, "normalization", "f", 2)
        landmarks = array(arrays, "landmarks", "i", 1)
        own = {name: part for name, part in arrays.items() if name not in ("landmarks", "normalization")}
        kernel._restore(learned["kernel"], {name.removeprefix("kernel."): part for name, part in own.items()})
        count = len(kernel.fitted_)
        if (np.diff(landmarks, prepend=-1) <= 0).any() or not landmarks.size == count <= self.n_components:
            raise ValueError("its landmarks are not those of its kernel")
        if normalization.shape != (count, count):
            raise ValueError("its projection does not fit its landmarks")
        self._keep(kernel, landmarks, normalization)

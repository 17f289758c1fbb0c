"""Walk features for scikit-learn: graphs in, sparse vectors with readable names out."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rwkplus.kernels.explicit_features import FeatureMap, Vocabulary
from rwkplus.kernels.graph_kernel import WalkEstimator, check_labels
from rwkplus.saving import check_entries
from rwkplus.table import Graphs, Reader
from rwkplus.table.arrays import ReadGraphs
from rwkplus.types import check_integer


@dataclass(eq=False, repr=False)
class RandomWalkFeatures(WalkEstimator):
    """Explicit features of a walk kernel on labelled graphs.

    Inner products of the rows are exactly the values of :class:`RandomWalkKernel` with the same
    arguments, so a linear model on these features is the kernel machine, without a Gram matrix.

    Args:
        kernel: ``"rwk+"``: a feature is a label sequence and counts the walks that meet it. ``"rwk-"``: only
            the two ends of a walk are recorded. ``"node-centric"``: a feature is a walk color of nodes.
        steps: Longest walk, counted in edges.
        combine: Weights of the steps: ``"sum"``, ``"last"``, ``"mean"``, ``"geometric"``, or a sequence.
        decay: Base of the geometric weights.
        walks: ``"open"``, or ``"closed"`` for walks that return to their first node.
        assignment: For node-centric colors: ``"dirac"`` (color counts, like Weisfeiler-Leman) or
            ``"optimal"`` (their intersection: an optimal assignment of nodes).
        include_zero_step: Count single nodes as well; by default only for node-centric colors.
        hash_width: Fold the features into this many columns instead of learning a vocabulary.
        sparse_output: Return a sparse matrix; False allows ``set_output(transform="pandas")``.
        unknown_label: What to do with labels that ``fit`` did not see: they make features of their own,
            which the vocabulary does not have (``"new"``), walks do not pass them (``"ignore"``), or ``"error"``.
        ignore: Columns to leave out on purpose, such as ``("edges.label",)``.
        n_jobs: Parallel jobs, through joblib; any joblib backend works, Dask and Ray included.

    Attributes:
        reader_: How graphs are read: their columns and labels.
        step_weights_: Weight of the walks of 0, 1, ... edges.
        vocabulary_: The label sequences or walk colors that make the columns; None where features are hashed.

    Example:
        >>> features = RandomWalkFeatures(steps=1).fit(["CCO", "CC=O"])
        >>> features.get_feature_names_out().tolist()
        ['C-C', 'C-O', 'C=O', 'O-C', 'O=C']
        >>> features.transform(["OCCO"]).toarray()
        array([[2., 2., 0., 2., 0.]])
    """

    _: KW_ONLY
    hash_width: int | None = None
    sparse_output: bool = True

    def fit(self, X: Graphs, y: object = None) -> Self:
        """Learn the features that occur in the graphs ``X``.

        >>> RandomWalkFeatures(steps=2).fit(["CCO"]).n_features_in_  # labels
        2
        """
        feature_map, read = self._map(), self._read_first(X)
        return self._keep(feature_map, read.reader, feature_map.learn(read, self.n_jobs))

    def fit_transform(self, X: Graphs, y: object = None) -> sparse.csr_matrix | NDArray[np.float64]:
        """Learn the features and return those of the same graphs, counting only once.

        >>> RandomWalkFeatures(steps=1).fit_transform(["CCO", "CC=O"]).toarray()
        array([[2., 1., 0., 1., 0.],
               [2., 0., 1., 0., 1.]])
        """
        feature_map, read = self._map(), self._read_first(X)
        vocabulary, features = feature_map.fit(read, self.n_jobs)
        self._keep(feature_map, read.reader, vocabulary)
        return self._output(features)

    def transform(self, X: Graphs, out: str | Path | None = None) -> sparse.csr_matrix | NDArray[np.float64]:
        """Return the features of graphs: ``(B, F)``.

        Args:
            X: The graphs.
            out: A new folder for the features, which are written block by block and returned as memory maps;
                :func:`rwkplus.kernels.open_features` opens it again.

        >>> RandomWalkFeatures(steps=1, hash_width=4).fit(["CC"]).transform(["CCN"]).shape
        (1, 4)
        """
        read = self._read_later(X)
        if out is not None:
            return self.map_.write(read, self.vocabulary_, self.n_jobs, out)
        features, _ = self.map_.transform(read, self.vocabulary_, self.n_jobs)
        return self._output(features)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Readable names in the order of the columns; ``*`` stands for a node that is not compared.

        >>> RandomWalkFeatures("rwk-", steps=2, combine="last").fit(["CCO"]).get_feature_names_out().tolist()
        ['C-*-C', 'C-*-O', 'O-*-C', 'O-*-O']
        """
        check_is_fitted(self)
        if self.hash_width is not None:
            return np.array([f"hash{i}" for i in range(self.hash_width)], dtype=object)
        assert self.vocabulary_ is not None
        edges = self.reader_.edges
        names = self.vocabulary_.names(self.reader_.nodes.names, edges.names if edges.exists else None)
        return np.array([name for i in self.map_.used_levels for name in names[i]], dtype=object)

    def _map(self) -> FeatureMap:
        """Check all parameters."""
        weights = self._checked_weights()
        if self.hash_width is not None:
            check_integer("hash_width", self.hash_width, 1)
        closed = self.walks == "closed"
        return FeatureMap(self.kernel, self.steps, weights, closed, self.assignment, self.hash_width)

    def _read_first(self, X: Graphs) -> ReadGraphs:
        read = super()._read_first(X)
        remedy = "Use RandomWalkNystroem or RandomWalkKernel for attributes."
        check_labels(read.reader, "explicit walk features need", remedy)
        return read

    def _keep(self, feature_map: FeatureMap, reader: Reader, vocabulary: Vocabulary | None) -> Self:
        self.reader_, self.step_weights_ = reader, feature_map.weights
        self.map_, self.vocabulary_ = feature_map, vocabulary
        return self

    def _output(self, features: sparse.csr_matrix) -> sparse.csr_matrix | NDArray[np.float64]:
        return features if self.sparse_output else features.toarray()

    def _learned(self) -> tuple[dict[str, Any], Mapping[str, NDArray[Any]]]:
        arrays = {} if self.vocabulary_ is None else self.vocabulary_.to_arrays()
        return {"reader": self.reader_.to_dict()}, arrays

    def _restore(self, learned: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        check_entries(learned, "reader")
        feature_map, reader = self._map(), Reader.from_dict(learned["reader"])
        if not reader.discrete or not reader.nodes.exists:
            raise ValueError("its graphs have no labels")
        self._keep(feature_map, reader, feature_map.read_vocabulary(arrays, reader))

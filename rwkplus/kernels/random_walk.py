"""Random walk kernels for scikit-learn: graphs in, Gram matrices out."""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rwkplus.errors import GraphError, ParameterError, RWKPlusWarning
from rwkplus.kernels.base import WalkEstimator
from rwkplus.kernels.blocks import BlockKernel
from rwkplus.kernels.feature_map import FeatureMap
from rwkplus.kernels.gram import cosine, feature_gram, finite
from rwkplus.kernels.routes import cheaper_route
from rwkplus.kernels.steps import geometric_tail
from rwkplus.kernels.storage import ResumableMatrix, fingerprint
from rwkplus.table import Graphs
from rwkplus.table.arrays import Floats, GraphArrays, ReadGraphs
from rwkplus.types import Assignment, Combine, KernelName, Route, UnknownLabel, Walks, check_choice

EXPLICIT_ROWS = 8_192
"""Rows of an explicit Gram matrix computed at a time."""


class RandomWalkKernel(TransformerMixin, WalkEstimator):
    """Exact random walk kernel between graphs, ready for ``SVC(kernel="precomputed")``.

    Args:
        kernel: ``"rwk+"`` matches the color of every node along two walks, ``"rwk-"`` only of their ends,
            ``"node-centric"`` compares nodes by the walks that begin there (discrete labels only).
        steps: Longest walk, counted in edges.
        combine: Weights of the steps: ``"sum"``, ``"last"``, ``"mean"``, ``"geometric"``, or a sequence of
            one weight per step.
        decay: Base of the geometric weights; :attr:`truncation_error_` tells what the cut series lacks.
        normalize: Divide by the self-similarities (cosine); a graph without walks keeps zeros.
        walks: ``"open"``, or ``"closed"`` for walks that return to their first node, which see cycles.
        assignment: For node-centric colors: ``"dirac"`` or ``"optimal"``.
        include_zero_step: Count single nodes as walks, too; by default only for node-centric colors.
        route: ``"explicit"`` counts label sequences and needs discrete colors; ``"blocks"`` runs
            Algorithm 1 on pairs of graphs; ``"auto"`` takes the cheaper one and tells in ``route_``.
        unknown_label: Labels that ``fit`` did not see match each other (``"new"``), let no walk pass
            (``"ignore"``) or are refused (``"error"``). They never match a fitted graph.
        ignore: Columns to leave out on purpose, such as ``("edges.label",)``.
        n_jobs: Parallel jobs, through joblib; any joblib backend works, Dask and Ray included.

    Attributes:
        route_: The route taken.
        reader_: How graphs are read: their columns and labels.
        step_weights_: Weight of the walks of 0, 1, ... edges.
        truncation_error_: With ``combine="geometric"``, a bound on the share of K(G, G) that lies beyond
            ``steps``, worst case over the fitted graphs; infinite where the series may diverge.

    Example:
        >>> import networkx as nx
        >>> ring, path = nx.cycle_graph(3), nx.path_graph(3)
        >>> for graph in (ring, path):
        ...     nx.set_node_attributes(graph, "C", "label")
        >>> RandomWalkKernel(steps=1).fit_transform([ring, path])
        array([[36., 24.],
               [24., 16.]])
    """

    def __init__(
        self,
        kernel: KernelName = "rwk+",
        steps: int = 4,
        *,
        combine: Combine | Sequence[float] = "sum",
        decay: float = 0.1,
        normalize: bool = False,
        walks: Walks = "open",
        assignment: Assignment = "optimal",
        include_zero_step: bool | None = None,
        route: Route = "auto",
        unknown_label: UnknownLabel = "new",
        ignore: Sequence[str] = (),
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.steps = steps
        self.combine = combine
        self.decay = decay
        self.normalize = normalize
        self.walks = walks
        self.assignment = assignment
        self.include_zero_step = include_zero_step
        self.route = route
        self.unknown_label = unknown_label
        self.ignore = ignore
        self.n_jobs = n_jobs

    def fit(self, graphs: Graphs, y: object = None) -> Self:
        """Keep ``graphs`` as the columns of every later Gram matrix."""
        self._fit(graphs)
        return self

    def fit_transform(self, graphs: Graphs, y: object = None, out: str | Path | None = None) -> Floats:
        """Fit and return the symmetric Gram matrix ``(B, B)``.

        Args:
            graphs: The graphs.
            y: Not used.
            out: File for the matrix (``.npy``), filled block by block as a memory map; a call with the same
                graphs and settings after an interruption goes on where that one stopped.
        """
        return self._gram(self._fit(graphs), out, symmetric=True)

    def transform(self, graphs: Graphs, out: str | Path | None = None) -> Floats:
        """Return the kernel of ``graphs`` with the fitted graphs: ``(B, K)``."""
        return self._gram(self._read_later(graphs), out, symmetric=False)

    def diagonal(self, graphs: Graphs | None = None) -> Floats:
        """Return the self-similarity K(G, G) of graphs, not normalized; of the fitted ones by default."""
        check_is_fitted(self)
        return self._diagonal(self.fitted_ if graphs is None else self._read_later(graphs))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Names of the columns: the fitted graphs."""
        check_is_fitted(self)
        return np.array([f"graph{i}" for i in range(len(self.fitted_))], dtype=object)

    def _fit(self, graphs: Graphs) -> ReadGraphs:
        read = self._read_first(graphs)
        check_choice("route", self.route, Route)
        self.route_ = self._choose_route(read)
        closed = self.walks == "closed"
        features = FeatureMap(self.kernel, self.steps, self.step_weights_, closed, self.assignment)
        self.blocks_ = BlockKernel(self.kernel == "rwk+", self.step_weights_, closed)
        self.fitted_ = read
        if self.route_ == "explicit":
            self.vocabulary_, self.features_ = features.fit(read, self.n_jobs)
        geometric = isinstance(self.combine, str) and self.combine == "geometric"  # combine may be an array
        if self.normalize or geometric:
            self.diagonal_ = self._diagonal(read)
        if geometric:
            tail = geometric_tail(self._arrays(read), self.steps, self.decay, self.kernel)
            walked = self.diagonal_ > 0
            self.truncation_error_ = float((tail[walked] / self.diagonal_[walked]).max(initial=0.0))
        self.map_ = features
        return read

    def _choose_route(self, graphs: ReadGraphs) -> str:
        if self.kernel == "node-centric":
            if self.route == "blocks":
                raise ParameterError("kernel='node-centric' has explicit features only: use route='auto'.")
            return "explicit"
        if not self.reader_.discrete:
            if self.route == "explicit":
                raise GraphError(
                    f"route='explicit' needs labels, but there are attributes ({', '.join(self.reader_.attributes)}). "
                    "Use route='auto' or 'blocks' for attributes."
                )
            return "blocks"
        if self.route != "auto":
            return self.route
        return cheaper_route(graphs.arrays(), self.steps, closed=self.walks == "closed")

    def _arrays(self, graphs: ReadGraphs) -> GraphArrays:
        return graphs.arrays(labels=self.route_ == "explicit")

    def _diagonal(self, graphs: ReadGraphs) -> Floats:
        if self.route_ == "blocks":
            return self.blocks_.diagonal(self._arrays(graphs), self.n_jobs)
        if graphs is self.fitted_:
            with np.errstate(over="ignore"):
                return finite(np.asarray(self.features_.power(2).sum(1)).ravel())
        return finite(self.map_.transform(graphs, self.vocabulary_, self.n_jobs)[1])

    def _gram(self, graphs: ReadGraphs, out: str | Path | None, *, symmetric: bool) -> Floats:
        settings = {name: value for name, value in self.get_params().items() if name != "n_jobs"}
        exact = self.step_weights_.tolist()  # an array in combine may print alike and differ
        key = "" if out is None else fingerprint((settings, exact, symmetric), (graphs.table, self.fitted_.table))
        matrix = ResumableMatrix((len(graphs), len(self.fitted_)), out, key)
        skip = frozenset(matrix.finished)
        norms = self.diagonal_ if self.normalize and symmetric else None
        if self.route_ == "blocks":
            if self.normalize and not symmetric:
                norms = self._diagonal(graphs)
            parts = self._block_rows(graphs, symmetric, skip)
        elif symmetric:
            parts = self._explicit_rows(self.features_, symmetric, skip)
        else:
            features, squared = self.map_.transform(graphs, self.vocabulary_, self.n_jobs)
            norms = finite(squared) if self.normalize else None
            parts = self._explicit_rows(features, symmetric, skip)
        for start, stop, first, values in parts:
            if norms is not None:
                cosine(values, norms[start:stop], self.diagonal_[first:])
            matrix.write(start, stop, first, values, mirror=symmetric and self.route_ == "blocks")
        gram = matrix.complete()
        if symmetric and self.normalize and len(graphs) > 1 and np.ptp(gram) < 1e-9:
            warnings.warn(
                "all graphs look alike to this kernel: every normalized entry is the same. "
                "Do the node labels vary? More steps or closed walks may tell the graphs apart.",
                RWKPlusWarning,
                stacklevel=3,
            )
        return gram

    def _explicit_rows(
        self, features: sparse.csr_matrix, symmetric: bool, skip: frozenset[tuple[int, int]]
    ) -> Iterator[tuple[int, int, int, Floats]]:
        num_graphs = features.shape[0]
        for start in range(0, num_graphs, EXPLICIT_ROWS):
            stop = min(start + EXPLICIT_ROWS, num_graphs)
            if (start, stop) in skip:
                continue
            whole = symmetric and num_graphs <= EXPLICIT_ROWS
            block = features if whole else features[start:stop]
            yield start, stop, 0, finite(feature_gram(block, self.features_))

    def _block_rows(
        self, graphs: ReadGraphs, symmetric: bool, skip: frozenset[tuple[int, int]]
    ) -> Iterator[tuple[int, int, int, Floats]]:
        cols = self._arrays(self.fitted_)
        rows = cols if symmetric else self._arrays(graphs)
        # Labels that only the rows have match no column.
        rows = rows.with_width(cols.x.shape[1], 0 if cols.edge_attr is None else cols.edge_attr.shape[1])
        return self.blocks_.row_blocks(rows, cols, self.n_jobs, symmetric=symmetric, skip=skip)

"""Random walk kernels for scikit-learn: graphs in, Gram matrices out."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rwkplus.errors import ParameterError, Remedy, RWKPlusWarning
from rwkplus.kernels import pair_kernel
from rwkplus.kernels.explicit_features import FeatureMap, feature_gram
from rwkplus.kernels.gram_storage import ResumableMatrix, fingerprint
from rwkplus.kernels.pair_kernel import PairKernel
from rwkplus.kernels.walk_estimator import WalkEstimator, check_labels, finite, geometric_tail
from rwkplus.saving import check_entries
from rwkplus.table import Graphs, Reader
from rwkplus.table.arrays import Floats, GraphArrays, ReadGraphs
from rwkplus.table.packing import pack_table, unpack_table
from rwkplus.types import (
    Assignment,
    Callback,
    Combine,
    KernelName,
    Progress,
    Route,
    UnknownLabel,
    Walks,
    check_choice,
)

E = TypeVar("E", bound=BaseEstimator)
EXPLICIT_ROWS = 8_192
"""Rows of an explicit Gram matrix computed at a time."""
# Rough nanoseconds on one core, read off runs on MUTAG, NCI1 and ENZYMES; only their ratio matters.
_PER_WALK = 60.0
_PER_GRAM_ENTRY = 20.0
_PER_PAIR_CELL = 0.7


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
            ``steps``, worst case over the fitted graphs; infinite where the series may diverge. Otherwise None.

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

    def fit(self, X: Graphs, y: object = None) -> Self:
        """Keep the graphs ``X`` as the columns of every later Gram matrix.

        >>> RandomWalkKernel(steps=2).fit(["CCO", "CCN"]).route_
        'blocks'
        """
        self._fit(X)
        return self

    def fit_transform(
        self, X: Graphs, y: object = None, out: str | Path | None = None, callback: Callback | None = None
    ) -> Floats:
        """Fit and return the symmetric Gram matrix ``(B, B)``.

        Args:
            X: The graphs.
            y: Not used.
            out: File for the matrix (``.npy``), filled block by block as a memory map; a call with the same
                graphs and settings after an interruption goes on where that one stopped.
            callback: Called with the number of rows that are done, after every block of them.

        >>> rows = []
        >>> RandomWalkKernel(steps=1, normalize=True).fit_transform(["CC", "CCO"], callback=rows.append).round(3)
        array([[1.   , 0.816],
               [0.816, 1.   ]])
        >>> rows[-1].done
        2
        """
        return self._gram(self._fit(X), out, callback, symmetric=True)

    def transform(self, X: Graphs, out: str | Path | None = None, callback: Callback | None = None) -> Floats:
        """Return the kernel of the graphs ``X`` with the fitted graphs: ``(B, K)``.

        >>> kernel = RandomWalkKernel(steps=1).fit(["CC"])
        >>> kernel.transform(["CCC", "CO"])
        array([[8.],
               [0.]])
        """
        return self._gram(self._read_later(X), out, callback, symmetric=False)

    def diagonal(self, X: Graphs | None = None) -> Floats:
        """Return the self-similarity K(G, G) of graphs, not normalized; of the fitted ones by default.

        >>> RandomWalkKernel(steps=1, normalize=True).fit(["CC", "CCC"]).diagonal()
        array([ 4., 16.])
        """
        check_is_fitted(self)
        if X is None:
            if self.features_ is not None:
                return _norms(self.features_)
            return self.pairs_.diagonal(self._arrays(self.fitted_), self.n_jobs)
        read = self._read_later(X)
        if self.route_ == "blocks":
            return self.pairs_.diagonal(self._arrays(read), self.n_jobs)
        return finite(self.map_.transform(read, self.vocabulary_, self.n_jobs)[1])

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Names of the columns: the fitted graphs.

        >>> RandomWalkKernel().fit(["CC", "CCO"]).get_feature_names_out().tolist()
        ['graph0', 'graph1']
        """
        check_is_fitted(self)
        return np.array([f"graph{i}" for i in range(len(self.fitted_))], dtype=object)

    def _fit(self, X: Graphs) -> ReadGraphs:
        weights, closed = self._checked_weights(), self.walks == "closed"
        check_choice("route", self.route, Route)
        read = self._read_first(X)
        route = self._choose_route(read)
        feature_map = FeatureMap(self.kernel, self.steps, weights, closed, self.assignment)
        pairs = PairKernel(self.kernel == "rwk+", weights, closed)
        vocabulary = features = diagonal = None
        if route == "explicit":
            vocabulary, features = feature_map.fit(read, self.n_jobs)
        geometric = isinstance(self.combine, str) and self.combine == "geometric"  # combine may be an array
        if self.normalize or geometric:
            diagonal = pairs.diagonal(read.arrays(labels=False), self.n_jobs) if features is None else _norms(features)
        error = None
        if diagonal is not None and geometric:
            tail = geometric_tail(read.arrays(labels=route == "explicit"), self.steps, self.decay, self.kernel)
            error = float((tail[diagonal > 0] / diagonal[diagonal > 0]).max(initial=0.0))
        self.reader_, self.n_features_in_, self.step_weights_ = read.reader, read.reader.nodes.width, weights
        self.route_, self.map_, self.pairs_, self.fitted_ = route, feature_map, pairs, read
        self.vocabulary_, self.features_ = vocabulary, features
        self.diagonal_, self.truncation_error_ = diagonal, error
        return read

    def _choose_route(self, graphs: ReadGraphs) -> str:
        if self.kernel == "node-centric":
            if self.route == "blocks":
                remedy = Remedy("Use {route}.", route="auto")
                raise ParameterError("the node-centric kernel has explicit features only.", remedy)
            return "explicit"
        if not graphs.reader.discrete:
            if self.route == "explicit":
                check_labels(graphs.reader, "the explicit route needs", Remedy("Use {route}.", route="auto"))
            return "blocks"
        if self.route != "auto":
            return self.route
        return cheaper_route(graphs.arrays(), self.steps, closed=self.walks == "closed")

    def _arrays(self, graphs: ReadGraphs) -> GraphArrays:
        return graphs.arrays(labels=self.route_ == "explicit")

    def _gram(
        self, graphs: ReadGraphs, out: str | Path | None, callback: Callback | None, *, symmetric: bool
    ) -> Floats:
        settings = {name: value for name, value in self.get_params().items() if name != "n_jobs"}
        exact = self.step_weights_.tolist()  # an array in combine may print alike and differ
        key = "" if out is None else fingerprint((settings, exact, symmetric), (graphs.table, self.fitted_.table))
        matrix = ResumableMatrix((len(graphs), len(self.fitted_)), out, key)
        norms, parts = self._rows(graphs, frozenset(matrix.finished), symmetric=symmetric)
        for start, stop, first, values in parts:
            if self.diagonal_ is not None and norms is not None:
                cosine(values, norms[start:stop], self.diagonal_[first:])
            matrix.write(start, stop, first, values, mirror=symmetric and self.route_ == "blocks")
            if callback is not None:
                callback(Progress("rows", stop, len(graphs)))
        gram = matrix.complete()
        if symmetric and self.normalize and len(graphs) > 1 and np.ptp(gram) < 1e-9:
            warnings.warn(
                RWKPlusWarning(
                    "all graphs look alike to this kernel: every normalized entry is the same.",
                    "Do the node labels vary? More steps or closed walks may tell the graphs apart.",
                ),
                stacklevel=3,
            )
        return gram

    def _rows(
        self, graphs: ReadGraphs, skip: frozenset[tuple[int, int]], *, symmetric: bool
    ) -> tuple[Floats | None, Iterator[tuple[int, int, int, Floats]]]:
        """Self-similarities to divide by, if any, and the blocks of rows that are not to be skipped."""
        norms = self.diagonal_ if self.normalize and symmetric else None
        if self.route_ == "blocks":
            if self.normalize and not symmetric:
                norms = self.pairs_.diagonal(self._arrays(graphs), self.n_jobs)
            return norms, self._block_rows(graphs, symmetric, skip)
        features = self.features_
        if not symmetric:
            features, squared = self.map_.transform(graphs, self.vocabulary_, self.n_jobs)
            norms = finite(squared) if self.normalize else None
        return norms, self._explicit_rows(features, symmetric, skip)

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
        return self.pairs_.row_blocks(rows, cols, self.n_jobs, symmetric=symmetric, skip=skip)

    def _learned(self) -> tuple[dict[str, Any], Mapping[str, NDArray[Any]]]:
        table, arrays = pack_table(replace(self.fitted_.table, graphs={}, targets=()))
        return {"reader": self.reader_.to_dict(), "table": table}, arrays

    def _restore(self, learned: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Fit the same graphs again: nothing that was computed from them can contradict them."""
        check_entries(learned, "reader", "table")
        table = unpack_table(learned["table"], arrays)
        if set(arrays) != set(pack_table(table)[1]):
            raise ValueError("it holds other arrays than its graphs need")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RWKPlusWarning)  # they were given when it was fitted
            self._fit(table)
        if self.reader_.to_dict() != Reader.from_dict(learned["reader"]).to_dict():
            raise ValueError("its graphs are not read as they were")


def cosine(gram: Floats, row_norms: Floats, col_norms: Floats) -> Floats:
    """Divide by the self-similarities, in place; graphs without any walk stay at zero.

    >>> gram = np.array([[4.0, 6.0], [6.0, 16.0]])
    >>> cosine(gram, np.diag(gram).copy(), np.diag(gram).copy())
    array([[1.  , 0.75],
           [0.75, 1.  ]])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = np.where(row_norms > 0, 1 / np.sqrt(row_norms), 0.0)
        cols = np.where(col_norms > 0, 1 / np.sqrt(col_norms), 0.0)
    gram *= rows[:, None]
    gram *= cols[None, :]
    return gram


def cheaper_route(graphs: GraphArrays, steps: int, *, closed: bool) -> str:
    """Choose by estimated cost. Sequences grow exponentially with the steps, Algorithm 1 linearly.

    >>> from rwkplus.table import GraphTable, Reader
    >>> table = GraphTable.of(["CC", "CCC"])
    >>> arrays = Reader.fit(table).read(table)
    >>> cheaper_route(arrays, 2, closed=True), cheaper_route(arrays, 40, closed=False)
    ('blocks', 'blocks')
    """
    nodes, edges, count = float(graphs.num_nodes), float(graphs.source.size), float(graphs.num_graphs)
    explicit = _PER_WALK * _number_of_walks(graphs, steps) + _PER_GRAM_ENTRY * count**2
    blocks = _PER_PAIR_CELL * steps * 2 * nodes * edges
    if closed:  # one pass per start node and graph pair
        blocks *= float(np.diff(graphs.node_ptr).max()) ** 2
    largest = float(np.diff(graphs.node_ptr).max())
    fits_pairwise = largest**2 <= pair_kernel.MAX_PAIR_CELLS
    return "blocks" if blocks < explicit and fits_pairwise else "explicit"


def _number_of_walks(graphs: GraphArrays, steps: int) -> float:
    """Walks of up to ``steps`` edges: no graph has more label sequences than walks."""
    reached: Floats = np.ones(graphs.num_nodes)
    total = 0.0
    for _ in range(steps):
        reached = np.bincount(graphs.source, reached[graphs.target], graphs.num_nodes).astype(float)
        total += reached.sum()
    return total


def _norms(features: sparse.csr_matrix) -> Floats:
    """Squared lengths of rows."""
    with np.errstate(over="ignore"):
        return finite(np.asarray(features.power(2).sum(1)).ravel())

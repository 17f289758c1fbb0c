"""Random walk kernels for scikit-learn: graphs in, Gram matrices out.

There are two routes: explicit features, and pairs of graphs, for attributes and for walks too long to write out.
"""

import warnings
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rwkplus.errors import NumericError, ParameterError, Remedy, RWKPlusWarning
from rwkplus.kernels.explicit_features import FeatureMap, feature_gram, squared_norms
from rwkplus.kernels.gram_storage import ResumableMatrix, fingerprint
from rwkplus.kernels.graph_kernel import WalkEstimator, check_labels, finite, geometric_tail
from rwkplus.loops.walk_loops import PackedGraphs, pair_scores, self_scores
from rwkplus.table import Graphs
from rwkplus.table.arrays import Floats, GraphArrays, ReadGraphs
from rwkplus.types import Callback, Progress, Route, check_choice

EXPLICIT_ROWS = 8_192
"""Rows of an explicit Gram matrix computed at a time."""

BLOCK_NODES = 1_024
"""Nodes of the rows computed at a time: the unit of work for joblib."""

MAX_PAIR_CELLS = 2**28
"""Cells of Y for one pair of graphs: 2 GiB in float64, three of them are held."""

# Rough nanoseconds on one core, read off runs on MUTAG, NCI1 and ENZYMES; only their ratio matters.
_PER_WALK = 60.0
_PER_GRAM_ENTRY = 20.0
_PER_PAIR_CELL = 0.7


@dataclass(eq=False, repr=False)
class RandomWalkKernel(WalkEstimator):
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

    _: KW_ONLY
    normalize: bool = False
    route: Route = "auto"

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
        if X is None and self.features_ is not None:
            return _diagonal(self.features_)
        read = self.fitted_ if X is None else self._read_later(X)
        if self.route_ == "blocks":
            return self.pairs_.diagonal(self._arrays(read), self.n_jobs)
        return finite(self.map_.transform(read, self.vocabulary_, self.n_jobs)[1])

    def _fit(self, X: Graphs) -> ReadGraphs:
        weights, closed = self._checked_weights(), self.walks == "closed"
        check_choice("route", self.route, Route)
        read = self._read_first(X)
        route = self._choose_route(read)
        feature_map = FeatureMap(self.kernel, self.steps, weights, closed, self.assignment)
        pairs = PairKernel(self.kernel == "rwk+", weights, closed)
        vocabulary, features = feature_map.fit(read, self.n_jobs) if route == "explicit" else (None, None)
        diagonal = error = None
        geometric = isinstance(self.combine, str) and self.combine == "geometric"  # combine may be an array
        if self.normalize or geometric:
            if features is None:
                diagonal = pairs.diagonal(read.arrays(labels=False), self.n_jobs)
            else:
                diagonal = _diagonal(features)
        if diagonal is not None and geometric:
            tail = geometric_tail(read.arrays(labels=route == "explicit"), self.steps, self.decay, self.kernel)
            error = float((tail[diagonal > 0] / diagonal[diagonal > 0]).max(initial=0.0))
        self.reader_, self.fitted_, self.step_weights_ = read.reader, read, weights
        self.route_, self.map_, self.pairs_ = route, feature_map, pairs
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
            if self.normalize and self.diagonal_ is not None:
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
    ) -> tuple[Any, Iterator[tuple[int, int, int, Floats]]]:
        """Self-similarities to divide by, and blocks of rows with their first and last row and first column."""
        if self.route_ == "explicit":
            features, norms = self.features_, self.diagonal_
            if not symmetric:
                features, norms = self.map_.transform(graphs, self.vocabulary_, self.n_jobs)
                norms = finite(norms) if self.normalize else None
            return norms, self._explicit_rows(features, skip)
        cols = self._arrays(self.fitted_)
        rows, norms = (cols, self.diagonal_) if symmetric else (self._arrays(graphs), None)
        if self.normalize and not symmetric:
            norms = self.pairs_.diagonal(rows, self.n_jobs)
        # Labels that only the rows have match no column.
        rows = rows.with_width(cols.x.shape[1], 0 if cols.edge_attr is None else cols.edge_attr.shape[1])
        return norms, self.pairs_.row_blocks(rows, cols, self.n_jobs, symmetric=symmetric, skip=skip)

    def _explicit_rows(
        self, features: sparse.csr_matrix, skip: frozenset[tuple[int, int]]
    ) -> Iterator[tuple[int, int, int, Floats]]:
        num_graphs = features.shape[0]
        for start in range(0, num_graphs, EXPLICIT_ROWS):
            stop = min(start + EXPLICIT_ROWS, num_graphs)
            if (start, stop) not in skip:
                block = features if num_graphs <= EXPLICIT_ROWS else features[start:stop]
                yield start, stop, 0, finite(feature_gram(block, self.features_))


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


def _diagonal(features: sparse.csr_matrix) -> Floats:
    with np.errstate(over="ignore"):
        return finite(squared_norms(features))


def cheaper_route(graphs: GraphArrays, steps: int, *, closed: bool) -> str:
    """Choose by estimated cost. Sequences grow exponentially with the steps, Algorithm 1 linearly.

    >>> from rwkplus.table import GraphTable, Reader
    >>> table = GraphTable.of(["CC", "CCC"])
    >>> arrays = Reader.fit(table).read(table)
    >>> cheaper_route(arrays, 2, closed=True), cheaper_route(arrays, 40, closed=False)
    ('blocks', 'blocks')
    """
    walks, reached = 0.0, np.ones(graphs.num_nodes)
    for _ in range(steps):  # no graph has more label sequences than walks
        reached = np.bincount(graphs.source, reached[graphs.target], graphs.num_nodes).astype(float)
        walks += reached.sum()
    explicit = _PER_WALK * walks + _PER_GRAM_ENTRY * float(graphs.num_graphs) ** 2
    blocks = _PER_PAIR_CELL * steps * 2 * float(graphs.num_nodes) * float(graphs.source.size)
    cells = float(np.diff(graphs.node_ptr).max()) ** 2
    if closed:  # one pass per start node and graph pair
        blocks *= cells
    return "blocks" if blocks < explicit and cells <= MAX_PAIR_CELLS else "explicit"


# The route over pairs


@dataclass(frozen=True)
class PairKernel:
    """A walk kernel computed pair by pair. Holds choices, learns nothing.

    >>> from rwkplus.table import GraphTable, Reader
    >>> table = GraphTable.of(["CC", "CCC"])
    >>> arrays = Reader.fit(table).read(table, labels=False)
    >>> PairKernel(match_all=True, weights=np.array([0.0, 1.0]), closed=False).diagonal(arrays, None)
    array([ 4., 16.])
    """

    match_all: bool
    weights: Floats  # (steps + 1,)
    closed: bool

    def row_blocks(
        self,
        rows: GraphArrays,
        cols: GraphArrays,
        n_jobs: int | None,
        *,
        symmetric: bool,
        skip: frozenset[tuple[int, int]],
    ) -> Iterator[tuple[int, int, int, Floats]]:
        """Yield ``(start, stop, first column, values)`` for blocks of rows, in order.

        With ``symmetric``, rows and columns are the same graphs and a block begins at its own first column.
        Blocks whose ``(start, stop)`` is in ``skip`` are left out.
        """
        _check_size(rows, cols)
        pending = [(i, j) for i, j in rows.blocks(BLOCK_NODES) if (i, j) not in skip]
        work = (
            delayed(_scores)(self, rows.block(i, j), cols.block(i, cols.num_graphs) if symmetric else cols, symmetric)
            for i, j in pending
        )
        results = Parallel(n_jobs=n_jobs, return_as="generator")(work)
        for (i, j), values in zip(pending, results, strict=True):
            yield i, j, i if symmetric else 0, finite(values)

    def diagonal(self, graphs: GraphArrays, n_jobs: int | None) -> Floats:
        """Self-similarity of every graph."""
        _check_size(graphs, graphs)
        blocks = [graphs.block(i, j) for i, j in graphs.blocks(BLOCK_NODES)]
        return finite(np.concatenate(Parallel(n_jobs=n_jobs)(delayed(_own_scores)(self, block) for block in blocks)))


def _scores(how: PairKernel, rows: GraphArrays, cols: GraphArrays, upper: bool) -> Floats:
    scores = pair_scores(_pack(rows), _pack(cols), how.weights.size - 1, how.match_all, how.closed, upper)
    with np.errstate(over="ignore", invalid="ignore"):  # finite() speaks up
        values = np.tensordot(how.weights[1:], scores, 1)
    if how.weights[0]:
        values += how.weights[0] * _zero_step(rows, cols)
    if upper:
        square = values[:, : rows.num_graphs]
        square += np.triu(square, 1).T - np.tril(square, -1)
    return values


def _own_scores(how: PairKernel, graphs: GraphArrays) -> Floats:
    scores = self_scores(_pack(graphs), how.weights.size - 1, how.match_all, how.closed)
    with np.errstate(over="ignore", invalid="ignore"):
        values: Floats = how.weights[1:] @ scores
    if how.weights[0]:
        values += how.weights[0] * np.diag(_zero_step(graphs, graphs))
    return values


def _pack(graphs: GraphArrays) -> PackedGraphs:
    value = np.ones((graphs.source.size, 1)) if graphs.edge_attr is None else graphs.edge_attr
    if graphs.weight is not None:
        value = value * graphs.weight[:, None]
    order = np.argsort(graphs.source, kind="stable")  # rows of Y stay in the cache; also keeps edges sorted by graph
    return PackedGraphs(
        graphs.node_ptr,
        graphs.edge_ptr,
        graphs.source[order],
        graphs.target[order],
        np.ascontiguousarray(value[order]),
        np.ascontiguousarray(graphs.x),
        np.ascontiguousarray(graphs.x.T),
    )


def _zero_step(rows: GraphArrays, cols: GraphArrays) -> Floats:
    """Sum of squared color similarities, from the second moments of the colors: never anything N x N."""
    return _moments(rows) @ _moments(cols).T


def _moments(graphs: GraphArrays) -> Floats:
    return np.stack([(part.T @ part).ravel() for part in np.split(graphs.x, graphs.node_ptr[1:-1])])


def _check_size(rows: GraphArrays, cols: GraphArrays) -> None:
    n, m = (int(np.diff(graphs.node_ptr).max()) for graphs in (rows, cols))
    if n * m > MAX_PAIR_CELLS:
        raise NumericError(
            f"a pair of graphs with {n} and {m} nodes needs {n * m * 24 / 2**30:.0f} GiB in Algorithm 1.",
            Remedy("Use labels and {route}, whose memory grows with one graph at a time.", route="explicit"),
            "Or compare large graphs with small landmarks (RandomWalkNystroem).",
        )

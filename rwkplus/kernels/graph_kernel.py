"""What kernels share: how graphs are read, named and saved; and of walk kernels, the parameters and step weights."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rwkplus.errors import GraphError, NumericError, ParameterError, Remedy, RWKPlusWarning
from rwkplus.saving import Savable, check_entries
from rwkplus.table import Graphs, GraphTable, Reader
from rwkplus.table.arrays import Floats, GraphArrays, ReadGraphs, check_any_graphs
from rwkplus.table.packing import pack_table, unpack_table
from rwkplus.types import (
    Assignment,
    Combine,
    KernelName,
    UnknownLabel,
    Walks,
    check_choice,
    check_ignore,
    check_integer,
    check_jobs,
)


class GraphKernel(TransformerMixin, Savable, BaseEstimator):
    """Base of kernels, which read graphs, name their columns after the fitted graphs and are saved as those graphs.

    A subclass has a parameter ``ignore``. Its ``fit`` reads graphs with :meth:`_read_first` and, when all is computed,
    keeps what that returned as ``fitted_`` and its reader as ``reader_``; ``transform`` reads with :meth:`_read_later`.
    """

    ignore: Sequence[str]
    unknown_label: UnknownLabel = "new"

    reader_: Reader
    fitted_: ReadGraphs

    @property
    def n_features_in_(self) -> int:
        """Number of labels, or width of the attributes, of nodes."""
        return self.reader_.nodes.width

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Names of the columns: the fitted graphs.

        >>> from rwkplus.kernels import RandomWalkKernel
        >>> RandomWalkKernel().fit(["CC", "CCO"]).get_feature_names_out().tolist()
        ['graph0', 'graph1']
        """
        check_is_fitted(self)
        return np.array([f"graph{i}" for i in range(len(self.fitted_))], dtype=object)

    def _read_first(self, X: Graphs) -> ReadGraphs:
        """Read graphs and learn how to read later ones; nothing is kept."""
        check_ignore(self.ignore)
        table = GraphTable.of(X, ignore=tuple(self.ignore))
        check_any_graphs(table)
        reader = Reader.fit(table, self.ignore)
        if not reader.nodes.exists:
            raise GraphError(
                f"{table.describe_graph(0)} has nodes without labels or attributes.",
                "Give them some, such as their degrees: GraphTable.of(graphs).with_degrees().",
            )
        return ReadGraphs(table, reader)

    def _read_later(self, X: Graphs) -> ReadGraphs:
        """Read graphs as the fitted ones were read."""
        check_is_fitted(self)
        table = GraphTable.of(X, ignore=tuple(self.ignore))
        if self.unknown_label == "new":
            self.reader_.warn_of_unknown(table)
        return ReadGraphs(table, self.reader_, self.unknown_label)

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
            self.fit(table)
        if self.reader_.to_dict() != Reader.from_dict(learned["reader"]).to_dict():
            raise ValueError("its graphs are not read as they were")


@dataclass(eq=False, repr=False)
class WalkEstimator(GraphKernel):
    """Base of :class:`RandomWalkKernel` and :class:`RandomWalkFeatures`: the parameters that define a walk kernel."""

    kernel: KernelName = "rwk+"
    steps: int = 4
    _: KW_ONLY
    combine: Combine | Sequence[float] = "sum"
    decay: float = 0.1
    walks: Walks = "open"
    assignment: Assignment = "optimal"
    include_zero_step: bool | None = None
    unknown_label: UnknownLabel = "new"
    ignore: Sequence[str] = ()
    n_jobs: int | None = None

    step_weights_: Floats = field(init=False)

    def _checked_weights(self) -> Floats:
        """Check all parameters and return the weights of the steps."""
        check_choice("kernel", self.kernel, KernelName)
        check_choice("walks", self.walks, Walks)
        check_choice("assignment", self.assignment, Assignment)
        check_choice("unknown_label", self.unknown_label, UnknownLabel)
        check_ignore(self.ignore)
        check_jobs(self.n_jobs)
        if not (self.include_zero_step is None or isinstance(self.include_zero_step, bool | np.bool_)):
            raise ParameterError(f"include_zero_step must be True, False or None, got {self.include_zero_step!r}.")
        zero_step = self.kernel == "node-centric" if self.include_zero_step is None else self.include_zero_step
        return step_weights(self.steps, self.combine, self.decay, zero_step)

    def _read_first(self, X: Graphs) -> ReadGraphs:
        read = super()._read_first(X)
        if self.kernel == "node-centric":
            remedy = Remedy("Use {kernel} for attributes.", kernel="rwk+")
            check_labels(read.reader, "the node-centric kernel needs", remedy)
        return read


def check_labels(reader: Reader, who: str, *remedies: Remedy | str) -> None:
    """Refuse attributes where labels are needed."""
    if not reader.discrete:
        names = tuple(reader.attributes)
        raise GraphError(
            f"{who} labels, but there are attributes ({', '.join(names)}).",
            *remedies,
            Remedy("Or leave them out: {ignore}.", ignore=names),
        )


def finite(values: Floats) -> Floats:
    """Return ``values``, or raise where there are too many walks for a float64.

    >>> finite(np.array([2.0, np.inf]))
    Traceback (most recent call last):
    ...
    rwkplus.errors.NumericError: the kernel left the range of float64: ...
    """
    if not np.isfinite(values).all():
        raise NumericError(
            "the kernel left the range of float64: the number of walks grows geometrically with their length.",
            "Use fewer steps, or scale features or edge weights down.",
        )
    return values


def step_weights(steps: int, combine: Combine | Sequence[float], decay: float, include_zero_step: bool) -> Floats:
    """Weights of the walks of 0, 1, ..., ``steps`` edges: the paper's lambda.

    A mean shares its weight with the nodes themselves, where they count (``include_zero_step``).

    >>> step_weights(3, "geometric", 0.5, include_zero_step=True)
    array([1.   , 0.5  , 0.25 , 0.125])
    >>> step_weights(2, [3, 1], 0.1, include_zero_step=False)
    array([0., 3., 1.])
    """
    check_integer("steps", steps, 1)
    lengths = np.arange(steps + 1)
    if not isinstance(combine, str):
        return np.concatenate([[float(include_zero_step)], _given_weights(steps, combine)])
    if combine == "geometric":
        if not (isinstance(decay, int | float | np.integer | np.floating) and 0 < decay < math.inf):
            raise ParameterError(f"combine='geometric' needs a decay above 0, got {decay!r}.")
        with np.errstate(over="ignore"):
            weights = float(decay) ** lengths
        if not np.isfinite(weights[-1]):
            raise ParameterError(f"decay={decay!r} to the power of steps={steps} leaves the range of float64.")
    elif combine == "last":
        weights = (lengths == steps).astype(float)
    elif combine in ("sum", "mean"):
        weights = np.ones(steps + 1)
    else:
        raise ParameterError(f"combine must be 'sum', 'last', 'mean', 'geometric' or weights, got {combine!r}.")
    weights[0] *= include_zero_step
    return np.asarray(weights / np.count_nonzero(weights) if combine == "mean" else weights)


def _given_weights(steps: int, combine: Sequence[float]) -> Floats:
    try:
        weights = np.asarray(combine, dtype=float)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"combine must be a name or a sequence of numbers, got {combine!r}.") from error
    if weights.shape != (steps,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ParameterError(
            f"combine must give {steps} weights of at least 0, not all 0, one for each step; got {combine!r}."
        )
    return weights


def geometric_tail(graphs: GraphArrays, steps: int, decay: float, kernel: KernelName) -> Floats:
    r"""Bound, for every graph, what the infinite geometric series of K(G, G) adds beyond ``steps``.

    :math:`K^{(i)}(G, G) \le c \rho^{2i}`, so the rest of the series is at most
    :math:`c q^{t+1} / (1 - q)` with :math:`q = \lambda \rho^2`. RWK+ meets node colors at every step:
    :math:`\rho` bounds the spectral norm of the adjacency scaled by them, and :math:`c = n^2`. RWK- meets
    them at the two ends: :math:`\rho` bounds the norm of the adjacency and
    :math:`c = (\sum_v \lVert x_v \rVert^2)^2`. Node-centric kernels count pairs of nodes, :math:`\rho = 1`.
    For a pair of graphs the bound is at most the geometric mean of the two graphs' bounds. Infinite, with
    a warning, where :math:`q \ge 1`.
    """
    scale = np.diff(graphs.node_ptr).astype(float) ** 2
    if kernel == "node-centric":
        ratio = np.full(graphs.num_graphs, float(decay))
    else:
        ratio = decay * _norm_bound(graphs, node_colors=kernel == "rwk+") ** 2
    if kernel == "rwk-" and graphs.x.shape[1]:
        scale = np.bincount(graphs.graph, (graphs.x**2).sum(1), graphs.num_graphs) ** 2
    if (ratio >= 1).any():
        worst = int(np.argmax(ratio))
        bound = float(f"{decay / ratio[worst]:.3g}")
        warnings.warn(
            RWKPlusWarning(
                f"the geometric series cannot be shown to converge for {int((ratio >= 1).sum())} of {ratio.size} "
                f"graphs (graph {worst}: successive terms may grow by {ratio[worst]:.3g}); its truncation after "
                f"{steps} steps is a kernel all the same.",
                Remedy("Anything below {decay} is safe for all graphs.", decay=bound),
            ),
            stacklevel=5,
        )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        tail = scale * ratio ** (steps + 1) / (1 - ratio)
    return np.where(ratio < 1, tail, np.inf)


def _norm_bound(graphs: GraphArrays, *, node_colors: bool) -> Floats:
    r"""Bound the spectral norm of each adjacency, edge colors and, if wanted, node colors included.

    :math:`\lVert A \rVert_2 \le \max_{u \to v} \sqrt{r_u c_v}` with row sums r and column sums c of
    absolute values (Schur's test); exact for stars and regular graphs.
    """
    weight = np.ones(graphs.source.size) if graphs.weight is None else np.abs(graphs.weight)
    if graphs.edge_attr is not None:
        weight = weight * np.linalg.norm(graphs.edge_attr, axis=1)
    if node_colors and graphs.x.shape[1]:  # one-hot rows have length 1
        length = np.linalg.norm(graphs.x, axis=1)
        weight = weight * length[graphs.source] * length[graphs.target]
    rows = np.bincount(graphs.source, weight, graphs.num_nodes)
    columns = np.bincount(graphs.target, weight, graphs.num_nodes)
    per_edge = np.where(weight > 0, np.sqrt(rows[graphs.source] * columns[graphs.target]), 0.0)
    bound = np.zeros(graphs.num_graphs)
    np.maximum.at(bound, graphs.graph[graphs.source], per_edge)
    return bound

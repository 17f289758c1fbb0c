"""How the scores of walks of different length make one kernel: the paper's lambda."""

import math
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import ParameterError, RWKPlusWarning
from rwkplus.table.arrays import GraphArrays
from rwkplus.types import Combine, KernelName, is_positive_integer


def step_weights(
    steps: int, combine: Combine | Sequence[float], decay: float, include_zero_step: bool
) -> NDArray[np.float64]:
    """Weight of the walks of 0, 1, ..., ``steps`` edges.

    Args:
        steps: Longest walk, counted in edges.
        combine: ``"sum"`` (all ones), ``"last"``, ``"mean"``, ``"geometric"`` (``decay ** i``), or one
            weight of at least 0 for each step from 1 on.
        decay: Base of the geometric weights.
        include_zero_step: Count the nodes themselves too, with weight 1 (their share of a mean).
    """
    if not is_positive_integer(steps):
        raise ParameterError(f"steps must be an integer of at least 1 (it counts edges), got {steps!r}.")
    lengths = np.arange(steps + 1)
    if not isinstance(combine, str):
        given = _given_weights(steps, combine)
        return np.concatenate([[float(include_zero_step)], given])
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


def _given_weights(steps: int, combine: Sequence[float]) -> NDArray[np.float64]:
    try:
        weights = np.asarray(combine, dtype=float)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"combine must be a name or a sequence of numbers, got {combine!r}.") from error
    if weights.shape != (steps,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ParameterError(
            f"combine must give {steps} weights of at least 0, not all 0, one for each step; got {combine!r}."
        )
    return weights


def geometric_tail(graphs: GraphArrays, steps: int, decay: float, kernel: KernelName) -> NDArray[np.float64]:
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
        warnings.warn(
            f"the geometric series cannot be shown to converge for {int((ratio >= 1).sum())} of {ratio.size} graphs "
            f"(graph {worst}: successive terms may grow by {ratio[worst]:.3g}); its truncation after {steps} steps is "
            f"a kernel all the same. A decay below {decay / ratio[worst]:.3g} is safe for all.",
            RWKPlusWarning,
            stacklevel=4,
        )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        tail = scale * ratio ** (steps + 1) / (1 - ratio)
    return np.where(ratio < 1, tail, np.inf)


def _norm_bound(graphs: GraphArrays, *, node_colors: bool) -> NDArray[np.float64]:
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

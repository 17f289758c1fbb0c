"""Edit distance of a weighted graph to a target: exact for small graphs, bounded for larger ones.

Removing an edge of weight w costs w, completing it 1 - w, changing a label 1; nodes are neither added nor removed.
"""

from collections.abc import Hashable, Sequence
from functools import cache
from itertools import permutations

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from rwkplus.errors import ParameterError, ShapeError

EXACT_UP_TO = 8
"""Nodes up to which every assignment is tried: 8! = 40,320."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def normalize_weights(weights: ArrayLike) -> Floats:
    """Scale the weights off the diagonal of ``(..., M, M)`` to [0, 1] by minimum and maximum, each graph alone.

    The diagonal becomes 0. A graph whose weights are all equal has no scale: they are clipped to [0, 1].

    >>> normalize_weights([[0, 2, 4], [2, 0, 3], [4, 3, 0]])
    array([[0. , 0. , 1. ],
           [0. , 0. , 0.5],
           [1. , 0.5, 0. ]])
    """
    weights = np.array(weights, dtype=np.float64)
    if weights.ndim < 2 or weights.shape[-1] != weights.shape[-2]:
        raise ShapeError(f"weights must be (..., M, M), got {weights.shape}.")
    off = ~np.eye(weights.shape[-1], dtype=bool)
    values = weights[..., off]
    if values.shape[-1]:
        low, high = values.min(-1, keepdims=True), values.max(-1, keepdims=True)
        spread = high - low
        values = np.where(spread > 0, (values - low) / np.where(spread > 0, spread, 1), values.clip(0, 1))
    scaled = np.zeros_like(weights)
    scaled[..., off] = values
    return scaled


def weighted_edit_distance(
    weights: ArrayLike, labels: Sequence[Hashable] | None, target: nx.Graph, *, compare_labels: bool
) -> float:
    """Cheapest way to turn a graph of edge weights in [0, 1] into ``target``, over all assignments of nodes.

    Exact up to ``EXACT_UP_TO`` nodes. Beyond, the upper bound of :func:`edit_distance_bounds`: the cost of a real
    assignment, which may be above the minimum.

    Args:
        weights: Symmetric edge weights ``(M, M)``; the diagonal is not read.
        labels: One label per node; may be None when labels are not compared.
        target: Undirected graph of the same number of nodes, with node attribute ``label`` when labels are compared.
        compare_labels: Whether a wrong label costs 1 or nothing.

    Example:
        A path on three nodes becomes a triangle by completing one edge.

        >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
        >>> weighted_edit_distance(path, None, nx.complete_graph(3), compare_labels=False)
        1.0
    """
    costs = _costs(weights, labels, target, compare_labels)
    return _exact(*costs)[0] if len(target) <= EXACT_UP_TO else _bounds(*costs)[1]


def cheapest_assignment(
    weights: ArrayLike, labels: Sequence[Hashable] | None, target: nx.Graph, *, compare_labels: bool
) -> Ints:
    """Place in ``target`` that each node takes in :func:`weighted_edit_distance`: ``(M,)``; the first of equals.

    Up to ``EXACT_UP_TO`` nodes.

    >>> path = [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    >>> cheapest_assignment(path, None, nx.path_graph(3), compare_labels=False)
    array([0, 2, 1])
    """
    if len(target) > EXACT_UP_TO:
        raise ParameterError(f"assignments are searched up to {EXACT_UP_TO} nodes, the target has {len(target)}.")
    return _exact(*_costs(weights, labels, target, compare_labels))[1]


def _exact(weights: Floats, wrong: Floats, edges: Floats) -> tuple[float, Ints]:
    """Cost and order of the cheapest of all assignments."""
    size = len(weights)
    orders = _orders(size)
    upper = np.triu_indices(size, 1)
    present = edges[orders[:, upper[0]], orders[:, upper[1]]]
    mismatches = wrong[np.arange(size), orders].sum(1)
    values = weights[upper]
    # Sum of w over absent target edges and 1 - w over present ones.
    costs = values.sum() + present @ (1 - 2 * values) + mismatches
    cheapest = int(costs.argmin())
    return float(costs[cheapest]), orders[cheapest]


def edit_distance_bounds(
    weights: ArrayLike, labels: Sequence[Hashable] | None, target: nx.Graph, *, compare_labels: bool
) -> tuple[float, float]:
    """Lower and upper bound of :func:`weighted_edit_distance` for graphs of any size, in polynomial time.

    Lower: the best assignment when every node may arrange its own edges at will, each edge counted half at either
    end. Upper: the true cost of that assignment, improved by swapping pairs of nodes while that helps.

    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> edit_distance_bounds(path, None, nx.complete_graph(3), compare_labels=False)
    (1.0, 1.0)
    """
    return _bounds(*_costs(weights, labels, target, compare_labels))


def _costs(
    weights: ArrayLike, labels: Sequence[Hashable] | None, target: nx.Graph, compare_labels: bool
) -> tuple[Floats, Floats, Floats]:
    """Weights with an empty diagonal, cost of each label change ``(M, M)``, and the target's adjacency."""
    weights = np.array(weights, dtype=np.float64)
    size = target.number_of_nodes()
    if weights.shape != (size, size):
        raise ShapeError(
            f"weights must be ({size}, {size}) for a target of {size} nodes, got {weights.shape}: nodes are neither "
            "added nor removed."
        )
    np.fill_diagonal(weights, 0)
    if not (np.isfinite(weights).all() and weights.min(initial=0) >= 0 and weights.max(initial=0) <= 1):
        raise ParameterError(
            f"weights must lie in [0, 1], found {weights.min():g} to {weights.max():g}.",
            "Scale them with rwkplus.mining.edit_distance.normalize_weights.",
        )
    edges = nx.to_numpy_array(target, weight=None)
    if not compare_labels:
        return weights, np.zeros((size, size)), edges
    if labels is None or len(labels) != size:
        found = "none" if labels is None else f"{len(labels)}"
        raise ShapeError(f"comparing labels needs one label for each of the {size} nodes, got {found}.")
    wanted = [target.nodes[v].get("label") for v in target]
    wrong = np.array([[float(have != want) for want in wanted] for have in labels]).reshape(size, size)
    return weights, wrong, edges


def _bounds(weights: Floats, wrong: Floats, edges: Floats) -> tuple[float, float]:
    from scipy.optimize import linear_sum_assignment  # slow to import, and few need it

    size = len(weights)
    off = ~np.eye(size, dtype=bool)
    rows = -np.sort(-weights[off].reshape(size, -1), axis=1)
    strongest = np.concatenate([np.zeros((size, 1)), rows.cumsum(1)], axis=1)
    degree = edges.sum(1).astype(np.int64)
    # A node of degree d costs least when its d strongest edges are the ones completed.
    arranged = rows.sum(1)[:, None] + degree - 2 * strongest[:, degree]
    own, order = linear_sum_assignment(wrong + arranged / 2)
    lower = float((wrong + arranged / 2)[own, order].sum())
    return lower, _improved(weights, wrong, edges, np.asarray(order))


def _improved(weights: Floats, wrong: Floats, edges: Floats, order: Ints) -> float:
    def cost(order: Ints) -> float:
        differs = np.abs(weights - edges[np.ix_(order, order)]).sum() / 2
        return float(differs + wrong[np.arange(len(order)), order].sum())

    best, pairs = cost(order), np.argwhere(np.triu(np.ones_like(weights), 1))
    while len(pairs):
        swapped = np.repeat(order[None], len(pairs), 0)
        rows = np.arange(len(pairs))
        swapped[rows, pairs[:, 0]], swapped[rows, pairs[:, 1]] = order[pairs[:, 1]], order[pairs[:, 0]]
        costs = [cost(candidate) for candidate in swapped]
        if min(costs) >= best - 1e-12:
            break
        best, order = min(costs), swapped[int(np.argmin(costs))]
    return best


@cache
def _orders(size: int) -> Ints:
    return np.array(list(permutations(range(size))), dtype=np.int64).reshape(-1, size)

"""Compiled inner loop of the Gram matrix: Algorithm 1 for every pair of two lists of sparse graphs.

A pair of molecules fits into the first-level cache, so all steps of one pair run before the next pair
begins. The torch twin is :func:`rwkplus.functional.rwk_plus`, which pads one side to a bank.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class PackedGraphs(NamedTuple):
    """Graphs side by side, nodes and edges sorted by graph."""

    node_ptr: Ints  # (B + 1,)
    edge_ptr: Ints  # (B + 1,)
    source: Ints  # (E,): counted from the first node of the list
    target: Ints  # (E,)
    value: Floats  # (E, C): weight times edge color; one column of weights where edges have no color
    x: Floats  # (N, D)


def pair_scores(
    rows: PackedGraphs, cols: PackedGraphs, steps: int, *, match_all: bool, closed: bool = False, upper: bool = False
) -> Floats:
    """Scores ``(T, B, K)`` of every graph in ``rows`` with every graph in ``cols``.

    Args:
        rows: Graphs G.
        cols: Graphs H; node and edge colors as wide as those of ``rows``.
        steps: Longest walk, counted in edges.
        match_all: RWK+ if true, RWK- otherwise.
        closed: Only walks that end where they began; a factor of nodes times nodes slower.
        upper: Leave out pairs with a column before the row, for lists that begin with the same graphs.
    """
    scores: Floats = _all_pairs(rows, cols, steps, match_all, closed, upper)
    return scores


def self_scores(graphs: PackedGraphs, steps: int, *, match_all: bool, closed: bool = False) -> Floats:
    """Scores ``(T, B)`` of every graph with itself."""
    scores: Floats = _diagonal(graphs, steps, match_all, closed)
    return scores


@njit(cache=True, nogil=True)
def _all_pairs(rows: Any, cols: Any, steps: int, match_all: bool, closed: bool, upper: bool) -> Any:
    num_rows, num_cols = rows.node_ptr.size - 1, cols.node_ptr.size - 1
    scores = np.zeros((steps, num_rows, num_cols))
    for g in range(num_rows):
        for h in range(g if upper else 0, num_cols):
            _one_pair(rows, g, cols, h, match_all, closed, scores[:, g, h])
    return scores


@njit(cache=True, nogil=True)
def _diagonal(graphs: Any, steps: int, match_all: bool, closed: bool) -> Any:
    scores = np.zeros((steps, graphs.node_ptr.size - 1))
    for g in range(scores.shape[1]):
        _one_pair(graphs, g, graphs, g, match_all, closed, scores[:, g])
    return scores


@njit(cache=True, nogil=True)
def _one_pair(rows: Any, g: int, cols: Any, h: int, match_all: bool, closed: bool, scores: Any) -> None:
    y0 = np.dot(rows.x[rows.node_ptr[g] : rows.node_ptr[g + 1]], cols.x[cols.node_ptr[h] : cols.node_ptr[h + 1]].T)
    if not closed:
        y = y0.copy()
        for step in range(scores.size):
            y, matched = _one_step(rows, g, cols, h, y0, y, match_all)
            scores[step] = matched.sum()
        return
    for u in range(y0.shape[0]):
        for v in range(y0.shape[1]):
            if y0[u, v] != 0.0:
                y = np.zeros_like(y0)
                y[u, v] = y0[u, v]
                for step in range(scores.size):
                    y, matched = _one_step(rows, g, cols, h, y0, y, match_all)
                    scores[step] += matched[u, v]


@njit(cache=True, nogil=True)
def _one_step(rows: Any, g: int, cols: Any, h: int, y0: Any, y: Any, match_all: bool) -> Any:
    reached = _propagate(rows, g, cols, h, y)
    matched = y0 * reached  # line 5
    return (y0 * matched if match_all else reached), matched  # line 6


@njit(cache=True, nogil=True)
def _propagate(rows: Any, g: int, cols: Any, h: int, y: Any) -> Any:
    """Line 4, A_G Y A_H^T, in two sparse products per channel: first the walker on H, then the one on G."""
    top, left = rows.node_ptr[g], cols.node_ptr[h]
    reached = np.zeros_like(y)
    for c in range(rows.value.shape[1]):
        moved = np.zeros_like(y)
        for u in range(y.shape[0]):
            for f in range(cols.edge_ptr[h], cols.edge_ptr[h + 1]):
                moved[u, cols.source[f] - left] += cols.value[f, c] * y[u, cols.target[f] - left]
        for e in range(rows.edge_ptr[g], rows.edge_ptr[g + 1]):
            weight, u, w = rows.value[e, c], rows.source[e] - top, rows.target[e] - top
            for v in range(y.shape[1]):
                reached[u, v] += weight * moved[w, v]
    return reached

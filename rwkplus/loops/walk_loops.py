"""Walks in compiled loops: Algorithm 1 for every pair of two lists of sparse graphs, and hashes of walks and graphs.

A pair of molecules fits into the first-level cache, so all steps of one pair run before the next pair
begins. The torch twin is :func:`rwkplus.functional.rwk_plus`, which pads one side to a bank.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rwkplus.loops.random_streams import STEP, mix

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
    xt: Floats  # (D, N): the same, by column


@njit(cache=True, nogil=True)
def pair_scores(rows: Any, cols: Any, steps: int, match_all: bool, closed: bool = False, upper: bool = False) -> Any:
    """Scores ``(T, B, K)`` of every graph in ``rows`` with every one in ``cols``, both :class:`PackedGraphs`.

    RWK+ if ``match_all``, RWK- otherwise. With ``closed``, only walks that end where they began, which is slower by a
    factor of nodes times nodes. ``upper`` leaves out pairs with a column before the row, for lists that begin alike.
    """
    num_rows, num_cols = rows.node_ptr.size - 1, cols.node_ptr.size - 1
    scores = np.zeros((steps, num_rows, num_cols))
    room = _room(rows, cols)
    for g in range(num_rows):
        for h in range(g if upper else 0, num_cols):
            _one_pair(rows, g, cols, h, match_all, closed, room, scores[:, g, h])
    return scores


@njit(cache=True, nogil=True)
def self_scores(graphs: Any, steps: int, match_all: bool, closed: bool = False) -> Any:
    """Scores ``(T, B)`` of every graph with itself.

    >>> ends, ones = np.array([0, 1]), np.ones((2, 1))
    >>> edge = PackedGraphs(np.array([0, 2]), np.array([0, 2]), ends, ends[::-1].copy(), ones, ones, ones.T.copy())
    >>> self_scores(edge, 2, match_all=True)  # two walks of every length, four pairs
    array([[4.],
           [4.]])
    """
    scores = np.zeros((steps, graphs.node_ptr.size - 1))
    room = _room(graphs, graphs)
    for g in range(scores.shape[1]):
        _one_pair(graphs, g, graphs, g, match_all, closed, room, scores[:, g])
    return scores


# Plain loops below: numba takes several times as long to compile slices that are assigned to, and products.


@njit(cache=True, nogil=True)
def _room(rows: Any, cols: Any) -> Any:
    """Memory for the matrices of the largest pair: fresh pages for each pair would cost more than the arithmetic."""
    n, m = 0, 0
    for g in range(rows.node_ptr.size - 1):
        n = max(n, rows.node_ptr[g + 1] - rows.node_ptr[g])
    for h in range(cols.node_ptr.size - 1):
        m = max(m, cols.node_ptr[h + 1] - cols.node_ptr[h])
    return np.empty(4 * n * m)


@njit(cache=True, nogil=True)
def _one_pair(rows: Any, g: int, cols: Any, h: int, match_all: bool, closed: bool, room: Any, scores: Any) -> None:
    n, m = rows.node_ptr[g + 1] - rows.node_ptr[g], cols.node_ptr[h + 1] - cols.node_ptr[h]
    shaped = room[: 4 * n * m].reshape(4, n, m)
    y0, y, moved, reached = shaped[0], shaped[1], shaped[2], shaped[3]
    _compare(rows.x, rows.node_ptr[g], cols.xt, cols.node_ptr[h], y0)
    if not closed:
        _copy(y0, y)
        for step in range(scores.size):
            _propagate(rows, g, cols, h, y, moved, reached)
            scores[step] = _match(y0, reached, match_all, y)
        return
    for u in range(n):
        for v in range(m):
            if y0[u, v] != 0.0:
                _clear(y)
                y[u, v] = y0[u, v]
                for step in range(scores.size):
                    _propagate(rows, g, cols, h, y, moved, reached)
                    scores[step] += y0[u, v] * reached[u, v]
                    _match(y0, reached, match_all, y)


@njit(cache=True, nogil=True)
def _clear(y: Any) -> None:
    for u in range(y.shape[0]):
        for v in range(y.shape[1]):
            y[u, v] = 0.0


@njit(cache=True, nogil=True)
def _copy(y: Any, into: Any) -> None:
    for u in range(y.shape[0]):
        for v in range(y.shape[1]):
            into[u, v] = y[u, v]


@njit(cache=True, nogil=True)
def _compare(x: Any, top: int, zt: Any, left: int, y0: Any) -> None:
    """Similarities of the colors of all pairs of nodes; most entries of one-hot rows are zero."""
    _clear(y0)
    for u in range(y0.shape[0]):
        for d in range(x.shape[1]):
            value = x[top + u, d]
            if value != 0.0:
                for v in range(y0.shape[1]):
                    y0[u, v] += value * zt[d, left + v]


@njit(cache=True, nogil=True)
def _propagate(rows: Any, g: int, cols: Any, h: int, y: Any, moved: Any, reached: Any) -> None:
    """Line 4, A_G Y A_H^T, in two sparse products per channel: first the walker on H, then the one on G."""
    top, left = rows.node_ptr[g], cols.node_ptr[h]
    _clear(reached)
    for c in range(rows.value.shape[1]):
        _clear(moved)
        for u in range(y.shape[0]):
            for f in range(cols.edge_ptr[h], cols.edge_ptr[h + 1]):
                moved[u, cols.source[f] - left] += cols.value[f, c] * y[u, cols.target[f] - left]
        for e in range(rows.edge_ptr[g], rows.edge_ptr[g + 1]):
            weight, u, w = rows.value[e, c], rows.source[e] - top, rows.target[e] - top
            for v in range(y.shape[1]):
                reached[u, v] += weight * moved[w, v]


@njit(cache=True, nogil=True)
def _match(y0: Any, reached: Any, match_all: bool, y: Any) -> float:
    """Return the sum of the matched walks; leave in ``y`` what takes the next step."""
    total = 0.0
    for u in range(y.shape[0]):
        for v in range(y.shape[1]):
            matched = y0[u, v] * reached[u, v]  # line 5
            total += matched
            y[u, v] = y0[u, v] * matched if match_all else reached[u, v]  # line 6
    return total


@njit(cache=True, nogil=True)
def hash_step(
    walks: Any, source: Any, target: Any, edge_label: Any, label: Any, of_edge: Any, of_label: Any, primes: Any
) -> Any:
    r"""Hashes of walks that are one edge longer: ``c(l_v) * sum of e(l_vu) * walks[u] mod p``, ``(N, 2)``.

    ``walks`` are hashes by first node ``(N, 2)``, each below its prime. Coefficients ``of_edge`` and ``of_label`` have
    a row for each label, and a last one for -1. Primes are below :math:`2^{31}`, so that products fit into 63 bits and
    sums of 2^32 terms as well.
    """
    total = np.zeros_like(walks)
    for k in range(source.size):
        for h in range(2):
            total[source[k], h] += walks[target[k], h] * of_edge[edge_label[k], h] % primes[h]
    for v in range(label.size):
        for h in range(2):
            total[v, h] = of_label[label[v], h] * (total[v, h] % primes[h]) % primes[h]
    return total


@njit(cache=True, nogil=True)
def hash_graphs(node_ptr: Any, edge_ptr: Any, source: Any, target: Any, node_code: Any, edge_code: Any) -> Any:
    """A number for each graph ``(B,)``: the order of its nodes matters, that of its edges does not.

    Graphs are side by side as in :class:`PackedGraphs`; codes describe each node ``(N,)`` and each edge ``(E,)``.

    >>> ptr, ends = np.array([0, 2]), np.array([0, 1])
    >>> codes = np.array([7, 8], np.uint64)
    >>> one, other = (hash_graphs(ptr, ptr, ends, ends[::-1], c, codes * 0) for c in (codes, codes[::-1].copy()))
    >>> bool(one[0] == other[0])
    False
    """
    found = np.zeros(node_ptr.size - 1, np.uint64)
    for g in range(found.size):
        first, nodes, edges = node_ptr[g], np.uint64(0), np.uint64(0)
        for v in range(first, node_ptr[g + 1]):
            nodes += mix(mix(node_code[v] + STEP) + np.uint64(v - first))
        for e in range(edge_ptr[g], edge_ptr[g + 1]):
            ends = np.uint64(source[e] - first) << np.uint64(32) | np.uint64(target[e] - first)
            edges += mix(mix(ends + STEP) + edge_code[e])
        found[g] = mix(nodes + mix(edges + STEP))
    return found

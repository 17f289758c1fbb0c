"""Compiled loops of RWK+Conv. Each goes once over the rows, on one thread or in blocks on several."""

# ruff: noqa: ANN401, C901 -- numba infers the types of compiled loops

from collections.abc import Callable
from threading import Lock
from typing import Any

import numba
import numpy as np
import torch
from numba import njit, prange

# Multiplications worth another thread: about a millisecond.
WORK_OF_A_THREAD = 4_000_000
_one_at_a_time = Lock()  # numba's fallback without OpenMP does not like launches from two threads


def over_rows(loop: Callable[..., None], num_rows: int, work: int, *arguments: Any) -> None:
    """Run a loop of this module over all rows, on as many of torch's threads as its multiplications are worth."""
    threads = min(torch.get_num_threads(), 1 + work // WORK_OF_A_THREAD, numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    if threads == 1:
        loop(0, num_rows, *arguments)
        return
    bounds = np.linspace(0, num_rows, 8 * threads + 1).astype(np.int64)  # finer than threads: rows differ in length
    before = numba.get_num_threads()
    with _one_at_a_time:
        numba.set_num_threads(threads)
        IN_BLOCKS[loop](bounds, *arguments)
        numba.set_num_threads(before)


@njit(cache=True, nogil=True)
def match_step(
    begin: int,
    end: int,
    ptr: Any,
    col: Any,
    value: Any,
    moved: Any,
    bias: Any,
    y0: Any,
    walkers: Any,
    out: Any,
    slot: int,
    walk: bool,
    write: bool,
    add: bool,
) -> None:
    """One step: sparse product with ``moved``, bias, and the color products of lines 5 and 6."""
    m = y0.shape[1]
    row = np.empty(m, moved.dtype)
    for r in range(begin, end):
        for k in range(m):
            row[k] = bias[k]
        _gather(row, ptr, col, value, moved, r)
        for k in range(m):
            row[k] *= y0[r, k]  # line 5
        if walk:
            for k in range(m):
                walkers[r, k] = y0[r, k] * row[k]  # line 6
        if add:
            for k in range(m):
                out[r, slot, k] += row[k]
        elif write:
            for k in range(m):
                out[r, slot, k] = row[k]


@njit(cache=True, nogil=True)
def sparse_product(begin: int, end: int, ptr: Any, col: Any, value: Any, dense: Any, product: Any) -> None:
    """Rows of a sparse product."""
    for r in range(begin, end):
        row = product[r]
        for k in range(row.size):
            row[k] = 0
        _gather(row, ptr, col, value, dense, r)


@njit(cache=True, nogil=True)
def first_backward(begin: int, end: int, grad: Any, out: Any, y0: Any, d: Any, total: Any) -> None:
    """Begin with the last step: gradients of its walks in ``d``, what the output gives to the colors in ``total``."""
    slots, m = grad.shape[1], grad.shape[2]
    for r in range(begin, end):
        for k in range(m):
            d[r, k] = y0[r, k] * grad[r, slots - 1, k]
            total[r, k] = grad[r, 0, k] * out[r, 0, k]
        for slot in range(1, slots):
            for k in range(m):
                total[r, k] += grad[r, slot, k] * out[r, slot, k]


@njit(cache=True, nogil=True)
def step_backward(
    begin: int, end: int, grad: Any, y0: Any, walkers: Any, d: Any, total: Any, slot: int, read: bool
) -> None:
    """Turn the gradient ``d`` of the walkers into that of the walks they came from, in place."""
    m = y0.shape[1]
    for r in range(begin, end):
        for k in range(m):
            total[r, k] += (d[r, k] + d[r, k]) * walkers[r, k]  # walkers are y0 * y0 * walks, hence twice
            d[r, k] *= y0[r, k] * y0[r, k]
        if read:
            for k in range(m):
                d[r, k] += y0[r, k] * grad[r, slot, k]


@njit(cache=True, nogil=True)
def last_backward(begin: int, end: int, y0: Any, d: Any, total: Any) -> None:
    """End before the first step, whose walkers are the colors, and go through the sigmoid, in place."""
    m = y0.shape[1]
    for r in range(begin, end):
        for k in range(m):
            total[r, k] += d[r, k] * y0[r, k]
            total[r, k] -= total[r, k] * y0[r, k]


@njit(cache=True, nogil=True, inline="always")
def _gather(row: Any, ptr: Any, col: Any, value: Any, dense: Any, r: int) -> None:
    e, end = ptr[r], ptr[r + 1]
    # Four rows at once: on graphs larger than the cache the loop waits for memory, and should wait for all together.
    while e + 4 <= end:
        a, b, c, d = col[e], col[e + 1], col[e + 2], col[e + 3]
        u, v, w, z = value[e], value[e + 1], value[e + 2], value[e + 3]
        for k in range(row.size):
            row[k] += (u * dense[a, k] + v * dense[b, k]) + (w * dense[c, k] + z * dense[d, k])
        e += 4
    while e < end:
        a, u = col[e], value[e]
        for k in range(row.size):
            row[k] += u * dense[a, k]
        e += 1


@njit(cache=True, nogil=True, parallel=True)
def _match_step_in_blocks(bounds: Any, *arguments: Any) -> None:
    for i in prange(bounds.size - 1):
        match_step(bounds[i], bounds[i + 1], *arguments)


@njit(cache=True, nogil=True, parallel=True)
def _sparse_product_in_blocks(bounds: Any, *arguments: Any) -> None:
    for i in prange(bounds.size - 1):
        sparse_product(bounds[i], bounds[i + 1], *arguments)


@njit(cache=True, nogil=True, parallel=True)
def _first_backward_in_blocks(bounds: Any, *arguments: Any) -> None:
    for i in prange(bounds.size - 1):
        first_backward(bounds[i], bounds[i + 1], *arguments)


@njit(cache=True, nogil=True, parallel=True)
def _step_backward_in_blocks(bounds: Any, *arguments: Any) -> None:
    for i in prange(bounds.size - 1):
        step_backward(bounds[i], bounds[i + 1], *arguments)


@njit(cache=True, nogil=True, parallel=True)
def _last_backward_in_blocks(bounds: Any, *arguments: Any) -> None:
    for i in prange(bounds.size - 1):
        last_backward(bounds[i], bounds[i + 1], *arguments)


@njit(cache=True, nogil=True)
def counting_sort(row: Any, col: Any, value: Any, ptr: Any, by_row: Any, ordered: Any) -> None:
    """Sort the entries of a sparse matrix by row."""
    ptr[:] = 0
    for r in row:
        ptr[r + 1] += 1
    for r in range(1, ptr.size):
        ptr[r] += ptr[r - 1]
    free = ptr[:-1].copy()
    for e in range(row.size):
        place = free[row[e]]
        free[row[e]] += 1
        by_row[place] = col[e]
        ordered[place] = value[e]


# Written out: numba cannot cache functions made by functions. A pool of Python's threads in their place took 1.2 x the
# time of a layer on 40,000 nodes and two cores.
IN_BLOCKS = {
    match_step: _match_step_in_blocks,
    sparse_product: _sparse_product_in_blocks,
    first_backward: _first_backward_in_blocks,
    step_backward: _step_backward_in_blocks,
    last_backward: _last_backward_in_blocks,
}

"""Undirected graphs by rows from edges that come in chunks, so that they never are in memory together."""

# ruff: noqa: ANN401 -- numba infers the types of compiled loops

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]
Edges = tuple[Array, Array]
New = Callable[[str, tuple[int, ...], Any], Array]


def index_type(num_nodes: int) -> type[np.int32] | type[np.int64]:
    """The smallest type that numbers so many nodes."""
    return np.int32 if num_nodes <= np.iinfo(np.int32).max else np.int64


def undirected_csr(chunks: Callable[[], Iterable[Edges]], num_nodes: int, new: New) -> Edges:
    """Both directions of all edges by rows, ascending, each once and without self-loops.

    Args:
        chunks: Gives sources and targets, ``(E,)`` each, chunk by chunk; asked twice, with the same answer.
        num_nodes: Number of nodes N.
        new: Makes an array of zeros from name, shape and type, perhaps on disk: ``indptr``, ``indices`` and
            ``repeated``, which may be thrown away.

    Returns:
        ``indptr (N + 1,)`` and ``indices (E,)``.

    Example:
        >>> edges = np.array([0, 1, 1]), np.array([1, 0, 2])
        >>> undirected_csr(lambda: [edges], 3, lambda name, shape, dtype: np.zeros(shape, dtype))
        (array([0, 1, 3, 4]), array([1, 0, 2, 1], dtype=int32))
    """
    counts = np.zeros(num_nodes, np.int64)
    for source, target in chunks():
        _count(source, target, counts)
    ends = np.cumsum(counts)
    repeated = new("repeated", (int(counts.sum()),), index_type(num_nodes))
    free = ends - counts
    for source, target in chunks():
        _fill(source, target, free, repeated)
    indptr = new("indptr", (num_nodes + 1,), np.int64)
    _unique(ends - counts, ends, repeated, indptr)
    indices = new("indices", (int(indptr[-1]),), repeated.dtype)
    _pack(ends - counts, repeated, indptr, indices)
    return indptr, indices


@njit(cache=True, nogil=True)
def _count(source: Any, target: Any, counts: Any) -> None:
    for u, v in zip(source, target):  # noqa: B905 -- numba knows no strict
        if u != v:
            counts[u] += 1
            counts[v] += 1


@njit(cache=True, nogil=True)
def _fill(source: Any, target: Any, free: Any, indices: Any) -> None:
    for u, v in zip(source, target):  # noqa: B905
        if u != v:
            indices[free[u]] = v
            indices[free[v]] = u
            free[u] += 1
            free[v] += 1


@njit(cache=True, nogil=True)
def _unique(begins: Any, ends: Any, indices: Any, indptr: Any) -> None:
    """Sort every row in place, distinct numbers first, and add up how many they are."""
    for v in range(begins.size):
        row = np.sort(indices[begins[v] : ends[v]])
        place = begins[v]
        for k in range(row.size):
            if k == 0 or row[k] != row[k - 1]:
                indices[place] = row[k]
                place += 1
        indptr[v + 1] = indptr[v] + place - begins[v]


@njit(cache=True, nogil=True)
def _pack(begins: Any, repeated: Any, indptr: Any, indices: Any) -> None:
    for v in range(begins.size):
        for k in range(indptr[v + 1] - indptr[v]):
            indices[indptr[v] + k] = repeated[begins[v] + k]

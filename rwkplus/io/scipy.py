"""Adjacency matrices of SciPy: every entry that is not zero is an edge."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rwkplus.errors import GraphError
from rwkplus.io.sources import ReadOptions
from rwkplus.table import Column, GraphTable, Numbers
from rwkplus.table.columns import pointers

ACCEPTED = ("ignore", "weight", "directed")


def from_scipy(adjacencies: Sequence[Any], options: ReadOptions = ReadOptions()) -> GraphTable:
    """Read square matrices; graphs are undirected if all of them are symmetric and ``directed`` is not chosen.

    Entries other than 1 are the edge column ``weight``: an attribute, or with ``weight="weight"`` the weight of walks.

    Example:
        >>> from_scipy([sparse.csr_array([[0, 2], [2, 0]])])
        GraphTable: 1 undirected graph, 2 nodes, 1 edge
          edges  weight: numbers, all 2
    """
    options.check("adjacency matrices", ACCEPTED)
    matrices = [_checked(i, adjacency) for i, adjacency in enumerate(adjacencies)]
    directed = options.directed or not all(map(_symmetric, matrices))
    ends = [_edges(matrix, directed=directed) for matrix in matrices]
    values = np.concatenate([own for _, _, own in ends])
    edges: dict[str, Column] = {"weight": Numbers(values)} if options.weight or (values != 1).any() else {}
    table = GraphTable(
        pointers([matrix.shape[0] for matrix in matrices]),
        pointers([own.size for _, _, own in ends]),
        np.concatenate([source for source, _, _ in ends]),
        np.concatenate([target for _, target, _ in ends]),
        {},
        {},
        edges,
        directed,
    )
    return options.mark_columns(table).without(options.ignore)


def _checked(i: int, adjacency: Any) -> Any:  # noqa: ANN401
    """A matrix with sorted entries, repeated ones added up and zeros left out, as SciPy counts with them."""
    if not sparse.issparse(adjacency):
        raise GraphError(f"graph {i} is a {type(adjacency).__name__}, graph 0 a sparse matrix: give all in one form.")
    if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise GraphError(f"graph {i}: an adjacency matrix is square, this one has the shape {adjacency.shape}.")
    if adjacency.dtype.kind not in "biuf":
        raise GraphError(f"graph {i}: an adjacency matrix holds numbers, this one {adjacency.dtype}.")
    matrix = adjacency.tocsr(copy=True)
    if matrix.dtype.kind == "f" and not np.isfinite(matrix.data).all():
        raise GraphError(f"graph {i}: the adjacency matrix holds nan or inf. Replace or remove such entries.")
    matrix = matrix.astype(np.float64 if matrix.dtype.kind == "f" else np.int64)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _symmetric(matrix: Any) -> bool:  # noqa: ANN401
    turned = matrix.T.tocsr()
    return all(np.array_equal(getattr(matrix, name), getattr(turned, name)) for name in ("indptr", "indices", "data"))


def _edges(matrix: Any, *, directed: bool) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:  # noqa: ANN401
    """Both ends and the entry of every edge; of undirected ones, those of the upper triangle."""
    source = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    target, values = matrix.indices.astype(np.int64), matrix.data
    kept = slice(None) if directed else source <= target
    return source[kept], target[kept], values[kept]

"""Sparse matrices by rows, sorted in linear time."""

from typing import Any, NamedTuple

import torch
from numba import njit
from torch import Tensor

from rwkplus.errors import GraphError


class CSR(NamedTuple):
    """A sparse matrix; row ``r`` has the entries ``ptr[r]:ptr[r + 1]``."""

    ptr: Tensor  # (R + 1,)
    col: Tensor  # (E,)
    value: Tensor  # (E,)


def check_ends(ends: Tensor, num_nodes: int) -> None:
    """Refuse edges to nodes that are not there."""
    lowest, highest = (int(bound) for bound in ends.aminmax()) if ends.numel() else (0, -1)
    if lowest < 0 or highest >= num_nodes:
        raise GraphError(
            f"edge_index names nodes from {lowest} to {highest} but there are {num_nodes} nodes, counted from 0."
        )


def to_csr(row: Tensor, col: Tensor, value: Tensor, num_rows: int, num_cols: int) -> CSR:
    """Sort the entries of a sparse matrix by row, on the CPU. Order within rows and repeated entries stay."""
    return CSR(*_to_csr(row, col, value, num_rows, num_cols))


def transpose(matrix: CSR, num_cols: int) -> CSR:
    """Return the transposed matrix, which has ``num_cols`` rows."""
    num_rows = matrix.ptr.numel() - 1
    row = torch.arange(num_rows, device="cpu").repeat_interleave(matrix.ptr.diff(), output_size=matrix.col.numel())
    return to_csr(matrix.col, row, matrix.value, num_cols, num_rows)


@torch.library.custom_op("rwkplus::to_csr", mutates_args=(), device_types="cpu")
def _to_csr(row: Tensor, col: Tensor, value: Tensor, num_rows: int, num_cols: int) -> tuple[Tensor, Tensor, Tensor]:
    # Compiled loops do not look where they read: here is the last place to notice.
    check_ends(row, num_rows)
    check_ends(col, num_cols)
    ptr, by_row, ordered = row.new_empty(num_rows + 1), torch.empty_like(col), torch.empty_like(value)
    _counting_sort(*(part.numpy() for part in (row, col, value, ptr, by_row, ordered)))
    return ptr, by_row, ordered


@_to_csr.register_fake
def _(row: Tensor, col: Tensor, value: Tensor, num_rows: int, num_cols: int) -> tuple[Tensor, Tensor, Tensor]:
    return row.new_empty(num_rows + 1), torch.empty_like(col), torch.empty_like(value)


@njit(cache=True, nogil=True)
def _counting_sort(row: Any, col: Any, value: Any, ptr: Any, by_row: Any, ordered: Any) -> None:
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

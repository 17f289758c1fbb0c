"""Gram matrices of sparse feature vectors, and cosine normalization."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rwkplus.errors import NumericError

Floats = NDArray[np.float64]
DENSE_SHARE = 0.03
"""Columns with a larger share of nonzeros go through BLAS, the others through scipy's sparse product."""


def feature_gram(rows: sparse.csr_matrix, cols: sparse.csr_matrix) -> Floats:
    """Inner products of all pairs of sparse rows: ``(B, K)``.

    A few label sequences occur almost everywhere and most occur almost nowhere: the first make a
    dense block for BLAS, the rest one sparse product.
    """
    share = cols.getnnz(axis=0) / max(cols.shape[0], 1)
    frequent = np.flatnonzero(share > DENSE_SHARE)
    dense_cols = cols[:, frequent].toarray()
    dense_rows = dense_cols if rows is cols else rows[:, frequent].toarray()
    with np.errstate(over="ignore", invalid="ignore"):  # finite() speaks up
        gram = dense_rows @ dense_cols.T
    rare = np.flatnonzero((share <= DENSE_SHARE) & (share > 0))
    if rare.size:
        sparse_cols = cols[:, rare]
        product = (sparse_cols if rows is cols else rows[:, rare]) @ sparse_cols.T
        coo = product.tocoo()
        gram[coo.row, coo.col] += coo.data
    return np.asarray(gram)


def cosine(gram: Floats, row_norms: Floats, col_norms: Floats) -> Floats:
    """Divide by the self-similarities, in place; graphs without any walk stay at zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = np.where(row_norms > 0, 1 / np.sqrt(row_norms), 0.0)
        cols = np.where(col_norms > 0, 1 / np.sqrt(col_norms), 0.0)
    gram *= rows[:, None]
    gram *= cols[None, :]
    return gram


def finite(values: Floats) -> Floats:
    """Return ``values``, or raise where walks have become too many for a float64."""
    if not np.isfinite(values).all():
        raise NumericError(
            "the kernel left the range of float64: the number of walks grows geometrically with their length. "
            "Use fewer steps, or scale features or edge weights down."
        )
    return values

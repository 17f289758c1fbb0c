"""Paired tests for scores from repeated cross-validation."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from rwkplus.errors import ParameterError


def corrected_paired_test(first: ArrayLike, second: ArrayLike, test_share: float) -> float:
    """Two-sided p-value that two methods differ, over the same folds of repeated cross-validation.

    The variance is corrected for overlapping training sets (Nadeau and Bengio 2003); a plain paired
    t-test over folds finds differences that are not there.

    Args:
        first: Scores of one method, fold by fold.
        second: Scores of the other on the same folds.
        test_share: Test graphs per training graph, 1/9 for ten folds.
    """
    a, b = np.ravel(first), np.ravel(second)
    if a.size != b.size or a.size < 2:
        raise ParameterError(
            f"a paired test needs scores of both methods on the same folds, at least two; got {a.size} and {b.size}."
        )
    difference = a - b
    variance = difference.var(ddof=1)
    if variance == 0:
        return 1.0 if difference.mean() == 0 else 0.0
    t = difference.mean() / math.sqrt((1 / difference.size + test_share) * variance)
    return float(2 * stats.t.sf(abs(t), difference.size - 1))

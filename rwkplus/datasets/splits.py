"""Seeded splits: the same folds for every method that is compared."""

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from rwkplus.errors import ParameterError, Remedy

Index = NDArray[np.int64]


def stratified_folds(y: Index, folds: int, random_state: int) -> list[tuple[Index, Index]]:
    """Seeded stratified folds, or an error that says why there cannot be any.

    Example:
        >>> train, test = stratified_folds(np.array([0, 0, 1, 1]), 2, 0)[0]
        >>> train, test
        (array([0, 3]), array([1, 2]))
    """
    classes, counts = np.unique(y, return_counts=True)
    if classes.size < 2:
        raise ParameterError("there is only one class, so there is nothing to classify.")
    _check_folds(folds)
    if counts.min() < folds:
        rare, least = classes[counts.argmin()], int(counts.min())
        remedy = "Use fewer folds." if least > 1 else "Leave the class out, or train without folds."
        raise ParameterError(f"class {rare} has {least} graph{'s' * (least > 1)}, too few for {folds} folds.", remedy)
    return list(StratifiedKFold(folds, shuffle=True, random_state=random_state).split(np.zeros(len(y)), y))


def plain_folds(num_graphs: int, folds: int, random_state: int) -> list[tuple[Index, Index]]:
    """Seeded folds for targets that are not classes.

    Example:
        >>> [test.tolist() for _, test in plain_folds(5, 2, 0)]
        [[0, 1, 2], [3, 4]]
    """
    _check_folds(folds)
    if num_graphs < folds:
        raise ParameterError(f"there are {num_graphs} graphs, too few for {folds} folds.", "Use fewer folds.")
    return list(KFold(folds, shuffle=True, random_state=random_state).split(np.zeros(num_graphs)))


def _check_folds(folds: int) -> None:
    if folds < 2:
        raise ParameterError(f"there must be at least 2 folds, got {folds}.")


def hold_out(index: Index, share: float, random_state: int, classes: Index | None = None) -> tuple[Index, Index]:
    """Split off a seeded share of ``index``, by class where every class can be on both sides.

    Args:
        index: Numbers of graphs.
        share: Part to hold out, in [0, 1); at least one graph unless it is 0.
        random_state: Seed of the draw.
        classes: Class of each graph of ``index``.

    Returns:
        What stays and what is held out, both ascending.

    Example:
        >>> hold_out(np.arange(5), 0.4, 0)
        (array([1, 3, 4]), array([0, 2]))
    """
    if share == 0:
        return index, index[:0]
    held = max(1, round(share * len(index)))
    if held >= len(index):
        raise ParameterError(
            f"holding out {share:.0%} of {len(index)} graphs leaves none to train on.",
            "Give more graphs.",
            Remedy("Or train without validation: {validation}.", validation=0),
        )
    counts = np.unique(classes, return_counts=True)[1] if classes is not None else np.zeros(0)
    possible = counts.size > 0 and counts.min() >= 2 and counts.size <= min(held, len(index) - held)
    stay, out = train_test_split(
        index, test_size=held, random_state=random_state, stratify=classes if possible else None
    )
    return np.sort(stay), np.sort(out)

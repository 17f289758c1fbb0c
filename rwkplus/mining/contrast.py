"""How the classes of a labelled database differ in a pattern's support."""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rwkplus.errors import ParameterError, RWKPlusWarning
from rwkplus.table.columns import is_missing


class ClassContrast(NamedTuple):
    """Support of a pattern in one class against all others."""

    name: str
    support: int
    """Graphs of the class that have the pattern."""
    graphs: int
    """Graphs of the class."""
    odds_ratio: float
    """Odds of having the pattern within the class over those outside; half a graph is added to every count."""
    p_value: float
    """Fisher's exact test, two-sided."""
    corrected: float
    """The same after Benjamini and Hochberg's correction for all patterns and classes."""


def classes_to_contrast(y: Sequence[object], num_graphs: int) -> Sequence[object] | None:
    """Check ``y`` before the work; None where it has no classes, as the targets of a regression have none.

    >>> classes_to_contrast(["a", "b"], 2)
    ['a', 'b']
    >>> classes_to_contrast([0.5, 1.5], 2) is None
    True
    """
    if len(y) != num_graphs:
        raise ParameterError(f"y has {len(y)} entries for {num_graphs} graphs.", "Give one for each.")
    values = np.asarray(y)
    if values.dtype.kind == "f" and (np.isfinite(values) & (values != np.round(values))).any():
        return None
    class_contrasts([], y)  # refuses what cannot be contrasted
    return y


def class_contrasts(supports: Sequence[Sequence[int]], y: Sequence[object]) -> list[tuple[ClassContrast, ...]]:
    """Compare every class with the rest, for every pattern.

    Args:
        supports: Indices of the graphs that have each pattern.
        y: Class of every graph.

    >>> ((other, toxic),) = class_contrasts([[0, 1, 2]], ["toxic"] * 4 + ["other"] * 4)
    >>> toxic.support, toxic.graphs, round(toxic.odds_ratio, 1)
    (3, 4, 21.0)
    """
    values = np.asarray(y)
    if values.ndim != 1 and values.shape[1:] != (1,):
        raise ParameterError(f"y has shape {values.shape}.", "Give one class per graph, such as y[:, 0].")
    known = np.array([not is_missing(value) for value in values.ravel().tolist()], dtype=bool)
    if not known.all():
        if supports:
            _warn_of_missing(int((~known).sum()), known.size)
        place = np.cumsum(known) - 1
        supports = [place[[i for i in graphs if known[i]]].tolist() for graphs in supports]
    names = [_name(value) for value in values.ravel()[known].tolist()]
    classes, members = np.unique(names, return_inverse=True)
    if classes.size < 2:
        raise ParameterError(f"y has only the class {names[0]!r}: there is nothing to contrast." if names else "no y.")
    sizes = np.bincount(members)
    raw = []
    for graphs in supports:
        inside = np.bincount(members[np.asarray(graphs, np.int64)], minlength=classes.size)
        raw += [
            _contrast(str(name), int(inside[k]), int(sizes[k]), int(inside.sum()), len(names))
            for k, name in enumerate(classes)
        ]
    if not raw:
        return []
    from scipy.stats import false_discovery_control  # slow to import, and few need it

    corrected = false_discovery_control([contrast.p_value for contrast in raw])
    flat = [contrast._replace(corrected=float(p)) for contrast, p in zip(raw, corrected, strict=True)]
    return [tuple(flat[i : i + classes.size]) for i in range(0, len(flat), classes.size)]


def _warn_of_missing(missing: int, graphs: int) -> None:
    warnings.warn(
        RWKPlusWarning(f"{missing} of {graphs} graphs have no class in y: the contrast leaves them out."), stacklevel=5
    )


def _name(value: object) -> str:
    """A class as people write it: classes that are whole numbers among missing ones have become floats."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _contrast(name: str, support: int, size: int, support_of_all: int, num_graphs: int) -> ClassContrast:
    from scipy.stats import fisher_exact

    outside = support_of_all - support
    table = np.array([[support, size - support], [outside, num_graphs - size - outside]])
    (a, b), (c, d) = table + 0.5
    return ClassContrast(name, support, size, float(a * d / (b * c)), float(fisher_exact(table).pvalue), 1.0)

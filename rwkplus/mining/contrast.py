"""How the classes of a labelled database differ in a pattern's support, or its targets in their mean."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import ParameterError, RWKPlusWarning
from rwkplus.loops.embeddings import Ints
from rwkplus.table.columns import is_missing


class ClassContrast(NamedTuple):
    """Support of a pattern in one class against all others.

    >>> class_contrasts([[0, 1]], Targets.of(["toxic", "toxic", "other"], 3))[0][1].support
    2
    """

    name: str
    support: int
    """Graphs of the class that have the pattern."""
    graphs: int
    """Graphs of the class."""
    odds_ratio: float
    """Odds of having the pattern within the class over those outside; half a graph is added to every count."""
    p_value: float
    """Fisher's exact test, two-sided."""
    corrected: float | None
    """The same after a correction: Benjamini and Hochberg's for all patterns and classes or, where ``y`` guided the
    search, the share of searches on permuted classes, in as many parts of the graphs as were searched until then, that
    would find a pattern as telling. None without controls: a correction for these patterns alone would hide how many
    were looked at to choose them."""


class MeanDifference(NamedTuple):
    """Mean target of the graphs that have a pattern, and of the others.

    >>> mean_differences([[0, 1, 2]], Targets.of([1.5, 2.5, 3.5], 3))[0].without is None
    True
    """

    with_pattern: float | None
    without: float | None
    p_value: float
    """Welch's t-test, two-sided."""
    corrected: float | None
    """As for classes."""


@dataclass(frozen=True)
class Targets:
    """What is known of the graphs: classes by number, or real targets; some may be missing."""

    values: NDArray[Any]  # (B,): number of the class, -1 for none; or a real target, nan for none
    classes: tuple[str, ...]  # empty for real targets

    @classmethod
    def of(cls, y: Sequence[object] | NDArray[Any], num_graphs: int) -> "Targets":
        """Check and read ``y`` before the work; numbers of which some are not whole are real targets.

        >>> Targets.of(["a", "b", None], 3).values
        array([ 0,  1, -1])
        >>> Targets.of([0.5, 1.5], 2).classes
        ()
        """
        if len(y) != num_graphs:
            raise ParameterError(f"y has {len(y)} entries for {num_graphs} graphs.", "Give one for each.")
        given = np.asarray(y)
        if given.ndim != 1 and given.shape[1:] != (1,):
            raise ParameterError(f"y has shape {given.shape}.", "Give one class per graph, such as y[:, 0].")
        listed = given.ravel().tolist()
        known = np.array([not is_missing(value) for value in listed], dtype=bool)
        numbers = [value for value, there in zip(listed, known, strict=True) if there and isinstance(value, float)]
        if len(numbers) == known.sum() and any(not value.is_integer() for value in numbers if np.isfinite(value)):
            real = np.array([float(value) if there else np.nan for value, there in zip(listed, known, strict=True)])
            if not np.isfinite(real[known]).all():
                raise ParameterError("y contains infinite numbers.", "Remove or impute these targets first.")
            if known.any() and np.ptp(real[known]) == 0:
                raise ParameterError(f"all targets are {real[known][0]:g}: there is nothing to contrast.")
            return cls(real, ())
        names = [_name(value) for value, there in zip(listed, known, strict=True) if there]
        classes, members = np.unique(names, return_inverse=True)
        if classes.size < 2:
            found = f"y has only the class {names[0]!r}" if names else "all targets are missing"
            raise ParameterError(f"{found}: there is nothing to contrast.")
        codes = np.full(num_graphs, -1)
        codes[known] = members
        return cls(codes, tuple(map(str, classes)))

    @classmethod
    def told(cls, y: Sequence[object] | NDArray[Any], num_graphs: int) -> "Targets | None":
        """Like :meth:`of`, for patterns that ``y`` does not guide: None for several real targets a graph.

        >>> Targets.told([[0.5, 1.0], [2.0, 3.0]], 2) is None
        True
        """
        given = np.asarray(y)
        several = given.ndim == 2 and given.shape[1] > 1 and given.dtype.kind == "f"
        if several and len(y) == num_graphs and (np.isfinite(given) & (given != np.round(given))).any():
            return None
        return cls.of(y, num_graphs)

    @property
    def known(self) -> Ints:
        """Numbers of the graphs that have a target.

        >>> Targets.of(["a", None, "b"], 3).known
        array([0, 2])
        """
        return np.flatnonzero(self.values >= 0 if self.classes else np.isfinite(self.values))

    def warn_of_missing(self) -> None:
        """Tell how many graphs are left out."""
        missing = self.values.size - self.known.size
        if missing:
            what = "class" if self.classes else "target"
            warnings.warn(
                RWKPlusWarning(
                    f"{missing} of {self.values.size} graphs have no {what} in y: they are left out of the contrast."
                ),
                stacklevel=4,
            )


def class_contrasts(
    supports: Sequence[Sequence[int]], targets: Targets, corrected: Callable[[int], float | None] | None = None
) -> list[tuple[ClassContrast, ...]]:
    """Compare every class with the rest, for every pattern.

    Args:
        supports: Indices of the graphs that have each pattern.
        targets: Class of every graph.
        corrected: Gives the corrected p-value of the pattern with a number, where it is known otherwise.

    >>> targets = Targets.of(["toxic"] * 4 + ["other"] * 4, 8)
    >>> ((other, toxic),) = class_contrasts([[0, 1, 2]], targets)
    >>> toxic.support, toxic.graphs, round(toxic.odds_ratio, 1)
    (3, 4, 21.0)
    """
    if not supports:
        return []
    members = targets.values[targets.known]
    sizes = np.bincount(members, minlength=len(targets.classes))
    raw = []
    for graphs in supports:
        has = targets.values[np.asarray(graphs, np.int64)]
        inside = np.bincount(has[has >= 0], minlength=sizes.size)
        raw += [
            _contrast(name, int(inside[k]), int(sizes[k]), int(inside.sum()), members.size)
            for k, name in enumerate(targets.classes)
        ]
    p_values = [contrast.p_value for contrast in raw]
    q = _discovery_rates(p_values) if corrected is None else [corrected(k // sizes.size) for k in range(len(raw))]
    flat = [contrast._replace(corrected=p) for contrast, p in zip(raw, q, strict=True)]
    return [tuple(flat[i : i + sizes.size]) for i in range(0, len(flat), sizes.size)]


def mean_differences(
    supports: Sequence[Sequence[int]], targets: Targets, corrected: Callable[[int], float | None] | None = None
) -> list[MeanDifference]:
    """Compare the mean target of the graphs that have each pattern with that of the others; None where there are none.

    >>> (difference,) = mean_differences([[0, 1]], Targets.of([5.5, 6.5, 1.0, 2.0], 4))
    >>> difference.with_pattern, difference.without
    (6.0, 1.5)
    """
    from scipy.stats import ttest_ind  # slow to import, and few need it

    if not supports:
        return []
    raw = []
    for graphs in supports:
        has = np.zeros(targets.values.size, bool)
        has[np.asarray(graphs, np.int64)] = True
        inside, outside = (targets.values[targets.known][part[targets.known]] for part in (has, ~has))
        enough = min(inside.size, outside.size) > 1
        p_value = float(ttest_ind(inside, outside, equal_var=False).pvalue) if enough else 1.0
        mean, without = (float(part.mean()) if part.size else None for part in (inside, outside))
        raw.append(MeanDifference(mean, without, p_value if np.isfinite(p_value) else 1.0, 1.0))
    rates = _discovery_rates([part.p_value for part in raw]) if corrected is None else map(corrected, range(len(raw)))
    return [part._replace(corrected=p) for part, p in zip(raw, rates, strict=True)]


def _discovery_rates(p_values: Sequence[float]) -> list[float | None]:
    from scipy.stats import false_discovery_control

    rates: list[float | None] = false_discovery_control(p_values).tolist()
    return rates


def _name(value: object) -> str:
    """A class as people write it: classes that are whole numbers among missing ones have become floats."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _contrast(name: str, support: int, size: int, support_of_all: int, num_graphs: int) -> ClassContrast:
    from scipy.stats import fisher_exact

    outside = support_of_all - support
    table = np.array([[support, size - support], [outside, num_graphs - size - outside]])
    (a, b), (c, d) = table + 0.5
    return ClassContrast(name, support, size, float(a * d / (b * c)), float(fisher_exact(table).pvalue), 1.0)

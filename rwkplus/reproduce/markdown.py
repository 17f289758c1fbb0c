"""Tables and values in Markdown."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np


def table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """A header, a rule and rows of as many cells."""
    names = list(head)
    lines: list[Iterable[object]] = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def rows_table(rows: Sequence[dict[str, Any]]) -> str:
    """Rows of plain values under the names that any row has."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return table(names, ([number(row.get(name, "")) for name in names] for row in rows))


def number(value: object) -> str:
    """A number, or several, as people read them."""
    if isinstance(value, list):
        return ", ".join(map(number, value))
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def mean_and_deviation(values: Sequence[float], digits: int = 1) -> str:
    """Mean ± standard deviation; a single value has none, and nothing neither.

    >>> mean_and_deviation([1, 2]), mean_and_deviation([1]), mean_and_deviation([])
    ('1.5 ± 0.5', '1.0', '')
    """
    if not len(values):
        return ""
    return f"{np.mean(values):.{digits}f}" + (f" ± {np.std(values):.{digits}f}" if len(values) > 1 else "")


def mostly(values: Mapping[str, object]) -> str:
    """The most frequent value, and the names that have another.

    >>> mostly({"MUTAG": 5, "ENZYMES": 5, "NCI1": 3})
    '5 (NCI1: 3)'
    """
    usual = Counter(values.values()).most_common(1)[0][0]
    others = ", ".join(f"{name}: {value}" for name, value in values.items() if value != usual)
    return f"{usual} ({others})" if others else str(usual)

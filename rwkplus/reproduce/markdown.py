"""Tables in Markdown."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """A header, a rule and rows of as many cells."""
    names = list(head)
    lines: list[Iterable[object]] = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def rows_table(rows: Sequence[dict[str, Any]]) -> str:
    """Rows of plain values under the names of the first row."""
    return table(rows[0], ([number(row.get(key, "")) for key in rows[0]] for row in rows))


def number(value: object) -> str:
    """A number as people read it."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def mean_and_deviation(values: Sequence[float], digits: int = 1) -> str:
    """Mean ± standard deviation, or nothing of nothing."""
    return f"{np.mean(values):.{digits}f} ± {np.std(values):.{digits}f}" if len(values) else ""

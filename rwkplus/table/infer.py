"""Which kind of column values make: by their type, never by how many of them look alike in a batch."""

from collections.abc import Iterable, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import numpy as np

from rwkplus.errors import GraphError
from rwkplus.table.columns import Categories, Column, Numbers, Text, is_missing

Kind = Literal["label", "attribute", "text"]

IDS_FROM = 20
"""Rows from which on words are taken for ids if nearly all differ."""
NEARLY_ALL = 0.9
NUMBER = (Real, Decimal, np.number)


def column_of(name: str, values: Sequence[Any], kind: Kind | None = None, *, of: str = "nodes") -> Column:
    """Turn Python values into a column: words and truth values are labels, numbers are attributes.

    Args:
        name: Name of the column; one that is called ``label`` holds labels, whatever they are.
        values: One per row; None and nan are missing.
        kind: What the user says they are.
        of: What the rows are, for errors.
    """
    if kind == "text":
        return Text.of(None if is_missing(value) else value for value in values)
    if kind == "label" or (kind is None and name == "label"):
        return labels_of(name, values, of)
    if kind == "attribute" or {type(value) for value in values} <= {int, float}:
        return _numbers(name, values, of)
    values = [None if is_missing(value) else value for value in values]
    return _by_type(name, values, {type(value) for value in values} - {type(None)}, of)


def target_column(name: str, values: Sequence[Any]) -> Column:
    """Targets of graphs: words are classes, numbers are numbers; some may be missing."""
    named = any(isinstance(value, str) for value in values)
    return column_of(name, values, "label" if named else None, of="graphs")


def labels_of(name: str, values: Iterable[Any], of: str) -> Categories:
    """Turn values of any hashable kind into labels."""
    try:
        return Categories.of(values)
    except GraphError as error:
        raise GraphError(f"column {name!r} of the {of}: {error}") from error


def are_ids(distinct: int, present: int) -> bool:
    """Whether words are ids rather than labels: nearly every row has another one."""
    return present >= IDS_FROM and distinct >= NEARLY_ALL * present


def refuse_date(name: str, of: str) -> GraphError:
    """The error about a date, which has no unit."""
    return GraphError(
        f"column {name!r} of the {of} holds dates or times, which have no unit. Make numbers of them, such as days "
        f"since the first, or leave them out: ignore=({name!r},)."
    )


def _by_type(name: str, values: list[Any], kinds: set[type], of: str) -> Column:
    if not kinds:
        return Text.of(values)  # nothing is known of a column that is empty
    if all(issubclass(kind, str) for kind in kinds):
        distinct, present = len(set(values) - {None}), sum(value is not None for value in values)
        return Text.of(values) if are_ids(distinct, present) else Categories.of(values)
    if all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return Categories.of(None if value is None else bool(value) for value in values)
    if all(issubclass(kind, NUMBER) and not issubclass(kind, bool) for kind in kinds):
        return _numbers(name, values, of)
    if any(issubclass(kind, date | time | timedelta | np.datetime64 | np.timedelta64) for kind in kinds):
        raise refuse_date(name, of)
    if all(issubclass(kind, list | tuple | np.ndarray) or hasattr(kind, "__array__") for kind in kinds):
        return _numbers(name, values, of)
    first: dict[type, Any] = {}
    for value in values:
        first.setdefault(type(value), value)
    shown = " and ".join(_short(value) for kind, value in first.items() if kind in kinds)
    raise GraphError(
        f"column {name!r} of the {of} holds {shown}: neither labels nor numbers throughout. Name it in labels= to use "
        f"its values as labels, or leave it out: ignore=({name!r},)."
    )


def _numbers(name: str, values: Sequence[Any], of: str) -> Numbers:
    """One or several numbers per row; missing rows are nan."""
    present = next((value for value in values if not is_missing(value)), None)
    width = None if present is None or isinstance(present, NUMBER) else _length(present)
    blank = np.nan if width is None else (np.nan,) * width
    try:
        rows = [blank if is_missing(value) else _row(value, width) for value in values]
        numbers = np.array(rows, dtype=None if rows else np.float64)
        if numbers.dtype.kind in "uO":  # integers beyond 64 bits
            numbers = np.array(rows, dtype=np.float64)
    except Exception as error:  # whatever a value's own __float__ or __iter__ raises
        raise _no_numbers(name, values, width, of) from error
    if numbers.dtype.kind not in "iuf" or numbers.ndim != (1 if width is None else 2):
        raise _no_numbers(name, values, width, of)
    return Numbers(numbers.astype(np.float64 if numbers.dtype.kind == "f" else np.int64))


def _row(value: Any, width: int | None) -> Any:  # noqa: ANN401
    if isinstance(value, str | bytes | bool | np.bool_):
        raise TypeError("no number")
    if width is None:
        return value if isinstance(value, int | float) else float(value)
    row = [float(part) for part in value]
    if len(row) != width:
        raise ValueError("of another length")
    return row


def _length(value: Any) -> int | None:  # noqa: ANN401
    try:
        return None if getattr(value, "ndim", 1) == 0 else len(value)
    except TypeError:
        return None


def _no_numbers(name: str, values: Sequence[Any], width: int | None, of: str) -> GraphError:
    for value in values:
        try:
            if not is_missing(value):
                np.asarray(_row(value, width), dtype=np.float64)
        except Exception:
            break
    return GraphError(
        f"column {name!r} of the {of} must hold {width or 1} number(s) everywhere, got {_short(value)}. Name it in "
        f"labels= if its values are labels, or leave it out: ignore=({name!r},)."
    )


def _short(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # a value's own repr may fail
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."

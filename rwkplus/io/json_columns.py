"""Columns from values as JSON has them, collected part by part."""

import json
import re
from collections.abc import Hashable, Sequence
from itertools import chain
from types import NoneType
from typing import Any, Literal

import numpy as np

from rwkplus.errors import GraphError
from rwkplus.table import Categories, Column, Numbers, Text
from rwkplus.table.columns import Array
from rwkplus.table.infer import Kind, are_ids, column_of

NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{1,15})?")
"""What may be a number in its usual spelling."""
SCALARS = frozenset({str, int, float, bool})
NUMBERS = frozenset({int, float})
OTHER = "other"
Words = Literal["label", "text", "infer"]
"""What fields of words are: labels, text, or text where nearly all differ."""


def kind_of(values: Sequence[Any], *, label: bool) -> Hashable:
    """What values have in common: words, truth values, numbers, or rows of one length; None if all are missing."""
    types = set(map(type, values)) - {NoneType}
    if not types:
        return None
    if label:
        return "label" if types <= SCALARS else OTHER
    if types <= NUMBERS:
        return "number"
    if types == {list}:
        widths = {len(value) for value in values if value is not None}
        return ("rows", widths.pop()) if len(widths) == 1 else OTHER
    return {frozenset({str}): "word", frozenset({bool}): "truth"}.get(frozenset(types), OTHER)


def plain(label: Any) -> Any:  # noqa: ANN401 -- what JSON can spell
    """Make one label of 1, 1.0 and "1": what a label means must not depend on how other lines write theirs."""
    if isinstance(label, bool):
        return str(label)
    if isinstance(label, float) and label.is_integer():
        return int(label)
    if isinstance(label, str) and NUMBER.fullmatch(label):
        number = json.loads(label)
        return plain(number) if str(number) == label else label
    return label


class _Codes(dict[Any, int]):
    """Number of every value that has occurred, -1 for None."""

    def __init__(self, *, labels: bool) -> None:
        super().__init__({None: -1})
        self.labels = labels
        self.distinct: dict[Any, int] = {}

    def __missing__(self, value: Any) -> int:  # noqa: ANN401
        own = plain(value) if self.labels else value
        self[value] = self.distinct.setdefault(own, len(self.distinct))
        return self[value]


class Builder:
    """Collects the values of one column; rows that are not given are missing.

    Args:
        name: Name of the column.
        side: ``"nodes"`` or ``"edges"``.
        wanted: What the user says it is.
    """

    def __init__(self, name: str, side: str, wanted: Kind | None) -> None:
        self.name, self.side, self.wanted = name, side, wanted
        self.label = wanted == "label" or (wanted is None and name == "label")
        self.kinds: dict[Hashable, tuple[int, Any]] = {}
        """The first row of every kind, and its value; more than one is a mistake."""
        self.codes = _Codes(labels=self.label)
        self.parts: list[tuple[int, Array]] = []

    def part(self, values: Sequence[Any]) -> tuple[Hashable, Array | None]:
        """Values as an array; raises where they are of no kind that a column can have."""
        kind = kind_of(values, label=self.label)
        if kind is None:
            return kind, None
        numeric = kind == "number" or isinstance(kind, tuple)
        if self.wanted == "attribute" and not numeric:
            kind = OTHER
        if kind == OTHER:
            column = column_of(self.name, values, self.wanted, of=self.side)
            if not isinstance(column, Numbers):
                raise GraphError(f"column {self.name!r} of the {self.side} holds neither labels nor numbers.")
            return ("rows", column.width) if column.numbers.ndim > 1 else "number", column.numbers
        return kind, self._numbers(kind, values) if numeric else self._codes(values)

    def add(self, start: int, values: Sequence[Any], part: tuple[Hashable, Array | None]) -> None:
        """Take what :meth:`part` made of values; ``start`` is their first row."""
        kind, array = part
        if array is None:
            return
        if kind not in self.kinds:
            row = next(i for i, value in enumerate(values) if value is not None)
            self.kinds[kind] = start + row, values[row]
        self.parts.append((start, array))

    def column(self, rows: int, words: Words) -> Column:
        """The whole column; ``words`` says what they are where the user does not."""
        if len(self.kinds) > 1:
            raise GraphError(self.conflict())
        if not self.parts:
            return Text.of([None] * rows)
        kind = next(iter(self.kinds))
        if kind == "number" or isinstance(kind, tuple):
            return Numbers(self._filled(rows, np.nan))
        codes = self._filled(rows, -1)
        order = Categories.of(self.codes.distinct)
        codes = np.append(order.codes, -1)[codes]
        names = order.names
        column = Categories.numbered(codes, names)
        if kind == "word" and self.wanted is None and words != "label":
            present = int((codes >= 0).sum())
            return Text(column.values()) if words == "text" or are_ids(len(names), present) else column
        return column

    def conflict(self) -> str:
        """What is wrong with values of several kinds."""
        shown = " and ".join(_short(value) for _, value in self.kinds.values())
        return (
            f"column {self.name!r} of the {self.side} holds {shown}: neither labels nor numbers throughout. Name it in "
            f"labels= to use its values as labels, or leave it out: ignore=({self.name!r},)."
        )

    def _codes(self, values: Sequence[Any]) -> Array:
        if bool in set(map(type, values)):  # which are equal to 0 and 1
            values = [str(value) if isinstance(value, bool) else value for value in values]
        return np.fromiter(map(self.codes.__getitem__, values), np.int32, len(values))

    def _numbers(self, kind: Hashable, values: Sequence[Any]) -> Array:
        if isinstance(kind, tuple):
            return self._rows(values, kind[1])
        missing = None in values
        try:
            numbers = np.array([np.nan if value is None else value for value in values] if missing else values)
            if numbers.dtype.kind in "if":
                return numbers
        except OverflowError:
            pass
        wrong = next(value for value in values if isinstance(value, int) and not -(2**63) <= value < 2**63)
        raise GraphError(
            f"column {self.name!r} of the {self.side} holds {_short(wrong)}, which is too large for a whole number of "
            "64 bits: make it a string."
        )

    def _rows(self, values: Sequence[Any], width: int) -> Array:
        rows = [[np.nan] * width if value is None else value for value in values]
        try:
            if width and NUMBERS.issuperset(map(type, chain.from_iterable(rows))):
                return np.array(rows, dtype=np.float64)
        except OverflowError:
            pass
        column = column_of(self.name, values, "attribute", of=self.side)
        if not isinstance(column, Numbers) or not width:
            raise GraphError(f"column {self.name!r} of the {self.side} holds no numbers: leave it out.")
        return column.numbers

    def _filled(self, rows: int, blank: float) -> Array:
        """All parts in their places."""
        if sum(len(part) for _, part in self.parts) == rows:
            return np.concatenate([part for _, part in self.parts])
        kind = np.result_type(np.float64 if np.isnan(blank) else np.int32, *(part.dtype for _, part in self.parts))
        whole = np.full((rows, *self.parts[0][1].shape[1:]), blank, dtype=kind)
        for start, part in self.parts:
            whole[start : start + len(part)] = part
        return whole


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

"""Cells of tables by number: a code per row, and the values that the codes stand for."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rwkplus.table.columns import Array, Column, is_missing

Ints: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Coded:
    """Cells by number: a code per row, -1 where the cell is empty, and the values that the codes stand for."""

    codes: Array
    values: Sequence[Any]

    @classmethod
    def of(cls, cells: Iterable[Any]) -> "Coded":
        """Number the distinct values in the order in which they appear; None and nan are missing."""
        code: dict[Hashable, int] = defaultdict(count().__next__)
        codes = np.fromiter(map(code.__getitem__, cells), np.int32)
        return cls(codes, list(code)).without([k for k, value in enumerate(code) if is_missing(value)])

    def without(self, empty: Sequence[int]) -> "Coded":
        """Let some of the values be missing."""
        if not empty:
            return self
        number = np.ones(len(self.values) + 1, dtype=np.int32)
        number[list(empty)] = 0
        kept = number.astype(bool)
        number = np.where(kept, np.cumsum(number) - 1, -1).astype(np.int32)
        number[-1] = -1
        return Coded(number[self.codes], [value for value, stays in zip(self.values, kept, strict=False) if stays])

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which cells are empty."""
        return self.codes < 0

    def take(self, rows: Ints) -> "Coded":
        """Some of the rows."""
        return Coded(self.codes[rows], self.values)

    def cells(self) -> NDArray[np.object_]:
        """The value of every row, None where it is missing."""
        values = np.empty(len(self.values) + 1, dtype=object)
        values[:-1] = self.values
        return values[self.codes]


Cells: TypeAlias = Coded | Column | list[Any]
"""A column as a file or frame gives it; Python values where nothing else fits."""


def distinct(keys: Array) -> Ints:
    """Number equal keys alike ``(N,)``, by sorting."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    new = np.zeros(ordered.size, np.int64)
    new[1:] = ordered[1:] != ordered[:-1]
    number = np.empty(ordered.size, np.int64)
    number[order] = np.cumsum(new)
    return number

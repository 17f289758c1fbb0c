"""What is wrong with rows of tables: collected, told at once in the user's words, or left out with a warning."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import DataError, RWKPlusWarning
from rwkplus.io.options import OnError

Side = Literal["graphs", "nodes", "edges"]
SHOWN = 5
"""Mistakes that a message spells out."""


class Places(NamedTuple):
    """How the user finds the rows of a table."""

    table: str
    """What the table is called: ``edges.csv``."""
    unit: str
    """What a row is called: ``line``."""
    of: Callable[[int], tuple[int, str]]
    """Where a row stands, to sort by and in words: ``(4, "line 4")``."""


@dataclass
class _Found:
    """Mistakes of one table."""

    rows: set[int] = field(default_factory=set)
    shown: list[tuple[int, str]] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    unread: int = 0

    @property
    def count(self) -> int:
        return len(self.rows) + self.unread

    def text(self, places: Places) -> str:
        """All of it in a sentence or two."""
        hints = "".join(f" {hint}" for hint in self.hints)
        shown = [said for _, said in sorted(self.shown)[:SHOWN]]
        if self.count <= 1:
            return f"{places.table}, {shown[0]}.{hints}"
        more = self.count - len(shown)
        listed = "; ".join(shown) + (f"; and {more:,} more" if more > 0 else "")
        return f"{places.table}: {self.count:,} {places.unit}s cannot be read: {listed}.{hints}"


class Mistakes:
    """Collects what is wrong with the rows of a user's tables."""

    def __init__(self, places: Mapping[Side, Places], on_error: OnError = "raise") -> None:
        self.places = places
        self.on_error = on_error
        self._new: dict[Side, _Found] = {}
        self._sentences: list[str] = []
        self._left_out: list[str] = []

    def table(self, side: Side) -> str:
        """What a table is called."""
        return self.places[side].table

    def place(self, side: Side, row: int) -> str:
        """Where a row stands."""
        return self.places[side].of(int(row))[1]

    def add(
        self,
        side: Side,
        rows: NDArray[np.int64] | list[int],
        message: str | Callable[[int], str],
        hint: str | None = None,
    ) -> None:
        """Note the same mistake of some rows.

        Args:
            side: Which table.
            rows: Numbers of its rows, ascending.
            message: What is wrong with all of them, or with the i-th one.
            hint: What to do about all of them.
        """
        if len(rows) == 0:
            return
        found = self._new.setdefault(side, _Found())
        found.rows.update(map(int, rows))
        for i, row in enumerate(rows[:SHOWN]):
            order, words = self.places[side].of(int(row))
            said = message if isinstance(message, str) else message(i)
            found.shown.append((order, f"{words}: {said}"))
        _add_hint(found, hint)

    def add_unread(self, side: Side, count: int, shown: list[tuple[int, str]]) -> None:
        """Note parts of a file that did not even become rows."""
        if count:
            found = self._new.setdefault(side, _Found())
            found.unread += count
            found.shown += [(line, f"{self.places[side].unit} {line}: {said}") for line, said in shown]

    def lacks(self, sentence: str) -> None:
        """Note something that is missing as a whole."""
        self._sentences.append(f"{sentence}.")

    def settle(self) -> dict[Side, NDArray[np.int64]]:
        """Raise an error about all mistakes so far; or, if they are to be skipped, the rows to leave out."""
        found, self._new = self._new, {}
        texts = [own.text(self.places[side]) for side, own in found.items()] + self._sentences
        self._sentences = []
        if texts and self.on_error == "raise":
            rest = " on_error='skip' reads the rest." if found else ""
            raise DataError(" ".join(texts) + rest)
        self._left_out += texts
        return {side: np.array(sorted(own.rows), dtype=np.int64) for side, own in found.items()}

    def nothing_left(self) -> DataError:
        """The error where all rows are wrong."""
        return DataError(f"nothing can be read. {' '.join(self._left_out)}")

    def warn(self) -> None:
        """Say once what was left out, if anything was."""
        if self._left_out:
            warnings.warn(f"left out: {' '.join(self._left_out)}", RWKPlusWarning, stacklevel=2)
            self._left_out = []


def _add_hint(found: _Found, hint: str | None) -> None:
    if hint is not None and hint not in found.hints:
        found.hints.append(hint)

"""A CSV file as rows by column, with the place of every mistake."""

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from rwkplus.errors import DataError
from rwkplus.files import read_text

DELIMITERS = ",;\t"
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
LARGEST = 3.4e38  # of float32
FULL = ("graph", "y", "label", "weight")
"""Columns that need not be there, but then in every row."""


@dataclass(frozen=True)
class Table:
    """A file's rows by column, each with the number of its line; empty cells are left out."""

    path: Path
    columns: tuple[str, ...]
    header: tuple[str, ...]  # also those that are left out
    rows: list[tuple[int, dict[str, str]]]
    delimiter: str = ","

    @classmethod
    def read(cls, path: str | Path, ignore: Sequence[str] = ()) -> Self:
        """Read a file; cells end with commas, semicolons or tabs, and capitals in the header do not matter."""
        text, delimiter = _delimited(read_text(path))
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        try:
            lines = [(reader.line_num, [cell.strip() for cell in line]) for line in reader]
        except csv.Error as error:
            raise DataError(f"{path}, line {reader.line_num}: not CSV: {error}.") from error
        lines = _trimmed([(number, line) for number, line in lines if any(line)])
        if len(lines) < 2:
            raise DataError(f"{path} is empty: expected a header with the names of columns, and lines below it.")
        columns = [name.lower() for name in lines[0][1]]
        for number, line in lines[1:]:
            if len(line) != len(columns):
                raise DataError(f"{path}, line {number}: {len(line)} cells, but the header has {len(columns)} columns.")
        for name in columns:
            if columns.count(name) > 1:
                raise DataError(f"{path}: two columns are called {name!r}.")
        left_out = {name.lower() for name in ignore}
        rows = [
            (n, {name: cell for name, cell in zip(columns, line, strict=True) if cell and name not in left_out})
            for n, line in lines[1:]
        ]
        kept = tuple(name for name in columns if name not in left_out)
        return cls(Path(path), kept, tuple(columns), rows, delimiter)

    def check(self, needed: Sequence[str], known: Sequence[str] = (), measured: str | None = None) -> None:
        """Refuse columns that would be lost, and rows that lack what is needed."""
        for name in needed:
            if name not in self.columns:
                raise DataError(f"{self.path} has no column {name!r}; it has {', '.join(map(repr, self.columns))}.")
        for name in self.columns:
            if name not in (*needed, *known) and name not in self.measurements(measured):
                *names, last = *needed, *known, *([] if measured is None else [f"{measured}_{name}"])
                raise DataError(
                    f"{self.path}: column {name!r} would be lost. Call it {', '.join(names)} or {last}; or leave it "
                    f"out: ignore=({name!r},)."
                )
        self._check_rows(needed)

    def _check_rows(self, needed: Sequence[str]) -> None:
        for number, row in self.rows:
            for name in (*needed, *(column for column in FULL if column in self.columns)):
                if name not in row:
                    raise DataError(f"{self.path}, line {number}: column {name!r} is empty.")
            if DECIMAL_COMMA.fullmatch(self.plain(row.get("y", ""))):  # would be taken for the name of a class
                raise DataError(f"{self.path}, line {number}: {row['y']!r} has a decimal comma: write it with a point.")

    def measurements(self, name: str | None) -> list[str]:
        """Columns of numbers that belong together."""
        return [] if name is None else [c for c in self.columns if c == name or c.startswith(f"{name}_")]

    def fields(self, number: int, row: dict[str, str], measured: str) -> dict[str, Any]:
        """Attributes of the node or edge in a row, as the door reads them from networkx."""
        fields: dict[str, Any] = {"label": row["label"]} if "label" in row else {}
        if "weight" in row:
            fields["weight"] = self._number(number, row, "weight")
        if columns := self.measurements(measured):
            fields[measured] = [self._number(number, row, column) for column in columns]
        return fields

    def _number(self, number: int, row: dict[str, str], column: str) -> float:
        try:
            value = float(self.plain(row.get(column, "").replace("_", "no number")))  # Python's own 1_000
        except ValueError:
            value = math.nan
        if not abs(value) <= LARGEST:
            wrong = "must be a number" if math.isnan(value) else "must be a number below 3.4e38"
            raise DataError(f"{self.path}, line {number}: column {column!r} {wrong}, got {row.get(column, '')!r}.")
        return value

    def plain(self, word: str) -> str:
        """A number with a point where it has a comma, which spreadsheets write between semicolons."""
        return word.replace(",", ".") if self.delimiter != "," and DECIMAL_COMMA.fullmatch(word) else word


def _delimited(text: str) -> tuple[str, str]:
    """What cells end with: said by a line such as ``sep=;``, or what cuts the header into most cells.

    Lines keep their numbers.
    """
    header = next((line for line in text.splitlines() if line.strip()), "")
    if header.lower().startswith("sep=") and len(header.strip()) == len("sep=") + 1:
        return text.replace(header, "", 1), header.strip()[-1]
    return text, max(DELIMITERS, key=lambda mark: len(next(csv.reader([header], delimiter=mark), [])))


def _trimmed(lines: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """Without columns at the right that have neither a name nor cells, as spreadsheets leave them."""
    width = max((len(line) for _, line in lines), default=0)
    while width and all(len(line) == width and not line[-1] for _, line in lines):
        lines, width = [(number, line[:-1]) for number, line in lines], width - 1
    return lines

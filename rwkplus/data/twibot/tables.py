"""CSV files of any size, by the names of their columns, a block of rows at a time."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rwkplus.errors import DataError

BLOCK = 1 << 23


@dataclass(frozen=True)
class Block:
    """Some rows of a table, and where the next ones are."""

    path: Path
    first_line: int
    rows: list[list[str]]
    end: int
    """Place of the next block in the file, in bytes."""
    complete: bool
    """Whether the last row ends with a line break; one without is a block of its own."""

    @property
    def next_line(self) -> int:
        """Line of the next block."""
        return self.first_line + len(self.rows)

    def error(self, row: int, column: str, what: str) -> DataError:
        """An error that says where."""
        return DataError(f"{self.path}, line {self.first_line + row}, column {column}: {what}.")


class Table:
    """A CSV file whose columns may have any order.

    Args:
        path: The file.
        columns: Names that must be there; rows are given in this order.
        size: Bytes of a block.
    """

    def __init__(self, path: Path, columns: Sequence[str], *, size: int = BLOCK) -> None:
        self.path, self.columns, self.size = path, tuple(columns), size
        try:
            with path.open("rb") as file:
                line = file.readline(BLOCK)
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}.") from error
        header = self._rows([self._text(line, 1).rstrip("\r\n")], 1)[0]
        for column in columns:
            if column not in header:
                raise DataError(f"{path}, line 1: there is no column {column!r}; there are: {', '.join(header)}.")
        self.width, self.begin = len(header), len(line)
        self.places = [header.index(column) for column in columns]

    def blocks(self, begin: int | None = None, line: int = 2) -> Iterator[Block]:
        """Rows from a place in the file on, which is the first row by default."""
        with self.path.open("rb") as file:
            place = self.begin if begin is None else begin
            file.seek(place)
            rest = b""
            while True:
                new = file.read(self.size)
                raw = rest + new
                cut = raw.rfind(b"\n") + 1 if new else len(raw)
                if cut:
                    block = self._block(raw[:cut], line, place + cut)
                    yield block
                    line, place = block.next_line, block.end
                rest = raw[cut:]
                if not new:
                    return

    def _block(self, raw: bytes, line: int, end: int) -> Block:
        # Not splitlines: names may hold the many other characters that it takes for ends of lines.
        lines = self._text(raw, line).removesuffix("\n").replace("\r\n", "\n").split("\n")
        rows = self._rows(lines, line)
        number = next((i for i, row in enumerate(rows) if len(row) != self.width), None)
        if number is not None:
            raise DataError(
                f"{self.path}, line {line + number}: {len(rows[number])} columns instead of {self.width} "
                f"({', '.join(self.columns)}). Is the file cut off?"
            )
        if self.places != list(range(self.width)):
            rows = [[row[place] for place in self.places] for row in rows]
        return Block(self.path, line, rows, end, raw.endswith(b"\n"))

    def _rows(self, lines: list[str], line: int) -> list[list[str]]:
        """Values of every line, or an error about the first that is not a row by itself."""
        rows = _parsed(lines)
        if len(rows) == len(lines):
            return rows
        number, wrong = next((i, text) for i, text in enumerate(lines) if not _parsed([text]))
        what = "there is a carriage return inside" if "\r" in wrong else "a quoted value goes over several lines"
        if len(wrong) > csv.field_size_limit():
            what = f"its {len(wrong):,} characters are too many for a row"
        raise DataError(f"{self.path}, line {line + number}: {what}. Every row must be one line that ends with \\n.")

    def _text(self, raw: bytes, line: int) -> str:
        try:
            return raw.decode("utf-8-sig" if line == 1 else "utf-8")
        except UnicodeDecodeError as error:
            wrong = line + raw[: error.start].count(b"\n")
            raise DataError(f"{self.path}, line {wrong}: not UTF-8 text ({error.reason}).") from error


def _parsed(lines: list[str]) -> list[list[str]]:
    """Rows of lines; fewer than these if one of them cannot be a row by itself."""
    try:
        rows = list(csv.reader([*lines, ""]))  # an open quote swallows the line behind the last one
    except csv.Error:
        return []
    return rows[:-1]

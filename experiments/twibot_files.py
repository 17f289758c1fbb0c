"""TwiBot-22's raw files of any size, read a piece at a time: users in JSON, labels, splits and edges in CSV."""

import codecs
import csv
import json
import re
import reprlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import DataError

CHUNK = 1 << 20
LARGEST = 1 << 24
"""Characters of the largest object: what is longer lacks a bracket."""
DECODER = json.JSONDecoder()


def stream_objects(path: Path, *, chunk: int = CHUNK) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line where it begins, and each object of an array of objects."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from _Reader(path, file, chunk).objects()
    except UnicodeDecodeError as error:
        raise DataError(f"{path}, line {_wrong_line(path)}: not UTF-8 text ({error.reason}).") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error


def _wrong_line(path: Path) -> int:
    """Line of the first byte that is not UTF-8: the decoder of a text file knows only the chunk."""
    decoder, line = codecs.getincrementaldecoder("utf-8")(), 1
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            try:
                line += decoder.decode(chunk).count("\n")
            except UnicodeDecodeError as error:
                return line + error.object[: error.start].count(b"\n")
    return line


class _Reader:
    """A window on the text that moves forward, and the line of the last place that was asked for."""

    def __init__(self, path: Path, file: TextIO, chunk: int) -> None:
        self.path, self.file, self.chunk = path, file, chunk
        self.text, self.place, self.number = "", 0, 0
        self.line, self.counted = 1, 0

    def objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        if self._next() != "[":
            raise self._error("the file must be a JSON array and begin with '['")
        self.place += 1
        if self._next() == "]":
            self.place += 1
        else:
            while True:
                yield self._object()
                mark = self._next()
                self.place += 1
                if mark == "]":
                    break
                if mark != ",":
                    self.place -= 1
                    raise self._error("expected ',' or ']'" if mark else "the file ends before its ']': it was cut off")
        if self._next():
            raise self._error("there is more text after the ']' that ends the array")

    def _object(self) -> tuple[int, dict[str, Any]]:
        self.number += 1
        if self._next() not in ("{", ""):
            raise self._error("expected an object, which begins with '{'")
        while True:
            try:
                value, end = DECODER.raw_decode(self.text, self.place)
            except json.JSONDecodeError as error:
                wrong = error.pos - self.place
                if len(self.text) - self.place < LARGEST and self._more():
                    continue
                if self.text[self.place + wrong :].strip() == "" or "Unterminated" in error.msg:
                    raise self._error("the file ends inside this object: it was cut off") from error
                self.place += wrong
                raise self._error(error.msg) from error
            except ValueError as error:
                raise self._error("the object holds a number of thousands of digits") from error
            except RecursionError as error:
                raise self._error("the object is nested too deeply") from error
            line = self._line()
            self.place = end
            return line, value

    def _next(self) -> str:
        """The next character that is no space, or nothing at the end."""
        while True:
            while self.place < len(self.text) and self.text[self.place] in " \t\r\n":
                self.place += 1
            if self.place < len(self.text):
                return self.text[self.place]
            if not self._more():
                return ""

    def _more(self) -> bool:
        """Read on, and forget what is done with."""
        new = self.file.read(self.chunk)
        self._line()
        self.text = self.text[self.place :] + new
        self.place = self.counted = 0
        return bool(new)

    def _line(self) -> int:
        self.line += self.text.count("\n", self.counted, self.place)
        self.counted = self.place
        return self.line

    def _error(self, what: str) -> DataError:
        return DataError(f"{self.path}, line {self._line()}: {what} (object number {self.number}, counted from 1).")


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


METRICS = ("followers_count", "following_count", "tweet_count", "listed_count")
LABELS = {"human": 0, "bot": 1}
SPLITS = {"train": 0, "val": 1, "valid": 1, "test": 2}
USER = re.compile(r"u(\d{1,18}|[0-8]\d{18})")  # fits into 64 bits
Index = NDArray[np.int64]


class UserIds:
    """Numbers of users by their ids.

    Args:
        ids: Ids of all users without their ``u``, in the order of ``user.json``: ``(N,)``.
    """

    def __init__(self, ids: Index) -> None:
        self.ids = ids
        self._order = np.argsort(ids, kind="stable")
        self._sorted = ids[self._order]

    def find(self, ids: Index) -> Index:
        """Number of each user, -1 for those who are not there."""
        places = np.minimum(np.searchsorted(self._sorted, ids), self.ids.size - 1)
        return np.where(self._sorted[places] == ids, self._order[places], -1)

    def repeated(self) -> int | None:
        """An id that two users have, or None."""
        twice = np.nonzero(np.diff(self._sorted) == 0)[0]
        return int(self._sorted[twice[0]]) if twice.size else None


def parse_id(text: str) -> int:
    """Number in the id of a user, or -1 if it is not one."""
    return int(text[1:]) if USER.fullmatch(text) else -1


def read_users(path: Path) -> tuple[Index, NDArray[np.float64]]:
    """Ids ``(N,)`` and public metrics ``(N, 4)`` of all users; metrics that are null count as 0."""
    ids, metrics = array("q"), array("d")
    for line, user in stream_objects(path):
        name = _field(path, line, user, "id")
        number = parse_id(name) if isinstance(name, str) else -1
        if number < 0:
            raise DataError(f"{path}, line {line}: id must be 'u' and a number, got {name!r}.")
        text = _field(path, line, user, "description")
        if not isinstance(text, str | None):
            raise DataError(f"{path}, line {line}: description must be a text or null, got {text!r}.")
        public = _field(path, line, user, "public_metrics")
        public = dict.fromkeys(METRICS) if public is None else public
        if not isinstance(public, dict):
            raise DataError(f"{path}, line {line}: public_metrics must be an object or null, got {public!r}.")
        ids.append(number)
        metrics.extend(_count(path, line, public, metric) for metric in METRICS)
    if not ids:
        raise DataError(f"{path} holds no users.")
    numbers = np.array(ids, np.int64)
    repeated = UserIds(numbers).repeated()
    if repeated is not None:
        raise DataError(f"{path} holds the user u{repeated} twice.")
    return numbers, np.array(metrics).reshape(-1, len(METRICS))


def read_descriptions(path: Path) -> Iterator[str]:
    """What users say about themselves."""
    for _, user in stream_objects(path):
        # Halves of emojis, which JSON can hold where texts were cut, are no text to encoders.
        yield (user["description"] or "").encode("utf-8", "replace").decode()


def read_column(path: Path, column: str, values: Mapping[str, int], users: UserIds) -> Index:
    """What a table says about each user: ``(N,)``; every user must be there, once."""
    found = np.full(users.ids.size, -1)
    for block in Table(path, ("id", column)).blocks():
        numbers = users.find(np.array([parse_id(row[0]) for row in block.rows], np.int64))
        for i, (row, number) in enumerate(zip(block.rows, numbers.tolist(), strict=True)):
            if number < 0:
                raise block.error(i, "id", f"{row[0]!r} is no user of user.json")
            if row[1] not in values:
                raise block.error(i, column, f"{row[1]!r} is none of {', '.join(values)}")
            if found[number] >= 0:
                raise block.error(i, "id", f"{row[0]} is there twice")
            found[number] = values[row[1]]
    missing = np.nonzero(found < 0)[0]
    if missing.size:
        raise DataError(
            f"{path} says nothing about {missing.size} users, the first of them u{users.ids[missing[0]]} (number "
            f"{missing[0] + 1} of user.json). Is the file cut off?"
        )
    return found


def _field(path: Path, line: int, user: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 -- JSON
    if name not in user:
        raise DataError(f"{path}, line {line}: the user has no field {name!r}; there are: {', '.join(user)}.")
    return user[name]


def _count(path: Path, line: int, public: Mapping[str, Any], metric: str) -> float:
    value = _field(path, line, public, metric)
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**63:
        found = reprlib.repr(value)
        raise DataError(
            f"{path}, line {line}: public_metrics.{metric} must be a number below 2**63 from 0, got {found}."
        )
    return float(value)

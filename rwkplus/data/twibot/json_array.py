"""The objects of one large JSON array, one after the other.

``json`` reads a file whole and ``ijson`` cannot tell in which line it failed; this keeps a chunk in memory and can.
"""

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

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

"""Graphs in CSV files: tables of edges, nodes and graphs, or molecules written as SMILES."""

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count, islice
from math import isnan, nan
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import DataError, Remedy
from rwkplus.files import atomic_folder, opened_text
from rwkplus.io.assembly import ACCEPTED, assemble
from rwkplus.io.frames import rows_of
from rwkplus.io.rows import (
    SHOWN,
    Cells,
    Factorized,
    RowErrors,
    RowLocator,
    Side,
    find_column,
    has_molecules,
    kind_of,
    resolve_names,
)
from rwkplus.io.sources import ReadOptions
from rwkplus.table import Column, GraphTable, Numbers
from rwkplus.table.columns import plain_values, short_repr
from rwkplus.table.graph_table import SIDES

DELIMITERS = ",;\t"
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
LARGEST = 3.4e38  # of float32, which networks compute with
LONGEST = 2**63
CHUNK = 8192
"""Rows that are in memory as Python lists at a time."""


def read_csv(path: str | Path, options: ReadOptions = ReadOptions()) -> GraphTable:
    r"""Read graphs from CSV files, or say which lines of which file are wrong.

    A file of edges has columns ``source``, ``target`` and, if there are several graphs, ``graph``; one of nodes has
    ``node`` and ``graph``, one of graphs ``graph``. All other columns keep their names: words are labels, or ids where
    nearly every line has another one; numbers are attributes; ``label`` holds labels, and ``y`` of the graphs the
    target. Empty cells are missing. A file with a column ``smiles`` holds molecules.

    Cells end with commas, semicolons or tabs; options may name columns without regard to capitals. ``path`` may be a
    folder with ``edges.csv`` and, where needed, ``nodes.csv`` and ``graphs.csv``.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder) / "payments.csv"
        ...     _ = file.write_text("day,from,to,how,amount\n1,ann,bob,card,20\n1,bob,eve,cash,5\n2,bob,ann,cash,7.5\n")
        ...     read_csv(file, ReadOptions(source="from", target="to", graph="day"))
        GraphTable: 2 undirected graphs, 5 nodes, 3 edges
          graphs name: names
          nodes  id: ids
          edges  how: 2 labels (card, cash)
                 amount: numbers, 5 to 20
    """
    files: dict[Side, Path] = {"edges": Path(path)}
    if Path(path).is_dir():
        sides: tuple[Side, ...] = ("edges", "nodes", "graphs")
        files = {side: file for side in sides if (file := Path(path) / f"{side}.csv").exists()}
        if "edges" not in files:
            raise DataError(f"the folder {path} has no file edges.csv.")
    if has_molecules(_header_of(files["edges"]), options):
        if len(files) > 1:
            found_in = f"{files['edges']} has a column of SMILES"
            raise DataError(f"{found_in}: files of nodes or graphs belong to files of edges.")
        from rwkplus.io.smiles import from_table

        options, sheets, errors = _sheets({"graphs": files["edges"]}, options)
        return from_table(sheets["graphs"].columns, options, errors)
    options.check("a table of edges", ACCEPTED)
    options, sheets, errors = _sheets(files, options)
    return assemble({side: sheet.columns for side, sheet in sheets.items()}, options, errors)


@dataclass
class _Sheet:
    """The columns of a file, with the place of every row and mistake."""

    path: Path
    columns: dict[str, Cells] = field(default_factory=dict)
    lines: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))  # line of every row
    unread: int = 0  # lines that are no rows
    unread_shown: list[tuple[int, str]] = field(default_factory=list)
    unreadable: dict[str, "_Bad"] = field(default_factory=dict)

    def place(self, row: int) -> tuple[int, str]:
        """Where a row stands, to sort by and in words."""
        return int(self.lines[row]), f"line {self.lines[row]}"


@dataclass
class _Bad:
    """Cells of a column that should be numbers."""

    rows: list[int] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    words: int = 0  # those that do not even look like numbers

    def add(self, row: int, cell: str, *, number: bool) -> None:
        self.rows.append(row)
        self.cells.append(cell)
        self.words += not number


def _sheets(files: dict[Side, Path], options: ReadOptions) -> tuple[ReadOptions, dict[Side, _Sheet], RowErrors]:
    """Options that name columns as the files do, the files, and all that is wrong with single lines."""
    options = resolve_names(options, {side: _header_of(file) for side, file in files.items()})
    sheets = {side: _read(file, side, options) for side, file in files.items()}
    places = {side: RowLocator(str(sheet.path), "line", sheet.place) for side, sheet in sheets.items()}
    errors = RowErrors(places, options.on_error)
    for side, sheet in sheets.items():
        errors.add_unread(side, sheet.unread, sheet.unread_shown)
        for name, bad in sheet.unreadable.items():
            told = repr(name).replace("{", "{{").replace("}", "}}")
            hint = Remedy(f"If {told} holds labels, use {{labels}}.", labels=(name,))
            given = kind_of(name, side, options) == "attribute"
            messages = [_no_number(name, cell) for cell in bad.cells[:SHOWN]]
            errors.add(side, bad.rows, messages.__getitem__, *([] if given else [hint]))
    return options, sheets, errors


def _no_number(name: str, cell: str) -> str:
    if DECIMAL_COMMA.fullmatch(cell):
        return f"{cell!r} has a decimal comma: write it with a point"
    value = _parsed(cell)
    limit = "" if value is None or isnan(value) else " below 3.4e38"
    return f"column {name!r} must be a number{limit}, got {short_repr(cell)}"


class _Lines:
    """Rows of an open file, in chunks, with the line of each."""

    def __init__(self, path: Path, file: TextIO) -> None:
        self.path = path
        self.before, first = 0, ""  # lines before the header
        for line in file:
            if line.strip():
                first = line
                break
            self.before += 1
        if first.lower().startswith("sep=") and len(first.strip()) == len("sep=") + 1:
            self.delimiter = first.strip()[-1]
            self.before, first = self.before + 1, ""
        else:
            self.delimiter = max(DELIMITERS, key=lambda mark: _cells(first, mark))
        self.reader = csv.reader(chain([first] if first else [], file), delimiter=self.delimiter, strict=True)
        self.header: list[str] = []
        while not self.header and (rows := self._next(1)):
            self.header = [cell.strip() for cell in rows[0]] if any(map(str.strip, rows[0])) else []
        self._check_header()

    def _next(self, size: int) -> list[list[str]]:
        """The next rows."""
        try:
            return list(islice(self.reader, size))
        except csv.Error as error:
            line = self.before + self.reader.line_num
            raise DataError(f"{self.path}, line {line}: not CSV: {error}. Is a quotation mark missing?") from error

    def chunks(self) -> Iterator[tuple[list[list[str]], NDArray[np.int64]]]:
        """Rows below the header, and their lines."""
        start = self.reader.line_num
        while chunk := self._next(CHUNK):
            stop = self.reader.line_num
            if stop - start == len(chunk):
                lines = np.arange(start + 1, stop + 1)
            else:  # some cells have several lines
                lines = start + np.cumsum([1 + sum(map(_breaks, row)) for row in chunk])
            yield chunk, lines + self.before
            start = stop

    def _check_header(self) -> None:
        seen: set[str] = set()
        for name in filter(None, self.header):
            if name.casefold() in seen:
                raise DataError(f"{self.path}: two columns are called {name!r}.")
            seen.add(name.casefold())
        if not seen:
            raise _empty(self.path)


def _empty(path: Path) -> DataError:
    return DataError(f"{path} is empty: expected a header with the names of columns, and lines below it.")


def _cells(line: str, mark: str) -> int:
    """Number of cells that a delimiter cuts a line into."""
    try:
        return len(next(csv.reader([line], delimiter=mark), []))
    except csv.Error:
        return line.count(mark)


def _breaks(cell: str) -> int:
    return cell.count("\n") + cell.count("\r") - cell.count("\r\n")


def _header_of(path: Path) -> list[str]:
    """Names of the columns of a file."""
    with opened_text(path, newline="") as file:
        return [name for name in _Lines(path, file).header if name]


def _read(path: Path, side: Side, options: ReadOptions, words: Collection[str] = ()) -> _Sheet:
    """Read a file by columns; what looked like numbers at first and is ``words`` on the whole is read again."""
    sheet, found = _Sheet(path), [np.zeros(0, np.int64)]
    with opened_text(path, newline="") as file:
        lines = _Lines(path, file)
        columns = _plan(lines, side, options, words)
        for chunk, numbers in lines.chunks():
            found.append(_add(sheet, lines, chunk, numbers, columns))
    sheet.lines = np.concatenate(found)
    if not sheet.lines.size and not sheet.unread:
        raise _empty(path)
    again = {name for name, own in columns.values() if isinstance(own, _Measured) and own.is_words}
    if again:
        return _read(path, side, options, again)
    for name, own in columns.values():
        sheet.columns[name], bad = own.column()
        if bad.rows:
            sheet.unreadable[name] = bad
    return sheet


def _plan(lines: _Lines, side: Side, options: ReadOptions, words: Collection[str]) -> "Planned":
    """How to read each column that is not ignored, by its place."""
    roles = {"edges": ("source", "target"), "nodes": ("node",), "graphs": ("smiles",)}[side]
    keys = {role: find_column(getattr(options, role), lines.header) for role in ("graph", *roles)}
    number = _number_reader(lines.delimiter)
    shared = _Vocabulary()  # both ends of edges are nodes
    columns: Planned = {}
    for place, name in enumerate(lines.header):
        kind = kind_of(name, side, options)
        if not name or options.ignores(name, side):
            continue
        if name in keys.values():
            columns[place] = name, _Words(shared if name != keys["graph"] else None)
        elif kind in ("label", "text") or name in words:
            columns[place] = name, _Words()
        else:
            columns[place] = name, _Measured(number, sure=kind == "attribute")
    return columns


def _add(
    sheet: _Sheet,
    lines: _Lines,
    rows: list[list[str]],
    numbers: NDArray[np.int64],
    columns: "Planned",
) -> NDArray[np.int64]:
    """Add a chunk of rows to the columns; the lines of those that are rows."""
    width = len(lines.header)
    if set(map(len, rows)) != {width}:
        rows, numbers = _of_width(sheet, rows, numbers, width)
    cells = list(zip(*rows, strict=True))
    if cells and "" in cells[0]:  # perhaps lines without any cell
        full = [any(map(str.strip, row)) for row in rows]
        if not all(full):
            rows, numbers = [row for row, is_full in zip(rows, full, strict=True) if is_full], numbers[full]
            cells = list(zip(*rows, strict=True))
    if not rows:
        return numbers
    for place, name in enumerate(lines.header):
        if not name:
            _check_nameless(sheet.path, place, cells[place], numbers)
    for place, (_, own) in columns.items():
        own.add(cells[place])
    return numbers


def _of_width(
    sheet: _Sheet, rows: list[list[str]], numbers: NDArray[np.int64], width: int
) -> tuple[list[list[str]], NDArray[np.int64]]:
    """Rows with as many cells as the header; all others are noted, unless they are blank."""
    right = [len(row) == width for row in rows]
    for row, line, is_right in zip(rows, numbers.tolist(), right, strict=True):
        if not is_right and any(map(str.strip, row)):
            sheet.unread += 1
            if len(sheet.unread_shown) < SHOWN:
                sheet.unread_shown.append((line, f"{len(row)} cells, but the header has {width} columns"))
    return [row for row, is_right in zip(rows, right, strict=True) if is_right], numbers[right]


def _check_nameless(path: Path, place: int, cells: Sequence[str], numbers: NDArray[np.int64]) -> None:
    """Refuse cells below no name; spreadsheets leave empty columns at the right."""
    for cell, line in zip(cells, numbers, strict=True):
        if cell.strip():
            raise DataError(
                f"{path}, line {line}: column {place + 1} has cells, such as {short_repr(cell)}, but no name. Give it "
                "one; row numbers of pandas are left out by to_csv(index=False)."
            )


ReadNumber = Callable[[str], float | None]


def _parsed(cell: str) -> float | None:
    try:
        return None if "_" in cell else float(cell)  # Python takes 1_0 for 10, everyone else for a name
    except ValueError:
        return None


def _number_reader(delimiter: str) -> ReadNumber:
    """How to read a number: spreadsheets write a decimal comma between semicolons."""

    def with_comma(cell: str) -> float | None:
        return _parsed(cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell) else cell)

    return _parsed if delimiter == "," else with_comma


def _is_like_number(cell: str, number: ReadNumber) -> bool:
    return number(cell) is not None or DECIMAL_COMMA.fullmatch(cell) is not None


class _Vocabulary:
    """Numbers of words, in the order in which they appear."""

    def __init__(self) -> None:
        self.code: dict[str, int] = defaultdict(count().__next__)

    @cached_property
    def stripped(self) -> Factorized:
        """The words without blanks around them, once all are known; empty ones are missing."""
        number: dict[str, int] = {}
        codes = np.array([number.setdefault(word.strip(), len(number)) for word in self.code], dtype=np.int32)
        return Factorized(codes, list(number)).without([number[""]] if "" in number else [])


class _Words:
    """A column of words, by number."""

    def __init__(self, vocabulary: _Vocabulary | None = None) -> None:
        self.vocabulary = vocabulary or _Vocabulary()
        self.parts: list[NDArray[np.int32]] = []

    def add(self, cells: Sequence[str]) -> None:
        """Add some rows."""
        self.parts.append(np.fromiter(map(self.vocabulary.code.__getitem__, cells), np.int32, len(cells)))

    def column(self) -> tuple[Factorized, _Bad]:
        """The column, of which nothing can be wrong."""
        return self.vocabulary.stripped.take(_joined(self.parts, np.int32)), _Bad()


class _Measured:
    """A column of numbers, or of words that look like numbers so far."""

    def __init__(self, number: ReadNumber, *, sure: bool) -> None:
        self.number, self.sure = number, sure
        self.parts: list[NDArray[np.int64] | NDArray[np.float64]] = []
        self.words: _Words | None = None  # where most of the first rows are no numbers
        self.bad = _Bad()
        self.rows = self.empty = 0
        self.whole, self.long = True, False  # whether all are whole numbers, and some need more than 64 bits

    @property
    def is_words(self) -> bool:
        """Whether rows that were read as numbers are words, some of which look like numbers."""
        known = self.rows - self.empty
        wordy = self.are_identifiers or not known or 2 * self.bad.words > known
        return not self.sure and self.words is None and wordy

    @property
    def are_identifiers(self) -> bool:
        """Whether these are whole numbers too long to compute with."""
        return self.whole and self.long

    def add(self, cells: Sequence[str]) -> None:
        """Add some rows."""
        if self.words is None:
            self.parts.append(self._fast(cells) if "_" not in "".join(cells) else self._slow(cells))
            self.rows += len(cells)
            if len(self.parts) > 1 or not self.is_words:
                return
            self.words = _Words()
        self.words.add(cells)

    def _fast(self, cells: Sequence[str]) -> NDArray[np.int64] | NDArray[np.float64]:
        try:
            return np.fromiter(map(int, cells), np.int64, len(cells))
        except OverflowError:
            return self._slow(cells)
        except ValueError:
            pass
        try:
            values = np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:
            return self._slow(cells)
        self.whole = False
        return values if (np.abs(values) <= LARGEST).all() else self._slow(cells)

    def _slow(self, cells: Sequence[str]) -> NDArray[np.float64]:
        """Numbers of cells of which some are empty, too long or none."""
        values = np.full(len(cells), nan)
        for i, cell in enumerate(map(str.strip, cells)):
            value = self.number(cell)
            if not cell:
                self.empty += 1
            elif value is not None and abs(value) <= LARGEST:
                values[i] = value
                self.whole = self.whole and cell.lstrip("+-").isdigit()
                self.long = self.long or abs(value) >= LONGEST
            else:
                self.bad.add(self.rows + i, cell, number=_is_like_number(cell, self.number))
        return values

    def column(self) -> tuple[Cells, _Bad]:
        """The column, and what is wrong with it."""
        if self.words is not None:
            return _numbers_or(self.words.column()[0], self.number)
        return Numbers(_joined(self.parts, np.float64)), self.bad


def _joined(parts: Sequence[NDArray[Any]], kind: type) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, kind)


Planned: TypeAlias = dict[int, tuple[str, _Words | _Measured]]
"""Columns that are being read, by their place."""


def _numbers_or(words: Factorized, number: ReadNumber) -> tuple[Cells, _Bad]:
    """Words that did not look like numbers in the first lines, as numbers if most of them are."""
    times = np.bincount(words.codes[words.codes >= 0], minlength=len(words.values))
    column = _Measured(number, sure=False)
    column.add(words.values)
    wordy = [
        row for row, cell in zip(column.bad.rows, column.bad.cells, strict=True) if not _is_like_number(cell, number)
    ]
    if column.are_identifiers or not times.any() or 2 * times[wordy].sum() > times.sum():
        return words, _Bad()
    values = column.parts[0]
    values = np.append(values, nan)[words.codes] if words.missing.any() else values[words.codes]
    bad = _Bad()
    for row in np.flatnonzero(np.isin(words.codes, column.bad.rows)):
        bad.add(int(row), words.values[words.codes[row]], number=True)
    return Numbers(values), bad


# And back


def write_csv(table: GraphTable, folder: str | Path) -> Path:
    r"""Write a folder of ``graphs.csv``, ``nodes.csv`` and ``edges.csv``, whole or not at all.

    Several numbers of a row are columns of their own. Cells hold no types: :func:`rwkplus.io.write_graphs` tells with
    which options the same table is read again.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     (write_csv(GraphTable.of(["CO"]), f"{folder}/co") / "edges.csv").read_text()
    'graph,source,target,label\n0,0,1,-\n'
    """
    with atomic_folder(folder, replaces=[f"{side}.csv" for side in SIDES]) as scratch:
        for side, columns in rows_of(table)._asdict().items():
            cells = {name: own for column in columns.items() for name, own in _spread(*column)}
            with (scratch / f"{side}.csv").open("w", newline="", encoding="utf-8", errors="backslashreplace") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(cells)
                writer.writerows(zip(*cells.values(), strict=True))
    return Path(folder)


def _spread(name: str, column: Column) -> Iterator[tuple[str, list[Any]]]:
    """A column as cells; one with several numbers in a row as several."""
    if isinstance(column, Numbers) and column.numbers.ndim > 1:
        for k in range(column.width):
            yield f"{name}{k}", plain_values(Numbers(column.numbers[:, k]))
    else:
        yield name, plain_values(column)

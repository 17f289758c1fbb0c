"""Tables as users have them, row by row: their cells, what columns mean, and errors told in the user's words."""

import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import count
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import DataError, GraphError, Remedy, RWKPlusWarning
from rwkplus.io.sources import OnError, ReadOptions, no_such_column
from rwkplus.table.columns import (
    Array,
    Categories,
    Column,
    Kind,
    Numbers,
    Text,
    are_ids,
    column_of,
    is_missing,
    labels_of,
    refuse_date,
)
from rwkplus.types import check_ignore

Side = Literal["graphs", "nodes", "edges"]
Ints: TypeAlias = NDArray[np.int64]
SHOWN = 5
"""Rows that a message spells out."""
DATE = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?)?"
    r"|\d{1,2}([./])\d{1,2}\6\d{4}( \d{1,2}:\d{2}(:\d{2})?)?"
)
SKIP = Remedy("Use {on_error} to read the rest.", on_error="skip")
KEEP = Remedy("Use {on_error} to keep the graphs, with missing values.", on_error="skip")


class RowLocator(NamedTuple):
    """How the user finds the rows of a table."""

    table: str
    """What the table is called: ``edges.csv``; empty for a list."""
    unit: str
    """What a row is called: ``line``."""
    of: Callable[[int], tuple[int, str]]
    """Where a row stands, to sort by and in words: ``(4, "line 4")``."""
    size: int | None = None
    """Number of all rows, if messages are to tell it."""


@dataclass
class _Found:
    """Rows of one table that cannot be used."""

    rows: set[int] = field(default_factory=set)
    shown: list[tuple[int, str]] = field(default_factory=list)
    unread: int = 0

    def text(self, places: RowLocator) -> str:
        """All of it in a sentence."""
        number, shown = len(self.rows) + self.unread, [said for _, said in sorted(self.shown)[:SHOWN]]
        if number <= 1:
            return f"{places.table}, {shown[0]}." if places.table else f"{shown[0]}."
        more = f"; and {number - len(shown):,} more" if number > len(shown) else ""
        of = "" if places.size is None else f" of {places.size:,}"
        where = f"{places.table}: " if places.table else ""
        return f"{where}{number:,}{of} {places.unit}s cannot be read: {'; '.join(shown)}{more}."


class RowErrors:
    """Collects what is wrong with rows, to tell it at once or to leave it out with a warning.

    Example:
        >>> errors = RowErrors({"edges": RowLocator("edges.csv", "line", lambda row: (row + 2, f"line {row + 2}"))})
        >>> errors.add("edges", [1, 3], "column 'to' is empty")
        >>> try:
        ...     errors.settle()
        ... except DataError as error:
        ...     print(error)
        edges.csv: 2 lines cannot be read: line 3: column 'to' is empty; line 5: column 'to' is empty. Use
        on_error='skip' to read the rest.
    """

    def __init__(self, places: Mapping[Side, RowLocator], on_error: OnError = "raise") -> None:
        self.places = places
        self.on_error = on_error
        self._new: dict[Side, _Found] = {}
        self._lacking: list[str] = []
        self._remedies: list[str | Remedy] = []
        self._left_out: list[str] = []
        self._kept: list[str] = []

    def table(self, side: Side) -> str:
        """What a table is called."""
        return self.places[side].table

    def place(self, side: Side, row: int) -> str:
        """Where a row stands."""
        return self.places[side].of(int(row))[1]

    def add(
        self, side: Side, rows: Ints | Sequence[int], message: str | Callable[[int], str], *remedies: str | Remedy
    ) -> None:
        """Note what is wrong with some rows of a table, all of them or the i-th one, and what to do about it."""
        if len(rows) == 0:
            return
        found = self._new.setdefault(side, _Found())
        found.rows.update(map(int, rows))
        for i, row in enumerate(rows[:SHOWN]):
            order, words = self.places[side].of(int(row))
            found.shown.append((order, f"{words}: {message if isinstance(message, str) else message(i)}"))
        told = {str(remedy) for remedy in self._remedies}
        self._remedies += [remedy for remedy in remedies if str(remedy) not in told]

    def add_unread(self, side: Side, number: int, shown: Iterable[tuple[int, str]]) -> None:
        """Note parts of a file that did not even become rows."""
        if number:
            found = self._new.setdefault(side, _Found())
            found.unread += number
            found.shown += [(line, f"{self.places[side].unit} {line}: {said}") for line, said in shown]

    def lacks(self, sentence: str, otherwise: str) -> None:
        """Note something that is missing as a whole; ``otherwise`` says what becomes of it where that is no error."""
        self._lacking.append(f"{sentence}.")
        self._kept.append(f"{sentence}: {otherwise}.")

    def settle(self) -> dict[Side, Ints]:
        """Raise an error about all errors so far; or, if they are to be skipped, the rows to leave out."""
        texts = [own.text(self.places[side]) for side, own in self._new.items()]
        if self.on_error == "raise" and (texts or self._lacking):
            skip = SKIP if texts else KEEP
            raise self._error(" ".join(texts + self._lacking), *self._remedies, skip)
        self._left_out += texts
        found, self._new = self._new, {}
        return {side: np.array(sorted(own.rows), dtype=np.int64) for side, own in found.items()}

    def nothing_left(self) -> DataError | GraphError:
        """The error where all rows are wrong."""
        return self._error(f"nothing can be read. {' '.join(self._left_out)}", *self._remedies)

    def warn(self) -> None:
        """Say once what was left out and what is missing, if anything is."""
        left_out = [f"left out: {' '.join(self._left_out)}"] if self._left_out else []
        if left_out or self._kept:
            warnings.warn(RWKPlusWarning(" ".join(left_out + self._kept)), stacklevel=2)
        self._left_out, self._kept = [], []

    def _error(self, message: str, *remedies: str | Remedy) -> DataError | GraphError:
        in_file = any(places.table for places in self.places.values())
        return DataError(message, *remedies) if in_file else GraphError(message, *remedies)


@dataclass(frozen=True, eq=False)
class Factorized:
    """Cells by number: a code per row, -1 where the cell is empty, and the values that the codes stand for."""

    codes: Array
    values: Sequence[Any]

    @classmethod
    def of(cls, cells: Iterable[Any]) -> "Factorized":
        """Number the distinct values in the order in which they appear; None and nan are missing.

        >>> coded = Factorized.of(["card", None, "cash", "card"])
        >>> coded.codes.tolist(), coded.values
        ([0, -1, 1, 0], ['card', 'cash'])
        """
        code: dict[Hashable, int] = defaultdict(count().__next__)
        codes = np.fromiter(map(code.__getitem__, cells), np.int32)
        return cls(codes, list(code)).without([k for k, value in enumerate(code) if is_missing(value)])

    def without(self, empty: Sequence[int]) -> "Factorized":
        """Let some of the values be missing.

        >>> Factorized.of(["card", "", "cash"]).without([1]).codes.tolist()
        [0, -1, 1]
        """
        if not empty:
            return self
        kept = np.delete(np.arange(len(self.values)), empty).tolist()
        number = np.full(len(self.values) + 1, -1, dtype=np.int32)
        number[kept] = np.arange(len(kept))
        return Factorized(number[self.codes], [self.values[k] for k in kept])

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which cells are empty."""
        return self.codes < 0

    def take(self, rows: Ints) -> "Factorized":
        """Some of the rows."""
        return Factorized(self.codes[rows], self.values)

    def labels(self, name: str, of: str, values: Iterable[Any] | None = None) -> Categories:
        """The values, or others in their place, as labels of the column ``name``."""
        found = labels_of(name, list(self.values if values is None else values), of)
        return Categories.numbered(np.append(found.codes, -1)[self.codes], found.names)

    def cells(self) -> NDArray[np.object_]:
        """The value of every row, None where it is missing.

        >>> Factorized.of(["card", None, "card"]).cells().tolist()
        ['card', None, 'card']
        """
        values = np.empty(len(self.values) + 1, dtype=object)
        values[:-1] = self.values
        return values[self.codes]


Cells: TypeAlias = Factorized | Column | list[Any]
"""A column as a file or frame gives it; Python values where nothing else fits."""
Tables: TypeAlias = Mapping[Side, Mapping[str, Cells]]
"""Columns of the tables of graphs, nodes and edges by name."""


def to_list(cells: Cells) -> list[Any]:
    """The value of every cell."""
    if isinstance(cells, list):
        return cells
    found: list[Any] = (cells.cells() if isinstance(cells, Factorized) else cells.values()).tolist()
    return found


# What columns are called


def find_column(name: str, columns: Iterable[str]) -> str | None:
    """The column of this name; capitals matter only where two names differ in nothing else.

    >>> find_column("smiles", ["ID", "SMILES"])
    'SMILES'
    """
    columns = list(columns)
    if name in columns:
        return name
    alike = [column for column in columns if column.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


ENDS = (
    ("from", "to"),
    ("src", "dst"),
    ("sender", "receiver"),
    ("payer", "payee"),
    ("head", "tail"),
    ("u", "v"),
    ("node1", "node2"),
)
"""What else the columns of an edge's ends are called: not guessed, but suggested."""


def require_column(name: str, columns: Iterable[str], option: str, table: str) -> str:
    """The column of this name, or an error that says what there is instead.

    >>> require_column("source", ["from", "to"], "source", "edges.csv")
    Traceback (most recent call last):
    ...
    rwkplus.errors.DataError: edges.csv has no column 'source'; it has 'from', 'to'. Say which columns are its ends,
    such as source='from' and target='to'.
    """
    columns = list(columns)
    found = find_column(name, columns)
    if found is None:
        there = ", ".join(map(repr, columns))
        raise DataError(f"{table} has no column {name!r}; it has {there}.", *_meant(name, columns, option))
    return found


def _meant(name: str, columns: Sequence[str], option: str) -> Iterator[Remedy]:
    """Which column may be meant by one that is not there."""
    if option in ("source", "target"):
        for ends in ENDS:
            source, target = (find_column(end, columns) for end in ends)
            if source is not None and target is not None:
                text = "Say which columns are its ends, such as {source} and {target}."
                yield Remedy(text, source=source, target=target)
                return
    if close := get_close_matches(name, columns, 1):
        yield Remedy(f"Did you mean {{{option}}}?", **{option: close[0]})
    else:
        yield Remedy(f"Say with {{{option}}} which one it is.", **{option: ...})
    if option == "source":
        yield Remedy("If these are molecules, name the column of SMILES: {smiles}.", smiles=...)


def has_molecules(columns: Iterable[str], options: ReadOptions) -> bool:
    """Whether the rows of a table are molecules, because it has a column of SMILES, rather than edges.

    >>> has_molecules(["id", "SMILES"], ReadOptions()), has_molecules(["source", "target", "smiles"], ReadOptions())
    (True, False)
    """
    columns = list(columns)
    ends = find_column(options.source, columns), find_column(options.target, columns)
    return find_column(options.smiles, columns) is not None and None in ends


def resolve_names(options: ReadOptions, given: Mapping[Side, Iterable[str]]) -> ReadOptions:
    """Options that name columns as the tables do, whose capitals may differ; or an error about one that none has.

    Targets are columns of graphs or, without such a table, of edges.

    >>> resolve_names(ReadOptions(labels=("how",)), {"edges": ["Source", "Target", "How"]}).labels
    ['How']
    """
    names = {name for columns in given.values() for name in columns}
    known = names | {f"{side}.{name}" for side, columns in given.items() for name in columns}

    def as_written(name: str) -> list[str]:
        return [own for own in known if own.casefold() == name.casefold()]

    for option in ("labels", "attributes"):
        for name in getattr(options, option):
            if not as_written(name):
                raise no_such_column(option, name, names)
    check_ignore([name for name in options.ignore if not as_written(name)], known)
    weight, targets = options.weight, options.targets
    if weight is not None and "edges" in given:
        weight = require_column(weight, given["edges"], "weight", "the table of edges")
    if options.y == "y":
        found = find_column("y", given.get("graphs", ()))
        targets = () if found is None else (found,)
    else:
        side: Side = "edges" if "edges" in given and "graphs" not in given else "graphs"
        targets = tuple(require_column(name, given.get(side, ()), "y", f"the table of {side}") for name in targets)
        if side == "edges":
            require_column(options.graph, given["edges"], "graph", "the table of edges")
    return replace(
        options,
        labels=[own for name in options.labels for own in as_written(name)],
        attributes=[own for name in options.attributes for own in as_written(name)],
        ignore=[own for name in options.ignore for own in as_written(name) or [name]],
        weight=weight,
        y=targets,
    )


# What columns are


def kind_of(name: str, side: Side, options: ReadOptions) -> Kind | None:
    """What a column is by its name, or because the user says so.

    >>> kind_of("id", "nodes", ReadOptions()), kind_of("Label", "nodes", ReadOptions())
    ('text', 'label')
    """
    by_name: Kind | None = "label" if name.casefold() == "label" else None
    if side == "edges" and name == options.weight:
        by_name = "attribute"
    elif (side, name) in (("nodes", "id"), ("graphs", "name")):
        by_name = "text"
    return options.kind(name, side) or by_name


def to_column(name: str, cells: Cells, side: Side, options: ReadOptions) -> Column:
    """Cells as a column: words are labels or, where nearly every row has another one, ids; numbers are attributes.

    >>> to_column("how", Factorized.of(["card", "cash", "card"]), "edges", ReadOptions()).names
    ('card', 'cash')
    """
    kind = kind_of(name, side, options)
    target = side == "graphs" and name in options.targets
    if isinstance(cells, Factorized):
        return _of_words(name, cells, "label" if target and kind is None else kind, side)
    if isinstance(cells, list):
        return _of_objects(name, cells, kind, side, carried=side == "graphs" and not target)
    if kind is None or isinstance(cells, {"label": Categories, "attribute": Numbers, "text": Text}[kind]):
        return cells
    return column_of(name, cells.values().tolist(), kind, of=side)


def _of_words(name: str, cells: Factorized, kind: Kind | None, side: Side) -> Column:
    """A column of a dictionary of values."""
    values, words = cells.values, all(isinstance(value, str) for value in cells.values)
    if kind == "text" or not (values or kind):
        return Text(cells.cells())
    if kind == "attribute" or not (words or kind or all(isinstance(value, bool) for value in values)):
        return column_of(name, cells.cells().tolist(), kind, of=side)
    if kind is None and words:
        used = np.bincount(cells.codes[cells.codes >= 0], minlength=len(values)) > 0
        dates = all(DATE.fullmatch(value) for value in values)
        if dates and side != "graphs":
            raise refuse_date(name, side)
        if dates or are_ids(int(used.sum()), int((cells.codes >= 0).sum())):
            return Text(cells.cells())
    return cells.labels(name, side)


def _of_objects(name: str, cells: list[Any], kind: Kind | None, side: Side, *, carried: bool) -> Column:
    """A column of Python values; what describes graphs is carried along, whatever it is."""
    try:
        return column_of(name, cells, kind, of=side)
    except GraphError:
        if kind is not None or not carried:
            raise
        return Text.of(None if is_missing(value) else str(value) for value in cells)


def take_or_missing(column: Column, rows: NDArray[np.int64]) -> Column:
    """Rows of a column; those numbered -1 are missing.

    >>> take_or_missing(Categories.of(["C", "O"]), np.array([1, -1, 0])).values().tolist()
    ['O', None, 'C']
    """
    unknown = rows < 0
    taken = column.take(np.maximum(rows, 0))
    if not unknown.any():
        return taken
    if isinstance(taken, Categories):
        return replace(taken, codes=np.where(unknown, -1, taken.codes))
    if isinstance(taken, Text):
        texts = taken.texts.copy()
        texts[unknown] = None
        return Text(texts)
    numbers = taken.numbers.astype(np.float64)
    numbers[unknown] = np.nan
    return Numbers(numbers)


def integer_labels(numbers: Array) -> Categories:
    """Whole numbers as labels, in ascending order.

    >>> integer_labels(np.array([8, 6, 8])).names
    ('6', '8')
    """
    low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    if high - low > 4 * numbers.size + 1000:
        found, codes = np.unique(numbers, return_inverse=True)
        return Categories.numbered(codes, map(str, found.tolist()))
    shifted = numbers.astype(np.int64) - low
    used = np.bincount(shifted, minlength=1) > 0
    place = (np.cumsum(used) - 1).astype(np.min_scalar_type(-used.size))
    return Categories.numbered(place[shifted], map(str, (np.flatnonzero(used) + low).tolist()))

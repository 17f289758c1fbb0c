"""The three kinds of columns of graphs, nodes and edges (labels, numbers and text), and which of them values make."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b
from itertools import repeat
from math import inf, isfinite, isnan
from numbers import Real
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import GraphError, Remedy

Rows: TypeAlias = NDArray[np.int64] | slice
Array: TypeAlias = NDArray[Any]
Ints: TypeAlias = NDArray[np.int64]
Kind = Literal["label", "attribute", "text"]

IDS_FROM = 20
"""Rows from which on words are taken for ids if nearly all differ."""
NEARLY_ALL = 0.9
NUMBER = (Real, Decimal, np.number)
SHOWN = 6
"""Labels that a description lists."""


def read_only(array: Array) -> Array:
    """The same array, which nobody can change through this name."""
    view = array.view()
    view.flags.writeable = False
    return view


class _Rows:
    """What all kinds of columns share: an array with a row for each graph, node or edge."""

    kind: ClassVar[str]
    field: ClassVar[str]  # name of the array

    def __post_init__(self) -> None:
        object.__setattr__(self, self.field, read_only(getattr(self, self.field)))

    def __len__(self) -> int:
        return len(getattr(self, self.field))

    def take(self, rows: Rows) -> Self:
        """Some of the rows."""
        return replace(self, **{self.field: getattr(self, self.field)[rows]})  # type: ignore[type-var]

    def values(self) -> Array:
        """The value of every row: names of labels, None where one is missing; numbers; texts."""
        values: Array = getattr(self, self.field)
        return values


@dataclass(frozen=True, eq=False)
class Categories(_Rows):
    """Labels: a code per row, -1 where the label is missing, and what the codes mean.

    >>> labels = Categories.of(["C", "O", None, "C"])
    >>> labels.codes.tolist(), labels.names
    ([0, 1, -1, 0], ('C', 'O'))
    """

    kind: ClassVar[str] = "Categories"
    field: ClassVar[str] = "codes"
    codes: Array  # (N,), the smallest signed integers that hold them
    names: tuple[str, ...]
    one_hot: bool = False
    """Whether they came as one-hot rows of numbers, where a row of zeros is a node or edge that matches nothing."""

    @classmethod
    def of(cls, labels: Iterable[Hashable]) -> "Categories":
        """Number the distinct labels; numbers sort as numbers, everything else by name. None and nan are missing.

        >>> Categories.of([10, 2, "C", None]).names
        ('2', '10', 'C')
        """
        labels = labels if isinstance(labels, Collection) else list(labels)
        try:
            ordered = sorted((label for label in set(labels) if not is_missing(label)), key=_order)
        except TypeError as error:
            raise GraphError(f"labels must be hashable values such as strings or integers: {error}.") from error
        code = {label: i for i, label in enumerate(ordered)}
        codes = np.fromiter(map(code.get, labels, repeat(-1)), np.int64, len(labels))
        return cls.numbered(codes, _names(ordered))

    @classmethod
    def numbered(cls, codes: Array, names: Iterable[str], *, one_hot: bool = False) -> "Categories":
        """Take codes as they are, in as few bytes as hold them.

        >>> Categories.numbered(np.array([1, 0]), ["no", "yes"]).values().tolist()
        ['yes', 'no']
        """
        names = tuple(names)
        size = np.min_scalar_type(-max(len(names), 1))
        return cls(np.asarray(codes).astype(size, copy=False), names, one_hot)

    @property
    def unnamed(self) -> bool:
        """Whether the labels are known only by the number of their column in one-hot rows."""
        return self.one_hot and self.names == tuple(map(str, range(len(self.names))))

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no label."""
        return self.codes < 0

    def values(self) -> NDArray[np.object_]:
        """The name of every row, None where it is missing.

        >>> Categories.of(["yes", None, "no"]).values().tolist()
        ['yes', None, 'no']
        """
        return np.array([*self.names, None], dtype=object)[self.codes]

    def describe(self) -> str:
        """How many labels there are, and some of them."""
        more = ", ..." if len(self.names) > SHOWN else ""
        return f"{counted(len(self.names), 'label')} ({', '.join(self.names[:SHOWN])}{more})"

    def canonical_bytes(self) -> bytes:
        """Bytes that are equal for equal columns, whatever numbers their labels have."""
        used = np.unique(self.codes[self.codes >= 0])
        order = sorted(used.tolist(), key=lambda code: self.names[code])
        rank = np.full(len(self.names) + 1, -1)
        rank[order] = np.arange(len(order))
        return rank[self.codes].astype(np.int32).tobytes() + repr([self.names[code] for code in order]).encode()


@dataclass(frozen=True, eq=False)
class Numbers(_Rows):
    """Attributes: one or several numbers per row, nan where the value is missing.

    >>> Numbers(np.array([[1.0, 2.0], [3.0, np.nan]])).missing.tolist()
    [False, True]
    """

    kind: ClassVar[str] = "Numbers"
    field: ClassVar[str] = "numbers"
    numbers: Array  # (N,) or (N, D): integers or floats

    @property
    def width(self) -> int:
        """Numbers per row."""
        return 1 if self.numbers.ndim == 1 else self.numbers.shape[1]

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows lack a number."""
        if self.numbers.dtype.kind != "f":
            return np.zeros(len(self), bool)
        return np.asarray(np.isnan(self.numbers.reshape(len(self), self.width)).any(1))

    def matrix(self) -> NDArray[np.float64]:
        """The numbers as rows of floats: ``(N, D)``."""
        return self.numbers.reshape(len(self), self.width).astype(np.float64, copy=False)

    def describe(self) -> str:
        """From where to where they go."""
        if self.width != 1:
            return f"{self.width} numbers"
        known = self.numbers.ravel()[~self.missing]
        if not known.size:
            return "numbers"
        low, high = known.min(), known.max()
        return f"numbers, {low:g} to {high:g}" if low < high else f"numbers, all {low:g}"

    def canonical_bytes(self) -> bytes:
        """Bytes that are equal for equal columns."""
        numbers = self.numbers.astype(np.float64) + 0.0  # there are several zeros and nans
        return repr(self.numbers.shape[1:]).encode() + np.where(np.isnan(numbers), np.nan, numbers).tobytes()


@dataclass(frozen=True, eq=False)
class Text(_Rows):
    """Ids and names: carried along, never a feature; None where one is missing."""

    kind: ClassVar[str] = "Text"
    field: ClassVar[str] = "texts"
    texts: NDArray[np.object_]

    @classmethod
    def of(cls, values: Iterable[object]) -> "Text":
        """Keep values as they are.

        >>> Text.of(["ann", None]).missing.tolist()
        [False, True]
        """
        values = list(values)
        texts = np.empty(len(values), dtype=object)
        texts[:] = values
        return cls(texts)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no text."""
        return np.array([text is None for text in self.texts.tolist()], dtype=bool)

    def describe(self) -> str:
        """What becomes of it."""
        return "text, taken for ids and not compared"

    def canonical_bytes(self) -> bytes:
        """Bytes that are equal for equal columns."""
        plain = [text.item() if isinstance(text, np.generic) else text for text in self.texts.tolist()]
        return repr(plain).encode(errors="surrogatepass")


Column: TypeAlias = Categories | Numbers | Text


def counted(number: int, what: str) -> str:
    """A number of things in words.

    >>> counted(1, "graph"), counted(1200, "node")
    ('1 graph', '1,200 nodes')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def equal(one: Column, other: Column) -> bool:
    """Whether two columns are of one kind and have equal rows; numbers of labels do not matter, nor do unused ones.

    >>> equal(Categories.of(["C", "O"]), Categories.numbered(np.array([1, 0]), ["O", "C"]))
    True
    """
    if one.kind != other.kind or len(one) != len(other):
        return False
    if isinstance(one, Categories) and isinstance(other, Categories) and one.names == other.names:
        return bool((one.codes == other.codes).all())
    return one.canonical_bytes() == other.canonical_bytes()


def equal_columns(one: Mapping[str, Column], other: Mapping[str, Column]) -> bool:
    """Whether columns have the same names and are :func:`equal`."""
    return one.keys() == other.keys() and all(equal(one[name], other[name]) for name in one)


def plain_values(column: Column) -> list[Any]:
    """The values as plain Python has them, None where one is missing.

    >>> plain_values(Numbers(np.array([1.5, np.nan])))
    [1.5, None]
    """
    values: list[Any] = column.values().tolist()
    missing = column.missing
    if isinstance(column, Numbers) and column.numbers.ndim > 1 and missing.any():
        missing = np.asarray(np.isnan(column.matrix()).all(1))  # of a row of several, some may be known
    for row in np.flatnonzero(missing).tolist():
        values[row] = None
    return values


def concatenate(columns: Sequence[Column]) -> Column:
    """Put columns of one kind below one another.

    >>> concatenate([Categories.of(["C"]), Categories.of(["O"])]).values().tolist()
    ['C', 'O']
    """
    first = columns[0]
    if isinstance(first, Numbers):
        return Numbers(np.concatenate([part.numbers for part in columns if isinstance(part, Numbers)]))
    if isinstance(first, Text):
        return Text(np.concatenate([part.texts for part in columns if isinstance(part, Text)]))
    parts = [part for part in columns if isinstance(part, Categories)]
    names = first.names
    if any(part.names != names for part in parts):
        names = tuple(sorted({name for part in parts for name in part.names}, key=_written_order))
    code = {name: i for i, name in enumerate(names)}
    codes = np.concatenate([np.array([*map(code.__getitem__, part.names), -1])[part.codes] for part in parts])
    return Categories.numbered(codes, names, one_hot=all(part.one_hot for part in parts))


def join(columns: Sequence[tuple[str, Categories]]) -> Categories:
    """Make one label of several: ``C, charge 1``. It is missing where one of them is.

    >>> join([("element", Categories.of(["C", "N"])), ("charge", Categories.of([0, 1]))]).names
    ('C, charge 0', 'N, charge 1')
    """
    if len(columns) == 1:
        return columns[0][1]
    known = np.flatnonzero(~np.any([column.missing for _, column in columns], axis=0))
    place, first = np.zeros(known.size, np.int64), known[:1]
    for _, column in columns:
        key = place * max(len(column.names), 1) + column.codes[known]
        _, rows, place = np.unique(key, return_index=True, return_inverse=True)
        first = known[rows]  # a row of every distinct label
    codes = np.full(len(columns[0][1]), -1)
    codes[known] = place
    words = [
        [_in_words(name, column.names[code], first=k == 0) for code in column.codes[first]]
        for k, (name, column) in enumerate(columns)
    ]
    return Categories.numbered(codes, [", ".join(parts) for parts in zip(*words, strict=True)])


def _in_words(column: str, value: str, *, first: bool) -> str:
    """What one column says within a joint label; truth values say the column's name or that it is not so.

    Whatever could be taken for something else is in quotes: distinct rows have distinct words.
    """
    if value in ("True", "False"):
        return column if value == "True" else f"not {column}"
    if _is_number(value):
        return value if first else f"{column} {value}"
    means_other = value in (column, f"not {column}") or _is_number(value.removeprefix(f"{column} "))
    quoted = not value or ", " in value or value[0] in "'\"" or value[-1] == ","
    return repr(value) if means_other or quoted else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def pointers(sizes: Sequence[int] | Ints) -> Ints:
    """Where the rows of each graph begin, and where all end ``(B + 1,)``, from their numbers ``(B,)``.

    >>> pointers([3, 2])
    array([0, 3, 5])
    """
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def rows_of(chosen: Ints, ptr: Ints) -> tuple[Ints, Ints]:
    """Rows that belong to the chosen graphs, one graph after the other, and where each begins.

    >>> rows_of(np.array([2, 0]), pointers([2, 9, 3]))
    (array([11, 12, 13,  0,  1]), array([0, 3, 5]))
    """
    sizes = ptr[chosen + 1] - ptr[chosen]
    new = pointers(sizes)
    return np.arange(new[-1]) + np.repeat(ptr[chosen] - new[:-1], sizes), new


def block_ranges(node_ptr: Ints, max_nodes: int) -> Iterator[tuple[int, int]]:
    """Ranges of graphs of at most ``max_nodes`` nodes together, or of one larger graph.

    >>> list(block_ranges(pointers([3, 2, 9, 1]), max_nodes=5))
    [(0, 2), (2, 3), (3, 4)]
    """
    start, count = 0, node_ptr.size - 1
    while start < count:
        stop = int(np.searchsorted(node_ptr, node_ptr[start] + max_nodes, side="right")) - 1
        stop = min(max(stop, start + 1), count)
        yield start, stop
        start = stop


def is_missing(value: object) -> bool:
    """Whether a value is none: None, nan, and what pandas has for them.

    >>> [is_missing(value) for value in (None, float("nan"), 0, "")]
    [True, True, False, False]
    """
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")


def label_codes(num_labels: int, new: Sequence[str]) -> NDArray[np.uint64]:
    """What hashes know labels by: their numbers, but for names that fitting did not see, which come last, the name.

    The number of such a label depends on what other graphs come with it, its name does not. One more entry, the last
    one, is for the label -1.
    """
    codes = np.arange(num_labels + 1, dtype=np.uint64)
    codes[num_labels - len(new) : num_labels] = [_name_code(name) for name in new]
    codes[-1] = np.iinfo(np.uint64).max
    return codes


@lru_cache(maxsize=100_000)
def _name_code(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


def _order(label: Hashable) -> tuple[str, Real | int, str]:
    kind = "str" if isinstance(label, str) else type(label).__name__
    return kind, label if isinstance(label, Real) else 0, str(label)


def _written_order(name: str) -> tuple[bool, float, str]:
    """Order of labels of which only the names are known: numbers first, as numbers."""
    number = float(name) if _is_number(name) else inf
    return (False, number, name) if isfinite(number) else (True, 0.0, name)


def _names(ordered: Sequence[Hashable]) -> tuple[str, ...]:
    """Names of distinct labels; 1 and "1" differ, and no other is written differently because of them."""
    if all(isinstance(label, str) for label in ordered):
        return tuple(map(str, ordered))
    times = Counter(str(label) for label in ordered)
    names = tuple(repr(label) if isinstance(label, str) and times[label] > 1 else str(label) for label in ordered)
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise GraphError(f"several distinct labels are written {twice}: use labels with distinct names.")
    return names


# From Python's values


def column_of(name: str, values: Sequence[Any], kind: Kind | None = None, *, of: str = "nodes") -> Column:
    """Turn Python values into a column: words and truth values are labels, numbers are attributes.

    Args:
        name: Name of the column; one that is called ``label`` holds labels, whatever they are.
        values: One per row; None and nan are missing.
        kind: What the user says they are.
        of: What the rows are, for errors.

    Example:
        >>> type(column_of("kind", ["shop", "person"])).__name__, type(column_of("age", [31, None])).__name__
        ('Categories', 'Numbers')
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
    """Targets of graphs: words are classes, numbers are numbers; some may be missing.

    >>> target_column("y", ["toxic", None, "safe"]).values().tolist()
    ['toxic', None, 'safe']
    """
    named = any(isinstance(value, str) for value in values)
    return column_of(name, values, "label" if named else None, of="graphs")


def labels_of(name: str, values: Iterable[Any], of: str) -> Categories:
    """Turn values of any hashable kind into labels."""
    try:
        return Categories.of(values)
    except GraphError as error:
        raise GraphError(f"column {name!r} of the {of}: {error.args[0]}", *error.args[1:]) from error


def are_ids(distinct: int, present: int) -> bool:
    """Whether words are ids rather than labels: nearly every row has another one.

    >>> are_ids(distinct=500, present=510), are_ids(distinct=3, present=510)
    (True, False)
    """
    return present >= IDS_FROM and distinct >= NEARLY_ALL * present


def refuse_date(name: str, of: str) -> GraphError:
    """The error about a date, which has no unit."""
    return GraphError(
        f"column {name!r} of the {of} holds dates or times, which have no unit.",
        "Convert them to numbers, such as days since the first.",
        Remedy("Or leave them out: {ignore}.", ignore=(name,)),
    )


def mixed_column(name: str, of: str, shown: str) -> GraphError:
    """The error about a column of several kinds of values, of which ``shown`` lists some."""
    return GraphError(
        f"column {name!r} of the {of} holds {shown}: neither labels nor numbers throughout.", *_other(name)
    )


def _other(name: str) -> tuple[Remedy, Remedy]:
    return (
        Remedy("To read its values as labels, use {labels}.", labels=(name,)),
        Remedy("To leave it out, use {ignore}.", ignore=(name,)),
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
    shown = " and ".join(short_repr(value) for kind, value in first.items() if kind in kinds)
    raise mixed_column(name, of, shown)


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
    much = "a number" if width in (None, 1) else f"{width} numbers"
    return GraphError(
        f"column {name!r} of the {of} must hold {much} everywhere, got {short_repr(value)}.", *_other(name)
    )


def short_repr(value: object) -> str:
    """A value as messages show it.

    >>> short_repr("x" * 1000)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."
    """
    try:
        text = repr(value)
    except Exception:  # a value's own repr may fail
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."

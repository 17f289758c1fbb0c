"""Graphs as JSON, one per line: networkx's node-link form, straight into columns.

``{"id": "g7", "nodes": [{"id": 0, "label": "C"}, {"id": 1, "label": "O"}], "edges": [{"source": 0, "target": 1}]}``

Every other field of nodes and edges is a column; ``"links"`` is read as ``"edges"``, and ``"directed": true`` and
``"multigraph": true`` are heeded. Labels are compared as they are written: 1 and "1" are the same. Further fields
beside ``nodes`` and ``edges`` belong to the user.
"""

import json
import math
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import DataError, GraphError, Told
from rwkplus.files import whole_file
from rwkplus.io.rows import Mistakes, Places
from rwkplus.io.sources import ReadOptions, graph_columns
from rwkplus.table import Categories, Column, GraphTable, Numbers, Text
from rwkplus.table.columns import Array, are_ids, column_of, mixed_column, short
from rwkplus.table.graph_table import parallel_edges, pointers, row_fields

TAKES = ("ignore", "labels", "attributes", "weight", "y", "on_error")
AT_ONCE = 2000
"""Lines that are parsed together."""
WRITTEN_NODES = 100_000
"""Nodes of graphs that are written together."""
IDS = frozenset({int, str, float, bool})
"""What may be the id of a node."""
SCALARS = IDS
NUMBERS = frozenset({int, float})
NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{1,15})?")
"""What may be a number in its usual spelling."""
LARGEST = 2**63
"""Whole numbers from here on do not fit into 64 bits."""
BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
OTHER = "other"
Words = Literal["label", "text", "infer"]
"""What fields of words are: labels, text, or text where nearly all differ."""
Fields = dict[str, list[Any]]
Values = dict[tuple[str, str], list[Any]]
"""Values by ``"nodes"`` or ``"edges"`` and the name of the field."""
decode = msgspec.json.Decoder().decode


class Refused(NamedTuple):
    """What is wrong with a line, and the id of its graph if it can be told."""

    error: str
    name: object = None


class _Record(NamedTuple):
    """A graph of which ids and ends of edges have been checked; fields of nodes and edges are columns."""

    name: object
    ids: list[Any]
    source: list[int]
    target: list[int]
    nodes: Fields
    edges: Fields
    directed: bool
    multigraph: bool
    rest: Mapping[str, Any]
    """Fields beside nodes and edges."""


class Place(NamedTuple):
    """Where the graph of a line is."""

    table: int
    row: int
    name: object
    """Its ``id``, as JSON has it; None if it has none."""


class Parsed(NamedTuple):
    """The readable graphs of some lines, and for every line where its graph is or what is wrong with it.

    Lines whose graphs have the same fields share a table, so that no line is read differently because of others.

    >>> line = b'{"id": "g7", "nodes": [{"id": 0}], "edges": []}'
    >>> parse_lines([line, b"{"]).lines[0]
    Place(table=0, row=0, name='g7')
    """

    tables: list[GraphTable]
    lines: list[Place | Refused]


def parse_lines(
    lines: Sequence[bytes],
    options: ReadOptions = ReadOptions(),  # noqa: B008
    *,
    words: Literal["label", "text"] = "label",
) -> Parsed:
    """Read graphs, one per line; errors are told for every line.

    Args:
        lines: JSON in UTF-8.
        options: ``labels``, ``attributes``, ``ignore`` and ``weight`` say what fields are.
        words: What other fields of words are than ``label``: a few lines cannot tell labels from ids.

    Example:
        >>> parsed = parse_lines([b'{"nodes": [{"id": "a", "size": 2}], "edges": []}', b"{}"])
        >>> parsed.tables[0]
        GraphTable: 1 undirected graph, 1 node, 0 edges
          nodes  id: ids
                 size: numbers, all 2
        >>> parsed.lines[1].error
        "'nodes' must be a list of objects, got None."
    """
    found = _records_of(lines)
    parsed = Parsed([], [own if isinstance(own, Refused) else Refused("") for own in found])
    good = {i: own for i, own in enumerate(found) if isinstance(own, _Record)}
    if good:
        values = _values(list(good.values()), options)
        if _uniform(list(good.values()), values, options):
            _add_table(parsed, good, _How(options, words), values)
        else:
            for group in _groups(good, options):
                _add_table(parsed, group, _How(options, words))
    return parsed


def read_json_lines(path: str | Path, options: ReadOptions = ReadOptions()) -> GraphTable:  # noqa: B008
    r"""Read a file of graphs; a field ``y`` beside the nodes, a number or the name of a class, is the target.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder) / "graphs.jsonl"
        ...     _ = file.write_text('{"id": "g7", "y": 1, "nodes": [{"id": 0, "label": "C"}], "edges": []}\n')
        ...     read_json_lines(file)
        GraphTable: 1 undirected graph, 1 node, 0 edges
          graphs name: names
                 y: numbers, all 1, target
          nodes  label: 1 label (C)
    """
    options.check("JSON lines", TAKES)
    reading = _File(Path(path), options)
    try:
        with Path(path).open("rb") as file:
            filled = ((number, line) for number, line in enumerate(file, start=1) if line.strip())
            while batch := list(islice(filled, AT_ONCE)):
                reading.add(batch)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}.") from error
    return reading.table()


# Lines as checked records


def _records_of(lines: Sequence[bytes]) -> list[_Record | Refused]:
    """Read every line, or tell what is wrong with it."""
    found: list[_Record | Refused] = []
    for line in lines:
        try:
            found.append(_record(line))
        except (GraphError, RecursionError) as error:
            found.append(Refused(_told(error), _name_anyway(line)))
    for i in _with_repeated_edges(found):
        try:
            found[i] = _merged(found[i])  # type: ignore[arg-type]
        except (GraphError, RecursionError) as error:
            found[i] = Refused(_told(error), _name_anyway(lines[i]))
    return found


def _told(error: Exception) -> str:
    """An error in words, without remedies that whoever wrote the line cannot use."""
    if isinstance(error, RecursionError):
        return "not JSON: it is nested too deeply."
    return error.told(lambda *_: None) if isinstance(error, Told) else str(error)


def _record(line: bytes) -> _Record:
    """Read one line, or raise an error that tells what is wrong with it."""
    try:
        raw = decode(line)
    except BROKEN:
        raw = _decoded_slowly(line)
    try:
        rows, links = raw["nodes"], raw[_edges_field(raw)]
        nodes, edges = _fields_of(rows), _fields_of(links) or {"source": [], "target": []}
        ids = nodes.pop("id")
        place = dict(zip(ids, range(len(ids)), strict=True))
        source = list(map(place.__getitem__, edges.pop("source")))
        target = list(map(place.__getitem__, edges.pop("target")))
        directed, multigraph = raw.get("directed", False), raw.get("multigraph", False)
        sound = type(rows) is type(links) is list and type(directed) is type(multigraph) is bool
        sound = sound and len(ids) == len(place) and IDS.issuperset(map(type, ids))
    except (LookupError, TypeError, AttributeError):
        sound = False
    if not sound:
        _diagnose(raw)
    if multigraph:
        edges.pop("key", None)  # networkx's number of a parallel edge
    del raw["nodes"], raw[_edges_field(raw)]  # much memory, and done with
    own = raw.get("graph")
    if isinstance(own, dict):  # where networkx writes what belongs to the graph as a whole
        raw = {"id": own.get("name"), **own, **raw}
    name = raw.get("id")
    if isinstance(name, list | dict):
        json.dumps(name)  # raises RecursionError where it could not be written again
    return _Record(name, ids, source, target, nodes, edges, directed, multigraph, raw)


def _edges_field(raw: Mapping[str, Any]) -> str:
    return "links" if "links" in raw and "edges" not in raw else "edges"


def _fields_of(rows: Any) -> Fields:  # noqa: ANN401
    """Columns of objects, None where one lacks a field; raises one of several errors for what are no objects."""
    if not rows:
        return {}
    try:
        columns = {name: list(map(itemgetter(name), rows)) for name in rows[0]}
        if sum(map(len, rows)) == len(columns) * len(rows):
            return columns
    except KeyError:
        pass
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(chain.from_iterable(rows))}


def _decoded_slowly(line: bytes) -> Any:  # noqa: ANN401
    """Read what msgspec refuses: broken lines, halves of characters, and numbers beyond all numbers."""
    try:
        raw = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise GraphError(f"not JSON: {error}.") from error
    try:
        json.dumps(raw, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        raise GraphError(f"a text holds half of a character ({half} alone), as when one is cut in two.") from error
    if isinstance(raw, dict):
        for place in _infinite(raw):
            raise GraphError(f"{place} is larger than any number that JSON can hold: make it a string.")
    return raw


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _infinite(raw: Mapping[str, Any]) -> Iterator[str]:
    """Fields with numbers such as 1e999, which can be read but not be written again."""
    for field, value in raw.items():
        if field in ("nodes", "edges", "links") and isinstance(value, list):
            for k, own in enumerate(value):
                parts = own.items() if isinstance(own, dict) else [("value", own)]
                yield from (f"{field}[{k}]: {name}" for name, part in parts if _holds_infinity(part))
        elif field in ("id", "y") and _holds_infinity(value):
            yield field


def _holds_infinity(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_infinity, value.values()))
    if isinstance(value, list):
        return any(map(_holds_infinity, value))
    return isinstance(value, float) and math.isinf(value)


def _diagnose(raw: Any) -> None:  # noqa: ANN401
    """Raise the error about the first thing that is wrong with a graph."""
    if not isinstance(raw, dict):
        raise GraphError(f"expected an object with 'nodes' and 'edges', got {short(raw)}.")
    field = _edges_field(raw)
    nodes, edges = _objects(raw, "nodes"), _objects(raw, field)
    known = _identified(nodes)
    for k, edge in enumerate(edges):
        for end in ("source", "target"):
            name = edge.get(end)
            if not isinstance(name, int | float | str) or name not in known:
                raise GraphError(f"{field}[{k}]: {end} is {short(name)}, which is the id of no node.")
    for flag in ("directed", "multigraph"):
        if not isinstance(raw.get(flag, False), bool):
            raise GraphError(f"{flag!r} must be true or false, got {short(raw[flag])}.")
    raise GraphError("it is no graph in node-link form.")


def _objects(raw: Mapping[str, Any], field: str) -> list[dict[str, Any]]:
    values = raw.get(field)
    if not isinstance(values, list):
        raise GraphError(f"{field!r} must be a list of objects, got {short(values)}.")
    for k, value in enumerate(values):
        if not isinstance(value, dict):
            raise GraphError(f"{field}[{k}] must be an object, got {short(value)}.")
    return values


def _identified(nodes: Sequence[Mapping[str, Any]]) -> set[object]:
    seen: set[object] = set()
    for k, node in enumerate(nodes):
        name = node.get("id")
        if not isinstance(name, int | float | str):
            raise GraphError(f"nodes[{k}]: every node needs an 'id' of its own, a number or a string.")
        if name in seen:
            raise GraphError(f"nodes[{k}]: every node needs an 'id' of its own, and {short(name)} was there before.")
        seen.add(name)
    if not seen:
        raise GraphError("'nodes' is empty: a graph has at least one node.")
    return seen


def _with_repeated_edges(found: Sequence[_Record | Refused]) -> list[int]:
    """Graphs that are no multigraphs and have two edges between the same nodes."""
    own = [(i, record) for i, record in enumerate(found) if isinstance(record, _Record) and not record.multigraph]
    if not own:
        return []
    numbers = np.array([i for i, _ in own])
    graph = np.repeat(np.arange(len(own)), [len(record.source) for _, record in own])
    source = _joined([record.source for _, record in own])
    target = _joined([record.target for _, record in own])
    turned = ~np.array([record.directed for _, record in own])[graph] & (source > target)
    low, high = np.where(turned, target, source), np.where(turned, source, target)
    width = int(max(low.max(initial=0), high.max(initial=0))) + 1
    key = np.sort((graph * width + low) * width + high)
    again = key[1:][key[1:] == key[:-1]] // width**2
    return sorted(set(numbers[again].tolist()))


def _joined(parts: Sequence[list[int]]) -> NDArray[np.int32]:
    """Put numbers of several graphs one after the other."""
    return np.array(list(chain.from_iterable(parts)), dtype=np.int32)


def _merged(record: _Record) -> _Record:
    """The graph with every edge once, if those that are repeated have the same fields."""
    seen: dict[tuple[int, int], int] = {}
    kept = []
    for k, (u, v) in enumerate(zip(record.source, record.target, strict=True)):
        first = seen.setdefault((u, v) if record.directed else (min(u, v), max(u, v)), k)
        if first == k:
            kept.append(k)
        elif any(column[first] != column[k] for column in record.edges.values()):
            raise GraphError(
                f"edges[{k}]: there was an edge from {record.ids[u]!r} to {record.ids[v]!r} with other fields; "
                'parallel edges need "multigraph": true.'
            )
    return record._replace(
        source=[record.source[k] for k in kept],
        target=[record.target[k] for k in kept],
        edges={name: [column[k] for k in kept] for name, column in record.edges.items()},
    )


def _name_anyway(line: bytes) -> object:
    """The id of a graph that is refused, if it is one that can be written."""
    try:
        raw = json.loads(line)
        name = raw.get("id") if isinstance(raw, dict) else None
        json.dumps(name, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return _writable(name)


def _writable(name: object) -> object:
    """The id of a graph if it is a word or a number, else None."""
    return name if isinstance(name, str | int) else None


# Values as columns


def _kind_of(values: Sequence[Any], *, label: bool) -> Hashable:
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


def _plain(label: Any) -> Any:  # noqa: ANN401 -- what JSON can spell
    """Make one label of 1, 1.0 and "1": what a label means must not depend on how other lines write theirs."""
    if isinstance(label, bool):
        return str(label)
    if isinstance(label, float) and label.is_integer():
        return int(label)
    if isinstance(label, str) and NUMBER.fullmatch(label):
        number = json.loads(label)
        return _plain(number) if str(number) == label else label
    return label


class _Codes(dict[Any, int]):
    """Number of every value that has occurred, -1 for None."""

    def __init__(self, *, labels: bool) -> None:
        super().__init__({None: -1})
        self.labels = labels
        self.distinct: dict[Any, int] = {}

    def __missing__(self, value: Any) -> int:  # noqa: ANN401
        own = _plain(value) if self.labels else value
        self[value] = self.distinct.setdefault(own, len(self.distinct))
        return self[value]


class _Builder:
    """Collects the values of one column; rows that are not given are missing.

    Args:
        side: ``"nodes"`` or ``"edges"``.
        name: Name of the column.
        options: Which may say what it is.
    """

    def __init__(self, side: str, name: str, options: ReadOptions) -> None:
        self.side, self.name, self.wanted = side, name, options.kind(name, side)
        self.label = self.wanted == "label" or (self.wanted is None and name == "label")
        self.kinds: dict[Hashable, tuple[int, Any]] = {}
        """The first row of every kind, and its value; more than one is a mistake."""
        self.codes = _Codes(labels=self.label)
        self.parts: list[tuple[int, Array]] = []

    def part(self, values: Sequence[Any]) -> tuple[Hashable, Array | None]:
        """Values as an array; raises where they are of no kind that a column can have."""
        kind = _kind_of(values, label=self.label)
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
            raise self.conflict()
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

    def conflict(self) -> GraphError:
        """The error about values of several kinds."""
        return mixed_column(self.name, self.side, " and ".join(short(value) for _, value in self.kinds.values()))

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
        wrong = next(value for value in values if isinstance(value, int) and not -LARGEST <= value < LARGEST)
        raise GraphError(
            f"column {self.name!r} of the {self.side} holds {short(wrong)}, which is too large for a whole number of "
            "64 bits: make it a string."
        )

    def _rows(self, values: Sequence[Any], width: int) -> Array:
        rows = [[np.nan] * width if value is None else value for value in values]
        types = set(map(type, chain.from_iterable(rows)))
        if NoneType in types:
            rows = [[np.nan if number is None else number for number in row] for row in rows]
        try:
            if width and types <= NUMBERS | {NoneType}:
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


# Records as tables


def _values(records: Sequence[_Record], options: ReadOptions) -> Values:
    """Values of all fields of nodes and of edges, one graph after the other."""
    sides = {
        "nodes": [(record.nodes, len(record.ids)) for record in records],
        "edges": [(record.edges, len(record.source)) for record in records],
    }
    return {
        (side, name): list(chain.from_iterable([own.get(name) or [None] * size for own, size in parts]))
        for side, parts in sides.items()
        for name in dict.fromkeys(chain.from_iterable([own for own, _ in parts]))
        if not options.leaves_out(name, side)
    }


class _Collected:
    """Nodes and edges of graphs in arrays, to which more graphs can be added."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.builders: dict[tuple[str, str], _Builder] = {}
        self.rows = {"nodes": 0, "edges": 0}
        self.sizes: dict[str, list[int]] = {"nodes": [], "edges": []}
        self.ends: tuple[list[NDArray[np.int32]], list[NDArray[np.int32]]] = ([], [])
        self.ids: list[Any] | None = None  # of all nodes; None as long as they are numbered

    def add(self, records: Sequence[_Record], values: Values | None = None) -> None:
        """Take some graphs, all of them or, where their values are of no kind that columns can have, none."""
        values = values or _values(records, self.options)
        builders = {key: self.builders.get(key) or _Builder(*key, self.options) for key in values}
        parts = {key: builders[key].part(column) for key, column in values.items()}
        self.builders |= builders
        for key, part in parts.items():
            builders[key].add(self.rows[key[0]], values[key], part)
        self._add_ids(records)
        self._add_sizes("nodes", [len(record.ids) for record in records])
        self._add_sizes("edges", [len(record.source) for record in records])
        self.ends[0].append(_joined([record.source for record in records]))
        self.ends[1].append(_joined([record.target for record in records]))

    def _add_sizes(self, side: str, sizes: list[int]) -> None:
        self.sizes[side] += sizes
        self.rows[side] += sum(sizes)

    def _add_ids(self, records: Sequence[_Record]) -> None:
        """Keep ids from the first graph on whose nodes are not just numbered."""
        if self.ids is None:
            if all(record.ids == list(range(len(record.ids))) for record in records):
                return
            self.ids = list(chain.from_iterable(map(range, self.sizes["nodes"])))
        self.ids += chain.from_iterable(record.ids for record in records)

    def table(self, words: Words, *, directed: bool, graphs: Mapping[str, Column] | None = None) -> GraphTable:
        """All graphs; a field that holds nothing is no column, except in a whole file."""
        columns: dict[str, dict[str, Column]] = {"nodes": {}, "edges": {}}
        if self.ids is not None:
            columns["nodes"]["id"] = Text.of(self.ids)
        for (side, name), builder in self.builders.items():
            if builder.kinds or words == "infer":
                columns[side][name] = builder.column(self.rows[side], words)
        return GraphTable(
            pointers(self.sizes["nodes"]),
            pointers(self.sizes["edges"]),
            np.concatenate(self.ends[0]),
            np.concatenate(self.ends[1]),
            graphs or {},
            columns["nodes"],
            columns["edges"],
            directed,
        )


# Some lines of a stream


def _kind(side: str, name: str, column: Sequence[Any], options: ReadOptions) -> Hashable:
    wanted = options.kind(name, side)
    return _kind_of(column, label=wanted == "label" or (wanted is None and name == "label"))


def _signature(record: _Record, options: ReadOptions) -> Hashable:
    """What must be the same for graphs that share a table: direction, fields and their kinds."""
    values = sorted(_values([record], options).items())
    kinds = [(side, name, _kind(side, name, column, options)) for (side, name), column in values]
    return record.directed, tuple(own for own in kinds if own[2] is not None)


def _groups(records: Mapping[int, _Record], options: ReadOptions) -> Iterable[dict[int, _Record]]:
    groups: dict[Hashable, dict[int, _Record]] = {}
    for i, record in records.items():
        groups.setdefault(_signature(record, options), {})[i] = record
    return groups.values()


def _uniform(records: Sequence[_Record], values: Values, options: ReadOptions) -> bool:
    """Whether all graphs have the same fields of the same kinds, everywhere."""
    return len({record.directed for record in records}) == 1 and all(
        None not in column and _kind(side, name, column, options) != OTHER for (side, name), column in values.items()
    )


class _How(NamedTuple):
    """How columns are made of fields."""

    options: ReadOptions
    words: Words


def _add_table(parsed: Parsed, records: Mapping[int, _Record], how: _How, values: Values | None = None) -> None:
    """Add a table of records of one kind; those that spoil it are refused."""
    own = list(records.values())
    try:
        collected = _Collected(how.options)
        collected.add(own, values)
        table = collected.table(how.words, directed=own[0].directed)
        table = how.options.weighted(table) if table.num_edges else table
    except (GraphError, RecursionError) as error:
        if len(records) > 1:
            _add_sound(parsed, records, how)
        else:
            for i, record in records.items():
                parsed.lines[i] = Refused(_told(error), _writable(record.name))
        return
    for row, (i, record) in enumerate(records.items()):
        parsed.lines[i] = Place(len(parsed.tables), row, record.name)
    parsed.tables.append(table)


def _add_sound(parsed: Parsed, records: Mapping[int, _Record], how: _How) -> None:
    """Add a table of those records that can be read alone; the others are refused."""
    sound = {}
    for i, record in records.items():
        alone = Parsed([], parsed.lines)
        _add_table(alone, {i: record}, how)
        if alone.tables:
            sound[i] = record
    apart = len(sound) == len(records)  # they do not fit together, though each is fine
    for part in [{i: record} for i, record in sound.items()] if apart else [sound]:
        if part:
            _add_table(parsed, part, how)


# Whole files


class _File:
    """Collects the graphs of a file, batch by batch, and what is wrong with its lines."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path, self.options = path, options
        self.collected = _Collected(options)
        self.lines: list[int] = []  # of the graphs
        self.bad: list[tuple[int, Exception]] = []
        self.names: list[object] = []
        self.targets: dict[str, list[Any]] = {name: [] for name in options.targets}
        self.fields: dict[str, set[str]] = {"nodes": set(), "edges": set()}
        self.directed: bool | None = None

    def add(self, batch: Iterable[tuple[int, bytes]]) -> None:
        """Read some lines, given with their numbers."""
        numbers, lines = zip(*batch, strict=True)
        good: dict[int, _Record] = {}
        for number, found in zip(numbers, _records_of(lines), strict=True):
            try:
                good[number] = self._checked(found)
            except GraphError as error:
                self.bad.append((number, error))
        if good:
            self._add(good)

    def _checked(self, found: _Record | Refused) -> _Record:
        if isinstance(found, Refused):
            raise GraphError(found.error)
        for name in self.options.targets:
            _check_target(name, found.rest.get(name))
        if self.directed is None:
            self.directed = found.directed
        if found.directed != self.directed:
            ways = ("directed", "others are not") if found.directed else ("undirected", "others are directed")
            raise GraphError(f"the graph is {ways[0]} and {ways[1]}: one answer holds for all graphs of a file.")
        return found

    def _add(self, good: Mapping[int, _Record]) -> None:
        """Take all graphs together or, where that fails, one by one, so that each error stays with its line."""
        own = list(good.values())
        try:
            self.collected.add(own)
        except (GraphError, RecursionError) as error:
            if len(good) == 1:
                self.bad += [(number, error) for number in good]
            else:
                for number, record in good.items():
                    self._add({number: record})
            return
        self.lines += good
        self.names += [record.name for record in own]
        for name, values in self.targets.items():
            values += [record.rest.get(name) for record in own]
        self.fields["nodes"].update(*(record.nodes for record in own))
        self.fields["edges"].update(*(record.edges for record in own))

    def table(self) -> GraphTable:
        """All graphs, or the error about lines that cannot be read."""
        if not self.lines and not self.bad:
            raise DataError(f"{self.path} holds no graphs: expected one JSON object per line.")
        self._tell()
        self.options.check_columns(self.fields, sure=self.collected.rows["edges"] > 0)
        for builder in self.collected.builders.values():
            if len(builder.kinds) > 1:
                raise self._conflict(builder)
        names = [None if name in (None, "") else str(name) for name in self.names]
        columns = graph_columns(names, {name: _alike(values) for name, values in self.targets.items()})
        return self.options.applied(self.collected.table("infer", directed=bool(self.directed), graphs=columns))

    def _tell(self) -> None:
        """Raise an error about unreadable lines, or warn that they are left out."""
        total = len(self.bad) + len(self.lines)
        places = Places(str(self.path), "line", lambda line: (line, f"line {line}"), total)
        mistakes = Mistakes({"graphs": places}, self.options.on_error)
        for number, error in sorted(self.bad, key=lambda own: own[0]):
            message, *remedies = error.args if isinstance(error, GraphError) else [_told(error)]
            mistakes.add("graphs", [number], str(message).removesuffix("."), *remedies)  # type: ignore[arg-type]
        mistakes.settle()
        if not self.lines:
            raise mistakes.nothing_left()
        mistakes.warn()

    def _conflict(self, builder: _Builder) -> DataError:
        """The error about values of two kinds, with their lines."""
        sizes = np.cumsum(self.collected.sizes[builder.side])
        rows = [row for row, _ in builder.kinds.values()]
        first, other = (self.lines[int(np.searchsorted(sizes, row, side="right"))] for row in rows[:2])
        message, *remedies = builder.conflict().args
        return DataError(f"{self.path}, line {other} and line {first} differ: {message}", *remedies)


def _alike(targets: Sequence[Any]) -> Sequence[Any]:
    """Targets of which all are names if one is."""
    named = any(isinstance(value, str) for value in targets)
    return [None if value is None else str(value) for value in targets] if named else targets


def _check_target(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise GraphError(f"{name} must be a number or a name, got {short(value)}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise GraphError(f"the target {value} is no number to learn. Give another, or drop the graph.")
    if isinstance(value, int) and not -LARGEST <= value < LARGEST:
        raise GraphError(f"the target {short(value)} is too large for a whole number of 64 bits: make it a name.")


# And back


def graph_to_json(table: GraphTable) -> str:
    """Write a table of one graph as one line of JSON that :func:`read_json_lines` reads.

    Example:
        >>> table = parse_lines([b'{"nodes": [{"id": 0, "label": "C"}], "edges": []}']).tables[0]
        >>> graph_to_json(table)
        '{"directed":false,"multigraph":false,"nodes":[{"id":0,"label":"C"}],"edges":[]}'
    """
    if len(table) != 1:
        raise GraphError(f"expected a table of one graph, got {len(table)}: write_json_lines writes all of them.")
    return next(_written(table)).decode()


def write_json_lines(table: GraphTable, path: str | Path) -> Path:
    """Write a file with a line for every graph, whole or not at all.

    >>> from tempfile import TemporaryDirectory
    >>> table = GraphTable.of(["CO"])
    >>> with TemporaryDirectory() as folder:
    ...     GraphTable.of(write_json_lines(table, f"{folder}/graphs.jsonl")) == table
    True
    """
    with whole_file(path) as scratch, scratch.open("wb") as file:
        file.writelines(line + b"\n" for block in table.blocks(WRITTEN_NODES) for line in _written(block))
    return Path(path)


def _written(table: GraphTable) -> Iterator[bytes]:
    for side in ("graphs", "nodes", "edges"):
        for name, column in getattr(table, side).items():
            if isinstance(column, Numbers) and np.isinf(column.matrix()).any():
                raise GraphError(f"column {name!r} of the {side} holds inf, which JSON cannot: replace it.")
    nodes, edges, parallel = row_fields(table, "nodes"), row_fields(table, "edges"), parallel_edges(table).tolist()
    for i, own in enumerate(row_fields(table, "graphs")):
        name = {"id": own.pop("name")} if "name" in own else {}
        ids = table.node_ids(i)
        start, stop = int(table.node_ptr[i]), int(table.node_ptr[i + 1])
        span = slice(int(table.edge_ptr[i]), int(table.edge_ptr[i + 1]))
        ends = zip(table.source[span].tolist(), table.target[span].tolist(), edges[span], strict=True)
        record = {
            **name,
            **own,
            "directed": table.directed,
            "multigraph": parallel[i],
            "nodes": [{"id": v, **fields} for v, fields in zip(ids, nodes[start:stop], strict=True)],
            "edges": [{"source": ids[u], "target": ids[v], **fields} for u, v, fields in ends],
        }
        try:
            yield msgspec.json.encode(record)
        except (UnicodeEncodeError, TypeError, OverflowError) as error:
            raise GraphError(f"{table.called(i)} cannot be written as JSON: {error}.") from error

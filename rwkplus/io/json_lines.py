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
from dataclasses import replace
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import DataError, GraphError
from rwkplus.files import atomic_file
from rwkplus.io.rows import Factorized, RowErrors, RowLocator
from rwkplus.io.sources import ReadOptions, graph_columns
from rwkplus.table import Categories, Column, GraphTable, Numbers, Text
from rwkplus.table.columns import Array, are_ids, column_of, mixed_column, short_repr, take_or_missing
from rwkplus.table.graph_table import parallel_edges, plain_graphs, pointers

ACCEPTED = ("ignore", "labels", "attributes", "weight", "y", "on_error")
AT_ONCE = 2000
"""Lines that are parsed together."""
WRITTEN_NODES = 100_000
"""Nodes of graphs that are written together."""
SCALARS = frozenset({int, str, float, bool})
"""What may be the id of a node, or a label."""
NUMBERS = frozenset({int, float})
NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{1,15})?")
"""What may be a number in its usual spelling."""
LARGEST = 2**63
"""Whole numbers from here on do not fit into 64 bits."""
BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
OTHER = "other"
Fields = dict[str, list[Any]]
Key = tuple[Literal["nodes", "edges"], str]
"""A field of nodes or edges."""
Values = dict[Key, list[Any]]
decode = msgspec.json.Decoder().decode


class BadLine(NamedTuple):
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


class TableRow(NamedTuple):
    """Where the graph of a line is."""

    table: int
    row: int
    name: object
    """Its ``id``, as JSON has it; None if it has none."""


class ParsedLines(NamedTuple):
    """The readable graphs of some lines, and for every line where its graph is or what is wrong with it.

    Lines whose graphs have the same fields share a table, so that no line is read differently because of others.

    >>> line = b'{"id": "g7", "nodes": [{"id": 0}], "edges": []}'
    >>> parse_lines([line, b"{"]).lines[0]
    TableRow(table=0, row=0, name='g7')
    """

    tables: list[GraphTable]
    lines: list[TableRow | BadLine]


def parse_lines(lines: Sequence[bytes], options: ReadOptions = ReadOptions()) -> ParsedLines:
    """Read graphs, one per line; errors are told for every line.

    Words are labels, however many there are: a few lines cannot tell labels from ids.

    Args:
        lines: JSON in UTF-8.
        options: ``labels``, ``attributes``, ``ignore`` and ``weight`` say what fields are.

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
    parsed = ParsedLines([], [own if isinstance(own, BadLine) else BadLine("") for own in found])
    good = {i: own for i, own in enumerate(found) if isinstance(own, _Record)}
    values = _values(list(good.values()), options)
    if _uniform(good.values(), values, options):
        _add_table(parsed, good, options, values)
        return parsed
    groups: dict[Hashable, dict[int, _Record]] = {}
    for i, record in good.items():
        groups.setdefault(_signature(record, options), {})[i] = record
    for group in groups.values():
        _add_table(parsed, group, options)
    return parsed


def read_json_lines(path: str | Path, options: ReadOptions = ReadOptions()) -> GraphTable:
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
    options.check("JSON lines", ACCEPTED)
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


def _records_of(lines: Sequence[bytes]) -> list[_Record | BadLine]:
    """Read every line, or tell what is wrong with it."""
    found: list[_Record | BadLine] = []
    for line in lines:
        try:
            found.append(_record(line))
        except (GraphError, RecursionError) as error:
            found.append(BadLine(_told(error), _name_anyway(line)))
    for i in _with_repeated_edges(found):
        try:
            found[i] = _merged(found[i])  # type: ignore[arg-type]
        except (GraphError, RecursionError) as error:
            found[i] = BadLine(_told(error), _name_anyway(lines[i]))
    return found


def _told(error: Exception) -> str:
    """An error in words, without remedies that whoever wrote the line cannot use."""
    if isinstance(error, RecursionError):
        return "not JSON: it is nested too deeply."
    return error.render(lambda *_: None) if isinstance(error, GraphError) else str(error)


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
        sound = sound and len(ids) == len(place) and SCALARS.issuperset(map(type, ids))
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
    for field in ("id", "y", "nodes", "edges", "links") if isinstance(raw, dict) else ():
        for place in _infinite(raw.get(field), field):
            raise GraphError(f"{place} is larger than any number that JSON can hold: make it a string.")
    return raw


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _infinite(value: object, place: str) -> Iterator[str]:
    """Places of numbers such as 1e999, which can be read but not be written again."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _infinite(part, f"{place}: {name}")
    elif isinstance(value, list):
        for k, part in enumerate(value):
            yield from _infinite(part, f"{place}[{k}]" if place in ("nodes", "edges", "links") else place)
    elif isinstance(value, float) and math.isinf(value):
        yield place


def _diagnose(raw: Any) -> None:  # noqa: ANN401
    """Raise the error about the first thing that is wrong with a graph."""
    if not isinstance(raw, dict):
        raise GraphError(f"expected an object with 'nodes' and 'edges', got {short_repr(raw)}.")
    field = _edges_field(raw)
    nodes, edges = _objects(raw, "nodes"), _objects(raw, field)
    known = _identified(nodes)
    for k, end in ((k, end) for k in range(len(edges)) for end in ("source", "target")):
        name = edges[k].get(end)
        if not isinstance(name, int | float | str) or name not in known:
            raise GraphError(f"{field}[{k}]: {end} is {short_repr(name)}, which is the id of no node.")
    for flag in ("directed", "multigraph"):
        if not isinstance(raw.get(flag, False), bool):
            raise GraphError(f"{flag!r} must be true or false, got {short_repr(raw[flag])}.")
    raise GraphError("it is no graph in node-link form.")


def _objects(raw: Mapping[str, Any], field: str) -> list[dict[str, Any]]:
    values = raw.get(field)
    if not isinstance(values, list):
        raise GraphError(f"{field!r} must be a list of objects, got {short_repr(values)}.")
    for k, value in enumerate(values):
        if not isinstance(value, dict):
            raise GraphError(f"{field}[{k}] must be an object, got {short_repr(value)}.")
    return values


def _identified(nodes: Sequence[Mapping[str, Any]]) -> set[object]:
    seen: set[object] = set()
    for k, node in enumerate(nodes):
        name = node.get("id")
        if not isinstance(name, int | float | str):
            raise GraphError(f"nodes[{k}]: every node needs an 'id' of its own, a number or a string.")
        if name in seen:
            raise GraphError(
                f"nodes[{k}]: every node needs an 'id' of its own, and {short_repr(name)} was there before."
            )
        seen.add(name)
    if not seen:
        raise GraphError("'nodes' is empty: a graph has at least one node.")
    return seen


def _with_repeated_edges(found: Sequence[_Record | BadLine]) -> list[int]:
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


def _kind_of(values: Sequence[Any], key: Key, options: ReadOptions) -> Hashable:
    """What values have in common: words, truth values, numbers, or rows of one length; None if all are missing."""
    types = set(map(type, values)) - {NoneType}
    if not types:
        return None
    wanted = options.kind(*key[::-1])
    if wanted == "label" or (wanted is None and key[1] == "label"):
        return "label" if types <= SCALARS else OTHER
    if types <= NUMBERS:
        return "number"
    if types == {list}:
        widths = {len(value) for value in values if value is not None}
        return ("rows", widths.pop()) if len(widths) == 1 else OTHER
    word = "word" if types == {str} else "truth" if types == {bool} else OTHER
    return OTHER if wanted == "attribute" else word


def _column(values: list[Any], key: Key, kind: Hashable, options: ReadOptions) -> Column:
    """Values as a column; raises where they are of no kind that a column can have."""
    side, name = key
    if kind == "number":
        return Numbers(_numbers(values, key))
    if isinstance(kind, tuple):
        return Numbers(_rows(values, key, kind[1]))
    if kind == OTHER:
        column_of(name, values, options.kind(name, side), of=side)  # knows better what is wrong
        raise GraphError(f"column {name!r} of the {side} holds neither labels nor numbers.")
    if bool in set(map(type, values)):  # which are equal to 0 and 1
        values = [str(value) if isinstance(value, bool) else value for value in values]
    coded = Factorized.of(values)
    return coded.labels(name, side, map(_plain, coded.values) if kind == "label" else coded.values)


def _plain(label: Any) -> Any:  # noqa: ANN401 -- what JSON can spell
    """Make one label of 1, 1.0 and "1": what a label means must not depend on how other lines write theirs."""
    if isinstance(label, float) and label.is_integer():
        return int(label)
    if isinstance(label, str) and NUMBER.fullmatch(label):
        number = json.loads(label)
        return _plain(number) if str(number) == label else label
    return label


def _numbers(values: list[Any], key: Key) -> Array:
    try:
        numbers = np.array([np.nan if value is None else value for value in values] if None in values else values)
        if numbers.dtype.kind in "if":
            return numbers
    except OverflowError:
        pass
    wrong = next(value for value in values if isinstance(value, int) and not -LARGEST <= value < LARGEST)
    raise GraphError(
        f"column {key[1]!r} of the {key[0]} holds {short_repr(wrong)}, which is too large for a whole number of 64 "
        "bits: make it a string."
    )


def _rows(values: list[Any], key: Key, width: int) -> Array:
    rows = [[np.nan] * width if value is None else value for value in values]
    types = set(map(type, chain.from_iterable(rows)))
    if NoneType in types:
        rows = [[np.nan if number is None else number for number in row] for row in rows]
    try:
        if width and types <= NUMBERS | {NoneType}:
            return np.array(rows, dtype=np.float64)
    except OverflowError:
        pass
    column = column_of(key[1], values, "attribute", of=key[0])
    if not isinstance(column, Numbers) or not width:
        raise GraphError(f"column {key[1]!r} of the {key[0]} holds no numbers: leave it out.")
    return column.numbers


# Records as tables


def _values(records: Sequence[_Record], options: ReadOptions) -> Values:
    """Values of all fields of nodes and of edges, one graph after the other."""
    sides: dict[Literal["nodes", "edges"], list[tuple[Fields, int]]] = {
        "nodes": [(record.nodes, len(record.ids)) for record in records],
        "edges": [(record.edges, len(record.source)) for record in records],
    }
    return {
        (side, name): list(chain.from_iterable([own.get(name) or [None] * size for own, size in parts]))
        for side, parts in sides.items()
        for name in dict.fromkeys(chain.from_iterable([own for own, _ in parts]))
        if not options.ignores(name, side)
    }


class _Batch(NamedTuple):
    """Graphs that were read together."""

    table: GraphTable
    kinds: dict[Key, Hashable]
    """Of every field; None for one that holds nothing, which is no column."""
    examples: dict[Key, tuple[int, Any]]
    """The first row that holds something, and what."""


def _batch(records: Sequence[_Record], options: ReadOptions, values: Values | None = None) -> _Batch:
    """Put graphs of one direction into a table, or raise an error about fields that are no columns."""
    columns: dict[str, dict[str, Column]] = {"nodes": {}, "edges": {}}
    if not all(record.ids == list(range(len(record.ids))) for record in records):
        columns["nodes"]["id"] = Text.of(chain.from_iterable(record.ids for record in records))
    kinds: dict[Key, Hashable] = {}
    examples = {}
    for key, own in (values or _values(records, options)).items():
        kinds[key] = _kind_of(own, key, options)
        if kinds[key] is not None:
            columns[key[0]][key[1]] = _column(own, key, kinds[key], options)
            examples[key] = next((row, value) for row, value in enumerate(own) if value is not None)
    table = GraphTable(
        pointers([len(record.ids) for record in records]),
        pointers([len(record.source) for record in records]),
        _joined([record.source for record in records]),
        _joined([record.target for record in records]),
        {},
        columns["nodes"],
        columns["edges"],
        records[0].directed,
    )
    return _Batch(table, kinds, examples)


# Some lines of a stream


def _signature(record: _Record, options: ReadOptions) -> Hashable:
    """What must be the same for graphs that share a table: direction, fields and their kinds."""
    kinds = {key: _kind_of(column, key, options) for key, column in _values([record], options).items()}
    return record.directed, frozenset((key, kind) for key, kind in kinds.items() if kind is not None)


def _uniform(records: Iterable[_Record], values: Values, options: ReadOptions) -> bool:
    """Whether all graphs have the same fields of the same kinds, everywhere."""
    return len({record.directed for record in records}) == 1 and all(
        None not in column and _kind_of(column, key, options) != OTHER for key, column in values.items()
    )


def _add_table(
    parsed: ParsedLines, records: dict[int, _Record], options: ReadOptions, values: Values | None = None
) -> None:
    """Add a table of records of one kind; those that spoil it are refused."""
    try:
        table = _batch(list(records.values()), options, values).table
        table = options.mark_weight(table) if table.num_edges else table
    except (GraphError, RecursionError) as error:
        alone = ParsedLines([], parsed.lines)
        for i, record in records.items():
            if len(records) == 1:
                parsed.lines[i] = BadLine(_told(error), _writable(record.name))
            else:
                _add_table(alone, {i: record}, options)
        sound = {i: record for i, record in records.items() if isinstance(parsed.lines[i], TableRow)}
        for part in [sound] if len(sound) < len(records) else _halves(records):
            if part:
                _add_table(parsed, part, options)
        return
    for row, (i, record) in enumerate(records.items()):
        parsed.lines[i] = TableRow(len(parsed.tables), row, record.name)
    parsed.tables.append(table)


def _halves(records: dict[int, _Record]) -> list[dict[int, _Record]]:
    items, middle = list(records.items()), len(records) // 2
    return [dict(items[:middle]), dict(items[middle:])]


# Whole files


class _File:
    """Collects the graphs of a file, batch by batch, and what is wrong with its lines."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path, self.options = path, options
        self.batches: list[_Batch] = []
        self.lines: list[int] = []  # of the graphs
        self.bad: list[tuple[int, Exception]] = []
        self.names: list[object] = []
        self.targets: dict[str, list[Any]] = {name: [] for name in options.targets}
        self.fields: dict[str, set[str]] = {"nodes": set(), "edges": set()}
        self.directed: bool | None = None

    def add(self, lines: Iterable[tuple[int, bytes]]) -> None:
        """Read some lines, given with their numbers."""
        numbers, texts = zip(*lines, strict=True)
        good: dict[int, _Record] = {}
        for number, found in zip(numbers, _records_of(texts), strict=True):
            try:
                good[number] = self._checked(found)
            except GraphError as error:
                self.bad.append((number, error))
        if good:
            self._add(good)

    def _checked(self, found: _Record | BadLine) -> _Record:
        if isinstance(found, BadLine):
            raise GraphError(found.error)
        for name in self.options.targets:
            _check_target(name, found.rest.get(name))
        if self.directed is None:
            self.directed = found.directed
        if found.directed != self.directed:
            ways = ("directed", "others are not") if found.directed else ("undirected", "others are directed")
            raise GraphError(f"the graph is {ways[0]} and {ways[1]}: one answer holds for all graphs of a file.")
        return found

    def _add(self, good: dict[int, _Record]) -> None:
        """Take all graphs together or, where that fails, halves of them, so that each error stays with its line."""
        own = list(good.values())
        try:
            self.batches.append(_batch(own, self.options))
        except (GraphError, RecursionError) as error:
            if len(good) == 1:
                self.bad += [(number, error) for number in good]
            else:
                for half in _halves(good):
                    self._add(half)
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
        self.options.check_columns(self.fields, sure=any(batch.table.num_edges for batch in self.batches))
        kinds = {key: self._kind(key) for key in dict.fromkeys(chain.from_iterable(b.kinds for b in self.batches))}
        names = [None if name in (None, "") else str(name) for name in self.names]
        columns = graph_columns(names, {name: _alike(values) for name, values in self.targets.items()})
        return self.options.mark_columns(replace(self._joined(kinds), graphs=columns))

    def _tell(self) -> None:
        """Raise an error about unreadable lines, or warn that they are left out."""
        total = len(self.bad) + len(self.lines)
        places = RowLocator(str(self.path), "line", lambda line: (line, f"line {line}"), total)
        errors = RowErrors({"graphs": places}, self.options.on_error)
        for number, error in sorted(self.bad, key=lambda own: own[0]):
            message, *remedies = error.args if isinstance(error, GraphError) else [_told(error)]
            errors.add("graphs", [number], str(message).removesuffix("."), *remedies)  # type: ignore[arg-type]
        errors.settle()
        if not self.lines:
            raise errors.nothing_left()
        errors.warn()

    def _kind(self, key: Key) -> Hashable:
        """The kind of a field in all batches, or an error that names the lines where it differs."""
        lines: dict[Hashable, tuple[int, Any]] = {}
        first = 0
        for table, kinds, examples in self.batches:
            kind = kinds.get(key)
            if kind is not None and kind not in lines:
                row, value = examples[key]
                ptr = table.node_ptr if key[0] == "nodes" else table.edge_ptr
                lines[kind] = self.lines[first + int(np.searchsorted(ptr, row, side="right")) - 1], value
            first += len(table)
        if len(lines) > 1:
            message, *remedies = mixed_column(
                key[1], key[0], " and ".join(short_repr(v) for _, v in lines.values())
            ).args
            (one, _), (other, _), *_ = lines.values()
            raise DataError(f"{self.path}, line {other} and line {one} differ: {message}", *remedies)
        return next(iter(lines), None)

    def _joined(self, kinds: Mapping[Key, Hashable]) -> GraphTable:
        """All batches below one another; a field that one of them lacks is missing there."""
        like: dict[Key, Column] = {}
        for batch in self.batches:
            for side in ("nodes", "edges"):
                like |= {(side, name): own for name, own in getattr(batch.table, side).items()}
        table = GraphTable.concatenate([_filled(batch.table, like) for batch in self.batches])
        columns: dict[str, dict[str, Column]] = {"nodes": {}, "edges": {}}
        if "id" in table.nodes:
            columns["nodes"]["id"] = table.nodes["id"]
        for key, kind in kinds.items():
            side, name = key
            rows = table.num_nodes if side == "nodes" else table.num_edges
            own = Text.of([None] * rows) if kind is None else getattr(table, side)[name]
            if isinstance(own, Categories):
                ordered = map(_plain, own.names) if kind == "label" else own.names
                own = Factorized(own.codes, own.names).labels(name, side, ordered)
                if kind == "word" and not self.options.kind(name, side):
                    own = Text(own.values()) if are_ids(len(own.names), int((~own.missing).sum())) else own
            columns[side][name] = own
        return replace(table, nodes=columns["nodes"], edges=columns["edges"])


def _filled(table: GraphTable, like: Mapping[Key, Column]) -> GraphTable:
    """The table with columns like these where it has none; ids are numbers then."""
    lacking: dict[str, dict[str, Column]] = {"nodes": {}, "edges": {}}
    for (side, name), column in like.items():
        if name not in getattr(table, side):
            rows = table.num_nodes if side == "nodes" else table.num_edges
            lacking[side][name] = take_or_missing(column, np.full(rows, -1))
    if "id" in lacking["nodes"]:
        lacking["nodes"]["id"] = Text.of(chain.from_iterable(map(range, np.diff(table.node_ptr).tolist())))
    return table.with_columns(nodes=lacking["nodes"], edges=lacking["edges"])


def _alike(targets: Sequence[Any]) -> Sequence[Any]:
    """Targets of which all are names if one is."""
    named = any(isinstance(value, str) for value in targets)
    return [None if value is None else str(value) for value in targets] if named else targets


def _check_target(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        raise GraphError(f"{name} must be a number or a name, got {short_repr(value)}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise GraphError(f"the target {value} is no number to learn. Give another, or drop the graph.")
    if isinstance(value, int) and not -LARGEST <= value < LARGEST:
        raise GraphError(f"the target {short_repr(value)} is too large for a whole number of 64 bits: make it a name.")


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
    with atomic_file(path) as scratch, scratch.open("wb") as file:
        file.writelines(line + b"\n" for block in table.blocks(WRITTEN_NODES) for line in _written(block))
    return Path(path)


def _written(table: GraphTable) -> Iterator[bytes]:
    for side in ("graphs", "nodes", "edges"):
        for name, column in getattr(table, side).items():
            if isinstance(column, Numbers) and np.isinf(column.matrix()).any():
                raise GraphError(f"column {name!r} of the {side} holds inf, which JSON cannot: replace it.")
    parallel = parallel_edges(table).tolist()
    for i, (fields, ids, nodes, edges) in enumerate(plain_graphs(table)):
        name = {"id": fields.pop("name")} if "name" in fields else {}
        record = {
            **name,
            **fields,
            "directed": table.directed,
            "multigraph": parallel[i],
            "nodes": [{"id": v, **own} for v, own in zip(ids, nodes, strict=True)],
            "edges": [{"source": ids[u], "target": ids[v], **own} for u, v, own in edges],
        }
        try:
            yield msgspec.json.encode(record)
        except (UnicodeEncodeError, TypeError, OverflowError) as error:
            raise GraphError(f"{table.describe_graph(i)} cannot be written as JSON: {error}.") from error

"""Lines of JSON as checked graphs, and many of them as one table: what files and streams share."""

import json
import math
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from types import NoneType
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import GraphError
from rwkplus.io.rows import Factorized
from rwkplus.io.sources import ReadOptions
from rwkplus.table import Column, GraphTable, Numbers, Text
from rwkplus.table.columns import Array, column_of, pointers, short_repr

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


class Record(NamedTuple):
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
    found = records_of(lines)
    parsed = ParsedLines([], [own if isinstance(own, BadLine) else BadLine("") for own in found])
    good = {i: own for i, own in enumerate(found) if isinstance(own, Record)}
    values = _values(list(good.values()), options)
    if _uniform(good.values(), values, options):
        _add_table(parsed, good, options, values)
        return parsed
    groups: dict[Hashable, dict[int, Record]] = {}
    for i, record in good.items():
        groups.setdefault(_signature(record, options), {})[i] = record
    for group in groups.values():
        _add_table(parsed, group, options)
    return parsed


# Lines as checked records


def records_of(lines: Sequence[bytes]) -> list[Record | BadLine]:
    """Read every line, or tell what is wrong with it."""
    found: list[Record | BadLine] = []
    for line in lines:
        try:
            found.append(_record(line))
        except (GraphError, RecursionError) as error:
            found.append(BadLine(told(error), _name_anyway(line)))
    for i in _with_repeated_edges(found):
        try:
            found[i] = _merged(found[i])  # type: ignore[arg-type]
        except (GraphError, RecursionError) as error:
            found[i] = BadLine(told(error), _name_anyway(lines[i]))
    return found


def told(error: Exception) -> str:
    """An error in words, without remedies that whoever wrote the line cannot use."""
    if isinstance(error, RecursionError):
        return "not JSON: it is nested too deeply."
    return error.render(lambda *_: None) if isinstance(error, GraphError) else str(error)


def _record(line: bytes) -> Record:
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
    return Record(name, ids, source, target, nodes, edges, directed, multigraph, raw)


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
    raise ValueError(f"{constant} is not a number in JSON")


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
    raise GraphError("it is not a graph in node-link format.")


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


def _with_repeated_edges(found: Sequence[Record | BadLine]) -> list[int]:
    """Graphs that are no multigraphs and have two edges between the same nodes."""
    own = [(i, record) for i, record in enumerate(found) if isinstance(record, Record) and not record.multigraph]
    if not own:
        return []
    numbers = np.array([i for i, _ in own])
    graph = np.repeat(np.arange(len(own)), [len(record.source) for _, record in own])
    source = joined([record.source for _, record in own])
    target = joined([record.target for _, record in own])
    turned = ~np.array([record.directed for _, record in own])[graph] & (source > target)
    low, high = np.where(turned, target, source), np.where(turned, source, target)
    width = int(max(low.max(initial=0), high.max(initial=0))) + 1
    key = np.sort((graph * width + low) * width + high)
    again = key[1:][key[1:] == key[:-1]] // width**2
    return sorted(set(numbers[again].tolist()))


def joined(parts: Sequence[list[int]]) -> NDArray[np.int32]:
    """Put numbers of several graphs one after the other."""
    return np.array(list(chain.from_iterable(parts)), dtype=np.int32)


def _merged(record: Record) -> Record:
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
    return coded.labels(name, side, map(as_label, coded.values) if kind == "label" else coded.values)


def as_label(label: Any) -> Any:  # noqa: ANN401 -- what JSON can spell
    """Make one label of 1, 1.0 and "1": what a label means must not depend on how other lines write theirs."""
    if isinstance(label, float) and label.is_integer():
        return int(label)
    if isinstance(label, str) and NUMBER.fullmatch(label):
        number = json.loads(label)
        return as_label(number) if str(number) == label else label
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


def _values(records: Sequence[Record], options: ReadOptions) -> Values:
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


class Batch(NamedTuple):
    """Graphs that were read together."""

    table: GraphTable
    kinds: dict[Key, Hashable]
    """Of every field; None for one that holds nothing, which is no column."""
    examples: dict[Key, tuple[int, Any]]
    """The first row that holds something, and what."""


def batch_of(records: Sequence[Record], options: ReadOptions, values: Values | None = None) -> Batch:
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
        joined([record.source for record in records]),
        joined([record.target for record in records]),
        {},
        columns["nodes"],
        columns["edges"],
        records[0].directed,
    )
    return Batch(table, kinds, examples)


# Some lines of a stream


def _signature(record: Record, options: ReadOptions) -> Hashable:
    """What must be the same for graphs that share a table: direction, fields and their kinds."""
    kinds = {key: _kind_of(column, key, options) for key, column in _values([record], options).items()}
    return record.directed, frozenset((key, kind) for key, kind in kinds.items() if kind is not None)


def _uniform(records: Iterable[Record], values: Values, options: ReadOptions) -> bool:
    """Whether all graphs have the same fields of the same kinds, everywhere."""
    return len({record.directed for record in records}) == 1 and all(
        None not in column and _kind_of(column, key, options) != OTHER for key, column in values.items()
    )


def _add_table(
    parsed: ParsedLines, records: dict[int, Record], options: ReadOptions, values: Values | None = None
) -> None:
    """Add a table of records of one kind; those that spoil it are refused."""
    try:
        table = batch_of(list(records.values()), options, values).table
        table = options.mark_weight(table) if table.num_edges else table
    except (GraphError, RecursionError) as error:
        alone = ParsedLines([], parsed.lines)
        for i, record in records.items():
            if len(records) == 1:
                parsed.lines[i] = BadLine(told(error), _writable(record.name))
            else:
                _add_table(alone, {i: record}, options)
        sound = {i: record for i, record in records.items() if isinstance(parsed.lines[i], TableRow)}
        for part in [sound] if len(sound) < len(records) else halves(records):
            if part:
                _add_table(parsed, part, options)
        return
    for row, (i, record) in enumerate(records.items()):
        parsed.lines[i] = TableRow(len(parsed.tables), row, record.name)
    parsed.tables.append(table)


def halves(records: dict[int, Record]) -> list[dict[int, Record]]:
    """Both halves of some records, to find the one that is wrong."""
    items, middle = list(records.items()), len(records) // 2
    return [dict(items[:middle]), dict(items[middle:])]

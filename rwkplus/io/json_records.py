"""Lines of JSON as checked records of graphs."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import GraphError

IDS = frozenset({int, str, float, bool})
"""What may be the id of a node."""
BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


decode = msgspec.json.Decoder().decode

Fields = dict[str, list[Any]]


class Refused(NamedTuple):
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


def records_of(lines: Sequence[bytes]) -> list[Record | Refused]:
    """Read every line, or tell what is wrong with it."""
    found: list[Record | Refused] = []
    for line in lines:
        try:
            found.append(_record(line))
        except (GraphError, RecursionError) as error:
            found.append(Refused(told(error), _name_anyway(line)))
    for i in _with_repeated_edges(found):
        try:
            found[i] = _merged(found[i])  # type: ignore[arg-type]
        except (GraphError, RecursionError) as error:
            found[i] = Refused(told(error), _name_anyway(lines[i]))
    return found


def told(error: Exception) -> str:
    """An error in words."""
    return "not JSON: it is nested too deeply." if isinstance(error, RecursionError) else str(error)


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
        source = [place[end] for end in edges.pop("source")]
        target = [place[end] for end in edges.pop("target")]
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
    return Record(name, ids, source, target, nodes, edges, directed, multigraph, raw)


def _edges_field(raw: Mapping[str, Any]) -> str:
    return "links" if "links" in raw and "edges" not in raw else "edges"


def _fields_of(rows: Any) -> Fields:  # noqa: ANN401
    """Columns of objects, None where one lacks a field; raises one of several errors for what are no objects."""
    if not rows:
        return {}
    try:
        columns = {name: [row[name] for row in rows] for name in rows[0]}
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


def _with_repeated_edges(found: Sequence[Record | Refused]) -> list[int]:
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
    return writable(name)


def writable(name: object) -> object:
    """The id of a graph if it is a word or a number, else None."""
    return name if isinstance(name, str | int) else None


def short(value: object) -> str:
    """A value as errors show it."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

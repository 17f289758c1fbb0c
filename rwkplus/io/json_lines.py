"""Graphs as JSON, one per line: networkx's node-link form, straight into columns.

``{"id": "g7", "nodes": [{"id": 0, "label": "C"}, {"id": 1, "label": "O"}], "edges": [{"source": 0, "target": 1}]}``

Every other field of nodes and edges is a column; ``"links"`` is read as ``"edges"``, and ``"directed": true`` and
``"multigraph": true`` are heeded. Labels are compared as they are written: 1 and "1" are the same. Further fields
beside ``nodes`` and ``edges`` belong to the user.
"""

import math
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import DataError, GraphError, RWKPlusWarning
from rwkplus.files import whole_file
from rwkplus.io.json_columns import OTHER, Builder, Words, kind_of
from rwkplus.io.json_records import Record, Refused, joined, records_of, short, told, writable
from rwkplus.io.options import ReadOptions
from rwkplus.table import Column, GraphTable, Numbers, Text
from rwkplus.table.graph_table import pointers
from rwkplus.table.infer import target_column
from rwkplus.types import check_ignore

TAKES = ("ignore", "labels", "attributes", "weight", "y", "on_error")
AT_ONCE = 2000
"""Lines that are parsed together."""
WRITTEN_NODES = 100_000
"""Nodes of graphs that are written together."""
SHOWN = 5
"""Unreadable lines that an error lists."""
LARGEST = 2**63
"""Whole numbers from here on do not fit into 64 bits."""


class Place(NamedTuple):
    """Where the graph of a line is."""

    table: int
    row: int
    name: object
    """Its ``id``, as JSON has it; None if it has none."""


class Parsed(NamedTuple):
    """The readable graphs of some lines, and for every line where its graph is or what is wrong with it.

    Lines whose graphs have the same fields share a table, so that no line is read differently because of others.
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
    found = records_of(lines)
    parsed = Parsed([], [own if isinstance(own, Refused) else Refused("") for own in found])
    good = {i: own for i, own in enumerate(found) if isinstance(own, Record)}
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
    reading = _Reading(Path(path), options)
    try:
        with Path(path).open("rb") as file:
            for numbers, lines in _batches(file):
                reading.add(numbers, lines)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}.") from error
    return reading.table()


# From records to tables

Values = dict[tuple[str, str], list[Any]]
"""Values by ``"nodes"`` or ``"edges"`` and the name of the field."""


def _values(records: Sequence[Record], options: ReadOptions) -> Values:
    """Values of all fields of nodes and of edges, one graph after the other."""
    sides = {
        "nodes": [(record.nodes, len(record.ids)) for record in records],
        "edges": [(record.edges, len(record.source)) for record in records],
    }
    return {
        (side, name): list(chain.from_iterable([own.get(name) or [None] * size for own, size in parts]))
        for side, parts in sides.items()
        for name in dict.fromkeys(chain.from_iterable([own for own, _ in parts]))
        if name not in options.ignore and f"{side}.{name}" not in options.ignore
    }


def _kind(side: str, name: str, column: Sequence[Any], options: ReadOptions) -> Hashable:
    wanted = options.kind(name, side)
    return kind_of(column, label=wanted == "label" or (wanted is None and name == "label"))


def _signature(record: Record, options: ReadOptions) -> Hashable:
    """What must be the same for graphs that share a table: direction, fields and their kinds."""
    values = sorted(_values([record], options).items())
    kinds = [(side, name, _kind(side, name, column, options)) for (side, name), column in values]
    return record.directed, tuple(own for own in kinds if own[2] is not None)


def _groups(records: Mapping[int, Record], options: ReadOptions) -> Iterable[dict[int, Record]]:
    groups: dict[Hashable, dict[int, Record]] = {}
    for i, record in records.items():
        groups.setdefault(_signature(record, options), {})[i] = record
    return groups.values()


def _uniform(records: Sequence[Record], values: Values, options: ReadOptions) -> bool:
    """Whether all graphs have the same fields of the same kinds, everywhere."""
    return len({record.directed for record in records}) == 1 and all(
        None not in column and _kind(side, name, column, options) != OTHER for (side, name), column in values.items()
    )


class _How(NamedTuple):
    """How columns are made of fields."""

    options: ReadOptions
    words: Words


def _table(records: Sequence[Record], values: Values, how: _How) -> GraphTable:
    options = how.options
    columns: dict[str, dict[str, Column]] = {"nodes": {}, "edges": {}}
    for (side, name), column in values.items():
        builder = Builder(name, side, options.kind(name, side))
        builder.add(0, column, builder.part(column))
        if builder.kinds:
            columns[side][name] = builder.column(len(column), how.words)
    if not all(map(_numbered, records)):
        columns["nodes"] = {"id": Text.of(chain.from_iterable(record.ids for record in records))} | columns["nodes"]
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
    return options.applied(table) if table.num_edges else table


def _numbered(record: Record) -> bool:
    return record.ids == list(range(len(record.ids)))


def _add_table(parsed: Parsed, records: Mapping[int, Record], how: _How, values: Values | None = None) -> None:
    """Add a table of records of one kind; those that spoil it are refused."""
    own = list(records.values())
    try:
        table = _table(own, values or _values(own, how.options), how)
    except (GraphError, RecursionError) as error:
        if len(records) > 1:
            _add_sound(parsed, records, how)
        else:
            for i, record in records.items():
                parsed.lines[i] = Refused(told(error), writable(record.name))
        return
    for row, (i, record) in enumerate(records.items()):
        parsed.lines[i] = Place(len(parsed.tables), row, record.name)
    parsed.tables.append(table)


def _add_sound(parsed: Parsed, records: Mapping[int, Record], how: _How) -> None:
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


def _batches(file: Iterable[bytes]) -> Iterator[tuple[list[int], list[bytes]]]:
    """Lines that are not blank with their numbers, some at a time."""
    filled = ((number, line) for number, line in enumerate(file, start=1) if line.strip())
    while batch := list(islice(filled, AT_ONCE)):
        yield [number for number, _ in batch], [line for _, line in batch]


class _Reading:
    """Collects the graphs of a file in arrays, batch by batch."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path, self.options = path, options
        self.builders: dict[tuple[str, str], Builder] = {}
        self.rows = {"nodes": 0, "edges": 0}
        self.lines: list[int] = []  # of the graphs
        self.bad: list[tuple[int, str]] = []
        self.names: list[object] = []
        self.targets: dict[str, list[Any]] = {name: [] for name in options.targets}
        self.sizes: dict[str, list[int]] = {"nodes": [], "edges": []}
        self.ends: tuple[list[NDArray[np.int32]], list[NDArray[np.int32]]] = ([], [])
        self.ids: list[Any] | None = None  # of all nodes; None as long as they are numbered
        self.fields: set[str] = set()
        self.directed: bool | None = None

    def add(self, numbers: Sequence[int], lines: Sequence[bytes]) -> None:
        """Read a batch of lines."""
        good: dict[int, Record] = {}
        for number, found in zip(numbers, records_of(lines), strict=True):
            try:
                good[number] = self._checked(found)
            except GraphError as error:
                self.bad.append((number, str(error)))
        if good:
            self._add(good)

    def _checked(self, found: Record | Refused) -> Record:
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

    def _add(self, good: Mapping[int, Record]) -> None:
        """Take all graphs together or, where that fails, one by one, so that each error stays with its line."""
        records = list(good.values())
        values = _values(records, self.options)
        try:
            parts = self._parts(values)
        except (GraphError, RecursionError) as error:
            if len(good) == 1:
                self.bad += [(number, told(error)) for number in good]
            else:
                for number, record in good.items():
                    self._add({number: record})
            return
        for key, part in parts.items():
            self.builders[key].add(self.rows[key[0]], values[key], part)
        self._take(good)

    def _parts(self, values: Values) -> dict[tuple[str, str], tuple[Hashable, NDArray[Any] | None]]:
        parts = {}
        for (side, name), column in values.items():
            if (side, name) not in self.builders:
                self.builders[side, name] = Builder(name, side, self.options.kind(name, side))
            parts[side, name] = self.builders[side, name].part(column)
        return parts

    def _take(self, good: Mapping[int, Record]) -> None:
        records = list(good.values())
        self.lines += good
        self.names += [record.name for record in records]
        for name, values in self.targets.items():
            values += [record.rest.get(name) for record in records]
        nodes, edges = [len(record.ids) for record in records], [len(record.source) for record in records]
        self.sizes["nodes"] += nodes
        self.sizes["edges"] += edges
        self.rows["nodes"] += sum(nodes)
        self.rows["edges"] += sum(edges)
        self.ends[0].append(joined([record.source for record in records]))
        self.ends[1].append(joined([record.target for record in records]))
        self._take_ids(records)
        if self.options.ignore:
            self.fields.update(*(own for record in records for own in (record.nodes, record.edges)))

    def table(self) -> GraphTable:
        """All graphs, or the error about lines that cannot be read."""
        self._tell()
        check_ignore(self.options.ignore, self.fields)
        columns: dict[str, dict[str, Column]] = {"nodes": {}, "edges": {}}
        if self.ids is not None:
            columns["nodes"]["id"] = Text.of(self.ids)
        for (side, name), builder in self.builders.items():
            if len(builder.kinds) > 1:
                raise DataError(f"{self.path}, {self._conflict(builder)}")
            columns[side][name] = builder.column(self.rows[side], "infer")
        table = GraphTable(
            pointers(self.sizes["nodes"]),
            pointers(self.sizes["edges"]),
            np.concatenate(self.ends[0]),
            np.concatenate(self.ends[1]),
            self._graph_columns(),
            columns["nodes"],
            columns["edges"],
            bool(self.directed),
        )
        return self.options.applied(table)

    def _tell(self) -> None:
        """Raise an error about unreadable lines, or warn that they are left out."""
        if not self.lines and not self.bad:
            raise DataError(f"{self.path} holds no graphs: expected one JSON object per line.")
        if not self.bad:
            return
        self.bad.sort()
        total = len(self.bad) + len(self.lines)
        if len(self.bad) == 1:
            what = f"{self.path}, line {self.bad[0][0]}: {self.bad[0][1]}"
        else:
            shown = " ".join(f"Line {number}: {error}" for number, error in self.bad[:SHOWN])
            more = f" And {len(self.bad) - SHOWN:,} more." if len(self.bad) > SHOWN else ""
            what = f"{self.path}: {len(self.bad):,} of {total:,} lines cannot be read. {shown}{more}"
        if self.options.on_error == "raise" or not self.lines:
            raise DataError(what)
        warnings.warn(f"{what} What cannot be read is left out.", RWKPlusWarning, 4)

    def _conflict(self, builder: Builder) -> str:
        """The line whose values differ in kind from those before, and the error."""
        sizes = np.cumsum(self.sizes[builder.side])
        rows = [row for row, _ in builder.kinds.values()]
        first, other = (self.lines[int(np.searchsorted(sizes, row, side="right"))] for row in rows[:2])
        return f"line {other} and line {first} differ: {builder.conflict()}"

    def _take_ids(self, records: Sequence[Record]) -> None:
        """Keep ids from the first graph on whose nodes are not just numbered; called after sizes are known."""
        if self.ids is None:
            if all(map(_numbered, records)):
                return
            before = self.sizes["nodes"][: -len(records)]
            self.ids = list(chain.from_iterable(map(range, before)))
        self.ids += chain.from_iterable(record.ids for record in records)

    def _graph_columns(self) -> dict[str, Column]:
        columns: dict[str, Column] = {}
        if all(name not in (None, "") for name in self.names):
            columns["name"] = Text.of(map(str, self.names))
        for name, values in self.targets.items():
            if any(value is not None for value in values):
                named = any(isinstance(value, str) for value in values)
                own = [None if value is None else str(value) if named else value for value in values]
                columns[name] = target_column(name, own)
        return columns


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
    """Write a file with a line for every graph, whole or not at all."""
    with whole_file(path) as scratch, scratch.open("wb") as file:
        file.writelines(line + b"\n" for block in table.blocks(WRITTEN_NODES) for line in _written(block))
    return Path(path)


def _written(table: GraphTable) -> Iterator[bytes]:
    nodes, edges = _rows(table, "nodes"), _rows(table, "edges")
    graphs = _rows(table, "graphs")
    parallel = _parallel(table)
    for i, own in enumerate(graphs):
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


def _rows(table: GraphTable, side: str) -> list[dict[str, Any]]:
    """Fields of every row, without those that are missing."""
    size = {"graphs": len(table), "nodes": table.num_nodes, "edges": table.num_edges}[side]
    rows: list[dict[str, Any]] = [{} for _ in range(size)]
    for name, column in getattr(table, side).items():
        if side == "nodes" and name == "id":
            continue
        if isinstance(column, Numbers) and np.isinf(column.matrix()).any():
            raise GraphError(f"column {name!r} of the {side} holds inf, which JSON cannot: replace it.")
        for row, value, missing in zip(rows, column.values().tolist(), column.missing.tolist(), strict=True):
            if not missing:
                row[name] = value
    return rows


def _parallel(table: GraphTable) -> list[bool]:
    """Whether two nodes of a graph are joined by several edges, for every graph."""
    turned = (table.source > table.target) & (not table.directed)
    low, high = np.where(turned, table.target, table.source), np.where(turned, table.source, table.target)
    order = np.lexsort((high, low, table.edge_graph))
    rows = np.stack([table.edge_graph, low, high], 1)[order]
    again = rows[1:][(rows[1:] == rows[:-1]).all(1), 0]
    parallel = np.zeros(len(table), bool)
    parallel[again] = True
    return parallel.tolist()

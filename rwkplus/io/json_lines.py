"""Files of graphs as JSON, one per line: networkx's node-link form, straight into columns, and back.

``{"id": "g7", "nodes": [{"id": 0, "label": "C"}, {"id": 1, "label": "O"}], "edges": [{"source": 0, "target": 1}]}``

Every other field of nodes and edges is a column; ``"links"`` is read as ``"edges"``, and ``"directed": true`` and
``"multigraph": true`` are heeded. Labels are compared as they are written: 1 and "1" are the same. Further fields
beside ``nodes`` and ``edges`` belong to the user.
"""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from rwkplus.errors import DataError, GraphError
from rwkplus.files import atomic_file
from rwkplus.io.json_records import LARGEST, BadLine, Batch, Key, Record, as_label, batch_of, halves, records_of, told
from rwkplus.io.networkx import plain_graphs
from rwkplus.io.rows import Factorized, RowErrors, RowLocator, take_or_missing
from rwkplus.io.sources import ReadOptions, graph_columns
from rwkplus.table import Categories, Column, GraphTable, Numbers, Text
from rwkplus.table.arrays import parallel_edges
from rwkplus.table.columns import are_ids, mixed_column, short_repr

ACCEPTED = ("ignore", "labels", "attributes", "weight", "y", "on_error")
AT_ONCE = 2000
"""Lines that are parsed together."""
WRITTEN_NODES = 100_000
"""Nodes of graphs that are written together."""


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


# Whole files


class _File:
    """Collects the graphs of a file, batch by batch, and what is wrong with its lines."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path, self.options = path, options
        self.batches: list[Batch] = []
        self.lines: list[int] = []  # of the graphs
        self.bad: list[tuple[int, Exception]] = []
        self.names: list[object] = []
        self.targets: dict[str, list[Any]] = {name: [] for name in options.targets}
        self.fields: dict[str, set[str]] = {"nodes": set(), "edges": set()}
        self.directed: bool | None = None

    def add(self, lines: Iterable[tuple[int, bytes]]) -> None:
        """Read some lines, given with their numbers."""
        numbers, texts = zip(*lines, strict=True)
        good: dict[int, Record] = {}
        for number, found in zip(numbers, records_of(texts), strict=True):
            try:
                good[number] = self._checked(found)
            except GraphError as error:
                self.bad.append((number, error))
        if good:
            self._add(good)

    def _checked(self, found: Record | BadLine) -> Record:
        if isinstance(found, BadLine):
            raise GraphError(found.error)
        for name in self.options.targets:
            _check_target(name, found.rest.get(name))
        if self.directed is None:
            self.directed = found.directed
        if found.directed != self.directed:
            ways = ("directed", "others are not") if found.directed else ("undirected", "others are directed")
            raise GraphError(f"the graph is {ways[0]} and {ways[1]}: all graphs of a file must be of one kind.")
        return found

    def _add(self, good: dict[int, Record]) -> None:
        """Take all graphs together or, where that fails, halves of them, so that each error stays with its line."""
        own = list(good.values())
        try:
            self.batches.append(batch_of(own, self.options))
        except (GraphError, RecursionError) as error:
            if len(good) == 1:
                self.bad += [(number, error) for number in good]
            else:
                for half in halves(good):
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
            message, *remedies = error.args if isinstance(error, GraphError) else [told(error)]
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
                ordered = map(as_label, own.names) if kind == "label" else own.names
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
        raise GraphError(f"the target {value} is not a finite number. Replace it, or remove the graph.")
    if isinstance(value, int) and not -LARGEST <= value < LARGEST:
        raise GraphError(f"the target {short_repr(value)} is too large for a whole number of 64 bits: make it a name.")


# And back


def graph_to_json(table: GraphTable) -> str:
    """Write a table of one graph as one line of JSON that :func:`read_json_lines` reads.

    Example:
        >>> graph_to_json(GraphTable.of(["C"]))
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

"""Graphs, nodes and edges of a database as typed columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import GraphError, Remedy
from rwkplus.files import visible
from rwkplus.table.columns import (
    Array,
    Categories,
    Column,
    Ints,
    Numbers,
    Text,
    block_ranges,
    concatenate,
    counted,
    equal_columns,
    pointers,
    read_only,
    rows_of,
    target_column,
)
from rwkplus.types import check_integer

if TYPE_CHECKING:
    import networkx as nx

Columns: TypeAlias = Mapping[str, Column]
Graphs: TypeAlias = object
"""What estimators take: graphs in any form that :meth:`GraphTable.of` reads."""
SIDES = ("graphs", "nodes", "edges")
ARRAYS = {"node_ptr": np.int64, "edge_ptr": np.int64, "source": np.int32, "target": np.int32}


class Origin(NamedTuple):
    """Where the graphs of a table are on disk: all that other processes need."""

    path: str
    mark: str  # tells a table from another one in the same place
    start: int
    stop: int


@dataclass(frozen=True, eq=False, repr=False)
class GraphTable(Sequence["GraphTable"]):
    """Many graphs side by side, immutable; rows of nodes and edges are sorted by graph.

    ``table[3]`` is the table of one graph, ``table[2:5]``, ``table[[1, 5]]`` and ``table[mask]`` of several, so that
    scikit-learn can split it. :meth:`of` makes a table of whatever graphs there are.

    Example:
        >>> import networkx as nx
        >>> water = nx.Graph([(0, 1), (0, 2)])
        >>> nx.set_node_attributes(water, {0: "O", 1: "H", 2: "H"}, "label")
        >>> GraphTable.of([water])
        GraphTable: 1 undirected graph, 3 nodes, 2 edges
          nodes  label: 2 labels (H, O)
        >>> GraphTable.of([water, water]).node_graph
        array([0, 0, 0, 1, 1, 1])
    """

    node_ptr: Ints  # (B + 1,): rows of the node table that belong to each graph
    edge_ptr: Ints  # (B + 1,)
    source: NDArray[np.int32]  # (E,): number of a node within its graph; an undirected edge stands once
    target: NDArray[np.int32]  # (E,)
    graphs: Columns = field(default_factory=dict)
    nodes: Columns = field(default_factory=dict)
    edges: Columns = field(default_factory=dict)
    directed: bool = False
    weight: str | None = None
    """Edge column that is a weight: it scales walks instead of describing the edge."""
    targets: tuple[str, ...] = ()
    """Graph columns that are to be learned."""
    origin: Origin | None = field(default=None, init=False)
    """Set where these are graphs of a written table as they are; any change leaves it out."""

    def __post_init__(self) -> None:
        for side in SIDES:
            object.__setattr__(self, side, MappingProxyType(dict(getattr(self, side))))
        for name, kind in ARRAYS.items():
            object.__setattr__(self, name, read_only(getattr(self, name).astype(kind, copy=False)))

    @classmethod
    def of(
        cls,
        data: Any = None,  # noqa: ANN401
        *,
        edges: Any = None,  # noqa: ANN401
        nodes: Any = None,  # noqa: ANN401
        graphs: Any = None,  # noqa: ANN401
        **options: Any,  # noqa: ANN401
    ) -> "GraphTable":
        """Make a table of graphs in any form, see :func:`rwkplus.io.read_graphs` for all forms and options.

        Example:
            >>> import pandas as pd
            >>> payments = pd.DataFrame({"from": ["ann", "bob"], "to": ["bob", "eve"], "how": ["card", "cash"]})
            >>> GraphTable.of(payments, source="from", target="to")
            GraphTable: 1 undirected graph, 3 nodes, 2 edges
              nodes  id: ids
              edges  how: 2 labels (card, cash)
        """
        from rwkplus.io import read_graphs

        return read_graphs(data, edges=edges, nodes=nodes, graphs=graphs, **options)

    def __len__(self) -> int:
        return self.node_ptr.size - 1

    @property
    def shape(self) -> tuple[int]:
        """One axis: with this, scikit-learn splits the table by arrays of rows instead of making a list of graphs."""
        return (len(self),)

    @property
    def num_nodes(self) -> int:
        """Nodes of all graphs."""
        return int(self.node_ptr[-1])

    @property
    def num_edges(self) -> int:
        """Edges of all graphs; an undirected edge counts once."""
        return self.source.size

    @property
    def node_graph(self) -> Ints:
        """Graph of every node."""
        return np.repeat(np.arange(len(self)), np.diff(self.node_ptr))

    @property
    def edge_graph(self) -> Ints:
        """Graph of every edge."""
        return np.repeat(np.arange(len(self)), np.diff(self.edge_ptr))

    @property
    def y(self) -> Array | None:
        """Targets of the graphs, ``(B,)`` or ``(B, tasks)``: numbers, or names of classes; None where there are none.

        A missing target is nan or None.

        >>> GraphTable.of(["CCO", "N#N"]).with_targets([1, 0]).y
        array([1, 0])
        """
        columns = [self.graphs[name].values() for name in self.targets]
        if len(columns) < 2:
            return columns[0] if columns else None
        try:
            return np.stack([column.astype(np.float64) for column in columns], 1)
        except ValueError:  # names of classes
            return np.stack([column.astype(object) for column in columns], 1)

    def graph_id(self, i: int) -> Any:  # noqa: ANN401
        """What the user calls a graph: its name, or its number.

        >>> GraphTable.of(["CCO", "N#N"]).with_names(first=7).graph_id(1)
        8
        """
        names = self.graphs.get("name")
        name = None if names is None else names.values()[i]
        return i if name is None else name

    def node_ids(self, i: int) -> list[Any]:
        """What the user calls the nodes of a graph: their ids, or their numbers.

        >>> import networkx as nx
        >>> GraphTable.of([nx.Graph([("ann", "bob")])]).node_ids(0)
        ['ann', 'bob']
        """
        start, stop = int(self.node_ptr[i]), int(self.node_ptr[i + 1])
        ids = self.nodes.get("id")
        return list(range(stop - start)) if ids is None else ids.values()[start:stop].tolist()  # type: ignore[no-any-return]

    def describe_graph(self, i: int) -> str:
        """A graph as errors name it."""
        return f"graph {self.graph_id(i)!r}"

    def __getitem__(self, index: Any) -> "GraphTable":  # type: ignore[override] # noqa: ANN401
        if isinstance(index, slice) and index.step in (None, 1):
            start, stop, _ = index.indices(len(self))
            return self._block(start, max(start, stop))
        chosen = np.arange(len(self))[_plain_index(index)]
        if chosen.ndim == 0:
            return self._block(int(chosen), int(chosen) + 1)
        nodes, node_ptr = rows_of(chosen, self.node_ptr)
        edges, edge_ptr = rows_of(chosen, self.edge_ptr)
        return self._taken(chosen, nodes, edges, node_ptr, edge_ptr)

    def __iter__(self) -> Iterator["GraphTable"]:
        return (self._block(i, i + 1) for i in range(len(self)))

    def blocks(self, max_nodes: int) -> Iterator["GraphTable"]:
        """Cut into tables of at most ``max_nodes`` nodes, or of one larger graph: the unit of work and of memory.

        >>> [len(block) for block in GraphTable.of(["CCO", "N#N", "C"]).blocks(max_nodes=5)]
        [2, 1]
        """
        return (self._block(start, stop) for start, stop in block_ranges(self.node_ptr, max_nodes))

    def _block(self, start: int, stop: int) -> "GraphTable":
        """Graphs that follow one another: views, no copies."""
        node_ptr, edge_ptr = self.node_ptr[start : stop + 1], self.edge_ptr[start : stop + 1]
        nodes = slice(int(node_ptr[0]), int(node_ptr[-1]))
        edges = slice(int(edge_ptr[0]), int(edge_ptr[-1]))
        block = self._taken(slice(start, stop), nodes, edges, node_ptr - node_ptr[0], edge_ptr - edge_ptr[0])
        if self.origin is not None:
            first = self.origin.start
            object.__setattr__(block, "origin", self.origin._replace(start=first + start, stop=first + stop))
        return block

    def __reduce__(self) -> tuple[Any, ...]:
        """Graphs of a written table travel as path and range."""
        if self.origin is not None:
            from rwkplus.io.parquet import open_block

            return open_block, tuple(self.origin)
        values = (getattr(self, own.name) for own in fields(self) if own.init)
        return GraphTable, tuple(dict(value) if isinstance(value, Mapping) else value for value in values)

    def _taken(self, graphs: Any, nodes: Any, edges: Any, node_ptr: Ints, edge_ptr: Ints) -> "GraphTable":  # noqa: ANN401
        rows = {"graphs": graphs, "nodes": nodes, "edges": edges}
        parts: Any = {s: {name: own.take(rows[s]) for name, own in getattr(self, s).items()} for s in SIDES}
        ends = {"source": self.source[edges], "target": self.target[edges]}
        return replace(self, node_ptr=node_ptr, edge_ptr=edge_ptr, **ends, **parts)

    def with_columns(
        self, *, graphs: Columns | None = None, nodes: Columns | None = None, edges: Columns | None = None
    ) -> "GraphTable":
        """Add columns, or replace those of the same names.

        >>> GraphTable.of(["CO"]).with_columns(nodes={"charge": Numbers(np.array([0, -1]))})
        GraphTable: 1 undirected graph, 2 nodes, 1 edge
          nodes  label: 2 labels (C, O)
                 charge: numbers, -1 to 0
          edges  label: 5 labels (-, =, #, :, ~)
        """
        given = {"graphs": graphs, "nodes": nodes, "edges": edges}
        parts: Any = {side: {**getattr(self, side), **(own or {})} for side, own in given.items()}
        table = replace(self, **parts)
        for side, size in (("graphs", len(self)), ("nodes", self.num_nodes), ("edges", self.num_edges)):
            for name, column in getattr(table, side).items():
                if len(column) != size:
                    raise GraphError(f"column {name!r} of the {side} has {len(column)} rows, but there are {size}.")
        return table

    def with_targets(self, y: Iterable[Any], name: str = "y") -> "GraphTable":
        """The same graphs with these targets: numbers, or names of classes; truth values are 0 and 1.

        >>> GraphTable.of(["CCO", "N#N"]).with_targets(["toxic", None]).y.tolist()
        ['toxic', None]
        """
        values = np.asarray(y) if hasattr(y, "__array__") else Text.of(y).texts  # NumPy would make words of nan
        if values.dtype.kind in "iufb":
            column: Column = Numbers(values.astype(np.int64) if values.dtype.kind == "b" else values)
        else:
            column = target_column(name, [int(v) if isinstance(v, bool | np.bool_) else v for v in values.tolist()])
        return replace(self.with_columns(graphs={name: column}), targets=(name,))

    def with_names(self, first: int = 0) -> "GraphTable":
        """The same graphs called by their numbers where they have no names, so that parts of the table keep them.

        >>> GraphTable.of(["CCO", "N#N", "C"]).with_names()[1:].describe_graph(0)
        'graph 1'
        """
        if "name" in self.graphs:
            return self
        return self.with_columns(graphs={"name": Text.of(range(first, first + len(self)))})

    def with_degrees(self, max_degree: int | None = None) -> "GraphTable":
        """Give every node its degree as label ``degree``; degrees above ``max_degree`` share the last one.

        >>> import networkx as nx
        >>> GraphTable.of([nx.star_graph(3)]).with_degrees().nodes["degree"].values().tolist()
        ['3', '1', '1', '1']
        """
        if max_degree is not None:
            check_integer("max_degree", max_degree, 1)
        first = self.node_ptr[:-1][self.edge_graph]
        ends = [first + self.source]
        if not self.directed:
            ends.append((first + self.target)[self.source != self.target])  # a loop counts once
        degree = np.bincount(np.concatenate(ends), minlength=self.num_nodes)
        cap = max_degree or int(degree.max(initial=1)) or 1
        names = (*map(str, range(cap)), f"{cap}+" if max_degree else str(cap))
        return self.with_columns(nodes={"degree": Categories.numbered(np.minimum(degree, cap), names)})

    def without(self, columns: Sequence[str]) -> "GraphTable":
        """Leave columns of nodes and edges out on purpose.

        Args:
            columns: Names of columns; ``"edges.label"`` and ``"nodes.label"`` tell two of one name apart. ``"x"``,
                ``"edge_attr"`` and ``"edge_weight"`` are, as in PyG, all that describes nodes, edges and their weights.

        Example:
            >>> GraphTable.of(["CCO"]).without(["edges.label"])
            GraphTable: 1 undirected graph, 3 nodes, 2 edges
              nodes  label: 2 labels (C, O)
        """
        left_out = set(columns)
        if not left_out:
            return self
        weight = self.weight
        if weight is not None and left_out & {weight, f"edges.{weight}", "edge_weight"}:
            left_out, weight = left_out | {f"edges.{weight}"}, None

        def kept(side: str, kind: str) -> dict[str, Column]:
            own: Columns = getattr(self, side)
            every = kind in left_out and kind not in own
            return {
                name: column
                for name, column in own.items()
                if name not in left_out
                and f"{side}.{name}" not in left_out
                and not (every and not isinstance(column, Text) and (side == "nodes" or name != self.weight))
            }

        return replace(self, nodes=kept("nodes", "x"), edges=kept("edges", "edge_attr"), weight=weight)

    def taken_for_ids(self) -> list[tuple[str, str]]:
        """Columns of nodes and edges, beside their ids, that are carried along because nearly every row differs."""
        texts = [(side, name) for side in SIDES[1:] for name, c in getattr(self, side).items() if isinstance(c, Text)]
        return [(side, name) for side, name in texts if name not in ("id", "name")]

    def names_to_ignore(self) -> set[str]:
        """What :meth:`without` knows, to tell slips of the pen."""
        own = {part for side in SIDES[1:] for name in getattr(self, side) for part in (name, f"{side}.{name}")}
        return own | {"x", "edge_attr", "edge_weight"}

    @staticmethod
    def concatenate(tables: Sequence["GraphTable"]) -> "GraphTable":
        """Put the graphs of several tables with the same columns below one another.

        >>> len(GraphTable.concatenate([GraphTable.of(["CCO"]), GraphTable.of(["N#N", "C"])]))
        3
        """
        if not tables:
            raise GraphError("there are no tables to put together: give at least one.")
        first = tables[0]
        if len(tables) == 1:
            return first
        for i, table in enumerate(tables):
            _check_same_columns(first, table, i)
        ptrs = ("node_ptr", "edge_ptr")
        offsets = {name: pointers(np.concatenate([np.diff(getattr(t, name)) for t in tables])) for name in ptrs}
        parts = {
            side: {name: concatenate([getattr(t, side)[name] for t in tables]) for name in getattr(first, side)}
            for side in SIDES
        }
        ends = {name: np.concatenate([getattr(t, name) for t in tables]) for name in ("source", "target")}
        return replace(first, **offsets, **ends, **parts)  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GraphTable):
            return NotImplemented
        return (
            (self.directed, self.weight, self.targets) == (other.directed, other.weight, other.targets)
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ARRAYS)
            and all(equal_columns(getattr(self, side), getattr(other, side)) for side in SIDES)
        )

    __hash__ = None  # type: ignore[assignment]

    def digest(self) -> str:
        """A fingerprint: tables of equal contents have equal ones, in every process.

        >>> GraphTable.of(["CCO"]).digest() == GraphTable.of(["CCO", "C"])[:1].digest()
        True
        """
        hashed = blake2b(repr((self.directed, self.weight, self.targets, len(self))).encode(), digest_size=16)
        for array in (np.diff(self.node_ptr), np.diff(self.edge_ptr), self.source, self.target):
            hashed.update(np.ascontiguousarray(array, dtype=np.int64).tobytes())
        for side in SIDES:
            for name, column in sorted(getattr(self, side).items()):
                hashed.update(f"{side}.{name}.{column.kind}".encode(errors="surrogatepass"))
                hashed.update(column.canonical_bytes())
        return hashed.hexdigest()

    def to_networkx(self) -> "list[nx.Graph]":
        """Graphs of networkx with all columns as attributes; nodes are called by their ids.

        >>> GraphTable.of(["CO"]).to_networkx()[0].nodes(data="label")
        NodeDataView({0: 'C', 1: 'O'}, data='label')
        """
        from rwkplus.io.networkx import to_networkx

        return to_networkx(self)

    def to_pyg(self) -> list[Any]:
        """Graphs of PyG: labels as one-hot rows, followed by attributes (extra: ``nn``).

        >>> GraphTable.of(["CO"]).to_pyg()[0].x
        tensor([[1., 0.],
                [0., 1.]])
        """
        import rwkplus.tensors  # noqa: F401
        from rwkplus.io.pyg import to_pyg

        return to_pyg(self)

    def to_pandas(self) -> Any:  # noqa: ANN401
        """Three data frames ``graphs``, ``nodes`` and ``edges``; see :meth:`to_frames` for other libraries.

        >>> GraphTable.of(["CO"]).to_pandas().nodes
           graph  node label
        0      0     0     C
        1      0     1     O
        """
        return self.to_frames("pandas")

    def to_frames(self, library: str = "pandas") -> Any:  # noqa: ANN401
        """Three data frames ``graphs``, ``nodes`` and ``edges`` of ``"pandas"``, ``"polars"`` or ``"pyarrow"``.

        >>> GraphTable.of(["CO"]).to_frames("pyarrow").edges.column_names
        ['graph', 'source', 'target', 'label']
        """
        from rwkplus.io.frames import to_frames

        return to_frames(self, library)

    def write(self, path: str | Path) -> Path:
        """Write a folder that :meth:`of` opens without reading it into memory (extra: ``arrow``).

        >>> from tempfile import TemporaryDirectory
        >>> table = GraphTable.of(["CCO", "N#N"])
        >>> with TemporaryDirectory() as folder:
        ...     GraphTable.of(table.write(f"{folder}/molecules")) == table
        True
        """
        from rwkplus.io.parquet import write_table

        return write_table(self, path)

    def __repr__(self) -> str:
        lines, before = [self._headline()], ""
        for side, name, about in self._described():
            lines.append(f"  {'' if side == before else side:6} {name}: {about}")
            before = side
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """What is in the table, for notebooks."""
        rows = "".join(
            f"<tr><td>{side}</td><td><b>{escape(name)}</b></td><td>{escape(about)}</td></tr>"
            for side, name, about in self._described()
        )
        return f"<div><p>{escape(self._headline())}</p><table>{rows}</table></div>"

    def _headline(self) -> str:
        graphs = counted(len(self), f"{'directed' if self.directed else 'undirected'} graph")
        return f"GraphTable: {graphs}, {counted(self.num_nodes, 'node')}, {counted(self.num_edges, 'edge')}"

    def _described(self) -> Iterator[tuple[str, str, str]]:
        """Side and name of every column, and what is in it."""
        for side in SIDES:
            for name, column in getattr(self, side).items():
                known = {"id": "ids", "name": "names"} if isinstance(column, Text) else {}
                parts = [known.get(name) or column.describe()]
                parts += ["weight"] if side == "edges" and name == self.weight else []
                parts += ["target"] if side == "graphs" and name in self.targets else []
                missing = int(column.missing.sum())
                about = ", ".join([*parts, f"{missing:,} missing"] if missing else parts)
                yield side, visible(name), visible(about)


def _plain_index(index: Any) -> Any:  # noqa: ANN401
    """Lists as arrays, an empty one of integers; scikit-learn asks for ``table[rows, ...]``."""
    if isinstance(index, tuple) and len(index) == 2 and index[1] is Ellipsis:
        return _plain_index(index[0])
    if isinstance(index, list | tuple):
        return np.asarray(index, dtype=None if len(index) else np.int64)
    return index


def _check_same_columns(first: GraphTable, table: GraphTable, i: int) -> None:
    for side in SIDES:
        for name in {*getattr(first, side), *getattr(table, side)}:
            mine, theirs = getattr(first, side).get(name), getattr(table, side).get(name)
            if _form(mine) != _form(theirs):
                has, lacks = (0, i) if theirs is None or mine is not None else (i, 0)
                raise GraphError(
                    f"the {side} of table {has} have a column {name!r} that those of table {lacks} do not have, or not "
                    "of the same kind.",
                    "Give it to both.",
                    Remedy("Or leave it out: {ignore}.", ignore=(name,)),
                )
    if (first.directed, first.weight) != (table.directed, table.weight):
        raise GraphError(f"table {i} differs from table 0 in whether edges are directed, or have weights.")


def _form(column: Column | None) -> object:
    """What columns must have in common to stand below one another."""
    return None if column is None else (column.kind, column.numbers.shape[1:] if isinstance(column, Numbers) else ())

"""Graphs as the loops read them: plain arrays, every undirected edge in both directions, cut into blocks of graphs."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import GraphError
from rwkplus.table.columns import Categories, Column, Numbers, block_ranges, is_missing
from rwkplus.table.graph_table import GraphTable
from rwkplus.types import UnknownLabel

if TYPE_CHECKING:
    from rwkplus.table.reader import Reader

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.uint64]
T = TypeVar("T")


@dataclass(frozen=True)
class GraphArrays:
    """Graphs side by side; nodes and edges are sorted by graph and numbered from the block's first node.

    Example:
        >>> from rwkplus.table import Reader
        >>> table = GraphTable.of(["CO"])
        >>> arrays = Reader.fit(table).read(table)
        >>> arrays.source, arrays.target, arrays.label
        (array([0, 1]), array([1, 0]), array([0, 1]))
    """

    node_ptr: Ints  # (B + 1,)
    edge_ptr: Ints  # (B + 1,)
    source: Ints  # (E,)
    target: Ints  # (E,)
    weight: Floats | None  # (E,)
    x: Floats  # (N, D); empty when only labels are wanted
    label: Ints  # (N,): number of the node label, -1 for none; empty for attributes
    edge_attr: Floats | None  # (E, C)
    edge_label: Ints | None  # (E,): number of the edge label, -1 for none
    num_labels: int
    num_edge_labels: int
    label_code: Codes  # (num_labels + 1,): see label_codes
    edge_label_code: Codes  # (num_edge_labels + 1,)

    @property
    def num_graphs(self) -> int:
        """Number of graphs."""
        return self.node_ptr.size - 1

    @property
    def num_nodes(self) -> int:
        """Number of nodes of all graphs."""
        return int(self.node_ptr[-1])

    @property
    def graph(self) -> Ints:
        """Graph of each node."""
        return np.repeat(np.arange(self.num_graphs), np.diff(self.node_ptr))

    def block(self, start: int, stop: int) -> "GraphArrays":
        """Cut out the graphs from ``start`` up to but excluding ``stop``.

        >>> from rwkplus.table import Reader
        >>> table = GraphTable.of(["CO", "CC"])
        >>> Reader.fit(table).read(table).block(1, 2).source
        array([0, 1])
        """
        nodes = slice(self.node_ptr[start], self.node_ptr[stop])
        edges = slice(self.edge_ptr[start], self.edge_ptr[stop])
        return replace(
            self,
            node_ptr=self.node_ptr[start : stop + 1] - nodes.start,
            edge_ptr=self.edge_ptr[start : stop + 1] - edges.start,
            source=self.source[edges] - nodes.start,
            target=self.target[edges] - nodes.start,
            weight=None if self.weight is None else self.weight[edges],
            x=self.x[nodes],
            label=self.label[nodes],
            edge_attr=None if self.edge_attr is None else self.edge_attr[edges],
            edge_label=None if self.edge_label is None else self.edge_label[edges],
        )

    def with_width(self, num_features: int, num_edge_features: int) -> "GraphArrays":
        """Keep only the first columns of node and edge features."""
        return replace(
            self,
            x=self.x[:, :num_features],
            edge_attr=None if self.edge_attr is None else self.edge_attr[:, :num_edge_features],
        )

    def blocks(self, max_nodes: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of graphs of at most ``max_nodes`` nodes together, or of one larger graph."""
        return block_ranges(self.node_ptr, max_nodes)


@dataclass(frozen=True)
class ReadGraphs:
    """Graphs and how to read them: arrays are made where and when they are needed.

    Example:
        >>> from rwkplus.table import Reader
        >>> table = GraphTable.of(["CCO", "N#N", "C"])
        >>> [block.arrays().num_nodes for block in ReadGraphs(table, Reader.fit(table)).blocks(max_nodes=5)]
        [5, 1]
    """

    table: GraphTable
    reader: "Reader"
    unknown_label: UnknownLabel = "new"
    first: int = 0
    """Number of the first graph among all of which these are a block, for errors."""

    def __len__(self) -> int:
        return len(self.table)

    def arrays(self, *, labels: bool = True) -> GraphArrays:
        """All graphs, with labels or with features."""
        try:
            return self.reader.read(self.table, self.unknown_label, labels=labels)
        except GraphError:
            if self.first == 0:
                raise
            return self.reader.read(self.table.with_names(self.first), self.unknown_label, labels=labels)

    def blocks(self, max_nodes: int) -> "Iterator[ReadGraphs]":
        """Cut into blocks of at most ``max_nodes`` nodes, or of one larger graph."""
        for start, stop in block_ranges(self.table.node_ptr, max_nodes):
            yield replace(self, table=self.table[start:stop], first=self.first + start)


def map_blocks(
    function: "Callable[[ReadGraphs], T]", graphs: ReadGraphs, max_nodes: int, n_jobs: int | None
) -> Iterator[T]:
    """Yield ``function(block)`` for every block, in order; any joblib backend works, Dask and Ray included.

    Blocks of a table on disk travel to workers as path and range.

    Example:
        >>> from rwkplus.table import Reader
        >>> table = GraphTable.of(["CCO", "N#N", "C"])
        >>> list(map_blocks(len, ReadGraphs(table, Reader.fit(table)), max_nodes=5, n_jobs=None))
        [2, 1]
    """
    if graphs.table.num_nodes <= max_nodes:
        return iter([function(graphs)])
    from joblib import Parallel, delayed

    found: Iterator[T] = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(function)(block) for block in graphs.blocks(max_nodes)
    )
    return found


def parallel_edges(table: GraphTable) -> NDArray[np.bool_]:
    """Whether two nodes of a graph are joined by several edges, for every graph ``(B,)``.

    >>> import networkx as nx
    >>> parallel_edges(GraphTable.of([nx.MultiGraph([(0, 1)]), nx.MultiGraph([(0, 1), (1, 0)])])).tolist()
    [False, True]
    """
    turned = (table.source > table.target) & (not table.directed)
    low, high = np.where(turned, table.target, table.source), np.where(turned, table.source, table.target)
    order = np.lexsort((high, low, table.edge_graph))
    rows = np.stack([table.edge_graph, low, high], 1)[order]
    parallel = np.zeros(len(table), bool)
    parallel[rows[1:][(rows[1:] == rows[:-1]).all(1), 0]] = True
    return parallel


def group_equal_rows(columns: Iterable[Column], group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number rows alike that are equal in all columns and in the number of a group ``(N,)``.

    >>> group_equal_rows([Categories.of("aba"), Numbers(np.array([1, 1, 1]))], np.zeros(3, np.int64))
    array([0, 1, 0])
    """
    for column in columns:
        if isinstance(column, Numbers):
            known = np.where(np.isnan(column.matrix()), np.inf, column.matrix())
            cells = [np.unique(numbers, return_inverse=True)[1] for numbers in known.T]
        else:
            labels = column if isinstance(column, Categories) else Categories.of(map(repr, column.texts.tolist()))
            cells = [labels.codes.astype(np.int64)]
        for codes in cells:
            group = np.unique(group * (int(codes.max(initial=0)) + 2) + codes + 1, return_inverse=True)[1]
    return group


def merge_directions(table: GraphTable) -> GraphTable:
    """Leave one of the two directions of every edge where all edges have their reverse, as undirected ones do.

    >>> import networkx as nx
    >>> merge_directions(GraphTable.of([nx.DiGraph([(0, 1), (1, 0)])]))
    GraphTable: 1 undirected graph, 2 nodes, 1 edge
    """
    key = group_equal_rows(table.edges.values(), np.zeros(table.num_edges, np.int64))
    forth, back = table.source < table.target, table.source > table.target
    graph = table.edge_graph
    one = np.lexsort((key[forth], table.target[forth], table.source[forth], graph[forth]))
    other = np.lexsort((key[back], table.source[back], table.target[back], graph[back]))
    same = one.size == other.size and all(
        np.array_equal(a[forth][one], b[back][other])
        for a, b in ((graph, graph), (table.source, table.target), (table.target, table.source), (key, key))
    )
    if not same:
        return table
    kept = np.flatnonzero(~back)
    return replace(
        table,
        edge_ptr=np.searchsorted(graph[kept], np.arange(len(table) + 1)),
        source=table.source[kept],
        target=table.target[kept],
        edges={name: column.take(kept) for name, column in table.edges.items()},
        directed=False,
    )


def classes_of(table: GraphTable) -> list[Any] | None:
    """Class of every graph, a whole number or a name, None for one whose class is missing; None if there are none.

    Several targets are questions of their own, and numbers of which some are not whole are no classes.

    >>> classes_of(GraphTable.of(["C", "O", "N"]).with_targets([1, None, 0]))
    [1, None, 0]
    """
    y = table.y
    if y is None or y.ndim != 1:
        return None
    known = np.array([not is_missing(value) for value in y.tolist()], dtype=bool)
    if y.dtype.kind == "f" and (known.all() or (y[known] != np.round(y[known])).any()):
        return None
    classes = np.full(y.size, None, dtype=object)
    classes[known] = y[known].astype(np.int64) if y.dtype.kind == "f" else y[known]
    return classes.tolist()  # type: ignore[no-any-return]


def check_any_graphs(table: GraphTable) -> None:
    """Refuse a table without graphs where there is something to learn."""
    if not len(table):
        raise GraphError("there are no graphs: give at least one.")


def check_nodes(table: GraphTable) -> None:
    """Refuse graphs without nodes.

    >>> check_nodes(GraphTable.of(["CCO"]))
    """
    empty = np.diff(table.node_ptr) == 0
    if empty.any():
        i = int(np.argmax(empty))
        raise GraphError(f"{table.describe_graph(i)} has no nodes: so it cannot be used.")

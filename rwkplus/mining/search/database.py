"""A graph database ready for mining: undirected, labelled, without loops or repeated edges."""

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import GraphError, Remedy, RWKPlusWarning
from rwkplus.loops.embeddings import Adjacency, Ints
from rwkplus.table.arrays import GraphArrays


@dataclass(frozen=True)
class MiningDatabase:
    """Graphs as sparse rows with node and edge labels, and what chance needs to know about them.

    >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1).num_edges
    3
    """

    rows: Adjacency
    num_graphs: int
    num_labels: int
    num_edge_labels: int

    @classmethod
    def of(cls, graphs: GraphArrays) -> "MiningDatabase":
        """Check and sort labelled graphs; loops and repeated edges cannot be part of a pattern and are left out."""
        edge_label = np.zeros_like(graphs.source) if graphs.edge_label is None else graphs.edge_label
        _check_labels(graphs, edge_label)
        key = _keys(graphs, graphs.source, graphs.target, edge_label)
        _check_undirected(graphs, key, edge_label)
        pair = key // graphs.num_edge_labels
        first = np.concatenate([[True], key[1:] != key[:-1]])[: key.size]
        distinct = key[first & (pair // graphs.num_nodes != pair % graphs.num_nodes)]
        left_out = key.size - distinct.size
        if left_out:
            warnings.warn(
                f"{left_out} self-loops and repeated edges are left out: patterns are simple graphs.",
                RWKPlusWarning,
                stacklevel=4,
            )
        pair, edge_label = distinct // graphs.num_edge_labels, distinct % graphs.num_edge_labels
        source, target = pair // graphs.num_nodes, pair % graphs.num_nodes
        indptr = np.concatenate([[0], np.bincount(source, minlength=graphs.num_nodes).cumsum()])
        rows = Adjacency(indptr, target, edge_label, graphs.label, graphs.graph)
        return cls(rows, graphs.num_graphs, graphs.num_labels, graphs.num_edge_labels)

    @cached_property
    def source(self) -> Ints:
        """Row of every entry of the adjacency.

        >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
        >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
        >>> triangle.source
        array([0, 0, 1, 1, 2, 2])
        """
        return np.repeat(np.arange(self.rows.label.size), np.diff(self.rows.indptr))

    @cached_property
    def degree(self) -> Ints:
        """Edges of every node.

        >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
        >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
        >>> triangle.degree
        array([2, 2, 2])
        """
        return np.diff(self.rows.indptr)

    def entry_keys(self, *, reverse: bool = False) -> Ints:
        """Number of every entry of the adjacency by its nodes and label: ascending; or that of its reverse.

        >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
        >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
        >>> triangle.entry_keys(), triangle.entry_keys(reverse=True)
        (array([1, 2, 3, 5, 6, 7]), array([3, 6, 1, 7, 2, 5]))
        """
        ends = (self.rows.neighbor, self.source) if reverse else (self.source, self.rows.neighbor)
        return (ends[0] * self.rows.label.size + ends[1]) * self.num_edge_labels + self.rows.edge_label

    @property
    def num_edges(self) -> int:
        """Undirected edges of all graphs."""
        return self.rows.neighbor.size // 2

    def blocks(self, max_nodes: int) -> "Iterator[tuple[int, MiningDatabase]]":
        """Cut into blocks of whole graphs of about ``max_nodes`` nodes, each with the number of its first node.

        >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
        >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
        >>> [first for first, _ in triangle.blocks(max_nodes=2)]  # graphs are never cut
        [0]
        """
        graph, total = self.rows.graph, self.rows.label.size
        first = 0
        while first < total:
            last = min(first + max_nodes, total)
            last = int(np.searchsorted(graph, graph[last - 1], side="right"))  # the whole of its last graph
            entries = slice(int(self.rows.indptr[first]), int(self.rows.indptr[last]))
            rows = Adjacency(
                self.rows.indptr[first : last + 1] - entries.start,
                self.rows.neighbor[entries] - first,
                self.rows.edge_label[entries],
                self.rows.label[first:last],
                graph[first:last],
            )
            yield first, replace(self, rows=rows)
            first = last

    def without_edges(self, covered: NDArray[np.bool_]) -> "MiningDatabase":
        """Return the database without the marked entries of its adjacency.

        >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
        >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
        >>> triangle.without_edges(np.array([1, 0, 1, 0, 0, 0], bool)).num_edges
        2
        """
        kept = ~covered
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.rows.indptr]
        rows = self.rows._replace(
            indptr=indptr, neighbor=self.rows.neighbor[kept], edge_label=self.rows.edge_label[kept]
        )
        return MiningDatabase(rows, self.num_graphs, self.num_labels, self.num_edge_labels)

    def graphs_subset(self, chosen: Ints) -> "MiningDatabase":
        """Return some of the graphs, renumbered; ``chosen`` ascends.

        >>> rows = Adjacency(*map(np.array, ([0, 1, 2, 3, 4], [1, 0, 3, 2], [0] * 4, [0] * 4, [0, 0, 1, 1])))
        >>> two_edges = MiningDatabase(rows, num_graphs=2, num_labels=1, num_edge_labels=1)
        >>> two_edges.graphs_subset(np.array([1])).rows.neighbor
        array([1, 0])
        """
        kept = np.isin(self.rows.graph, chosen)
        number = np.cumsum(kept) - 1
        entries = kept[self.source]
        indptr = np.concatenate([[0], np.cumsum(self.degree[kept])])
        rows = Adjacency(
            indptr,
            number[self.rows.neighbor[entries]],
            self.rows.edge_label[entries],
            self.rows.label[kept],
            np.searchsorted(chosen, self.rows.graph[kept]),
        )
        return MiningDatabase(rows, chosen.size, self.num_labels, self.num_edge_labels)

    def shuffled(self, rng: np.random.Generator, rounds: int = 10) -> "MiningDatabase":
        """Rewire every graph at random, keeping each node's label and degree: nothing but chance remains.

        Pairs of edges with one edge label swap ends unless that would make a loop or a double edge.
        """
        half = self.source < self.rows.neighbor
        u, v, label = self.source[half], self.rows.neighbor[half].copy(), self.rows.edge_label[half]
        group = self.rows.graph[u] * self.num_edge_labels + label
        order = np.argsort(group, kind="stable")
        u, v, label, group = u[order], v[order], label[order], group[order]
        begin = np.searchsorted(group, group)
        size = np.searchsorted(group, group, side="right") - begin
        present = Counter(zip(np.minimum(u, v).tolist(), np.maximum(u, v).tolist(), strict=True))
        for a in np.tile(np.arange(u.size), rounds):
            b = int(begin[a] + rng.integers(size[a]))
            _swap(u, v, int(a), b, present, bool(rng.integers(2)))
        source, target, label = np.concatenate([u, v]), np.concatenate([v, u]), np.concatenate([label, label])
        order = np.lexsort((label, target, source))
        indptr = np.concatenate([[0], np.bincount(source, minlength=self.rows.label.size).cumsum()])
        rows = self.rows._replace(indptr=indptr, neighbor=target[order], edge_label=label[order])
        return MiningDatabase(rows, self.num_graphs, self.num_labels, self.num_edge_labels)


def _swap(u: Ints, v: Ints, a: int, b: int, present: Counter[tuple[int, int]], flip: bool) -> None:
    """Exchange the ends of edges ``a`` and ``b`` where that joins nodes that no edge joins yet."""
    if flip:
        u[b], v[b] = v[b], u[b]
    first, second = (int(u[a]), int(v[b])), (int(u[b]), int(v[a]))
    new = {(min(pair), max(pair)) for pair in (first, second)}
    if len(new) < 2 or any(x == y or present[x, y] for x, y in new):
        return
    for x, y in ((int(u[a]), int(v[a])), (int(u[b]), int(v[b]))):
        present[min(x, y), max(x, y)] -= 1  # a parallel edge of another label stays
    present.update(new)
    v[a], v[b] = v[b], v[a]


def _check_labels(graphs: GraphArrays, edge_label: Ints) -> None:
    for what, label, owner in (
        ("a node", graphs.label, graphs.graph),
        ("an edge", edge_label, graphs.graph[graphs.source]),
    ):
        if (label < 0).any():
            i = int(owner[np.argmax(label < 0)])
            raise GraphError(f"graph {i}: {what} has no label (a row of zeros).", "Patterns need one on all of them.")


def _keys(graphs: GraphArrays, source: Ints, target: Ints, edge_label: Ints) -> Ints:
    """One number for each edge by its nodes and its label, ascending."""
    key = source * graphs.num_nodes
    key += target
    key *= graphs.num_edge_labels
    key += edge_label
    key.sort()
    return key


def _check_undirected(graphs: GraphArrays, key: Ints, edge_label: Ints) -> None:
    back = _keys(graphs, graphs.target, graphs.source, edge_label)
    if not np.array_equal(key, back):
        distinct = np.unique(key)
        lonely = distinct[~np.isin(distinct, back)]
        if not lonely.size:  # an edge and its reverse may be listed differently often
            return
        i = int(graphs.graph[lonely[0] // graphs.num_edge_labels // graphs.num_nodes])
        raise GraphError(
            f"graph {i}: there is an edge without its reverse of the same label. Patterns are undirected.",
            Remedy("Read the edges as undirected ones: {directed}.", directed=False),
            "Add the reverse ones, for instance by .to_undirected() of networkx or ToUndirected() of PyG.",
        )

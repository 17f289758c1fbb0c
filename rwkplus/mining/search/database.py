"""A graph database ready for mining: labelled, without loops or repeated edges."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import GraphError, Remedy, RWKPlusWarning
from rwkplus.loops.embeddings import NONE, Adjacency, Ints, reverse_entries, swap_ends
from rwkplus.table.arrays import GraphArrays

ROUNDS = 10
"""Swaps tried for every edge until a graph is rewired."""


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
    num_edge_labels: int  # as rows number them: two for each label where edges have a direction
    directed: bool = False

    @classmethod
    def of(
        cls, graphs: GraphArrays, *, directed: bool = False, marks: Ints = NONE, edge_marks: Ints = NONE
    ) -> "MiningDatabase":
        """Check and sort labelled graphs; loops and repeated edges cannot be part of a pattern and are left out.

        Args:
            graphs: The graphs; without ``directed``, every edge with its reverse.
            directed: Whether the direction of edges is part of a pattern.
            marks: Conditions that each node meets, as bits ``(N,)``.
            edge_marks: The same for edges ``(E,)``. Parallel edges of one label that differ in them are all kept.
        """
        edge_label = np.zeros_like(graphs.source) if graphs.edge_label is None else graphs.edge_label
        _check_labels(graphs, edge_label)
        kinds, mark = np.unique(edge_marks, return_inverse=True) if edge_marks.size else (np.zeros(1, np.int64), 0)
        bases = (graphs.num_nodes, graphs.num_edge_labels * (1 + directed), kinds.size)
        key = _keys(bases, graphs.source, graphs.target, edge_label * (1 + directed), mark)
        back = _keys(bases, graphs.target, graphs.source, edge_label * (1 + directed) + directed, mark)
        if directed:
            key = np.sort(np.concatenate([key, back]))
        else:
            _check_undirected(graphs, bases, key, back)
        del back, edge_label  # arrays of many millions of entries
        every = key.size
        key = key[np.concatenate([[True], key[1:] != key[:-1]])[:every]]
        key, mark = np.divmod(key, bases[2]) if edge_marks.size else (key, NONE)
        key, edge_label = np.divmod(key, bases[1])
        source, target = np.divmod(key, graphs.num_nodes)
        del key
        if (source == target).any():
            proper = source != target
            source, target, edge_label = source[proper], target[proper], edge_label[proper]
            mark = mark[proper] if mark.size else NONE
        left_out = (every - source.size) // (1 + directed)
        if left_out:
            warnings.warn(
                f"{left_out} self-loops and repeated edges are left out: patterns contain neither.",
                RWKPlusWarning,
                stacklevel=4,
            )
        indptr = np.concatenate([[0], np.bincount(source, minlength=graphs.num_nodes).cumsum()])
        rows = Adjacency(
            indptr, target, edge_label, graphs.label, graphs.graph, marks, kinds[mark] if edge_marks.size else NONE
        )
        return cls(rows, graphs.num_graphs, graphs.num_labels, bases[1], directed)

    @cached_property
    def source(self) -> Ints:
        """Row of every entry of the adjacency."""
        return np.repeat(np.arange(self.rows.label.size), np.diff(self.rows.indptr))

    @cached_property
    def direction(self) -> Ints:
        """Of every entry: 1 where it is seen from the end that a directed edge enters, otherwise 0."""
        return self.rows.edge_label & 1 if self.directed else np.zeros_like(self.rows.edge_label)

    @cached_property
    def degree(self) -> Ints:
        """Edges of every node: ``(N, 1)``, or ``(N, 2)`` where those that leave it and those that enter it differ.

        >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
        >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
        >>> triangle.degree.ravel()
        array([2, 2, 2])
        """
        width = 1 + self.directed
        key = self.source * width + self.direction
        return np.bincount(key, minlength=self.rows.label.size * width).reshape(-1, width)

    @cached_property
    def num_marks(self) -> int:
        """Conditions that nodes may meet."""
        return int(self.rows.marks.max(initial=0)).bit_length()

    @cached_property
    def num_edge_marks(self) -> int:
        """Conditions that edges may meet."""
        return int(self.rows.edge_marks.max(initial=0)).bit_length()

    @cached_property
    def distinct(self) -> NDArray[np.bool_]:
        """Which entries are the first of those that differ in marks only."""
        rows = self.rows
        if not rows.edge_marks.size:
            return np.ones(rows.neighbor.size, bool)
        key = (self.source * rows.label.size + rows.neighbor) * self.num_edge_labels + rows.edge_label
        return np.concatenate([[True], key[1:] != key[:-1]])[: key.size]

    @cached_property
    def ends(self) -> tuple[Ints, Ints, Ints]:
        """Of every entry the number of its labels, of edge and neighbor; and the two labels of every number."""
        rows = self.rows
        both = rows.edge_label * self.num_labels + rows.label[rows.neighbor]
        kinds, number = np.unique(both, return_inverse=True)
        return number, *np.divmod(kinds, self.num_labels)

    @property
    def num_edges(self) -> int:
        """Edges of all graphs."""
        return self.rows.neighbor.size // 2

    def blocks(self, max_nodes: int) -> "Iterator[tuple[int, MiningDatabase]]":
        """Cut into blocks of whole graphs of about ``max_nodes`` nodes, each with the number of its first node.

        >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
        >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
        >>> [first for first, _ in triangle.blocks(max_nodes=2)]  # graphs are never cut
        [0]
        """
        rows, total = self.rows, self.rows.label.size
        first = 0
        while first < total:
            last = min(first + max_nodes, total)
            last = int(np.searchsorted(rows.graph, rows.graph[last - 1], side="right"))  # the whole of its last graph
            entries = slice(int(rows.indptr[first]), int(rows.indptr[last]))
            block = Adjacency(
                rows.indptr[first : last + 1] - entries.start,
                rows.neighbor[entries] - first,
                rows.edge_label[entries],
                rows.label[first:last],
                rows.graph[first:last],
                rows.marks[first:last],
                rows.edge_marks[entries],
            )
            yield first, replace(self, rows=block)
            first = last

    def without_edges(self, covered: NDArray[np.bool_]) -> "MiningDatabase":
        """Return the database without the marked entries of its adjacency.

        >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
        >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
        >>> triangle.without_edges(np.array([1, 0, 1, 0, 0, 0], bool)).num_edges
        2
        """
        kept, rows = ~covered, self.rows
        left = rows._replace(
            indptr=np.concatenate([[0], np.cumsum(kept)])[rows.indptr],
            neighbor=rows.neighbor[kept],
            edge_label=rows.edge_label[kept],
            edge_marks=rows.edge_marks[kept] if rows.edge_marks.size else NONE,
        )
        return replace(self, rows=left)

    def graphs_subset(self, chosen: Ints) -> "MiningDatabase":
        """Return some of the graphs, renumbered; ``chosen`` ascends.

        >>> rows = Adjacency(*map(np.array, ([0, 1, 2, 3, 4], [1, 0, 3, 2], [0] * 4, [0] * 4, [0, 0, 1, 1])))
        >>> two_edges = MiningDatabase(rows, num_graphs=2, num_labels=1, num_edge_labels=1)
        >>> two_edges.graphs_subset(np.array([1])).rows.neighbor
        array([1, 0])
        """
        rows = self.rows
        wanted = np.zeros(self.num_graphs, bool)
        wanted[chosen] = True
        kept = wanted[rows.graph]
        entries = kept[self.source]
        part = Adjacency(
            np.concatenate([[0], np.cumsum(np.diff(rows.indptr)[kept])]),
            (np.cumsum(kept) - 1)[rows.neighbor[entries]],
            rows.edge_label[entries],
            rows.label[kept],
            np.searchsorted(chosen, rows.graph[kept]),
            rows.marks[kept] if rows.marks.size else NONE,
            rows.edge_marks[entries] if rows.edge_marks.size else NONE,
        )
        return replace(self, rows=part, num_graphs=chosen.size)

    def shuffled(self, rng: np.random.Generator) -> "MiningDatabase":
        """Rewire every graph at random, keeping each node's label and degree: nothing but chance remains.

        Pairs of edges with one edge label swap ends unless that would make a loop or a double edge; a directed edge
        keeps leaving the node that it leaves.
        """
        rows = self.rows
        half = np.flatnonzero(self.direction == 0 if self.directed else self.source < rows.neighbor)
        group = rows.graph[self.source[half]] * self.num_edge_labels + rows.edge_label[half]
        order = np.argsort(group, kind="stable")
        half, group = half[order], group[order]
        begin = np.searchsorted(group, group)
        size = np.searchsorted(group, group, side="right") - begin
        neighbor, marks = rows.neighbor.copy(), rows.edge_marks.copy()
        back = reverse_entries(rows, self.source, np.arange(neighbor.size), self.directed)
        for _ in range(ROUNDS):
            draw = rng.random(half.size)
            ends = rows.indptr, neighbor, rows.edge_label, marks, self.source, back
            swap_ends(*ends, half, begin, size, draw, self.directed)
        parts = (rows.edge_label, neighbor, self.source)
        order = np.lexsort((marks, *parts) if marks.size else parts)
        rewired = rows._replace(
            neighbor=neighbor[order],
            edge_label=rows.edge_label[order],
            edge_marks=marks[order] if marks.size else NONE,
        )
        return replace(self, rows=rewired)


def _check_labels(graphs: GraphArrays, edge_label: Ints) -> None:
    for what, label, owner in (
        ("a node", graphs.label, graphs.graph),
        ("an edge", edge_label, graphs.graph[graphs.source]),
    ):
        if (label < 0).any():
            i = int(owner[np.argmax(label < 0)])
            raise GraphError(f"graph {i}: {what} has no label (a row of zeros).", "Patterns need one on all of them.")


def _keys(bases: tuple[int, int, int], source: Ints, target: Ints, label: Ints, mark: Ints | int) -> Ints:
    """One number for each edge by its nodes, its label and its marks, ascending."""
    num_nodes, labels, marks = bases
    key = source * num_nodes
    key += target
    key *= labels
    key += label
    key *= marks
    key += mark
    key.sort()
    return key


def _check_undirected(graphs: GraphArrays, bases: tuple[int, int, int], key: Ints, back: Ints) -> None:
    if np.array_equal(key, back):
        return
    distinct = np.unique(key)
    lonely = distinct[~np.isin(distinct, back)]
    if lonely.size:  # otherwise an edge and its reverse are but listed differently often
        i = int(graphs.graph[lonely[0] // (bases[0] * bases[1] * bases[2])])
        raise GraphError(
            f"graph {i}: there is an edge without its reverse of the same label, though edges have no direction.",
            Remedy("If edges have a direction, use {directed}.", directed=True),
            "Add the reverse ones, for instance by .to_undirected() of networkx or ToUndirected() of PyG.",
        )

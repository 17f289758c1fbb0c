"""Shapes of patterns, where they occur in a database, complete or distorted, and which edges they cover."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from rwkplus.loops.embeddings import Ints, MatchPlan, find_embeddings, find_entries, pack
from rwkplus.mining.search.database import MiningDatabase

LISTED = 2_000
"""Embeddings listed per graph at most: a dense graph without labels has millions, which nobody reads."""

BLOCK_NODES = 100_000
"""Nodes of the graphs that are searched at a time."""

LIMIT = 500
"""Embeddings per graph that the search looks at: a clique has factorially many, which all say the same."""

MISSING_SHARE = 0.25
"""Share of a pattern's edges that a distorted occurrence may lack."""

MAX_MISSING = 2
"""Edges that it may lack at most: there are as many ways to lack three as can be told apart in a minute."""


@dataclass(frozen=True)
class Shape:
    """A connected labelled graph on positions 0, 1, ...; edges are ``(i, j, label)`` with ``i < j``.

    >>> triangle = Shape((0, 0, 1), ((0, 1, 0), (1, 2, 0), (0, 2, 0)))
    >>> triangle.size, triangle.is_connected
    (3, True)
    """

    labels: tuple[int, ...]
    edges: tuple[tuple[int, int, int], ...]

    @property
    def size(self) -> int:
        """Number of nodes.

        >>> Shape((0, 0), ((0, 1, 0),)).size
        2
        """
        return len(self.labels)

    def with_edge(self, i: int, j: int, edge: int) -> "Shape":
        """Close a cycle.

        >>> Shape((0, 0, 1), ((0, 1, 0), (1, 2, 0))).with_edge(0, 2, 0).edges
        ((0, 1, 0), (1, 2, 0), (0, 2, 0))
        """
        return Shape(self.labels, (*self.edges, (i, j, edge)))

    def with_node(self, i: int, edge: int, label: int) -> "Shape":
        """Hang a new node on position ``i``.

        >>> Shape((0, 0), ((0, 1, 0),)).with_node(1, edge=0, label=3)
        Shape(labels=(0, 0, 3), edges=((0, 1, 0), (1, 2, 0)))
        """
        return Shape((*self.labels, label), (*self.edges, (i, self.size, edge)))

    @cached_property
    def joined(self) -> NDArray[np.bool_]:
        """Which positions share an edge.

        >>> Shape((0, 0), ((0, 1, 0),)).joined
        array([[False,  True],
               [ True, False]])
        """
        joined = np.zeros((self.size, self.size), bool)
        for i, j, _ in self.edges:
            joined[i, j] = joined[j, i] = True
        return joined

    @property
    def is_connected(self) -> bool:
        """Whether every node can be reached from the first.

        >>> Shape((0, 0, 0), ((0, 1, 0),)).is_connected
        False
        """
        reached = {0}
        for _ in self.labels:
            reached |= {w for i, j, _ in self.edges for v, w in ((i, j), (j, i)) if v in reached}
        return len(reached) == self.size

    @cached_property
    def fingerprint(self) -> tuple[int, int, int]:
        """Alike for isomorphic shapes; different ones share it only where color refinement is blind.

        >>> path, same = Shape((0, 1, 0), ((0, 1, 0), (1, 2, 0))), Shape((1, 0, 0), ((0, 1, 0), (0, 2, 0)))
        >>> path.fingerprint == same.fingerprint
        True
        """
        around: list[list[tuple[int, int]]] = [[] for _ in self.labels]
        for i, j, edge in self.edges:
            around[i].append((edge, j))
            around[j].append((edge, i))
        colors = [hash((label, -1)) for label in self.labels]
        for _ in range(min(self.size, 6)):
            colors = [hash((colors[v], *sorted((e, colors[w]) for e, w in around[v]))) for v in range(self.size)]
        return hash(tuple(sorted(colors))), self.size, len(self.edges)

    @cached_property
    def search_order(self) -> list[int]:
        """Positions in the order of search: from the first on, always the one with most edges to those before.

        >>> Shape((0, 0, 0, 0), ((0, 3, 0), (1, 3, 0), (0, 1, 0), (2, 3, 0))).search_order
        [0, 1, 3, 2]
        """
        order = [0]
        while len(order) < self.size:
            rest = [v for v in range(self.size) if v not in order]
            order.append(max(rest, key=lambda v: int(self.joined[v, order].sum())))
        return order

    @cached_property
    def plan(self) -> MatchPlan:
        """The shape as :func:`rwkplus.loops.embeddings.find_embeddings` looks for it: every embedding."""
        return self._plan([-1] * self.size)

    @cached_property
    def occurrence_plan(self) -> MatchPlan:
        """Like :attr:`plan`, but interchangeable positions take their nodes in ascending order.

        That leaves one embedding of a clique or star where there would be factorially many.

        >>> star = Shape((0, 1, 1), ((0, 1, 0), (0, 2, 0)))
        >>> star.occurrence_plan.before  # the third node has a larger number than the second
        array([-1, -1,  1])
        """
        before = []
        for k, v in enumerate(self.search_order):
            twins = [place for place, u in enumerate(self.search_order[:k]) if self._interchangeable(u, v)]
            before.append(max(twins, default=-1))
        return self._plan(before)

    def _interchangeable(self, i: int, j: int) -> bool:
        """Whether swapping two positions leaves the shape as it is; such positions form classes."""
        if self.labels[i] != self.labels[j]:
            return False
        swap = {i: j, j: i}
        swapped = {(*sorted((swap.get(u, u), swap.get(v, v))), edge) for u, v, edge in self.edges}
        return swapped == {(*sorted((u, v)), edge) for u, v, edge in self.edges}

    def _plan(self, before: list[int]) -> MatchPlan:
        order = self.search_order
        label_of = {(i, j): edge for i, j, edge in self.edges} | {(j, i): edge for i, j, edge in self.edges}
        links = [
            [(place, label_of[u, v]) for place, u in enumerate(order[:k]) if (u, v) in label_of]
            for k, v in enumerate(order)
        ]
        anchors = [(-1, -1), *(part[0] for part in links[1:])]
        checks = [part[1:] for part in links]
        flat = [check for part in checks for check in part]
        return MatchPlan(
            np.array([self.labels[v] for v in order]),
            np.array([place for place, _ in anchors]),
            np.array([edge for _, edge in anchors]),
            np.concatenate([[0], np.cumsum([len(part) for part in checks])]).astype(np.int64),
            np.array([place for place, _ in flat], np.int64),
            np.array([edge for _, edge in flat], np.int64),
            np.array(before, np.int64),
        )


class Found(NamedTuple):
    """Where a shape occurs."""

    rows: Ints  # (count, n): nodes of the database, in the order of the shape's positions
    exhaustive: bool  # False where a graph has more than could be listed; its support counts all the same


def find_occurrences(database: MiningDatabase, shape: Shape, n_jobs: int | None = None) -> Found:
    """List the occurrences of a shape in every graph, in blocks that processes or threads can share.

    >>> from rwkplus.loops.embeddings import Adjacency
    >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
    >>> path = Shape((0, 0, 0), ((0, 1, 0), (1, 2, 0)))
    >>> find_occurrences(triangle, path).rows.tolist()
    [[0, 1, 2], [0, 2, 1], [1, 0, 2]]
    """
    if database.rows.label.size <= BLOCK_NODES:
        return _find_in_block(0, database, shape)
    parts = Parallel(n_jobs=n_jobs, prefer="threads")(  # the search holds no lock
        delayed(_find_in_block)(first, block, shape) for first, block in database.blocks(BLOCK_NODES)
    )
    return Found(np.concatenate([part.rows for part in parts]), all(part.exhaustive for part in parts))


def _find_in_block(first: int, database: MiningDatabase, shape: Shape) -> Found:
    """Occurrences in a block whose first node has this number."""
    found = find_embeddings(database.rows, shape.occurrence_plan, LISTED)
    _, times = np.unique(database.rows.graph[found[:, 0]], return_counts=True)
    embeddings = np.empty_like(found)
    embeddings[:, shape.search_order] = found
    return Found(distinct_occurrences(shape, embeddings) + first, bool(times.max(initial=0) < LISTED))


def distinct_occurrences(shape: Shape, embeddings: Ints) -> Ints:
    """Keep one embedding of each occurrence: two with the same labelled edges differ by a symmetry only.

    >>> edge = Shape((0, 0), ((0, 1, 0),))
    >>> distinct_occurrences(edge, np.array([[3, 4], [4, 3], [4, 5]]))
    array([[3, 4],
           [4, 5]])
    """
    if not len(embeddings):
        return embeddings
    base = int(embeddings.max()) + 1
    ends, label = np.split(np.array(shape.edges), [2], axis=1)
    images = np.sort(embeddings[:, ends], axis=2)
    labels = int(label.max()) + 1
    edges = np.sort((images[:, :, 0] * base + images[:, :, 1]) * labels + label.ravel(), axis=1)
    _, first = np.unique(edges, axis=0, return_index=True)
    return embeddings[np.sort(first)]


def exact_embeddings(database: MiningDatabase, shape: Shape, limit: int = -1) -> Ints:
    """Every embedding of a shape, columns in the order of its positions.

    >>> from rwkplus.loops.embeddings import Adjacency
    >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
    >>> path = Shape((0, 0, 0), ((0, 1, 0), (1, 2, 0)))
    >>> len(exact_embeddings(triangle, path))
    6
    """
    found = find_embeddings(database.rows, shape.plan, limit)
    embeddings = np.empty_like(found)
    embeddings[:, shape.search_order] = found
    return embeddings


def near_embeddings(database: MiningDatabase, shape: Shape) -> tuple[Ints, Ints]:
    """Embeddings of a shape or, in graphs without any, of as much of it as is there.

    Returns:
        Rows of nodes with -1 for missing positions, and how many of the shape's edges each node has there.
    """
    allowed = min(int(MISSING_SHARE * len(shape.edges)), MAX_MISSING)
    served = np.zeros(database.num_graphs, bool)
    parts, used_parts = [], []
    for missing in range(allowed + 1):
        if served.all():
            break
        newly = np.zeros_like(served)
        for smaller, positions in _smaller_shapes(shape, missing):
            found = exact_embeddings(database, smaller, LIMIT)
            graph = database.rows.graph[found[:, 0]]
            found = found[~served[graph]]
            newly[graph] = True
            embeddings, used = np.full((2, len(found), shape.size), -1)
            embeddings[:, positions] = found
            used[:, positions] = smaller.joined.sum(0)
            parts.append(embeddings)
            used_parts.append(used)
        served |= newly
    return np.concatenate(parts), np.concatenate(used_parts)


def _smaller_shapes(shape: Shape, missing: int) -> Iterator[tuple[Shape, list[int]]]:
    """Connected parts with ``missing`` edges less, and the positions they keep."""
    seen = {frozenset(range(len(shape.edges)))}
    for _ in range(missing):
        seen = {kept - {k} for kept in seen for k in kept}
    for kept in sorted(seen, key=sorted):
        edges = [shape.edges[k] for k in sorted(kept)]
        positions = sorted({v for i, j, _ in edges for v in (i, j)})
        place = {v: p for p, v in enumerate(positions)}
        smaller = Shape(tuple(shape.labels[v] for v in positions), tuple((place[i], place[j], e) for i, j, e in edges))
        if smaller.size >= 2 and smaller.is_connected:
            yield smaller, positions


def used_entries(database: MiningDatabase, shape: Shape, embeddings: Ints) -> Ints:
    """Entry of the adjacency for every embedding and edge of the shape, -1 where a distorted copy lacks it.

    Both directions of an edge are given by the entry in the row of its smaller node: ``(count, edges)``.

    >>> from rwkplus.loops.embeddings import Adjacency
    >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
    >>> path = Shape((0, 0, 0), ((0, 1, 0), (1, 2, 0)))
    >>> used_entries(triangle, path, np.array([[2, 0, 1]]))
    array([[1, 0]])
    """
    first, second, label = np.array(shape.edges).T
    rows = database.rows
    used: Ints = find_entries(rows.indptr, rows.neighbor, rows.edge_label, embeddings, first, second, label)
    return used


def covered(database: MiningDatabase, used: Ints) -> NDArray[np.bool_]:
    """Mark the entries of the adjacency, in both directions, that occurrences use.

    >>> from rwkplus.loops.embeddings import Adjacency
    >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
    >>> edge = Shape((0, 0), ((0, 1, 0),))
    >>> covered(triangle, used_entries(triangle, edge, np.array([[0, 1]])))
    array([ True, False,  True, False, False, False])
    """
    marked = np.zeros(database.rows.neighbor.size, bool)
    marked[used[used >= 0]] = True
    forward = np.flatnonzero(marked)
    back = database.entry_keys(reverse=True)[forward]
    marked[np.searchsorted(database.entry_keys(), back)] = True
    return marked


def explained(database: MiningDatabase, shapes: Iterable[Shape], n_jobs: int | None = None) -> NDArray[np.bool_]:
    """Mark the entries of the adjacency that lie in an occurrence of one of the shapes.

    >>> from rwkplus.loops.embeddings import Adjacency
    >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
    >>> path = Shape((0, 0, 0), ((0, 1, 0), (1, 2, 0)))
    >>> explained(triangle, [path])
    array([ True,  True,  True,  True,  True,  True])
    """
    marked = np.zeros(database.rows.neighbor.size, bool)
    for shape in shapes:
        marked |= covered(database, used_entries(database, shape, find_occurrences(database, shape, n_jobs).rows))
    return marked


def disjoint(database: MiningDatabase, used: Ints) -> NDArray[np.bool_]:
    """Choose occurrences that share no edge, first come first served.

    >>> from rwkplus.loops.embeddings import Adjacency
    >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
    >>> path = Shape((0, 0, 0), ((0, 1, 0), (1, 2, 0)))
    >>> used = used_entries(triangle, path, find_occurrences(triangle, path).rows)
    >>> disjoint(triangle, used)  # two paths of a triangle share an edge
    array([ True, False, False])
    """
    chosen: NDArray[np.bool_] = pack(used, database.rows.neighbor.size)
    return chosen

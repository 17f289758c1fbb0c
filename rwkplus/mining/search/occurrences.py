"""Shapes of patterns, where they occur in a database, complete or distorted, and which edges they cover."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from rwkplus.loops.embeddings import (
    NONE,
    NOWHERE,
    Adjacency,
    Ints,
    MatchPlan,
    find_embeddings,
    find_entries,
    pack,
    reverse_entries,
)
from rwkplus.loops.growing import shape_code
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


Edge = tuple[int, int, int]


@dataclass(frozen=True)
class Shape:
    """A connected labelled graph on positions 0, 1, ...; edges are ``(i, j, label)`` with ``i < j``.

    Directed edges have an even label where they lead from ``i`` to ``j`` and the odd one after it where they lead back.
    Several edges may join two nodes if their labels differ.

    >>> triangle = Shape((0, 0, 1), ((0, 1, 0), (1, 2, 0), (0, 2, 0)))
    >>> triangle.size, triangle.is_connected
    (3, True)
    """

    labels: tuple[int, ...]
    edges: tuple[Edge, ...]
    directed: bool = False
    needs: tuple[int, ...] = ()  # marks that each node must have; none by default
    edge_needs: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "needs", self.needs or (0,) * len(self.labels))
        object.__setattr__(self, "edge_needs", self.edge_needs or (0,) * len(self.edges))

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.labels)

    def with_edge(self, i: int, j: int, edge: int, edge_need: int = 0) -> "Shape":
        """Close a cycle, or add a parallel edge.

        >>> Shape((0, 0, 1), ((0, 1, 0), (1, 2, 0))).with_edge(0, 2, 0).edges
        ((0, 1, 0), (1, 2, 0), (0, 2, 0))
        """
        edges, edge_needs = (*self.edges, (i, j, edge)), (*self.edge_needs, edge_need)
        return Shape(self.labels, edges, self.directed, self.needs, edge_needs)

    def with_node(self, i: int, edge: int, label: int, edge_need: int = 0, need: int = 0) -> "Shape":
        """Hang a new node on position ``i``.

        >>> Shape((0, 0), ((0, 1, 0),)).with_node(1, edge=0, label=3).edges
        ((0, 1, 0), (1, 2, 0))
        """
        edges, edge_needs = (*self.edges, (i, self.size, edge)), (*self.edge_needs, edge_need)
        return Shape((*self.labels, label), edges, self.directed, (*self.needs, need), edge_needs)

    def with_need(self, i: int, need: int) -> "Shape":
        """Ask more of the node at position ``i``.

        >>> Shape((0, 0), ((0, 1, 0),)).with_need(1, 0b10).needs
        (0, 2)
        """
        needs = list(self.needs)
        needs[i] |= need
        return replace(self, needs=tuple(needs))

    def with_edge_need(self, k: int, need: int) -> "Shape":
        """Ask more of an edge.

        >>> Shape((0, 0), ((0, 1, 0),)).with_edge_need(0, 0b10).edge_needs
        (2,)
        """
        needs = list(self.edge_needs)
        needs[k] |= need
        return replace(self, edge_needs=tuple(needs))

    @cached_property
    def joined(self) -> NDArray[np.bool_]:
        """Which positions share an edge.

        >>> Shape((0, 0), ((0, 1, 0),)).joined.tolist()
        [[False, True], [True, False]]
        """
        joined = np.zeros((self.size, self.size), bool)
        for i, j, _ in self.edges:
            joined[i, j] = joined[j, i] = True
        return joined

    @cached_property
    def ends(self) -> Ints:
        """Edges at every position: ``(n, 1)``, or ``(n, 2)`` where those that leave and those that enter differ.

        >>> Shape((0, 0), ((0, 1, 0),), directed=True).ends.tolist()
        [[1, 0], [0, 1]]
        """
        ends = np.zeros((self.size, 1 + self.directed), np.int64)
        for i, j, edge in self.edges:
            ends[i, edge & self.directed] += 1
            ends[j, self.mate(edge) & self.directed] += 1
        return ends

    @cached_property
    def edge_array(self) -> Ints:
        """Edges as an array ``(m, 3)``."""
        return np.array(self.edges, np.int64).reshape(-1, 3)

    def mate(self, edge: int) -> int:
        """Label of an edge as seen from its other end.

        >>> Shape((0, 0), ((0, 1, 0),), directed=True).mate(0)
        1
        """
        return edge ^ self.directed

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
        return _fingerprint(self)

    @cached_property
    def search_order(self) -> list[int]:
        """Positions in the order of search: from the first on, always the one with most edges to those before.

        >>> Shape((0, 0, 0, 0), ((0, 3, 0), (1, 3, 0), (0, 1, 0), (2, 3, 0))).search_order
        [0, 1, 3, 2]
        """
        around = self.joined.tolist()
        order, links = [0], list(map(int, around[0]))
        while len(order) < self.size:
            best = max((v for v in range(self.size) if v not in order), key=links.__getitem__)
            order.append(best)
            links = [known + new for known, new in zip(links, around[best], strict=True)]
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

    @cached_property
    def twins(self) -> list[list[int]]:
        """Classes of positions that can be swapped, which share their nodes.

        >>> Shape((0, 1, 1), ((0, 1, 0), (0, 2, 0))).twins
        [[0], [1, 2]]
        """
        classes: list[list[int]] = []
        for v in range(self.size):
            own = next((part for part in classes if self._interchangeable(part[0], v)), None)
            if own is None:
                classes.append([v])
            else:
                own.append(v)
        return classes

    @cached_property
    def symmetries(self) -> int:
        """How often :attr:`occurrence_plan` finds each occurrence: a ring of six alike nodes in twelve ways.

        >>> Shape((0, 1, 1), ((0, 1, 0), (0, 2, 0))).symmetries
        1
        >>> Shape((0, 0, 0, 0), ((0, 1, 0), (1, 2, 0), (2, 3, 0))).symmetries
        2
        """
        return len(find_embeddings(self._rows, self.occurrence_plan))

    @cached_property
    def automorphisms(self) -> Ints:
        """All ways to map the shape onto itself, as rows of positions.

        >>> Shape((0, 1, 1), ((0, 1, 0), (0, 2, 0))).automorphisms.tolist()
        [[0, 1, 2], [0, 2, 1]]
        """
        found = find_embeddings(self._rows, self.plan)
        ways = np.empty_like(found)
        ways[:, self.search_order] = found
        return ways

    @cached_property
    def _rows(self) -> Adjacency:
        """The shape as a graph, whose marks are those that it needs."""
        sides = sorted((i, j, *side) for (i, j), parts in self._sides.items() for side in parts)
        source, neighbor, edge_label, edge_marks = np.array(sides, np.int64).T.copy()
        return Adjacency(
            np.concatenate([[0], np.bincount(source, minlength=self.size).cumsum()]),
            neighbor,
            edge_label,
            np.array(self.labels, np.int64),
            np.zeros(self.size, np.int64),
            np.array(self.needs, np.int64),
            edge_marks if any(self.edge_needs) else NONE,
        )

    @cached_property
    def _sides(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """For every ordered pair of positions its edges, as seen from the first: label and need."""
        sides: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for (i, j, edge), need in zip(self.edges, self.edge_needs, strict=True):
            sides.setdefault((i, j), []).append((edge, need))
            sides.setdefault((j, i), []).append((self.mate(edge), need))
        return sides

    def _interchangeable(self, i: int, j: int) -> bool:
        """Whether swapping two positions leaves the shape as it is; such positions form classes."""
        if self.labels[i] != self.labels[j] or self.needs[i] != self.needs[j]:
            return False
        swap = {i: j, j: i}
        return all(
            sorted(self._sides.get((swap.get(u, u), swap.get(v, v)), [])) == sorted(side)
            for (u, v), side in self._sides.items()
        )

    def _plan(self, before: list[int]) -> MatchPlan:
        order = self.search_order
        anchors: list[tuple[int, int, int]] = [(-1, -1, 0)]
        checks: list[list[tuple[int, int, int]]] = [[]]
        for k, v in enumerate(order[1:], 1):
            links = [(place, *side) for place, u in enumerate(order[:k]) for side in self._sides.get((u, v), ())]
            anchors.append(links[0])
            checks.append([(place, self.mate(edge), need) for place, edge, need in links[1:]])
        anchor, anchor_edge, anchor_need = np.array(anchors, np.int64).T.copy()
        flat = [part for parts in checks for part in parts]
        check, check_edge, check_need = np.array(flat, np.int64).reshape(-1, 3).T.copy()
        return MatchPlan(
            np.array([self.labels[v] for v in order]),
            np.array([self.needs[v] for v in order], np.int64),
            anchor,
            anchor_edge,
            anchor_need,
            np.concatenate([[0], np.cumsum([len(part) for part in checks])]).astype(np.int64),
            check,
            check_edge,
            check_need,
            np.array(before, np.int64),
            self.ends.sum(1)[order],
        )


@lru_cache(maxsize=100_000)  # controls meet the same small shapes again and again
def _fingerprint(shape: Shape) -> tuple[int, int, int]:
    needs, edge_needs = np.array(shape.needs, np.int64), np.array(shape.edge_needs, np.int64)
    labels = np.array(shape.labels, np.int64)
    return int(shape_code(labels, needs, shape.edge_array, edge_needs, shape.directed)), shape.size, len(shape.edges)


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
    ends, label = shape.edge_array[:, :2], shape.edge_array[:, 2]
    images = embeddings[:, ends]
    turned = images[:, :, 0] > images[:, :, 1]
    label = np.where(turned, label ^ shape.directed, label)
    images.sort(axis=2)
    edges = np.sort((images[:, :, 0] * base + images[:, :, 1]) * (int(label.max()) + 1) + label, axis=1)
    order = np.lexsort(edges.T)
    edges = edges[order]
    first = np.concatenate([[True], (edges[1:] != edges[:-1]).any(1)])
    distinct: Ints = embeddings[np.sort(order[first])]
    return distinct


def exact_embeddings(
    database: MiningDatabase, shape: Shape, limit: int = -1, skip: NDArray[np.bool_] = NOWHERE
) -> Ints:
    """Every embedding of a shape, columns in the order of its positions; ``skip`` tells graphs to pass over.

    >>> from rwkplus.loops.embeddings import Adjacency
    >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
    >>> path = Shape((0, 0, 0), ((0, 1, 0), (1, 2, 0)))
    >>> len(exact_embeddings(triangle, path))
    6
    """
    found = find_embeddings(database.rows, shape.plan, limit, skip)
    embeddings = np.empty_like(found)
    embeddings[:, shape.search_order] = found
    return embeddings


def near_embeddings(database: MiningDatabase, shape: Shape) -> tuple[Ints, Ints]:
    """Embeddings of a shape or, in graphs without any, of as much of it as is there.

    Returns:
        Rows of nodes with -1 for missing positions, graph after graph; and how many of the shape's edges each node has
        there, by direction.
    """
    allowed = min(int(MISSING_SHARE * len(shape.edges)), MAX_MISSING)
    served = np.zeros(database.num_graphs, bool)
    parts, used_parts = [], []
    for missing in range(allowed + 1):
        if served.all():
            break
        newly = np.zeros_like(served)
        found_of: dict[Shape, Ints] = {}  # parts of a symmetric shape are often the same
        for smaller, positions in _smaller_shapes(shape, missing):
            if smaller not in found_of:
                found_of[smaller] = exact_embeddings(database, smaller, LIMIT, served)
            found = found_of[smaller]
            newly[database.rows.graph[found[:, 0]]] = True
            embeddings = np.full((len(found), shape.size), -1)
            used = np.full((*embeddings.shape, 1 + shape.directed), -1)
            embeddings[:, positions] = found
            used[:, positions] = smaller.ends
            parts.append(embeddings)
            used_parts.append(used)
        served |= newly
    embeddings = np.concatenate(parts)
    order = np.argsort(database.rows.graph[embeddings.max(1)], kind="stable")
    return embeddings[order], np.concatenate(used_parts)[order]


def _smaller_shapes(shape: Shape, missing: int) -> Iterator[tuple[Shape, list[int]]]:
    """Connected parts with ``missing`` edges less, and the positions they keep."""
    seen = {frozenset(range(len(shape.edges)))}
    for _ in range(missing):
        seen = {kept - {k} for kept in seen for k in kept}
    for kept in sorted(seen, key=sorted):
        edges = [shape.edges[k] for k in sorted(kept)]
        positions = sorted({v for i, j, _ in edges for v in (i, j)})
        place = {v: p for p, v in enumerate(positions)}
        smaller = replace(
            shape,
            labels=tuple(shape.labels[v] for v in positions),
            edges=tuple((place[i], place[j], e) for i, j, e in edges),
            needs=tuple(shape.needs[v] for v in positions),
            edge_needs=tuple(shape.edge_needs[k] for k in sorted(kept)),
        )
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
    needs = np.array(shape.edge_needs, np.int64)
    return find_entries(database.rows, embeddings, shape.edge_array, needs, shape.directed)


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
    marked[reverse_entries(database.rows, database.source, np.flatnonzero(marked), database.directed)] = True
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

"""Compiled loops over the occurrences of small labelled graphs: finding them, and growing them by an edge."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Adjacency(NamedTuple):
    """Undirected labelled graphs side by side in sparse row form; every edge stands in both rows."""

    indptr: Ints  # (N + 1,)
    neighbor: Ints  # (2E,)
    edge_label: Ints  # (2E,)
    label: Ints  # (N,)
    graph: Ints  # (N,): ascending


class MatchPlan(NamedTuple):
    """A connected pattern as a way to look for it: node after node, each joined to one found before."""

    label: Ints  # (n,)
    anchor: Ints  # (n,): earlier position this node hangs on; -1 for the first
    anchor_edge: Ints  # (n,)
    check_ptr: Ints  # (n + 1,)
    check: Ints  # positions of further neighbors found before
    check_edge: Ints
    before: Ints  # (n,): earlier position whose node must have a smaller number; -1 for none


def find_embeddings(graphs: Adjacency, plan: MatchPlan, limit: int = -1) -> Ints:
    """Return every embedding of a pattern, as rows of nodes: ``(count, n)``.

    Embeddings are injective and keep labels and edges; the database may have further edges between the
    nodes. A pattern with symmetries is found once per symmetry, unless the plan rules them out.

    Args:
        graphs: The database.
        plan: The pattern.
        limit: Embeddings kept per graph, the first found; all by default.

    >>> triangle = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> from rwkplus.mining.search.occurrences import Shape
    >>> edge = Shape((0, 0), ((0, 1, 0),))
    >>> find_embeddings(triangle, edge.plan).tolist()
    [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
    """
    found: Ints = _find(*graphs, *plan, limit)
    return found


def grow_embeddings(
    graphs: Adjacency, embeddings: Ints, joined: NDArray[np.bool_]
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """List every way to extend every embedding by one edge of the database.

    Args:
        graphs: The database.
        embeddings: Rows of nodes ``(count, n)``; -1 for positions that a distorted occurrence lacks.
        joined: Which positions the pattern joins already ``(n, n)``.

    Returns:
        For every extension: the embedding's row, the position it starts from, the later position it closes a
        cycle with (``n`` for a new node), the edge's label, and the new node (-1 for none).

    >>> triangle = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> path = np.array([[0, 1, 2]]), np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], bool)
    >>> row, start, end, edge, node = grow_embeddings(triangle, *path)
    >>> start, end, node  # the edge that closes the path
    (array([0]), array([2]), array([-1]))
    """
    grown: tuple[Ints, Ints, Ints, Ints, Ints] = _grow(
        graphs.indptr, graphs.neighbor, graphs.edge_label, embeddings, joined
    )
    return grown


class Groups(NamedTuple):
    """Items sorted by kind."""

    kinds: Ints  # (k,): ascending
    order: Ints  # items, kind after kind
    bounds: Ints  # (k + 1,): where each kind begins in ``order``
    graphs: Ints  # (k,): graphs that have an item of the kind


def group_by_kind(kind: Ints, graph: Ints, num_graphs: int) -> Groups:
    """Sort items by kind and count the graphs that have each kind.

    Kinds are small numbers as a rule, and counting beats sorting; otherwise they are made small first.

    >>> groups = group_by_kind(np.array([7, 3, 7]), np.array([0, 0, 1]), 2)
    >>> groups.kinds, groups.graphs
    (array([3, 7]), array([1, 2]))
    """
    kinds, small = None, kind
    if kind.size and int(kind.max()) > 4 * kind.size + 1_000_000:
        kinds, small = np.unique(kind, return_inverse=True)
    counts = np.bincount(small)
    present = np.flatnonzero(counts)
    bounds = np.concatenate([[0], counts[present].cumsum()])
    order, graphs = _sort_by_kind(small, graph, counts, present, num_graphs)
    return Groups(present if kinds is None else kinds[present], order, bounds, graphs)


# Plain loops below: numba takes several times as long to compile slices, copies and searches of numpy.


@njit(cache=True, nogil=True)
def _first_at_least(values: Any, low: int, high: int, value: int) -> int:
    """Place of the first of ascending values between two places that is not smaller, or the second place."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def find_entries(
    indptr: Any, neighbor: Any, edge_label: Any, embeddings: Any, first: Any, second: Any, label: Any
) -> Any:
    """Entry of the adjacency for every embedding and edge ``(first[k], second[k])``, -1 where there is none.

    Of parallel edges it is the one with ``label[k]``; where a distorted copy has none of this label, any. Both
    directions of an edge are given by the entry in the row of its smaller node; rows are sorted.

    >>> indptr, neighbor, label = np.array([0, 1, 2]), np.array([1, 0]), np.zeros(2, np.int64)
    >>> zero, one = np.array([0]), np.array([1])
    >>> find_entries(indptr, neighbor, label, np.array([[1, 0]]), zero, one, zero)
    array([[0]])
    """
    entries = np.full((embeddings.shape[0], first.size), -1, np.int64)
    for e in range(embeddings.shape[0]):
        for k in range(first.size):
            u = min(embeddings[e, first[k]], embeddings[e, second[k]])
            v = max(embeddings[e, first[k]], embeddings[e, second[k]])
            if u < 0:
                continue
            p = _first_at_least(neighbor, indptr[u], indptr[u + 1], v)
            while p < indptr[u + 1] and neighbor[p] == v:
                entries[e, k] = p
                if edge_label[p] == label[k]:
                    break
                p += 1
    return entries


@njit(cache=True, nogil=True)
def pack(entries: Any, num_entries: int) -> Any:
    """Choose rows of ``entries (count, edges)`` that share no entry with an earlier chosen row.

    >>> pack(np.array([[0, 1], [1, 2], [2, 3]]), 4)
    array([ True, False,  True])
    """
    taken = np.zeros(num_entries, np.bool_)
    chosen = np.zeros(entries.shape[0], np.bool_)
    for e in range(entries.shape[0]):
        free = True
        for k in range(entries.shape[1]):
            if taken[entries[e, k]]:
                free = False
                break
        if free:
            chosen[e] = True
            for k in range(entries.shape[1]):
                taken[entries[e, k]] = True
    return chosen


@njit(cache=True, nogil=True)
def _find(
    indptr: Any, neighbor: Any, edge_label: Any, node_label: Any, graph: Any,
    label: Any, anchor: Any, anchor_edge: Any, check_ptr: Any, check: Any, check_edge: Any, before: Any, limit: int,
) -> Any:  # fmt: skip
    n = label.size
    found = np.empty((256, n), np.int64)
    count, in_graph, current = 0, 0, -1
    place = np.empty(n, np.int64)
    cursor = np.empty(n, np.int64)
    for root in range(node_label.size):
        if graph[root] != current:
            current, in_graph = graph[root], 0
        if node_label[root] != label[0] or in_graph == limit:
            continue
        place[0] = root
        depth = 1
        if n > 1:
            cursor[1] = indptr[place[anchor[1]]]
        while depth > 0:
            if depth == n:
                if count == found.shape[0]:
                    found = _first_rows(found, count, 2 * count)
                for k in range(n):
                    found[count, k] = place[k]
                count += 1
                in_graph += 1
                depth -= 1
                if in_graph == limit:
                    break
                if depth == 0:
                    break
                continue
            p = cursor[depth]
            if p == indptr[place[anchor[depth]] + 1]:
                depth -= 1
                if depth == 0:
                    break
                continue
            cursor[depth] = p + 1
            v = neighbor[p]
            alike = node_label[v] == label[depth] and edge_label[p] == anchor_edge[depth]
            if before[depth] >= 0 and v < place[before[depth]]:
                continue
            if alike and _fits(indptr, neighbor, edge_label, place, depth, v, check_ptr, check, check_edge):
                place[depth] = v
                depth += 1
                if depth < n:
                    cursor[depth] = indptr[place[anchor[depth]]]
    return _first_rows(found, count, count)


@njit(cache=True, nogil=True)
def _first_rows(rows: Any, count: int, size: int) -> Any:
    """The first ``count`` rows, in a matrix that has room for ``size``."""
    first = np.empty((size, rows.shape[1]), np.int64)
    for e in range(count):
        for k in range(rows.shape[1]):
            first[e, k] = rows[e, k]
    return first


@njit(cache=True, nogil=True)
def _fits(
    indptr: Any, neighbor: Any, edge_label: Any, place: Any, depth: int, v: int,
    check_ptr: Any, check: Any, check_edge: Any,
) -> bool:  # fmt: skip
    """Whether node ``v`` is new and has the pattern's other edges to the nodes placed before."""
    for k in range(depth):
        if place[k] == v:
            return False
    for c in range(check_ptr[depth], check_ptr[depth + 1]):
        joined = False
        for p in range(indptr[v], indptr[v + 1]):
            if neighbor[p] == place[check[c]] and edge_label[p] == check_edge[c]:
                joined = True
                break
        if not joined:
            return False
    return True


@njit(cache=True, nogil=True)
def _sort_by_kind(kind: Any, graph: Any, counts: Any, present: Any, num_graphs: int) -> Any:
    slot = np.zeros(counts.size, np.int64)
    begin = 0
    for k in range(counts.size):
        slot[k] = begin
        begin += counts[k]
    order = np.empty(kind.size, np.int64)
    for item in range(kind.size):
        order[slot[kind[item]]] = item
        slot[kind[item]] += 1
    graphs = np.zeros(present.size, np.int64)
    seen_by = np.full(num_graphs, -1, np.int64)
    place = 0
    for k in range(present.size):
        for _ in range(counts[present[k]]):
            g = graph[order[place]]
            place += 1
            if seen_by[g] != k:
                seen_by[g] = k
                graphs[k] += 1
    return order, graphs


@njit(cache=True, nogil=True)
def _grow(indptr: Any, neighbor: Any, edge_label: Any, embeddings: Any, joined: Any) -> Any:
    count, n = embeddings.shape
    total = 0
    for e in range(count):
        for i in range(n):
            if embeddings[e, i] >= 0:
                total += indptr[embeddings[e, i] + 1] - indptr[embeddings[e, i]]
    row = np.empty(total, np.int64)
    start = np.empty(total, np.int64)
    end = np.empty(total, np.int64)
    edge = np.empty(total, np.int64)
    node = np.empty(total, np.int64)
    used = 0
    for e in range(count):
        for i in range(n):
            u = embeddings[e, i]
            if u < 0:
                continue
            for p in range(indptr[u], indptr[u + 1]):
                j = 0
                while j < n and embeddings[e, j] != neighbor[p]:
                    j += 1
                if j == n or (j > i and not joined[i, j]):
                    row[used], start[used], end[used], edge[used] = e, i, j, edge_label[p]
                    node[used] = neighbor[p] if j == n else -1
                    used += 1
    return row[:used], start[:used], end[:used], edge[:used], node[:used]

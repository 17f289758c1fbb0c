"""Compiled loops over the occurrences of small labelled graphs in a database, and over its edges."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


NONE: Ints = np.empty(0, np.int64)
NOWHERE = np.empty(0, np.bool_)


class Adjacency(NamedTuple):
    """Labelled graphs side by side in sparse row form; every edge stands in both rows.

    Rows are sorted by neighbor and label. Where edges have a direction, labels come in pairs: an edge has an even one
    in the row that it leaves and the odd one after it in the row that it enters. Marks are sets of bits, one for each
    condition that a node or an edge meets; there may be none.
    """

    indptr: Ints  # (N + 1,)
    neighbor: Ints  # (2E,)
    edge_label: Ints  # (2E,)
    label: Ints  # (N,)
    graph: Ints  # (N,): ascending
    marks: Ints = NONE  # (N,) or empty
    edge_marks: Ints = NONE  # (2E,) or empty


class MatchPlan(NamedTuple):
    """A connected pattern as a way to look for it: node after node, each joined to one found before."""

    label: Ints  # (n,)
    need: Ints  # (n,): marks that the node must have
    anchor: Ints  # (n,): earlier position this node hangs on; -1 for the first
    anchor_edge: Ints  # (n,): label of the edge as seen from there
    anchor_need: Ints  # (n,)
    check_ptr: Ints  # (n + 1,)
    check: Ints  # positions of further neighbors found before
    check_edge: Ints  # as seen from this node
    check_need: Ints
    before: Ints  # (n,): earlier position whose node must have a smaller number; -1 for none
    degree: Ints  # (n,): edges that the node must have


def find_embeddings(graphs: Adjacency, plan: MatchPlan, limit: int = -1, skip: NDArray[np.bool_] = NOWHERE) -> Ints:
    """Return every embedding of a pattern, as rows of nodes: ``(count, n)``.

    Embeddings are injective and keep labels and edges; the database may have further edges between the
    nodes. A pattern with symmetries is found once per symmetry, unless the plan rules them out.

    Args:
        graphs: The database.
        plan: The pattern.
        limit: Embeddings kept per graph, the first found; all by default.
        skip: Which graphs to pass over ``(B,)``; none by default.

    >>> triangle = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> from rwkplus.mining.search.occurrences import Shape
    >>> edge = Shape((0, 0), ((0, 1, 0),))
    >>> find_embeddings(triangle, edge.plan).tolist()
    [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
    """
    roots = _roots(graphs.indptr, graphs.label, graphs.graph, plan.label, plan.degree, skip)
    found: Ints = _find(*graphs, *plan, limit, roots)
    return found


def find_embeddings_at(graphs: Adjacency, plan: MatchPlan, roots: Ints, limit: int = -1) -> Ints:
    """Return the embeddings whose first node is one of ``roots``, of each the first ``limit``.

    >>> triangle = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> from rwkplus.mining.search.occurrences import Shape
    >>> edge = Shape((0, 0), ((0, 1, 0),))
    >>> find_embeddings_at(triangle, edge.plan, np.array([1, 2]), limit=1).tolist()
    [[1, 0], [2, 0]]
    """
    found: Ints = _find(*graphs._replace(graph=np.arange(graphs.label.size)), *plan, limit, roots)
    return found


class Groups(NamedTuple):
    """Items sorted by kind."""

    kinds: Ints  # (k,): ascending
    order: Ints  # items, kind after kind
    bounds: Ints  # (k + 1,): where each kind begins in ``order``
    totals: Floats  # (k, W): weights of the graphs that have an item of the kind, added up


def group_by_kind(kind: Ints, graph: Ints, weights: Floats) -> Groups:
    """Sort items by kind and add up the weights ``(B, W)`` of the graphs that have each kind.

    Kinds are small numbers as a rule, and counting beats sorting; otherwise they are made small first.

    >>> groups = group_by_kind(np.array([7, 3, 7]), np.array([0, 0, 1]), np.ones((2, 1)))
    >>> groups.kinds, groups.totals.ravel()
    (array([3, 7]), array([1., 2.]))
    """
    kinds, small = None, kind
    if kind.size and int(kind.max()) > 4 * kind.size + 1_000_000:
        kinds, small = np.unique(kind, return_inverse=True)
    counts = np.bincount(small)
    present = np.flatnonzero(counts)
    bounds = np.concatenate([[0], counts[present].cumsum()])
    order, totals = _sort_by_kind(small, graph, counts, present, weights)
    return Groups(present if kinds is None else kinds[present], order, bounds, totals)


def totals_by_mark(marks: Ints, graph: Ints, weights: Floats, num_marks: int) -> Floats:
    """Add up, for every mark, the weights of the graphs that have an item with it: ``(num_marks, W)``.

    >>> totals_by_mark(np.array([0b01, 0b11, 0b01]), np.array([0, 0, 1]), np.ones((2, 1)), 2).ravel()
    array([2., 1.])
    """
    totals: Floats = _totals_by_mark(marks, graph, weights, num_marks)
    return totals


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


def find_entries(graphs: Adjacency, embeddings: Ints, edges: Ints, needs: Ints, directed: bool) -> Ints:
    """Entry of the adjacency for every embedding and edge of a pattern, -1 where there is none: ``(count, m)``.

    Of parallel edges it is one with the label and marks of the pattern's; where a distorted copy has none, any. Both
    directions of an edge are given by the entry in the row of its smaller node.

    >>> pair = Adjacency(*map(np.array, ([0, 1, 2], [1, 0], [0, 0], [0, 0], [0, 0])))
    >>> find_entries(pair, np.array([[1, 0]]), np.array([[0, 1, 0]]), np.array([0]), directed=False)
    array([[0]])
    """
    rows = graphs.indptr, graphs.neighbor, graphs.edge_label, graphs.edge_marks
    entries: Ints = _find_entries(*rows, embeddings, edges, needs, directed)
    return entries


def reverse_entries(graphs: Adjacency, source: Ints, entries: Ints, directed: bool) -> Ints:
    """The entries of the same edges in the rows of their other ends.

    >>> pair = Adjacency(*map(np.array, ([0, 1, 2], [1, 0], [0, 0], [0, 0], [0, 0])))
    >>> reverse_entries(pair, np.array([0, 1]), np.array([0]), directed=False)
    array([1])
    """
    rows = graphs.indptr, graphs.neighbor, graphs.edge_label, graphs.edge_marks
    back: Ints = _reverse_entries(*rows, source, entries, directed)
    return back


@njit(cache=True, nogil=True)
def _find_entries(
    indptr: Any, neighbor: Any, edge_label: Any, edge_marks: Any, embeddings: Any, edges: Any, needs: Any, directed: Any
) -> Any:
    entries = np.full((embeddings.shape[0], edges.shape[0]), -1, np.int64)
    for e in range(embeddings.shape[0]):
        for k in range(edges.shape[0]):
            u, v, label = embeddings[e, edges[k, 0]], embeddings[e, edges[k, 1]], edges[k, 2]
            if u > v:
                u, v = v, u
                label = label ^ 1 if directed else label
            if u < 0:
                continue
            p = _first_at_least(neighbor, indptr[u], indptr[u + 1], v)
            while p < indptr[u + 1] and neighbor[p] == v:
                entries[e, k] = p
                if edge_label[p] == label and (needs[k] == 0 or edge_marks[p] & needs[k] == needs[k]):
                    break
                p += 1
    return entries


@njit(cache=True, nogil=True)
def _reverse_entries(
    indptr: Any, neighbor: Any, edge_label: Any, edge_marks: Any, source: Any, entries: Any, directed: Any
) -> Any:
    back = np.empty(entries.size, np.int64)
    for k in range(entries.size):
        p = entries[k]
        label = edge_label[p] ^ 1 if directed else edge_label[p]
        q = _first_at_least(neighbor, indptr[neighbor[p]], indptr[neighbor[p] + 1], source[p])
        while edge_label[q] != label or (edge_marks.size and edge_marks[q] != edge_marks[p]):
            q += 1
        back[k] = q
    return back


@njit(cache=True, nogil=True)
def swap_ends(
    indptr: Any, neighbor: Any, edge_label: Any, edge_marks: Any, source: Any, back: Any, order: Any, begin: Any,
    size: Any, draw: Any, directed: Any,
) -> None:  # fmt: skip
    """Let every edge swap ends with another of its group, in place, unless that makes a loop or a repeated edge.

    Args:
        indptr: Rows of the adjacency.
        neighbor: Other end of every entry, which changes.
        edge_label: Label of every entry.
        edge_marks: Marks of every entry, which change where there are any.
        source: Row of every entry.
        back: Entry of the same edge in the row of its other end, which changes.
        order: One entry of every edge, group after group.
        begin: Where the group of each of these begins.
        size: How many edges the group has.
        draw: Random numbers from 0 to 1, one for each.
        directed: Whether edges have a direction.
    """
    for k in range(order.size):
        chosen = draw[k] * size[k]
        p, r = order[k], order[begin[k] + int(chosen)]
        if not directed and (chosen - int(chosen)) < 0.5:
            r = back[r]
        u, v, x, y = source[p], neighbor[p], source[r], neighbor[r]
        if u == x or v == y or u == y or x == v:  # noqa: SIM109
            continue
        if _are_joined(indptr, neighbor, edge_label, u, y, edge_label[p], directed):
            continue
        if _are_joined(indptr, neighbor, edge_label, x, v, edge_label[p], directed):
            continue
        q, s = back[p], back[r]
        neighbor[p], neighbor[s], neighbor[r], neighbor[q] = y, u, v, x
        back[p], back[s], back[r], back[q] = s, p, q, r
        if edge_marks.size:
            edge_marks[s], edge_marks[q] = edge_marks[p], edge_marks[r]


@njit(cache=True, nogil=True)
def _are_joined(indptr: Any, neighbor: Any, edge_label: Any, u: int, v: int, label: int, directed: Any) -> bool:
    """Whether an edge, of whatever label but in the same direction, joins two nodes; rows need not be sorted."""
    if indptr[v + 1] - indptr[v] < indptr[u + 1] - indptr[u]:
        u, v = v, u
        label = label ^ 1
    for p in range(indptr[u], indptr[u + 1]):
        if neighbor[p] == v and (not directed or (edge_label[p] ^ label) & 1 == 0):
            return True
    return False


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
    indptr: Any, neighbor: Any, edge_label: Any, node_label: Any, graph: Any, marks: Any, edge_marks: Any,
    label: Any, need: Any, anchor: Any, anchor_edge: Any, anchor_need: Any, check_ptr: Any, check: Any,
    check_edge: Any, check_need: Any, before: Any, degree: Any, limit: int, roots: Any,
) -> Any:  # fmt: skip
    n = label.size
    found = np.empty((256, n), np.int64)
    count, in_graph, current = 0, 0, -1
    place = np.empty(n, np.int64)
    cursor = np.empty(n, np.int64)
    for root in roots:
        if graph[root] != current:
            current, in_graph = graph[root], 0
        if node_label[root] != label[0] or in_graph == limit or (need[0] and marks[root] & need[0] != need[0]):
            continue
        if indptr[root + 1] - indptr[root] < degree[0]:
            continue
        if not _has_children(indptr, neighbor, edge_label, node_label, root, 0, label, anchor, anchor_edge):
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
                continue
            p = cursor[depth]
            if p == indptr[place[anchor[depth]] + 1]:
                depth -= 1
                continue
            cursor[depth] = p + 1
            v = neighbor[p]
            if node_label[v] != label[depth] or edge_label[p] != anchor_edge[depth]:
                continue
            if indptr[v + 1] - indptr[v] < degree[depth] or (need[depth] and marks[v] & need[depth] != need[depth]):
                continue
            if before[depth] >= 0 and v < place[before[depth]]:
                continue
            if edge_marks.size and not _is_first(
                indptr[place[anchor[depth]]], neighbor, edge_label, edge_marks, p, anchor_need[depth]
            ):
                continue
            if _fits(
                indptr, neighbor, edge_label, edge_marks, place, depth, v, check_ptr, check, check_edge, check_need
            ) and _has_children(indptr, neighbor, edge_label, node_label, v, depth, label, anchor, anchor_edge):
                place[depth] = v
                depth += 1
                if depth < n:
                    cursor[depth] = indptr[place[anchor[depth]]]
    return _first_rows(found, count, count)


@njit(cache=True, nogil=True)
def _roots(indptr: Any, node_label: Any, graph: Any, label: Any, degree: Any, skip: Any) -> Any:
    """Nodes with the first label of a pattern in graphs that have room for it and are not skipped."""
    roots = np.empty(node_label.size, np.int64)
    used, has_room = 0, False
    for v in range(node_label.size):
        if v == 0 or graph[v] != graph[v - 1]:
            skipped = skip.size and skip[graph[v]]
            has_room = not skipped and _has_room(indptr, node_label, graph, v, label, degree)
        if has_room and node_label[v] == label[0]:
            roots[used] = v
            used += 1
    return roots[:used]


@njit(cache=True, nogil=True)
def _has_room(indptr: Any, node_label: Any, graph: Any, first: int, label: Any, degree: Any) -> bool:
    """Whether the graph of a first node has, for each position, nodes for it and all that ask as much or more."""
    for k in range(label.size):
        missing = 0
        for j in range(label.size):
            missing += label[j] == label[k] and degree[j] >= degree[k]
        v = first
        while missing > 0:
            if v == graph.size or graph[v] != graph[first]:
                return False
            missing -= node_label[v] == label[k] and indptr[v + 1] - indptr[v] >= degree[k]
            v += 1
    return True


@njit(cache=True, nogil=True)
def _has_children(
    indptr: Any, neighbor: Any, edge_label: Any, node_label: Any, v: int, at: int, label: Any, anchor: Any,
    anchor_edge: Any,
) -> bool:  # fmt: skip
    """Whether a node has neighbors of the labels that hang on its position."""
    for k in range(at + 1, label.size):
        if anchor[k] != at:
            continue
        missing = 1
        for j in range(at + 1, k):
            missing += anchor[j] == at and label[j] == label[k] and anchor_edge[j] == anchor_edge[k]
        p = indptr[v]
        while missing > 0:
            if p == indptr[v + 1]:
                return False
            missing -= node_label[neighbor[p]] == label[k] and edge_label[p] == anchor_edge[k]
            p += 1
    return True


@njit(cache=True, nogil=True)
def _is_first(begin: int, neighbor: Any, edge_label: Any, edge_marks: Any, p: int, need: int) -> bool:
    """Whether an entry has the marks needed, and none before it in its row does for the same neighbor and label."""
    if edge_marks[p] & need != need:
        return False
    q = p - 1
    while q >= begin and neighbor[q] == neighbor[p]:
        if edge_label[q] == edge_label[p] and edge_marks[q] & need == need:
            return False
        q -= 1
    return True


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
    indptr: Any, neighbor: Any, edge_label: Any, edge_marks: Any, place: Any, depth: int, v: int,
    check_ptr: Any, check: Any, check_edge: Any, check_need: Any,
) -> bool:  # fmt: skip
    """Whether node ``v`` is new and has the pattern's other edges to the nodes placed before."""
    for k in range(depth):
        if place[k] == v:
            return False
    for c in range(check_ptr[depth], check_ptr[depth + 1]):
        joined, other = False, place[check[c]]
        p = _first_at_least(neighbor, indptr[v], indptr[v + 1], other)
        while p < indptr[v + 1] and neighbor[p] == other and not joined:
            joined = edge_label[p] == check_edge[c] and (
                check_need[c] == 0 or edge_marks[p] & check_need[c] == check_need[c]
            )
            p += 1
        if not joined:
            return False
    return True


@njit(cache=True, nogil=True)
def _sort_by_kind(kind: Any, graph: Any, counts: Any, present: Any, weights: Any) -> Any:
    slot = np.zeros(counts.size, np.int64)
    begin = 0
    for k in range(counts.size):
        slot[k] = begin
        begin += counts[k]
    order = np.empty(kind.size, np.int64)
    for item in range(kind.size):
        order[slot[kind[item]]] = item
        slot[kind[item]] += 1
    totals = np.zeros((present.size, weights.shape[1]))
    seen_by = np.full(weights.shape[0], -1, np.int64)
    place = 0
    for k in range(present.size):
        for _ in range(counts[present[k]]):
            g = graph[order[place]]
            place += 1
            if seen_by[g] != k:
                seen_by[g] = k
                for w in range(weights.shape[1]):
                    totals[k, w] += weights[g, w]
    return order, totals


@njit(cache=True, nogil=True)
def _totals_by_mark(marks: Any, graph: Any, weights: Any, num_marks: int) -> Any:
    totals = np.zeros((num_marks, weights.shape[1]))
    seen = np.zeros(weights.shape[0], np.int64)
    for item in range(marks.size):
        g = graph[item]
        new = marks[item] & ~seen[g]
        seen[g] |= new
        for k in range(num_marks):
            if new >> k & 1:
                for w in range(weights.shape[1]):
                    totals[k, w] += weights[g, w]
    return totals


@njit(cache=True, nogil=True)
def joined_marks(
    indptr: Any, neighbor: Any, edge_label: Any, edge_marks: Any, embeddings: Any, i: int, j: int, label: int, need: int
) -> Any:
    """Marks of the edges between two positions that have a label and the marks needed, all together; rows are sorted.

    >>> indptr, neighbor, zeros = np.array([0, 2, 4]), np.array([1, 1, 0, 0]), np.zeros(4, np.int64)
    >>> joined_marks(indptr, neighbor, zeros, np.array([1, 6, 1, 6]), np.array([[0, 1]]), 0, 1, 0, 2)
    array([6])
    """
    marks = np.zeros(embeddings.shape[0], np.int64)
    for e in range(embeddings.shape[0]):
        u, v = embeddings[e, i], embeddings[e, j]
        if u < 0 or v < 0:
            continue
        p = _first_at_least(neighbor, indptr[u], indptr[u + 1], v)
        while p < indptr[u + 1] and neighbor[p] == v:
            if edge_label[p] == label and edge_marks[p] & need == need:
                marks[e] |= edge_marks[p]
            p += 1
    return marks

"""Compiled loops of growth: which steps embeddings can take, what chance expects of them, and taking one.

Embeddings are rows of nodes, graph after graph: those of one graph stand side by side. A row may have -1 for positions
that a distorted occurrence lacks.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from rwkplus.loops.embeddings import Adjacency, Floats, Ints
from rwkplus.loops.random_streams import mix

SPARE, PRODUCT, CERTAIN = 0, 1, 2
"""How many chances a place offers: an edge each of its spare ends, pairs of them a share, or one."""


class Growth(NamedTuple):
    """Ways to extend embeddings by one edge."""

    row: Ints  # the embedding
    start: Ints  # position that the edge starts from
    end: Ints  # later position that it closes a cycle with; the number of positions for a new node
    entry: Ints  # of the adjacency
    node: Ints  # the new node, -1 for none


def grow_embeddings(graphs: Adjacency, embeddings: Ints, edges: Ints) -> Growth:
    """List every way to extend every embedding by one edge of the database.

    Args:
        graphs: The database.
        embeddings: Rows of nodes ``(count, n)``; -1 for positions that a distorted occurrence lacks.
        edges: Edges of the pattern, positions and label ``(m, 3)``, which are not listed again.

    >>> triangle = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> growth = grow_embeddings(triangle, np.array([[0, 1, 2]]), np.array([[0, 1, 0], [1, 2, 0]]))
    >>> growth.start, growth.end, growth.node  # the edge that closes the path
    (array([0]), array([2]), array([-1]))
    """
    return Growth(*_grow(graphs.indptr, graphs.neighbor, graphs.edge_label, embeddings, edges))


@njit(cache=True, nogil=True)
def _grow(indptr: Any, neighbor: Any, edge_label: Any, embeddings: Any, edges: Any) -> Any:
    count, n = embeddings.shape
    total = 0
    for e in range(count):
        for i in range(n):
            if embeddings[e, i] >= 0:
                total += indptr[embeddings[e, i] + 1] - indptr[embeddings[e, i]]
    row = np.empty(total, np.int64)
    start = np.empty(total, np.int64)
    end = np.empty(total, np.int64)
    entry = np.empty(total, np.int64)
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
                if j == n or (j > i and not _has_edge(edges, i, j, edge_label[p])):
                    row[used], start[used], end[used], entry[used] = e, i, j, p
                    node[used] = neighbor[p] if j == n else -1
                    used += 1
    return row[:used], start[:used], end[:used], entry[:used], node[:used]


@njit(cache=True, nogil=True)
def _has_edge(edges: Any, i: int, j: int, label: int) -> bool:
    k = 0
    while k < edges.shape[0] and not (edges[k, 0] == i and edges[k, 1] == j and edges[k, 2] == label):
        k += 1
    return bool(k < edges.shape[0])


def count_ways(
    graphs: Adjacency, ends: Ints, num_ends: int, num_edge_labels: int, embeddings: Ints, edges: Ints, closing: bool,
    weights: Floats,
) -> tuple[Ints, Floats]:  # fmt: skip
    """Add up, for every kind of edge that extends an embedding, the weights of the graphs that have one.

    Kinds are numbered by start position; from each first come those that close a cycle, by the position where they end
    and their label, then those to a new node, by ``ends``. The pattern's own edges are no extension.

    Args:
        graphs: The database.
        ends: Number of the labels of edge and neighbor of every entry.
        num_ends: How many such numbers there are.
        num_edge_labels: Labels of edges.
        embeddings: Rows of nodes ``(count, n)``.
        edges: Edges of the pattern, positions and label ``(m, 3)``.
        closing: Whether new nodes are left out.
        weights: Weights of graphs ``(B, W)``.

    Returns:
        Kinds that are there, ascending, and the sums for them ``(k, W)``.

    >>> triangle = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> path, edges = np.array([[0, 1, 2]]), np.array([[0, 1, 0], [1, 2, 0]])
    >>> count_ways(triangle, np.zeros(6, np.int64), 1, 1, path, edges, False, np.ones((1, 1)))
    (array([2]), array([[1.]]))
    """
    rows = graphs.indptr, graphs.neighbor, graphs.edge_label, graphs.graph
    found: tuple[Ints, Floats] = _count_ways(
        *rows, ends, num_ends, num_edge_labels, embeddings, edges, closing, weights
    )
    return found


@njit(cache=True, nogil=True)
def _count_ways(
    indptr: Any, neighbor: Any, edge_label: Any, graph: Any, ends: Any, num_ends: int, num_edge_labels: int,
    embeddings: Any, edges: Any, closing: bool, weights: Any,
) -> Any:  # fmt: skip
    count, n = embeddings.shape
    closed = n * num_edge_labels
    kinds = closed + num_ends
    last = np.full(n * kinds, -1, np.int64)
    totals = np.zeros((n * kinds, weights.shape[1]))
    place = np.full(graph.size, -1, np.int16)
    for e in range(count):
        g = -1
        for i in range(n):
            if embeddings[e, i] >= 0:
                place[embeddings[e, i]] = i
                g = graph[embeddings[e, i]]
        for i in range(n):
            u = embeddings[e, i]
            if u < 0:
                continue
            for p in range(indptr[u], indptr[u + 1]):
                j = place[neighbor[p]]
                if j > i:
                    kind = i * kinds + j * num_edge_labels + edge_label[p]
                elif j < 0 and not closing:
                    kind = i * kinds + closed + ends[p]
                else:
                    continue
                if last[kind] != g:
                    last[kind] = g
                    for w in range(weights.shape[1]):
                        totals[kind, w] += weights[g, w]
        for i in range(n):
            if embeddings[e, i] >= 0:
                place[embeddings[e, i]] = -1
    for k in range(edges.shape[0]):
        last[edges[k, 0] * kinds + edges[k, 1] * num_edge_labels + edges[k, 2]] = -1
    present = np.flatnonzero(last >= 0)
    return present, totals[present]


@njit(cache=True, nogil=True)
def ways_of(
    indptr: Any, neighbor: Any, edge_label: Any, node_label: Any, embeddings: Any, start: int, end: int, edge: int,
    label: int,
) -> Any:  # fmt: skip
    """Every way to take one step: the embedding, the entry of the adjacency, and the new node, or -1.

    >>> indptr, neighbor, zeros = np.array([0, 2, 4, 6]), np.array([1, 2, 0, 2, 0, 1]), np.zeros(6, np.int64)
    >>> ways_of(indptr, neighbor, zeros, zeros[:3], np.array([[0, 1], [1, 2]]), 1, 2, 0, 0)
    (array([0, 1]), array([3, 4]), array([2, 0]))
    """
    count, n = embeddings.shape
    total = 0
    for e in range(count):
        if embeddings[e, start] >= 0:
            total += indptr[embeddings[e, start] + 1] - indptr[embeddings[e, start]]
    row, entry, node = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, np.int64)
    used = 0
    for e in range(count):
        u = embeddings[e, start]
        if u < 0:
            continue
        for p in range(indptr[u], indptr[u + 1]):
            v = neighbor[p]
            if edge_label[p] != edge:
                continue
            if end < n:
                if v != embeddings[e, end]:
                    continue
                v = -1
            else:
                if node_label[v] != label:
                    continue
                j = 0
                while j < n and embeddings[e, j] != v:
                    j += 1
                if j < n:
                    continue
            row[used], entry[used], node[used] = e, p, v
            used += 1
    return row[:used], entry[:used], node[:used]


def expected_ways(
    graph: Ints, degree: Ints, pairs: Floats, embeddings: Ints, used: Ints,
    steps: tuple[Ints, Ints, Ints, Ints, Floats], directed: bool, each: bool,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """What chance expects of steps ``k`` that a place has with probability ``1 - exp(rate * log_absent[k])``.

    Places are the distinct nodes, or pairs of nodes, at the positions of a step. Those of a graph have a step at one of
    them at least with the sum of their rates: the spare ends of a node, the product of those of two nodes as a share of
    all pairs, or 1.

    Args:
        graph: Graph of every node.
        degree: Ends of edges at every node, by direction ``(N, directions)``.
        pairs: Ends in every graph, of one direction.
        embeddings: Rows of nodes ``(count, n)``.
        used: Ends that the pattern has at every position, by direction ``(1 or count, n, directions)``.
        steps: Arrays ``(K,)``: the positions that steps start from; where they end, the same one, or one that does not
            exist, for steps that need one node only; the direction of their edges as seen from the start; ``SPARE``,
            ``PRODUCT`` or ``CERTAIN``; and ``log_absent``.
        directed: Whether edges have a direction.
        each: Whether to tell about each place.

    Returns:
        The graphs that have a place ``(K,)``, the mean probability over these ``(K,)`` and, if asked for, that over
        places ``(K,)``.

    >>> one, pairs = np.zeros(1, np.int64), np.ones(4)
    >>> graph, degree, embeddings = np.array([0, 0, 3]), np.full((3, 1), 2), np.array([[0], [1], [2]])
    >>> step = one, one + 1, one, one, np.log([0.5])  # a new node
    >>> expected_ways(graph, degree, pairs, embeddings, np.ones((1, 1, 1), np.int64), step, False, True)
    (array([2.]), array([0.625]), array([0.5]))
    """
    found: tuple[Floats, Floats, Floats] = _expected_ways(
        graph, degree, pairs, embeddings, used, *steps, directed, each
    )
    return found


@njit(cache=True, nogil=True)
def _expected_ways(
    graph: Any, degree: Any, pairs: Any, embeddings: Any, used: Any, start: Any, end: Any, direction: Any, mode: Any,
    log_absent: Any, directed: bool, each: bool,
) -> Any:  # fmt: skip
    count, n = embeddings.shape
    total = start.size
    graphs, in_graph, at_place = np.zeros(total), np.zeros(total), np.zeros(total)
    first = np.zeros(count + 1, np.int64)  # row of every graph's first embedding
    runs, longest = _runs(graph, embeddings, first)
    seen = _no_places(longest)
    members, done = np.empty(total, np.int64), np.zeros(total, np.bool_)
    for k in range(total):
        if done[k]:
            continue
        like = _alike(k, start, end, direction, mode, members, done)
        i, j, way, kind = start[k], end[k] if end[k] < n else start[k], direction[k], mode[k]
        back = 1 - way if directed else way
        having, places = 0, 0
        for r in range(runs):
            rates, before = 0.0, places
            for e in range(first[r], first[r + 1]):
                u, v = embeddings[e, i], embeddings[e, j]
                if u < 0 or v < 0 or not _is_new(u, v, k * runs + r + 1, seen):
                    continue
                rate = 1.0
                if kind != CERTAIN:
                    own = e if used.shape[0] > 1 else 0
                    rate = degree[u, way] - used[own, i, way]
                    if kind == PRODUCT:
                        rate = rate * (degree[v, back] - used[own, j, back]) / pairs[graph[u]]
                rates += rate
                places += 1
                if each:
                    for m in range(like):
                        at_place[members[m]] -= np.expm1(rate * log_absent[members[m]])
            if places > before:
                having += 1
                for m in range(like):
                    in_graph[members[m]] -= np.expm1(rates * log_absent[members[m]])
        for m in members[:like]:
            graphs[m] = having
            in_graph[m] /= max(having, 1)
            at_place[m] /= max(places, 1)
    return graphs, in_graph, at_place


@njit(cache=True, nogil=True)
def _alike(k: int, start: Any, end: Any, direction: Any, mode: Any, members: Any, done: Any) -> int:
    """Collect the steps from ``k`` on that have the same places and rates, mark them as done, and count them."""
    like = 0
    for m in range(k, start.size):
        if start[m] == start[k] and end[m] == end[k] and direction[m] == direction[k] and mode[m] == mode[k]:
            members[like], done[m] = m, True
            like += 1
    return like


@njit(cache=True, nogil=True)
def _no_places(most: int) -> Any:
    """An empty table for so many places by the hash of their nodes: when each was put there, and its two nodes."""
    size = 4
    while size < 2 * most:
        size *= 2
    return np.zeros((size, 3), np.int64)


@njit(cache=True, nogil=True)
def _is_new(u: int, v: int, now: int, seen: Any) -> bool:
    """Whether two nodes are put in a table of places for the first time since it is ``now``."""
    h = ((u * 0x9E3779B1 + v * 0x85EBCA77) >> 7) & (seen.shape[0] - 1)
    while seen[h, 0] == now and (seen[h, 1] != u or seen[h, 2] != v):
        h = (h + 1) & (seen.shape[0] - 1)
    if seen[h, 0] == now:
        return False
    seen[h, 0], seen[h, 1], seen[h, 2] = now, u, v
    return True


@njit(cache=True, nogil=True)
def _runs(graph: Any, embeddings: Any, first: Any) -> Any:
    """Find where the embeddings of every graph begin; returns how many graphs and how many embeddings at most."""
    runs, longest, before = 0, 0, -1
    for e in range(embeddings.shape[0]):
        i = 0
        while embeddings[e, i] < 0:
            i += 1
        if graph[embeddings[e, i]] != before:
            before = graph[embeddings[e, i]]
            first[runs] = e
            runs += 1
        longest = max(longest, e + 1 - first[runs - 1])
    first[runs] = embeddings.shape[0]
    return runs, longest


@njit(cache=True, nogil=True)
def shape_code(labels: Any, needs: Any, edges: Any, edge_needs: Any, directed: bool) -> Any:
    """A number for a small labelled graph, which does not depend on the order of its nodes and edges.

    Nodes that color refinement cannot tell apart look alike to it. Colors of neighbors are added up, in whatever order.

    >>> edges, none = np.array([[0, 1, 0], [1, 2, 0]]), np.zeros(3, np.int64)
    >>> path, same = np.array([4, 5, 6]), np.array([6, 5, 4])
    >>> shape_code(path, none, edges, none, False) == shape_code(same, none, edges, none, False)
    True
    """
    n = labels.size
    colors, sums = np.empty(n, np.uint64), np.empty(n, np.uint64)
    for v in range(n):
        colors[v] = mix(mix(np.uint64(labels[v]) + np.uint64(1)) + np.uint64(needs[v]))
    for _ in range(min(n, 6)):
        sums[:] = 0
        for k in range(edges.shape[0]):
            i, j, label = edges[k]
            need = np.uint64(edge_needs[k])
            there = mix(mix(np.uint64(label) + np.uint64(7)) + need)
            back = mix(mix(np.uint64(label ^ 1 if directed else label) + np.uint64(7)) + need)
            sums[i] += mix(there + colors[j])
            sums[j] += mix(back + colors[i])
        for v in range(n):
            colors[v] = mix(colors[v] + mix(sums[v] + np.uint64(3)))
    return colors.sum()

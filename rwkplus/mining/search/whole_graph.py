"""Occurrences in one large graph: counted exactly, without listing them all, and cut out with what is around them."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.loops.embeddings import NONE, Adjacency, Ints, MatchPlan, find_embeddings_at
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.occurrences import Found, Shape, covered, distinct_occurrences, used_entries

LISTED = 5_000
"""Occurrences listed at most."""
AT_A_NODE = 20_000
"""Embeddings at one node, and in all, after which counting stops: a star at a hub has more than anybody can count."""
IN_ALL = 20_000_000
ENOUGH = 50_000
"""Embeddings that are looked for at a time, about."""
AROUND = 300
"""Nodes of a neighborhood at most."""
HUB = 100
"""Edges of a node beyond which a neighborhood does not go on over it."""


class WholeCount(NamedTuple):
    """How often a shape occurs in one graph."""

    found: Found
    times: int  # occurrences
    mni: int  # the fewest distinct nodes in one place of the shape
    nodes: NDArray[np.bool_]  # that lie in an occurrence
    covered: NDArray[np.bool_]  # entries of the adjacency that do


def _by_roots(database: MiningDatabase, shape: Shape, plan: MatchPlan, roots: Ints) -> Iterator[tuple[Ints, int]]:
    """Embeddings whose first node is one of ``roots``, some at a time, and the most that one node has."""
    begin, size = 0, 64
    while begin < roots.size:
        found = find_embeddings_at(database.rows, plan, np.sort(roots[begin : begin + size]), AT_A_NODE)
        embeddings = np.empty_like(found)
        embeddings[:, shape.search_order] = found
        yield embeddings, int(np.bincount(found[:, 0]).max(initial=0))
        begin += size
        size = max(4 * size if len(found) < ENOUGH else size // 4, 1)


def _roots(database: MiningDatabase, shape: Shape) -> Ints:
    return np.flatnonzero(database.rows.label == shape.labels[shape.search_order[0]])


def some_embeddings(database: MiningDatabase, shape: Shape, most: int, rng: np.random.Generator) -> Ints:
    """About ``most`` embeddings of a shape, or all, at nodes in random order."""
    parts, total = [np.empty((0, shape.size), np.int64)], 0
    for embeddings, _ in _by_roots(database, shape, shape.plan, rng.permutation(_roots(database, shape))):
        parts.append(embeddings)
        total += len(embeddings)
        if total >= most:
            break
    return np.concatenate(parts)


def count_whole(database: MiningDatabase, shape: Shape, deadline: float = np.inf) -> WholeCount:
    """Count the occurrences of a shape in one graph, and the nodes in each of its places.

    What is found by a deadline, as :func:`time.monotonic` tells it, is counted at least.

    >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
    >>> path = Shape((0, 0, 0), ((0, 1, 0), (1, 2, 0)))
    >>> count_whole(triangle, path)[1:3]
    (3, 3)
    """
    images = np.zeros((shape.size, database.rows.label.size), bool)
    used = np.zeros(database.rows.neighbor.size, bool)
    listed, total, whole = [np.empty((0, shape.size), np.int64)], 0, True
    for embeddings, at_a_node in _by_roots(database, shape, shape.occurrence_plan, _roots(database, shape)):
        for position, nodes in enumerate(embeddings.T):
            images[position, nodes] = True
        used |= covered(database, used_entries(database, shape, embeddings)) if len(embeddings) else False
        if total < LISTED * shape.symmetries:
            listed.append(embeddings)
        total += len(embeddings)
        whole &= at_a_node < AT_A_NODE
        if total > IN_ALL or time.monotonic() > deadline:
            whole = False
            break
    for twins in shape.twins:
        images[twins] = images[twins].any(0)
    rows = distinct_occurrences(shape, np.concatenate(listed))
    complete = whole and sum(map(len, listed)) == total and len(rows) <= LISTED
    times = len(rows) if complete else -(-total // shape.symmetries)
    mni, nodes = int(images.sum(1).min()), np.asarray(images.any(0))
    return WholeCount(Found(rows[:LISTED], complete), times, mni, nodes, used)


def neighborhoods(database: MiningDatabase, count: int, rng: np.random.Generator) -> MiningDatabase:
    """Cut out what is around random nodes, up to two steps away: many small graphs that can be searched like others.

    >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
    >>> neighborhoods(triangle, 2, np.random.default_rng(0)).num_edges
    6
    """
    rows = database.rows
    centers = np.flatnonzero(np.diff(rows.indptr) > 0)
    centers = centers[rng.permutation(centers.size)[:count]]
    ends = [_ball(rows, int(center), rng) for center in centers]
    node = np.concatenate(ends)
    graph = np.repeat(np.arange(centers.size), [part.size for part in ends])
    entry = np.concatenate([np.arange(rows.indptr[v], rows.indptr[v + 1]) for v in node.tolist()])
    owner = np.repeat(np.arange(node.size), np.diff(rows.indptr)[node])
    key, wanted = graph * rows.label.size + node, graph[owner] * rows.label.size + rows.neighbor[entry]
    target = np.minimum(np.searchsorted(key, wanted), node.size - 1)
    inside = key[target] == wanted
    cut = Adjacency(
        np.concatenate([[0], np.bincount(owner[inside], minlength=node.size).cumsum()]),
        target[inside],
        rows.edge_label[entry[inside]],
        rows.label[node],
        graph,
        rows.marks[node] if rows.marks.size else NONE,
        rows.edge_marks[entry[inside]] if rows.edge_marks.size else NONE,
    )
    return replace(database, rows=cut, num_graphs=centers.size)


def _ball(rows: Adjacency, center: int, rng: np.random.Generator) -> Ints:
    """Nodes up to two steps away, ascending; not all where there are many."""

    def around(nodes: Ints) -> Ints:
        ends = [rows.neighbor[rows.indptr[v] : rows.indptr[v + 1]] for v in nodes.tolist()]
        return np.unique(np.concatenate([nodes[:0], *ends]))

    near = around(np.array([center]))
    near = rng.permutation(near)[: AROUND // 3]
    degree = rows.indptr[near + 1] - rows.indptr[near]
    far = np.setdiff1d(around(near[degree <= HUB]), near)
    far = rng.permutation(far)[: AROUND - near.size]
    return np.unique(np.concatenate([[center], near, far]))

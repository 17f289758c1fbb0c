"""A compiled loop over the short cycles of a large graph."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rwkplus.loops.embeddings import Adjacency, Ints


class Cycles(NamedTuple):
    """Short cycles of a graph."""

    entries: Ints  # (count, longest): entries of the adjacency along each cycle, then -1
    share: float  # of the nodes that cycles were looked for at


def short_cycles(
    graphs: Adjacency, keep: NDArray[np.bool_], tops: Ints, longest: int, *, most: int, steps: int
) -> Cycles:
    """List the cycles of 3 to ``longest`` nodes, each once: at the node with most edges, of equals the last.

    From there paths lead over nodes with fewer edges only, so that a hub is passed once and not again and again, and
    only as far as they can still come back in time.

    Args:
        graphs: The graph.
        keep: Entries to walk along ``(2E,)``.
        tops: Nodes to look at, in this order.
        longest: Nodes of a cycle at most, fewer than 127.
        most: Cycles after which no further node is looked at.
        steps: Entries after which none is; a single node gets a hundredth of them.

    >>> triangle = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> short_cycles(triangle, np.ones(6, bool), np.arange(3), 4, most=9, steps=10_000)
    Cycles(entries=array([[ 4,  0,  3, -1]]), share=1.0)
    """
    degree = np.diff(graphs.indptr)
    node = np.argsort(degree, kind="stable")  # from here on nodes are called by their rank: fewer, smaller numbers
    rank = np.empty(degree.size, np.int32)
    rank[node] = np.arange(degree.size)
    row = np.repeat(rank, degree)
    entry = np.flatnonzero(keep)
    entry = entry[np.argsort(row[entry], kind="stable")]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row[entry], minlength=degree.size))])
    found, looked_at = _short_cycles(
        indptr, rank[graphs.neighbor[entry]], node, rank[tops], longest, most, steps, max(steps // 100, 1_000)
    )
    return Cycles(np.where(found >= 0, entry[found], -1), looked_at / max(tops.size, 1))


@njit(cache=True, nogil=True)
def _short_cycles(
    indptr: Any, neighbor: Any, node: Any, tops: Any, longest: int, most: int, steps: int, steps_each: int
) -> Any:
    found = np.full((1_024, longest), -1, np.int64)
    count = 0
    far = longest + 1
    distance = np.full(node.size, far, np.int8)  # small, since it is looked up everywhere
    near = np.empty(node.size, np.int32)
    place = np.empty(longest + 1, np.int64)
    cursor = np.empty(longest + 1, np.int64)
    looked_at = 0
    for top in tops:
        if steps <= 0 or count >= most:
            break
        looked_at += 1
        size = _measure(indptr, neighbor, top, longest, distance, near)
        place[0] = top
        cursor[0] = indptr[top]
        depth, left = 0, steps_each
        while depth >= 0 and left > 0:
            p = cursor[depth]
            if p == indptr[place[depth] + 1]:
                depth -= 1
                continue
            cursor[depth] = p + 1
            left -= 1
            v = neighbor[p]
            if v == top:
                if depth >= 2 and node[place[1]] < node[place[depth]]:  # otherwise met the other way round
                    if count == found.shape[0]:
                        found = _doubled(found)
                    for k in range(depth + 1):
                        found[count, k] = cursor[k] - 1
                    count += 1
                continue
            if distance[v] + depth + 1 > longest or _on_path(place, depth, v):
                continue
            depth += 1
            place[depth] = v
            cursor[depth] = indptr[v]
        steps -= steps_each - left
        for k in range(size):
            distance[near[k]] = far
    return found[:count].copy(), looked_at


@njit(cache=True, nogil=True)
def _measure(indptr: Any, neighbor: Any, top: int, longest: int, distance: Any, near: Any) -> int:
    """Distances from ``top`` over nodes of lower rank, up to half a cycle; the number of nodes there.

    A cycle of ``longest`` nodes, if these are even, comes to the one opposite ``top`` by two ways: nodes at that
    distance are one step too far until a second way leads to them.
    """
    reach = longest // 2
    near[0] = top
    distance[top] = 0
    begin, end = 0, 1
    for step in range(1, reach + 1):
        first = step + 1 if 2 * step == longest else step
        size = end
        for k in range(begin, end):
            for p in range(indptr[near[k]], indptr[near[k] + 1]):
                v = neighbor[p]
                if v < top and distance[v] > step:
                    if distance[v] > longest:
                        distance[v] = first
                        near[size] = v
                        size += 1
                    else:
                        distance[v] = step
        begin, end = end, size
    return end


@njit(cache=True, nogil=True)
def _on_path(place: Any, depth: int, v: int) -> bool:
    for k in range(depth + 1):  # noqa: SIM110
        if place[k] == v:
            return True
    return False


@njit(cache=True, nogil=True)
def _doubled(rows: Any) -> Any:
    more = np.full((2 * rows.shape[0], rows.shape[1]), -1, np.int64)
    more[: rows.shape[0]] = rows
    return more

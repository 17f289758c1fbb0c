"""Parts of a large graph: sampled neighborhoods and induced subgraphs, in time that depends on the part alone."""

# ruff: noqa: ANN401 -- numba infers the types of compiled loops

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rwkplus.errors import GraphError
from rwkplus.loops.random_streams import advance, below, stream

Index = NDArray[np.int64]


class Part(NamedTuple):
    """Nodes of a graph and edges among them, renumbered by their place in ``nodes``."""

    nodes: Index  # (n,)
    edge_index: Index  # (2, e), sources and targets


class Sampler:
    """Cuts parts out of one graph; keeps an array of a number per node, so one thread at a time.

    Args:
        indptr: ``(N + 1,)``.
        indices: ``(E,)``, the nodes from which edges lead to each node.
    """

    def __init__(self, indptr: NDArray[Any], indices: NDArray[Any]) -> None:
        self.indptr, self.indices = indptr, indices
        self._place = np.full(indptr.size - 1, -1, indices.dtype)

    def neighborhood(self, seeds: Index, fan_outs: Sequence[int], key: np.uint64, *, replace: bool = False) -> Part:
        """Sample neighbors of the seeds, then neighbors of those, hop by hop.

        A node is asked once, in the hop after the one that reached it first. What it answers depends on the key, the
        hop and the node alone.

        Args:
            seeds: Distinct nodes; they come first among the nodes of the part.
            fan_outs: Most edges drawn for a node, for each hop; -1 takes all.
            key: Names the draw, see :func:`rwkplus.loops.random_streams.new_key`.
            replace: Whether an edge may be drawn again: every node with neighbors then has exactly that many.

        Example:
            >>> from rwkplus.loops.random_streams import new_key
            >>> sampler = Sampler(np.array([0, 1, 2, 3]), np.array([1, 2, 0]))
            >>> sampler.neighborhood(np.array([0]), [-1, -1], new_key(0)).nodes
            array([0, 1, 2])
        """
        self._check(seeds)
        return Part(*_sample(self.indptr, self.indices, seeds, np.array(fan_outs, np.int64), key, replace, self._place))

    def induced(self, nodes: Index) -> Part:
        """All edges among distinct nodes, which keep their order.

        >>> sampler = Sampler(np.array([0, 1, 2, 3]), np.array([1, 2, 0]))
        >>> sampler.induced(np.array([2, 1])).edge_index
        array([[0],
               [1]])
        """
        self._check(nodes)
        return Part(nodes, _induce(self.indptr, self.indices, nodes, self._place))

    def _check(self, nodes: Index) -> None:
        if nodes.size and not 0 <= nodes.min() <= nodes.max() < self._place.size:
            raise GraphError(f"nodes must be numbers from 0 to {self._place.size - 1}.")
        if not _are_distinct(nodes, self._place):
            raise GraphError("nodes of a part must be distinct: the same number is given twice.")


@njit(cache=True, nogil=True)
def _are_distinct(nodes: Any, place: Any) -> bool:
    distinct = True
    for v in nodes:
        distinct &= place[v] < 0
        place[v] = 0
    for v in nodes:
        place[v] = -1
    return distinct


@njit(cache=True, nogil=True)
def _sample(indptr: Any, indices: Any, seeds: Any, fan_outs: Any, key: Any, replace: bool, place: Any) -> Any:
    nodes, source, target = list(seeds), [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    for i in range(seeds.size):
        place[seeds[i]] = i
    begin = 0
    for hop in range(fan_outs.size):
        end = len(nodes)
        for i in range(begin, end):
            v = nodes[i]
            degree = indptr[v + 1] - indptr[v]
            state = stream(stream(key, hop), v)
            for k in _choose(degree, fan_outs[hop], replace, state):
                u = np.int64(indices[indptr[v] + k])
                if place[u] < 0:
                    place[u] = len(nodes)
                    nodes.append(u)
                source.append(np.int64(place[u]))
                target.append(np.int64(i))
        begin = end
    for v in nodes:
        place[v] = -1
    edges = np.empty((2, len(source)), np.int64)
    for e in range(len(source)):
        edges[0, e], edges[1, e] = source[e], target[e]
    return np.array(nodes), edges


@njit(cache=True, nogil=True)
def _choose(degree: int, wanted: int, replace: bool, state: Any) -> Any:
    """Places of neighbors, in the order of Floyd's algorithm where they must be distinct."""
    if degree == 0 or wanted < 0 or (wanted >= degree and not replace):
        return np.arange(degree)
    chosen = np.empty(wanted, np.int64)
    for k in range(wanted):
        state = advance(state)
        if replace:
            chosen[k] = below(state, degree)
            continue
        last = degree - wanted + k
        chosen[k] = below(state, last + 1)
        for other in chosen[:k]:
            if other == chosen[k]:
                chosen[k] = last
                break
    return chosen


@njit(cache=True, nogil=True)
def _induce(indptr: Any, indices: Any, nodes: Any, place: Any) -> Any:
    for i in range(nodes.size):
        place[nodes[i]] = i
    count = 0
    for v in nodes:
        for u in indices[indptr[v] : indptr[v + 1]]:
            count += place[u] >= 0
    edges = np.empty((2, count), np.int64)
    e = 0
    for i in range(nodes.size):
        for u in indices[indptr[nodes[i]] : indptr[nodes[i] + 1]]:
            if place[u] >= 0:
                edges[0, e], edges[1, e] = place[u], i
                e += 1
    for v in nodes:
        place[v] = -1
    return edges

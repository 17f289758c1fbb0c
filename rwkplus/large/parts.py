"""Parts of a large graph: sampled neighborhoods, induced subgraphs, and balanced clusters with few edges between them.

Samples and subgraphs take time that depends on the part alone. Clusters are made by METIS where it is installed (extra:
``metis``), or by restreaming (Nishimura and Ugander 2013): nodes come in the order of a breadth-first search, and each
goes to the cluster where most of its neighbors are, weighed by the room that is left there (linear deterministic
greedy). Every further pass knows where the last one put the neighbors that are still to come. Linear in edges and
passes, balanced by construction, without randomness and without another package; METIS cuts fewer edges.
"""

# ruff: noqa: ANN401 -- numba infers the types of compiled loops

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rwkplus.errors import GraphError, MissingExtraError, ParameterError, Remedy
from rwkplus.loops.random_streams import advance, below, stream
from rwkplus.types import check_choice

Index = NDArray[np.int64]
Method = Literal["auto", "metis", "restreaming"]


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

        >>> ring = Sampler(np.array([0, 1, 2, 3]), np.array([1, 2, 0]))
        >>> ring.induced(np.array([2, 0])).edge_index
        array([[1],
               [0]])
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


def clusters(
    indptr: NDArray[Any], indices: NDArray[Any], num_clusters: int, *, passes: int = 10, method: Method = "auto"
) -> NDArray[np.int32]:
    """Assign every node of an undirected graph to a cluster.

    Args:
        indptr: ``(N + 1,)``.
        indices: ``(E,)``.
        num_clusters: Number of clusters. Restreaming makes none larger than their mean size, rounded up; METIS allows
            some hundredths more.
        passes: How often the nodes come by in restreaming.
        method: ``"metis"``, ``"restreaming"``, or ``"auto"`` for METIS if ``pymetis`` is installed.

    Returns:
        Cluster of each node: ``(N,)``.

    Example:
        Two pairs of nodes.

        >>> clusters(np.array([0, 1, 2, 3, 4]), np.array([1, 0, 3, 2]), 2, method="restreaming")
        array([0, 0, 1, 1], dtype=int32)
    """
    num_nodes = indptr.size - 1
    if not 1 <= num_clusters <= max(num_nodes, 1) or passes < 1:
        raise ParameterError(
            f"num_clusters must be from 1 to the {num_nodes} nodes and passes at least 1, "
            f"got {num_clusters} and {passes}."
        )
    check_choice("method", method, Method)
    installed = find_spec("pymetis") is not None
    if method == "metis" and not installed:
        raise MissingExtraError(
            "clusters by METIS need pymetis: pip install 'rwkplus[metis]'.", Remedy("Or use {method}.", method="auto")
        )
    if num_clusters > 1 and installed and method != "restreaming":
        return _by_metis(indptr, indices, num_clusters)
    order = _breadth_first(indptr, indices)
    cluster = np.full(num_nodes, -1, np.int32)
    for _ in range(passes if num_clusters > 1 else 1):
        _stream(indptr, indices, order, num_clusters, cluster)
    return cluster


def _by_metis(indptr: NDArray[Any], indices: NDArray[Any], num_clusters: int) -> NDArray[np.int32]:
    import pymetis

    # METIS takes no self-loops.
    target = np.repeat(np.arange(indptr.size - 1, dtype=indices.dtype), np.diff(indptr))
    kept = indices != target
    ptr = np.concatenate([[0], np.cumsum(kept)])[indptr]
    _, parts = pymetis.part_graph(num_clusters, pymetis.CSRAdjacency(ptr, indices[kept]))
    return np.asarray(parts, np.int32)


@njit(cache=True, nogil=True)
def _breadth_first(indptr: Any, indices: Any) -> Any:
    """All nodes in breadth-first order, component by component."""
    order, seen = np.empty(indptr.size - 1, np.int64), np.zeros(indptr.size - 1, np.bool_)
    end = 0
    for root in range(seen.size):
        if seen[root]:
            continue
        begin, order[end], seen[root] = end, root, True
        end += 1
        while begin < end:
            v = order[begin]
            begin += 1
            for u in indices[indptr[v] : indptr[v + 1]]:
                if not seen[u]:
                    seen[u], order[end] = True, u
                    end += 1
    return order


@njit(cache=True, nogil=True)
def _stream(indptr: Any, indices: Any, order: Any, num_clusters: int, cluster: Any) -> None:
    capacity = -(-order.size // num_clusters)
    size, near = np.zeros(num_clusters, np.int64), np.zeros(num_clusters, np.int64)
    for v in order:
        row = indices[indptr[v] : indptr[v + 1]]
        for u in row:
            if cluster[u] >= 0 and u != v:
                near[cluster[u]] += 1
        best, most = -1, 0.0
        for u in row:
            c = cluster[u]
            if c >= 0 and near[c]:
                score = near[c] * (1.0 - size[c] / capacity)
                if score > most or (score == most and best >= 0 and c < best):
                    best, most = c, score
                near[c] = 0
        cluster[v] = best if best >= 0 else np.argmin(size)
        size[cluster[v]] += 1

"""Balanced clusters of nodes with few edges between them: by METIS where it is installed, or by restreaming.

Restreaming (Nishimura and Ugander 2013) sees nodes in the order of a breadth-first search; each goes to the cluster
where most of its neighbors are, weighed by the room that is left there (linear deterministic greedy). Every further
pass knows where the last one put the neighbors that are still to come. Linear in edges and passes, balanced by
construction, without randomness and without another package; METIS cuts fewer edges (extra: ``metis``).
"""

# ruff: noqa: ANN401 -- numba infers the types of compiled loops

from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rwkplus.errors import MissingExtraError, ParameterError, Remedy
from rwkplus.types import check_choice

Method = Literal["auto", "metis", "restreaming"]


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
    order = breadth_first(indptr, indices)
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
def breadth_first(indptr: Any, indices: Any) -> Any:
    """All nodes in breadth-first order, component by component.

    >>> breadth_first(np.array([0, 1, 2, 4]), np.array([2, 2, 0, 1]))
    array([0, 2, 1])
    """
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

"""Hashes by compiled loops: of walks, one step on all graphs at once, and of whole graphs."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rwkplus.loops.random_streams import STEP, mix

Ints = NDArray[np.int64]
Codes = NDArray[np.uint64]


def hash_step(
    walks: Ints, source: Ints, target: Ints, edge_label: Ints, label: Ints, of_edge: Ints, of_label: Ints, primes: Ints
) -> Ints:
    r"""Hashes of walks that are one edge longer: ``c(l_v) * sum of e(l_vu) * walks[u] mod p``, ``(N, 2)``.

    Args:
        walks: Hashes by first node ``(N, 2)``, each below its prime.
        source: First node of every edge ``(E,)``.
        target: Second node ``(E,)``.
        edge_label: Label of every edge ``(E,)``; -1 is the last row of the coefficients.
        label: Label of every node ``(N,)``, likewise.
        of_edge: Coefficients of edge labels ``(C + 1, 2)``.
        of_label: Coefficients of node labels ``(L + 1, 2)``.
        primes: Two primes below :math:`2^{31}`, so that products fit into 63 bits and sums of 2^32 terms as well.
    """
    longer: Ints = _hash_step(walks, source, target, edge_label, label, of_edge, of_label, primes)
    return longer


@njit(cache=True, nogil=True)
def _hash_step(
    walks: Any, source: Any, target: Any, edge_label: Any, label: Any, of_edge: Any, of_label: Any, primes: Any
) -> Any:
    total = np.zeros_like(walks)
    for k in range(source.size):
        for h in range(2):
            total[source[k], h] += walks[target[k], h] * of_edge[edge_label[k], h] % primes[h]
    for v in range(label.size):
        for h in range(2):
            total[v, h] = of_label[label[v], h] * (total[v, h] % primes[h]) % primes[h]
    return total


def hash_graphs(
    node_ptr: Ints, edge_ptr: Ints, source: Ints, target: Ints, node_code: Codes, edge_code: Codes
) -> Codes:
    """A number for each graph ``(B,)``: the order of its nodes matters, that of its edges does not.

    Args:
        node_ptr: First node of every graph, and the number of all ``(B + 1,)``.
        edge_ptr: First edge of every graph, and the number of all ``(B + 1,)``.
        source: First node of every edge ``(E,)``, counted from the first node of all.
        target: Second node ``(E,)``.
        node_code: What describes each node ``(N,)``.
        edge_code: What describes each edge ``(E,)``.

    >>> ptr, ends = np.array([0, 2]), np.array([0, 1])
    >>> codes = np.array([7, 8], np.uint64)
    >>> one, other = (hash_graphs(ptr, ptr, ends, ends[::-1], c, codes * 0) for c in (codes, codes[::-1].copy()))
    >>> bool(one[0] == other[0])
    False
    """
    found: Codes = _hash_graphs(node_ptr, edge_ptr, source, target, node_code, edge_code)
    return found


@njit(cache=True, nogil=True)
def _hash_graphs(node_ptr: Any, edge_ptr: Any, source: Any, target: Any, node_code: Any, edge_code: Any) -> Any:
    found = np.zeros(node_ptr.size - 1, np.uint64)
    for g in range(found.size):
        first, nodes, edges = node_ptr[g], np.uint64(0), np.uint64(0)
        for v in range(first, node_ptr[g + 1]):
            nodes += mix(mix(node_code[v] + STEP) + np.uint64(v - first))
        for e in range(edge_ptr[g], edge_ptr[g + 1]):
            ends = np.uint64(source[e] - first) << np.uint64(32) | np.uint64(target[e] - first)
            edges += mix(mix(ends + STEP) + edge_code[e])
        found[g] = mix(nodes + mix(edges + STEP))
    return found

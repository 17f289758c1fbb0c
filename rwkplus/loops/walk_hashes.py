# ruff: noqa: ANN401 (numba infers the types)
"""Compiled inner loop of node-centric colors: one step of hashed walks on all graphs at once."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]


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

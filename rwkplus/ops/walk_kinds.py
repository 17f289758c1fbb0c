"""Compiled search for nodes whose walks meet the same colors, so that walkers start from one of each kind only."""

from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from rwkplus.loops.random_streams import mix
from rwkplus.ops.csr import check_ends
from rwkplus.ops.egonet_kinds import SEED, first_of_kinds, mixed


def walk_kinds(color: Tensor, edge_index: Tensor, steps: int) -> Tensor:
    """Number the kinds of nodes by their walks: ``(N, steps + 1)``.

    Two nodes have the same number in column ``i`` if they have the same color and their edges lead to the same kinds
    of column ``i - 1``, each as often: what ``i`` rounds of color refinement see. The numbers are hashes of 64 bits
    and mean the same in all graphs; different kinds share one with a chance of :math:`10^{-19}` per pair.

    Args:
        color: Equal numbers for equal nodes ``(N,)``, such as :func:`rwkplus.ops.egonet_kinds.row_hashes` finds.
        edge_index: Directed edges ``(2, E)``.
        steps: Longest walk, counted in edges.
    """
    check_ends(edge_index, color.numel())  # compiled loops do not look where they read
    colors, ends = (part.detach().cpu().long().contiguous().numpy() for part in (color, edge_index))
    return torch.from_numpy(_refined(colors.view(np.uint64), ends, steps).view(np.int64)).to(color.device)


def first_of_walk_kinds(kind: Tensor) -> tuple[Tensor, Tensor]:
    """Count kinds from 0, and find the first node of each: ``(N,)``, ``(C,)``."""
    which, first, distinct = first_of_kinds(kind.contiguous().numpy().view(np.uint64))
    return torch.from_numpy(which), torch.from_numpy(first[:distinct])


def edges_between_kinds(edge_index: Tensor, first: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
    """Edges of the first nodes, from their kind to the kind of the neighbor one step earlier.

    Returns:
        First edge of each kind ``(C + 1,)``, and where edges lead ``(F,)``.
    """
    ptr, col = _edges(*(part.contiguous().numpy() for part in (edge_index, first, before)))
    return torch.from_numpy(ptr), torch.from_numpy(col)


@njit(cache=True, nogil=True)
def _refined(color: Any, ends: Any, steps: Any) -> Any:
    kinds = np.empty((color.size, steps + 1), np.uint64)
    for v in range(color.size):  # one by one: compiling a slice takes seconds
        kinds[v, 0] = color[v]
    for step in range(1, steps + 1):
        # Sums of hashes do not depend on the order of neighbors.
        around = np.zeros(color.size, np.uint64)
        for e in range(ends.shape[1]):
            # Hashes of near numbers are near enough for sums to collide, unless they are scrambled.
            around[ends[0, e]] += mix(kinds[ends[1, e], step - 1] + SEED)
        for v in range(color.size):
            kinds[v, step] = mixed(mixed(SEED, color[v]), around[v])
    return kinds


@njit(cache=True, nogil=True)
def _edges(ends: Any, first: Any, before: Any) -> Any:
    kind = np.full(before.size, -1, np.int64)
    for c in range(first.size):
        kind[first[c]] = c
    ptr = np.zeros(first.size + 1, np.int64)
    for u in ends[0]:
        if kind[u] >= 0:
            ptr[kind[u] + 1] += 1
    for c in range(first.size):
        ptr[c + 1] += ptr[c]
    free, col = ptr[:-1].copy(), np.empty(ptr[-1], np.int64)
    for e in range(ends.shape[1]):
        c = kind[ends[0, e]]
        if c >= 0:
            col[free[c]] = before[ends[1, e]]
            free[c] += 1
    return ptr, col

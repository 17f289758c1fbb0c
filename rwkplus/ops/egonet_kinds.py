"""Compiled search for egonets that are alike, nodes, edges and all, so that each kind is computed once."""

from typing import Any, NamedTuple

import numpy as np
import torch
from numba import njit
from torch import Tensor

SEED, STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


class Merged(NamedTuple):
    """Distinct egonets, and which of them every egonet is."""

    which: Tensor  # (B,)
    multiplicity: Tensor  # (D,): how often each occurs
    member: Tensor  # (R,)
    size: Tensor  # (D,)
    link: Tensor  # (F, 2)
    link_count: Tensor  # (D,)
    link_id: Tensor  # (F,): which link each was


def row_hashes(x: Tensor) -> Tensor:
    """Hash the features ``(N, D)`` of every node into 64 bits, the same on every machine: ``(N,)``."""
    return torch.from_numpy(_hash_rows(_bits(x)).view(np.int64))


def edge_hash(edge_index: Tensor, ptr: Tensor, weight: Tensor | None, attr: Tensor | None) -> int:
    """Hash the edges of graphs into a number: the sum of that of each graph, whatever order graphs and edges are in.

    Args:
        edge_index: Directed edges ``(2, E)``.
        ptr: First node of each graph, and the number of nodes ``(B + 1,)``.
        weight: Weights; read in single precision, so that a change of type does not count.
        attr: Colors, likewise.
    """
    given = [value for value in (weight, attr) if value is not None]
    kind = np.uint64((weight is not None) + 2 * (attr is not None))
    if any(value.size(0) != edge_index.size(1) for value in given):  # some were changed, the others not
        given, kind = [], np.uint64(4)
    columns = [value.detach().float().unsqueeze(1).flatten(1) for value in given]
    bits = torch.cat([edge_index.new_empty(edge_index.size(1), 0, dtype=torch.float32), *columns], 1)
    return int(_hash_edges(edge_index.numpy(), ptr.numpy(), bits.numpy().view(np.uint32), kind))


def egonet_kinds(
    color: Tensor, member: Tensor, size: Tensor, link: Tensor, link_count: Tensor, *values: Tensor
) -> Tensor:
    """Number the kinds of egonets: equal numbers for equal features and edges in the order of members ``(B,)``.

    The numbers are hashes of 64 bits; different kinds share one with a chance of :math:`10^{-19}` per pair.

    Args:
        color: What :func:`row_hashes` made of the features of nodes ``(N,)``.
        member: Members of all egonets.
        size: How many each has.
        link: Edges between members.
        link_count: How many each has.
        values: What else belongs to links, ``(F, ...)``.
    """
    bits = np.concatenate([np.empty((link.size(0), 0), np.uint64), *(_bits(value) for value in values)], 1)
    places = [part.contiguous().numpy() for part in (member, size, link, link_count)]
    kinds = _kinds(color.numpy().view(np.uint64), *places, bits)  # type: ignore[call-arg]
    return torch.from_numpy(kinds.view(np.int64))


def merge_kinds(kind: Tensor, member: Tensor, size: Tensor, link: Tensor, link_count: Tensor) -> Merged:
    """Keep the first egonet of each kind."""
    arrays = (part.contiguous().numpy() for part in (kind, member, size, link, link_count))
    return Merged(*(torch.from_numpy(part) for part in _merge(*arrays)))


def _bits(values: Tensor) -> Any:
    """Rows of numbers as rows of whole numbers, for hashing."""
    values = values.unsqueeze(1) if values.dim() == 1 else values.flatten(1)
    return np.ascontiguousarray(values.detach().double().numpy()).view(np.uint64)


@njit(cache=True, nogil=True)
def mixed(state: Any, value: Any) -> Any:
    """Take one more number into a hash. Chains of these are as good as random, sums of hashes of near numbers not."""
    state = (state ^ value) * STEP + SEED
    return state ^ (state >> np.uint64(29))


@njit(cache=True, nogil=True)
def _hash_rows(x: Any) -> Any:
    hashes = np.empty(x.shape[0], np.uint64)
    for v in range(x.shape[0]):
        hashes[v] = SEED
        for j in range(x.shape[1]):
            if x[v, j] != 0:  # few are, where colors are one-hot
                hashes[v] = mixed(mixed(hashes[v], np.uint64(j)), x[v, j])
    return hashes


@njit(cache=True, nogil=True)
def _hash_edges(ends: Any, ptr: Any, values: Any, kind: Any) -> Any:
    total, graph = np.uint64(0), 0
    for e in range(ends.shape[1]):
        u, v = ends[0, e], ends[1, e]
        while graph > 0 and u < ptr[graph]:
            graph -= 1
        while graph < ptr.size - 2 and u >= ptr[graph + 1]:
            graph += 1
        state = mixed(mixed(mixed(SEED, kind), np.uint64(u - ptr[graph])), np.uint64(v - ptr[graph]))
        for j in range(values.shape[1]):
            state = mixed(state, np.uint64(values[e, j]))
        total += state
    return np.int64(total)


@njit(cache=True, nogil=True)
def _kinds(color: Any, member: Any, size: Any, link: Any, link_count: Any, values: Any) -> Any:
    kinds = np.empty(size.size, np.uint64)
    slot = e = 0
    for v in range(size.size):
        state = mixed(SEED, np.uint64(size[v]))
        for _ in range(size[v]):
            state = mixed(state, color[member[slot]])
            slot += 1
        for _ in range(link_count[v]):
            state = mixed(mixed(state, np.uint64(link[e, 0])), np.uint64(link[e, 1]))
            for j in range(values.shape[1]):
                state = mixed(state, values[e, j])
            e += 1
        kinds[v] = state
    return kinds


@njit(cache=True, nogil=True)
def _merge(kind: Any, member: Any, size: Any, link: Any, link_count: Any) -> Any:
    which, first, distinct = first_of_kinds(kind)
    count = np.zeros(distinct, np.int64)
    for d in which:
        count[d] += 1
    new_size, new_link_count = np.empty(distinct, np.int64), np.empty(distinct, np.int64)
    slots = links = 0
    for d in range(distinct):
        new_size[d], new_link_count[d] = size[first[d]], link_count[first[d]]
        slots, links = slots + new_size[d], links + new_link_count[d]
    node, link_id, new_link = np.empty(slots, np.int64), np.empty(links, np.int64), np.empty((links, 2), np.int64)
    slot = e = d = slots = links = 0
    for v in range(size.size):
        if d < distinct and first[d] == v:  # kinds are numbered in the order of their first egonets
            for i in range(size[v]):
                node[slots + i] = member[slot + i]
            for i in range(link_count[v]):
                link_id[links + i] = e + i
                new_link[links + i, 0], new_link[links + i, 1] = link[e + i, 0], link[e + i, 1]
            slots, links, d = slots + size[v], links + link_count[v], d + 1
        slot, e = slot + size[v], e + link_count[v]
    return which, count, node, new_size, new_link, new_link_count, link_id


@njit(cache=True, nogil=True)
def first_of_kinds(kind: Any) -> Any:
    """Number the kinds in the order of appearance, by a table with open addresses."""
    room = 16
    while room < 2 * kind.size:
        room *= 2
    table = np.full(room, -1, np.int64)
    which, first, distinct = np.empty(kind.size, np.int64), np.empty(kind.size, np.int64), 0
    for v in range(kind.size):
        place = kind[v] & (room - 1)
        while table[place] >= 0 and kind[first[table[place]]] != kind[v]:
            place = (place + 1) & (room - 1)
        if table[place] < 0:
            table[place] = distinct
            first[distinct] = v
            distinct += 1
        which[v] = table[place]
    return which, first, distinct

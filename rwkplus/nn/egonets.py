"""Neighborhoods of all nodes by breadth-first search, and which of them are alike, in compiled loops."""

# ruff: noqa: ANN401, C901 -- numba infers the types of compiled loops

from numbers import Integral
from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from rwkplus.errors import ParameterError
from rwkplus.functional.kernels import Egonets
from rwkplus.tensors import check_edge_index

SEED, STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


def extract_egonets(
    edge_index: Tensor,
    num_nodes: int,
    hops: int = 1,
    max_nodes: int | None = None,
    edge_weight: Tensor | None = None,
    edge_attr: Tensor | None = None,
) -> Egonets:
    """Find the egonets of all nodes; see :class:`EgoNets` for their order. The search runs on the CPU.

    Args:
        edge_index: Directed edges ``(2, E)``; give undirected edges twice.
        num_nodes: Number of nodes.
        hops: Largest distance from the center.
        max_nodes: Largest number of members; None for all.
        edge_weight: Weights ``(E,)``.
        edge_attr: Colors ``(E, C)`` or ``(E,)``.

    >>> extract_egonets(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3, max_nodes=2).size
    tensor([2, 2, 2])
    """
    check_extent(hops, max_nodes)
    check_edge_index(edge_index, edge_weight=edge_weight, edge_attr=edge_attr)
    limit = -1 if max_nodes is None else max_nodes
    found = find_egonets(edge_index.cpu().long(), num_nodes, hops, limit)
    *places, edge = (part.to(edge_index.device) for part in found)
    weight, attr = _per_edge(edge_weight, 1), _per_edge(edge_attr, 2)
    return Egonets(*places, *(None if part is None else part[edge] for part in (weight, attr)))


def merge_egonets(egonets: Egonets) -> tuple[Egonets, Tensor]:
    """Keep one of all egonets that are alike, which gives exactly the same scores in less time.

    Only for features that are equal wherever those that ``kind`` was read off are equal: these features themselves, or
    a function of each row. Not inside :func:`torch.compile`, because sizes depend on the data.

    Returns:
        The distinct egonets, and which of them each one is: ``scores[:, which]``.

    Example:
        >>> egonets = extract_egonets(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
        >>> distinct, which = merge_egonets(egonets._replace(kind=torch.tensor([7, 9, 7])))
        >>> distinct.size, which
        (tensor([2, 3]), tensor([0, 1, 0]))
    """
    if egonets.kind is None:
        raise ParameterError("egonets without kinds cannot be merged.", "EgoNets finds kinds in graphs with x.")
    which, first = _number_kinds(egonets.kind.numpy())
    kept = np.zeros(which.size, np.bool_)
    kept[first] = True
    members, links = (np.repeat(kept, part.numpy()) for part in (egonets.size, egonets.link_count))
    places = zip(egonets[:4], (members, kept, links, kept), strict=True)
    member, size, link, link_count = (torch.from_numpy(part.numpy()[place]) for part, place in places)
    weight, attr = (None if part is None else part[torch.from_numpy(links)] for part in egonets[4:6])
    multiplicity = torch.from_numpy(np.bincount(which))
    distinct = Egonets(member, size, link, link_count, weight, attr, multiplicity=multiplicity)
    return distinct, torch.from_numpy(which)


def check_extent(hops: object, max_nodes: object) -> None:
    """Refuse egonets that cannot be."""
    if not isinstance(hops, Integral) or hops < 1:
        raise ParameterError(f"hops must be an integer of at least 1, got {hops!r}.")
    if max_nodes is not None and (not isinstance(max_nodes, Integral) or max_nodes < 1):
        raise ParameterError(
            f"max_nodes must be None or an integer of at least 1, for a node is in its own egonet; got {max_nodes!r}."
        )


def _per_edge(values: Tensor | None, dim: int) -> Tensor | None:
    """Weights as a vector and colors as a matrix, whichever way they were written."""
    if values is None or values.dim() == dim:
        return values
    return values.squeeze(1) if dim == 1 else values.unsqueeze(1)


@torch.library.custom_op("rwkplus::find_egonets", mutates_args=(), device_types="cpu")
def find_egonets(
    edge_index: Tensor, num_nodes: int, hops: int, max_nodes: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Find the subgraph induced by the nodes within ``hops`` of every node.

    Nodes are visited breadth first along edges of either direction, the neighbors of a node in the order of their
    numbers, and the first ``max_nodes`` are kept, all if negative: neither the order of edges nor other graphs of a
    batch matter.

    Returns:
        ``index (R,)``, the members of all egonets, each center first; ``size (N,)``, how many each egonet has;
        ``link (F, 2)``, the edges between members, as positions within their egonet; ``link_count (N,)``, how many
        each egonet has; ``edge (F,)``, which edge each link is.
    """
    check_edge_index(edge_index, num_nodes)  # compiled loops do not look where they read
    found = _find(edge_index.contiguous().numpy(), num_nodes, hops, max_nodes)
    return tuple(torch.from_numpy(array) for array in found)  # type: ignore[return-value]


@find_egonets.register_fake
def _(edge_index: Tensor, num_nodes: int, hops: int, max_nodes: int) -> tuple[Tensor, ...]:
    context = torch.library.get_ctx()
    members, links = context.new_dynamic_size(), context.new_dynamic_size()
    shapes = ((members,), (num_nodes,), (links, 2), (num_nodes,), (links,))
    return tuple(edge_index.new_empty(shape) for shape in shapes)


@njit(cache=True, nogil=True)
def _find(edge_index: Any, num_nodes: int, hops: int, max_nodes: int) -> Any:
    source, target = edge_index[0], edge_index[1]
    out_ptr, out = _sorted_edges(source, target, num_nodes)
    in_ptr, into = _sorted_edges(target, source, num_nodes)
    ahead, back = target[out], source[into]
    limit = num_nodes if max_nodes < 0 else min(max_nodes, num_nodes)
    rank = np.full(num_nodes, -1, np.int64)  # of each node within the egonet at hand; -1 outside of it
    size, link_count = np.zeros(num_nodes, np.int64), np.zeros(num_nodes, np.int64)
    member, link = np.empty(num_nodes, np.int64), np.empty((source.size, 3), np.int64)
    first = first_link = 0
    for center in range(num_nodes):
        if first + limit > member.size:
            member = _larger(member, first + limit)
        last = _visit(out_ptr, ahead, in_ptr, back, center, hops, limit, member, first, rank)
        most = first_link
        for i in range(first, last):
            most += out_ptr[member[i] + 1] - out_ptr[member[i]]
        if most > len(link):
            link = _larger(link, most)
        last_link = first_link
        for i in range(first, last):
            for p in range(out_ptr[member[i]], out_ptr[member[i] + 1]):
                end = rank[ahead[p]]
                if end >= 0:
                    link[last_link, 0], link[last_link, 1], link[last_link, 2] = i - first, end, out[p]
                    last_link += 1
        for i in range(first, last):
            rank[member[i]] = -1
        size[center], link_count[center] = last - first, last_link - first_link
        first, first_link = last, last_link
    return member[:first].copy(), size, link[:first_link, :2].copy(), link_count, link[:first_link, 2].copy()


@njit(cache=True, nogil=True)
def _visit(
    out_ptr: Any,
    ahead: Any,
    in_ptr: Any,
    back: Any,
    center: int,
    hops: int,
    limit: int,
    member: Any,
    first: int,
    at: Any,
) -> int:
    """Write the members of one egonet from ``first`` on, and their ranks; return where they end."""
    member[first], at[center] = center, 0
    level, last = first, first + 1
    for _ in range(hops):
        level_end = last
        for i in range(level, level_end):
            u = member[i]
            p, q = out_ptr[u], in_ptr[u]
            while p < out_ptr[u + 1] or q < in_ptr[u + 1]:  # both lists ascend: merge them
                after = ahead[p] if p < out_ptr[u + 1] else at.size
                before = back[q] if q < in_ptr[u + 1] else at.size
                v = min(after, before)
                p += after == v
                q += before == v
                if at[v] < 0 and last - first < limit:
                    member[last], at[v] = v, last - first
                    last += 1
        level = level_end
    return last


@njit(cache=True, nogil=True)
def _sorted_edges(major: Any, minor: Any, num_nodes: int) -> Any:
    """Sort edges by one end, then by the other, keeping the order of parallel ones, in linear time."""
    order, moved = np.arange(major.size), np.empty(major.size, np.int64)
    ptr, place = np.empty(num_nodes + 1, np.int64), np.empty(num_nodes + 1, np.int64)
    for key in (minor, major):
        for v in range(num_nodes + 1):
            ptr[v] = 0
        for e in order:
            ptr[key[e] + 1] += 1
        for v in range(num_nodes):
            ptr[v + 1] += ptr[v]
            place[v] = ptr[v]
        for e in order:
            moved[place[key[e]]] = e
            place[key[e]] += 1
        order, moved = moved, order
    return ptr, order


@njit(cache=True, nogil=True)
def _larger(array: Any, size: int) -> Any:
    larger = np.empty((2 * size,) + array.shape[1:], array.dtype)  # noqa: RUF005 -- numba unpacks no tuples
    larger[: len(array)] = array
    return larger


def row_hashes(x: Tensor) -> Tensor:
    """Hash the features ``(N, D)`` of every node into 64 bits, the same on every machine: ``(N,)``."""
    return torch.from_numpy(_hash_rows(_bits(x)).view(np.int64))


def edge_hashes(edge_index: Tensor, ptr: Tensor, weight: Tensor | None, attr: Tensor | None) -> Tensor:
    """Hash the edges of each graph into a number ``(B,)``, whatever order they are in.

    ``ptr (B + 1,)`` is the first node of each graph, and the number of nodes. Weights and colors are read in single
    precision, so that a change of type does not count.
    """
    given = [value for value in (weight, attr) if value is not None]
    kind = np.uint64((weight is not None) + 2 * (attr is not None))
    if any(value.size(0) != edge_index.size(1) for value in given):  # some were changed, the others not
        given, kind = [], np.uint64(4)
    columns = [value.detach().float().unsqueeze(1).flatten(1) for value in given]
    bits = torch.cat([edge_index.new_empty(edge_index.size(1), 0, dtype=torch.float32), *columns], 1)
    hashes = _hash_edges(edge_index.numpy(), ptr.numpy(), bits.numpy().view(np.uint32), kind)
    return torch.from_numpy(hashes.view(np.int64))


def egonet_kinds(color: Tensor, egonets: Egonets) -> Tensor:
    """Number the kinds of egonets: equal numbers for equal features and edges in the order of members ``(B,)``.

    The numbers are hashes of 64 bits; different kinds share one with a chance of :math:`10^{-19}` per pair. ``color``
    is what :func:`row_hashes` made of the features of nodes.
    """
    member, size, link, link_count, *values = (part.cpu() for part in egonets[:6] if part is not None)
    bits = np.concatenate([np.empty((link.size(0), 0), np.uint64), *(_bits(value) for value in values)], 1)
    places = [part.contiguous().numpy() for part in (member, size, link, link_count)]
    kinds = _kinds(color.cpu().numpy().view(np.uint64), *places, bits)  # type: ignore[call-arg]
    return torch.from_numpy(kinds.view(np.int64)).to(color.device)


def _bits(values: Tensor) -> Any:
    """Rows of numbers as rows of whole numbers, for hashing."""
    values = values.unsqueeze(1) if values.dim() == 1 else values.flatten(1)
    return np.ascontiguousarray(values.detach().double().numpy()).view(np.uint64)


@njit(cache=True, nogil=True)
def _mixed(state: Any, value: Any) -> Any:
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
                hashes[v] = _mixed(_mixed(hashes[v], np.uint64(j)), x[v, j])
    return hashes


@njit(cache=True, nogil=True)
def _hash_edges(ends: Any, ptr: Any, values: Any, kind: Any) -> Any:
    totals, graph = np.zeros(max(ptr.size - 1, 1), np.uint64), 0
    for e in range(ends.shape[1]):
        u, v = ends[0, e], ends[1, e]
        while graph > 0 and u < ptr[graph]:
            graph -= 1
        while graph < ptr.size - 2 and u >= ptr[graph + 1]:
            graph += 1
        state = _mixed(_mixed(_mixed(SEED, kind), np.uint64(u - ptr[graph])), np.uint64(v - ptr[graph]))
        for j in range(values.shape[1]):
            state = _mixed(state, np.uint64(values[e, j]))
        totals[graph] += state
    return totals


@njit(cache=True, nogil=True)
def _kinds(color: Any, member: Any, size: Any, link: Any, link_count: Any, values: Any) -> Any:
    kinds = np.empty(size.size, np.uint64)
    slot = e = 0
    for v in range(size.size):
        state = _mixed(SEED, np.uint64(size[v]))
        for _ in range(size[v]):
            state = _mixed(state, color[member[slot]])
            slot += 1
        for _ in range(link_count[v]):
            state = _mixed(_mixed(state, np.uint64(link[e, 0])), np.uint64(link[e, 1]))
            for j in range(values.shape[1]):
                state = _mixed(state, values[e, j])
            e += 1
        kinds[v] = state
    return kinds


@njit(cache=True, nogil=True)
def _number_kinds(kind: Any) -> Any:
    """Number the kinds in the order of appearance, by a table with open addresses; also the first egonet of each."""
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
    return which, first[:distinct]

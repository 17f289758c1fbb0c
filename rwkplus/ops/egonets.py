"""Compiled search for the neighborhoods of all nodes, as a torch operator so that compiled models can call it."""

from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from rwkplus.errors import GraphError


@torch.library.custom_op("rwkplus::find_egonets", mutates_args=(), device_types="cpu")
def find_egonets(
    edge_index: Tensor, num_nodes: int, hops: int, max_nodes: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Find the subgraph induced by the nodes within ``hops`` of every node.

    Nodes are visited breadth first along edges of either direction, the neighbors of a node in the order of their
    numbers, and the first ``max_nodes`` are kept: neither the order of edges nor other graphs of a batch matter.

    Args:
        edge_index: Directed edges ``(2, E)``, int64.
        num_nodes: Number of nodes N.
        hops: Largest distance from the center.
        max_nodes: Largest size of an egonet, its center included; any size if negative.

    Returns:
        ``index (R,)``, the members of all egonets, each center first; ``size (N,)``, how many each egonet has;
        ``link (F, 2)``, the edges between members, as positions within their egonet; ``link_count (N,)``, how many
        each egonet has; ``edge (F,)``, which edge each link is; ``mirror (E,)``, the edge opposite to each, and some
        -1 if not every edge has one.
    """
    # Compiled loops do not look where they read.
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < num_nodes:
        raise GraphError(
            f"the edges name nodes from {int(edge_index.min())} to {int(edge_index.max())} but there are {num_nodes}, "
            "numbered from 0."
        )
    found = _find(edge_index.contiguous().numpy(), num_nodes, hops, max_nodes)
    return tuple(torch.from_numpy(array) for array in found)  # type: ignore[return-value]


@find_egonets.register_fake
def _(edge_index: Tensor, num_nodes: int, hops: int, max_nodes: int) -> tuple[Tensor, ...]:
    context = torch.library.get_ctx()
    members, links = context.new_dynamic_size(), context.new_dynamic_size()
    shapes = ((members,), (num_nodes,), (links, 2), (num_nodes,), (links,), (edge_index.size(1),))
    return tuple(edge_index.new_empty(shape) for shape in shapes)


@njit(cache=True, nogil=True)
def _find(edge_index: Any, num_nodes: int, hops: int, max_nodes: int) -> Any:
    source, target = edge_index[0], edge_index[1]
    out_ptr, out = _sorted_edges(source, target, num_nodes)
    in_ptr, into = _sorted_edges(target, source, num_nodes)
    limit = num_nodes if max_nodes < 0 else min(max_nodes, num_nodes)
    rank = np.full(num_nodes, -1, np.int64)  # of each node within the egonet at hand; -1 outside of it
    size, link_count = np.zeros(num_nodes, np.int64), np.zeros(num_nodes, np.int64)
    member, link = np.empty(num_nodes, np.int64), np.empty(3 * source.size, np.int64)
    first = first_link = 0
    for center in range(num_nodes):
        if first + limit > member.size:
            member = _larger(member, first + limit)
        last = _visit(source, target, out_ptr, out, in_ptr, into, center, hops, limit, member, first, rank)
        most = first_link
        for i in range(first, last):
            most += out_ptr[member[i] + 1] - out_ptr[member[i]]
        if 3 * most > link.size:
            link = _larger(link, 3 * most)
        last_link = first_link
        for i in range(first, last):
            for p in range(out_ptr[member[i]], out_ptr[member[i] + 1]):
                end = rank[target[out[p]]]
                if end >= 0:
                    link[3 * last_link], link[3 * last_link + 1], link[3 * last_link + 2] = i - first, end, out[p]
                    last_link += 1
        for i in range(first, last):
            rank[member[i]] = -1
        size[center], link_count[center] = last - first, last_link - first_link
        first, first_link = last, last_link
    ends, edge = np.empty((first_link, 2), np.int64), np.empty(first_link, np.int64)
    for e in range(first_link):
        ends[e, 0], ends[e, 1], edge[e] = link[3 * e], link[3 * e + 1], link[3 * e + 2]
    return member[:first].copy(), size, ends, link_count, edge, _mirror(source, target, out, into)


@njit(cache=True, nogil=True)
def _visit(
    source: Any,
    target: Any,
    out_ptr: Any,
    out: Any,
    in_ptr: Any,
    into: Any,
    center: int,
    hops: int,
    limit: int,
    member: Any,
    first: int,
    rank: Any,
) -> int:
    """Write the members of one egonet from ``first`` on, and their ranks; return where they end."""
    member[first], rank[center] = center, 0
    level, last = first, first + 1
    for _ in range(hops):
        level_end = last
        for i in range(level, level_end):
            u = member[i]
            p, q = out_ptr[u], in_ptr[u]
            while p < out_ptr[u + 1] or q < in_ptr[u + 1]:  # both lists ascend: merge them
                ahead = target[out[p]] if p < out_ptr[u + 1] else rank.size
                back = source[into[q]] if q < in_ptr[u + 1] else rank.size
                v = min(ahead, back)
                if ahead == v:
                    p += 1
                if back == v:
                    q += 1
                if rank[v] < 0 and last - first < limit:
                    member[last], rank[v] = v, last - first
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
    larger = np.empty(2 * size, array.dtype)
    for i in range(array.size):
        larger[i] = array[i]
    return larger


@njit(cache=True, nogil=True)
def _mirror(source: Any, target: Any, out: Any, into: Any) -> Any:
    """Match the i-th edge by source and target with the i-th by target and source, its opposite where all have one."""
    mirror = np.full(source.size, -1, np.int64)
    for i in range(source.size):
        e, back = out[i], into[i]
        if source[e] == target[back] and target[e] == source[back]:
            mirror[e] = back
    return mirror

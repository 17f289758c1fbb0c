"""Compiled loops over egonets: the search for them, which of them are alike, and walks on them.

They stand in one file because numba's cache only watches the file of the function that is called from outside. Inner
loops run along rows of W numbers and are what vector instructions can do: few arrays each, because the compiler gives
up where too many could overlap, and none but rows of arrays, because a view per row costs more than its arithmetic.
"""

# ruff: noqa: ANN401, C901 -- numba infers the types of compiled loops

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from rwkplus.errors import GraphError

SEED, STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
# Rows of a block. Fewer make its matrix products inefficient, more leave the caches.
BLOCK = 128
# Multiplications up to which BLAS stays on one thread. Waking others costs more than blocks can gain.
SINGLE_THREAD = 262_144
# Sums may be reordered, as vector instructions do; inf and nan keep their meaning.
LOOP: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz", "reassoc"},
}


class Plan(NamedTuple):
    """Egonets in blocks, and where their links lead. A slot is a member of an egonet."""

    node: Any  # (R,): node of each slot
    slot: Any  # (B + 1,): first slot of each egonet
    link: Any  # (B + 1,): first link of each egonet
    block: Any  # (blocks + 1,): first egonet of each block
    source: Any  # (F,): slot where each link begins, counted from the block's first
    target: Any  # (F,): slot where it ends
    target_node: Any  # (F,)
    value: Any  # (F, C)
    count: Any  # (B,): how often each egonet occurs
    rows: int  # slots of the largest block


class Bank(NamedTuple):
    """A group of hidden graphs side by side, W nodes together."""

    colors: Any  # (N, W): similarity of nodes to hidden nodes
    mix: Any  # (C, W, W): block-diagonal adjacencies, one for each edge color
    ahead: Any  # (C, N, W): colors after a step on the hidden graphs


@njit(**LOOP)
def plan_egonets(num_nodes: int, member: Any, size: Any, link: Any, link_count: Any, value: Any, count: Any) -> Any:
    """Cut egonets into blocks, and refuse indices that would read elsewhere."""
    egonets, links = size.size, link.shape[0]
    slot, first_link = np.zeros(egonets + 1, np.int64), np.zeros(egonets + 1, np.int64)
    for v in range(egonets):
        slot[v + 1], first_link[v + 1] = slot[v] + size[v], first_link[v] + link_count[v]
    if slot[egonets] != member.size or first_link[egonets] != links or value.shape[0] != links or count.size != egonets:
        raise GraphError("the members and links of egonets do not add up to their counts: find them with EgoNets.")
    for node in member:
        if not 0 <= node < num_nodes:
            raise GraphError("egonets have members that are no nodes: find them in the graphs they are used with.")
    source, target, target_node = np.empty(links, np.int64), np.empty(links, np.int64), np.empty(links, np.int64)
    block, last, rows = np.zeros(egonets + 1, np.int64), 0, 0
    for v in range(egonets):
        if slot[v + 1] - slot[block[last]] > BLOCK and v > block[last]:
            last += 1
            block[last] = v
        begin = slot[v] - slot[block[last]]
        rows = max(rows, begin + size[v])
        for e in range(first_link[v], first_link[v + 1]):
            if not (0 <= link[e, 0] < size[v] and 0 <= link[e, 1] < size[v]):
                raise GraphError("a link leaves its egonet: find egonets with EgoNets.")
            source[e], target[e] = begin + link[e, 0], begin + link[e, 1]
            target_node[e] = member[slot[v] + link[e, 1]]
    last += egonets > 0
    block[last] = egonets
    return Plan(member, slot, first_link, block[: last + 1], source, target, target_node, value, count, rows)


@njit(**LOOP)
def hidden_bank(colors: Any, hidden: Any) -> Any:
    """Lay hidden graphs side by side."""
    count, size, _, channels = hidden.shape
    mix = np.zeros((channels, count * size, count * size), colors.dtype)
    ahead = np.empty((channels, colors.shape[0], count * size), colors.dtype)
    for c in range(channels):
        for v in range(size):
            for w in range(size):
                for k in range(count):
                    mix[c, k * size + v, k * size + w] = hidden[k, v, w, c]
        _multiply(colors, mix[c].T, ahead[c])
    return Bank(colors, mix, ahead)


@njit(**LOOP)
def hidden_bank_backward(bank: Any, grads: Any, grad_hidden: Any) -> None:
    """Complete the gradient of the colors, and write that of the hidden graphs."""
    count, size, _, channels = grad_hidden.shape
    moved, grad_colors = np.empty_like(bank.colors), grads.colors
    for c in range(channels):
        _multiply(grads.ahead[c], bank.mix[c], moved)
        grad_colors += moved
        _add_outer(grads.ahead[c], bank.colors, grads.mix[c])
        for v in range(size):
            for w in range(size):
                for k in range(count):
                    grad_hidden[k, v, w, c] = grads.mix[c, k * size + v, k * size + w]


@njit(**LOOP)
def _multiply(rows: Any, matrix: Any, out: Any) -> None:
    """Product of two matrices, a few rows at a time."""
    count = max(1, SINGLE_THREAD // matrix.size)
    for i in range(0, rows.shape[0], count):
        np.dot(rows[i : i + count], matrix, out[i : i + count])


@njit(**LOOP)
def _add_outer(left: Any, right: Any, out: Any) -> None:
    """Add the sum of the outer products of rows."""
    count = max(1, SINGLE_THREAD // out.size)
    product = np.empty_like(out)
    for i in range(0, left.shape[0], count):
        np.dot(left[i : i + count].T, right[i : i + count], product)
        out += product


@njit(**LOOP)
def _carry(plan: Any, block: int, c: int, starts: Any, origin: Any, ends: Any, out: Any) -> None:
    """Add rows of ``origin`` to rows of ``out`` along the links of a block that have color c."""
    for e in range(plan.link[plan.block[block]], plan.link[plan.block[block + 1]]):
        start, end, weight = starts[e], ends[e], plan.value[e, c]
        for j in range(origin.shape[1]):
            out[end, j] += weight * origin[start, j]


@njit(**LOOP)
def _leave(plan: Any, first: int, count: int, bank: Any, match_all: bool, reached: Any, walkers: Any) -> None:
    """Lines 5 and 6: times the squared colors, except for RWK-."""
    for row in range(count):
        node = plan.node[first + row]
        if match_all:
            for j in range(reached.shape[1]):
                walkers[row, j] = bank.colors[node, j] * bank.colors[node, j] * reached[row, j]
        else:
            for j in range(reached.shape[1]):
                walkers[row, j] = reached[row, j]


# One step of many egonets, because normalization joins all. Walks are (R, W), one row per slot.


class Moments(NamedTuple):
    """Of the columns of some rows, taken block by block: as exact as in two passes over all rows."""

    number: Any  # (1,): how many rows
    mean: Any  # (W,)
    square: Any  # (W,): sum of the squared deviations


@njit(**LOOP)
def take_step(
    plan: Any, bank: Any, first: bool, match_all: bool, measure: bool, normal: Any, reached: Any, moments: Any
) -> None:
    """Line 4: write where walkers get in a step, and add to the moments, egonets by count, if wanted.

    All but the first begin where the step before has led, normalized.
    """
    width, channels = reached.shape[1], bank.mix.shape[0]
    walkers, moved = np.empty((plan.rows, width), reached.dtype), np.empty((plan.rows, width), reached.dtype)
    for block in range(plan.block.size - 1):
        begin, end = plan.slot[plan.block[block]], plan.slot[plan.block[block + 1]]
        rows = reached[begin:end]
        rows[:] = 0
        if not first:
            _leave(plan, begin, end - begin, bank, match_all, normal[begin:end], walkers)
        for c in range(channels):
            if first:
                _carry(plan, block, c, plan.target_node, bank.ahead[c], plan.source, rows)
            else:
                _multiply(walkers[: end - begin], bank.mix[c].T, moved[: end - begin])
                _carry(plan, block, c, plan.target, moved, plan.source, rows)
        if measure:
            _add_moments(plan, block, rows, moments)


@njit(**LOOP)
def _add_moments(plan: Any, block: int, rows: Any, moments: Any) -> None:
    """Join the moments of a block to those of the blocks before."""
    width, start, more = rows.shape[1], plan.slot[plan.block[block]], 0.0
    mean, square = np.zeros(width, rows.dtype), np.zeros(width, rows.dtype)
    for v in range(plan.block[block], plan.block[block + 1]):
        count = plan.count[v]
        more += count * (plan.slot[v + 1] - plan.slot[v])
        for row in range(plan.slot[v] - start, plan.slot[v + 1] - start):
            for j in range(width):
                mean[j] += count * rows[row, j]
    if more == 0:
        return
    for j in range(width):
        mean[j] /= more
    for v in range(plan.block[block], plan.block[block + 1]):
        count = plan.count[v]
        for row in range(plan.slot[v] - start, plan.slot[v + 1] - start):
            for j in range(width):
                square[j] += count * (rows[row, j] - mean[j]) * (rows[row, j] - mean[j])
    number = moments.number[0]
    share = more / (number + more)
    for j in range(width):
        distance = mean[j] - moments.mean[j]
        moments.mean[j] += distance * share
        moments.square[j] += square[j] + distance * distance * share * number
    moments.number[0] += more


@njit(**LOOP)
def scale_and_shift(reached: Any, scale: Any, shift: Any, normal: Any) -> None:
    """Apply the same line to every row."""
    for row in range(reached.shape[0]):
        for j in range(reached.shape[1]):
            normal[row, j] = reached[row, j] * scale[j] + shift[j]


@njit(**LOOP)
def match(plan: Any, bank: Any, normal: Any, scores: Any) -> None:
    """Line 5: match colors and sum over the members of each egonet."""
    for v in range(plan.slot.size - 1):
        for j in range(scores.shape[1]):
            scores[v, j] = 0
        for row in range(plan.slot[v], plan.slot[v + 1]):
            node = plan.node[row]
            for j in range(scores.shape[1]):
                scores[v, j] += bank.colors[node, j] * normal[row, j]


@njit(**LOOP)
def match_backward(
    plan: Any,
    bank: Any,
    match_all: bool,
    gate: Any,
    mean: Any,
    reached: Any,
    normal: Any,
    scores: Any,
    grad: Any,
    grads: Any,
    sums: Any,
) -> None:
    """Turn ``grad`` of the walkers into that of the step before the sigmoid, and add to ``grads`` of the bank.

    Its sum over each column, and that of its products with the deviations from the mean, go to ``sums``. ``gate`` is
    (0, 1) behind a sigmoid and (1, 0) where there is none: numbers of the walks' type, because branches cost more.
    """
    width, plain, squash = grad.shape[1], gate[0], gate[1]
    part, part_product = np.empty(width, grad.dtype), np.empty(width, grad.dtype)
    for v in range(plan.slot.size - 1):
        for j in range(width):
            part[j] = part_product[j] = 0
        for row in range(plan.slot[v], plan.slot[v + 1]):
            node = plan.node[row]
            if match_all:  # walks = y0 z, walkers = y0 y0 z
                for j in range(width):
                    walk = bank.colors[node, j] * grad[row, j]
                    grads.colors[node, j] += normal[row, j] * (walk + walk + scores[v, j])
                for j in range(width):
                    color = bank.colors[node, j]
                    inside = plain + squash * (normal[row, j] - normal[row, j] * normal[row, j])
                    grad[row, j] = color * (color * grad[row, j] + scores[v, j]) * inside
            else:  # walks = y0 z, walkers = z
                for j in range(width):
                    grads.colors[node, j] += normal[row, j] * scores[v, j]
                for j in range(width):
                    inside = plain + squash * (normal[row, j] - normal[row, j] * normal[row, j])
                    grad[row, j] = (grad[row, j] + bank.colors[node, j] * scores[v, j]) * inside
            for j in range(width):
                part[j] += grad[row, j]
                part_product[j] += grad[row, j] * (reached[row, j] - mean[j])
        for j in range(width):
            sums[0, j] += part[j]
            sums[1, j] += part_product[j]


@njit(**LOOP)
def take_step_backward(
    plan: Any, bank: Any, first: bool, match_all: bool, lines: Any, reached: Any, normal: Any, grad: Any, grads: Any
) -> None:
    """Turn ``grad`` of the step before the sigmoid into that of the walkers before the step.

    The gradient of what was reached is ``lines[0] * grad + count * (lines[1] * reached + lines[2])`` column by column.
    """
    width = grad.shape[1]
    over, moved = np.empty((plan.rows, width), grad.dtype), np.empty((plan.rows, width), grad.dtype)
    walkers, spare = np.empty((plan.rows, width), grad.dtype), np.empty((plan.rows, width), grad.dtype)
    for block in range(plan.block.size - 1):
        begin, end = plan.slot[plan.block[block]], plan.slot[plan.block[block + 1]]
        rows, own = end - begin, grad[begin:end]
        for v in range(plan.block[block], plan.block[block + 1]):
            count = plan.count[v]
            for row in range(plan.slot[v], plan.slot[v + 1]):
                for j in range(width):
                    line = lines[1, j] * reached[row, j] + lines[2, j]
                    over[row - begin, j] = lines[0, j] * grad[row, j] + count * line
        if not first:
            _leave(plan, begin, rows, bank, match_all, normal[begin:end], walkers)
            own[:] = 0
        for c in range(bank.mix.shape[0]):
            if first:
                _carry(plan, block, c, plan.source, over, plan.target_node, grads.ahead[c])
                continue
            moved[:rows] = 0
            _carry(plan, block, c, plan.source, over, plan.target, moved)
            _add_outer(moved[:rows], walkers[:rows], grads.mix[c])
            _multiply(moved[:rows], bank.mix[c], spare[:rows])
            own += spare[:rows]


@njit(cache=True, nogil=True)
def search_egonets(edge_index: Any, num_nodes: int, hops: int, max_nodes: int) -> Any:
    """Members of all egonets, sizes, links, how many of them each has, and their edges; ``max_nodes`` below 0: all."""
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


@njit(cache=True, nogil=True)
def _mixed(state: Any, value: Any) -> Any:
    """Take one more number into a hash. Chains of these are as good as random, sums of hashes of near numbers not."""
    state = (state ^ value) * STEP + SEED
    return state ^ (state >> np.uint64(29))


@njit(cache=True, nogil=True)
def hash_rows(x: Any) -> Any:
    """Hash rows of whole numbers, one by one."""
    hashes = np.empty(x.shape[0], np.uint64)
    for v in range(x.shape[0]):
        hashes[v] = SEED
        for j in range(x.shape[1]):
            if x[v, j] != 0:  # few are, where colors are one-hot
                hashes[v] = _mixed(_mixed(hashes[v], np.uint64(j)), x[v, j])
    return hashes


@njit(cache=True, nogil=True)
def hash_edges(ends: Any, ptr: Any, values: Any, kind: Any) -> Any:
    """Sum the hashes of the edges of each graph, which begins at ``ptr``."""
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
def kinds_of(color: Any, member: Any, size: Any, link: Any, link_count: Any, values: Any) -> Any:
    """Hash colors, links and values of each egonet, in the order of its members."""
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
def number_kinds(kind: Any) -> Any:
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

"""Compiled loops over egonets, the inside of :mod:`rwkplus.nn.egonet_kernel`.

They stand in one file because numba's cache only watches the file of the function that is called from outside. Inner
loops run along rows of W numbers and are what vector instructions can do: few arrays each, because the compiler gives
up where too many could overlap, and none but rows of arrays, because a view per row costs more than its arithmetic.
"""

# ruff: noqa: ANN401, C901 -- numba infers the types of compiled loops

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from rwkplus.errors import GraphError

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

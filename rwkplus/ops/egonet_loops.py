"""Compiled loops over egonets, the inside of :mod:`rwkplus.ops.egonet_walks` and :mod:`rwkplus.ops.normalized_walks`.

They stand in one file because numba's cache only watches the file of the function that is called from outside. Loops
name array and row in one subscript, and stand where a slice could, because views cost more time than the arithmetic of
a row, and slices more time to compile than all the rest.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from rwkplus.errors import GraphError

# Rows of a block. Fewer make its matrix products inefficient, more leave the first-level cache.
BLOCK = 64
# Hidden graphs in one block-diagonal matrix. Fewer make its products inefficient, more multiply too many zeros.
GROUP = 8
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


class Room(NamedTuple):
    """Memory for one block: fresh pages for each would cost more than the arithmetic."""

    walkers: Any  # (J, rows, W): what is moved; the first are the colors
    moved: Any  # (C, rows, W): walkers after a step on the hidden graphs
    reached: Any  # (J, rows, W): walkers after a step on both
    matched: Any  # (J + 1, rows, W): the m of the formula


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
    for k in range(count):
        for v in range(size):
            for w in range(size):
                for c in range(channels):
                    mix[c, k * size + v, k * size + w] = hidden[k, v, w, c]
    for c in range(channels):
        multiply(colors, mix[c].T, ahead[c])
    return Bank(colors, mix, ahead)


@njit(**LOOP)
def hidden_bank_backward(bank: Any, grads: Any, symmetric: bool, grad_hidden: Any) -> None:
    """Complete the gradient of the colors, and write that of the hidden graphs."""
    count, size, _, channels = grad_hidden.shape
    moved = np.empty_like(bank.colors)
    for c in range(channels):
        multiply(grads.ahead[c], bank.mix[c], moved)
        add_rows(moved, grads.colors)
        add_outer(grads.ahead[c], bank.colors, grads.mix[c])
    for k in range(count):
        for v in range(size):
            for w in range(size):
                for c in range(channels):
                    there, back = grads.mix[c, k * size + v, k * size + w], grads.mix[c, k * size + w, k * size + v]
                    # Meeting in the middle equals Algorithm 1 on symmetric matrices only, so its gradient is right
                    # along them only; there, the gradient of Algorithm 1 is symmetric.
                    grad_hidden[k, v, w, c] = (there + back) / 2 if symmetric else there


@njit(**LOOP)
def multiply(rows: Any, matrix: Any, out: Any) -> None:
    """Product of two matrices, a few rows at a time."""
    count = max(1, SINGLE_THREAD // matrix.size)
    for i in range(0, rows.shape[0], count):
        np.dot(rows[i : i + count], matrix, out[i : i + count])


@njit(**LOOP)
def add_outer(left: Any, right: Any, out: Any) -> None:
    """Add the sum of the outer products of rows."""
    count = max(1, SINGLE_THREAD // out.size)
    product = np.empty_like(out)
    for i in range(0, left.shape[0], count):
        np.dot(left[i : i + count].T, right[i : i + count], product)
        add_rows(product, out)


@njit(**LOOP)
def add_rows(rows: Any, out: Any) -> None:
    """Add a matrix."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[i, j] += rows[i, j]


@njit(**LOOP)
def clear(stack: Any, i: int, first: int, last: int) -> None:
    """Set some rows to 0."""
    for row in range(first, last):
        for j in range(stack.shape[2]):
            stack[i, row, j] = 0


@njit(**LOOP)
def reach(plan: Any, block: int, moved: Any, at: Any, reached: Any, i: int, first: int) -> None:
    """Line 4, the step on G: every walker gathers from where its links lead; those of the block begin in ``first``."""
    for e in range(plan.link[plan.block[block]], plan.link[plan.block[block + 1]]):
        row, origin = first + plan.source[e], at[e]
        for c in range(moved.shape[0]):
            weight = plan.value[e, c]
            for j in range(moved.shape[2]):
                reached[i, row, j] += weight * moved[c, origin, j]


@njit(**LOOP)
def reach_backward(plan: Any, block: int, reached: Any, i: int, at: Any, moved: Any) -> None:
    """Spread gradients back along the links."""
    for e in range(plan.link[plan.block[block]], plan.link[plan.block[block + 1]]):
        row, origin = plan.source[e], at[e]
        for c in range(moved.shape[0]):
            weight = plan.value[e, c]
            for j in range(moved.shape[2]):
                moved[c, origin, j] += weight * reached[i, row, j]


# All steps of a block at once


def num_products(steps: int, symmetric: bool) -> int:
    """How many steps have to be taken."""
    return (steps + 1) // 2 if symmetric else steps


def meeting(step: int, symmetric: bool) -> tuple[int, int]:
    """Which matched walks meet in the score of a step, counted from 1."""
    return (step // 2, (step + 1) // 2) if symmetric else (0, step)


_num_products, _meeting = njit(**LOOP)(num_products), njit(**LOOP)(meeting)


@njit(**LOOP)
def score_blocks(plan: Any, bank: Any, symmetric: bool, match_all: bool, walks: Any) -> None:
    """Write the scores of all egonets with single hidden nodes ``(T, B, W)``."""
    room = _room(plan, bank, walks.shape[0], symmetric)
    for block in range(plan.block.size - 1):
        _walk(plan, block, bank, match_all, room)
        for step in range(walks.shape[0]):
            a, b = _meeting(step + 1, symmetric)
            _score(plan, block, room.matched, a, b, match_all, walks, step)


@njit(**LOOP)
def score_blocks_backward(plan: Any, bank: Any, symmetric: bool, match_all: bool, walks: Any, grads: Any) -> None:
    """Add to the gradients of the bank, given those of the scores."""
    room, over = _room(plan, bank, walks.shape[0], symmetric), _room(plan, bank, walks.shape[0], symmetric)
    for block in range(plan.block.size - 1):
        _walk(plan, block, bank, match_all, room)
        for i in range(over.matched.shape[0]):
            clear(over.matched, i, 0, plan.rows)
        for step in range(walks.shape[0]):
            a, b = _meeting(step + 1, symmetric)
            _score_backward(plan, block, room.matched, a, b, match_all, walks, step, over.matched)
        _walk_backward(plan, block, bank, match_all, room, over, grads)


@njit(**LOOP)
def _room(plan: Any, bank: Any, steps: int, symmetric: bool) -> Any:
    channels, width, _ = bank.mix.shape
    count = _num_products(steps, symmetric)
    return Room(
        np.empty((count, plan.rows, width), bank.mix.dtype),
        np.empty((channels, plan.rows, width), bank.mix.dtype),
        np.empty((count, plan.rows, width), bank.mix.dtype),
        np.empty((count + 1, plan.rows, width), bank.mix.dtype),
    )


@njit(**LOOP)
def _walk(plan: Any, block: int, bank: Any, match_all: bool, room: Any) -> None:
    """Fill the room with the walks of one block."""
    first = plan.slot[plan.block[block]]
    rows = plan.slot[plan.block[block + 1]] - first
    for row in range(rows):
        node = plan.node[first + row]
        for j in range(bank.colors.shape[1]):
            room.walkers[0, row, j] = bank.colors[node, j]
    if not match_all:
        _color(room, rows, False, room.walkers, 0, room.matched, 0)
    for i in range(room.walkers.shape[0]):
        if i > 0:
            _color(room, rows, match_all, room.matched, i, room.walkers, i)  # line 6
            for c in range(bank.mix.shape[0]):
                multiply(room.walkers[i, :rows], bank.mix[c].T, room.moved[c, :rows])
        moved, at = (room.moved, plan.target) if i > 0 else (bank.ahead, plan.target_node)
        clear(room.reached, i, 0, rows)
        reach(plan, block, moved, at, room.reached, i, 0)
        _color(room, rows, match_all, room.reached, i, room.matched, i + 1)  # line 5


@njit(**LOOP)
def _walk_backward(plan: Any, block: int, bank: Any, match_all: bool, room: Any, over: Any, grads: Any) -> None:
    """Go back through the steps, from the gradients ``over`` the room to those of the bank."""
    first = plan.slot[plan.block[block]]
    rows = plan.slot[plan.block[block + 1]] - first
    for i in range(room.walkers.shape[0]):
        clear(over.walkers, i, 0, rows)
        clear(over.reached, i, 0, rows)
    for i in range(room.walkers.shape[0] - 1, -1, -1):
        _color_backward(room, over, rows, match_all, room.reached, over.reached, i, over.matched, i + 1)
        moved, at = (over.moved, plan.target) if i > 0 else (grads.ahead, plan.target_node)
        if i > 0:
            for c in range(moved.shape[0]):
                clear(moved, c, 0, rows)
        reach_backward(plan, block, over.reached, i, at, moved)
        if i > 0:
            for c in range(bank.mix.shape[0]):
                add_outer(over.moved[c, :rows], room.walkers[i, :rows], grads.mix[c])
                multiply(over.moved[c, :rows], bank.mix[c], room.moved[c, :rows])
                add_rows(room.moved[c, :rows], over.walkers[i])
            _color_backward(room, over, rows, match_all, room.matched, over.matched, i, over.walkers, i)
    for row in range(rows):
        node = plan.node[first + row]
        for j in range(grads.colors.shape[1]):
            grads.colors[node, j] += over.walkers[0, row, j]
        if not match_all:
            for j in range(grads.colors.shape[1]):
                grads.colors[node, j] += over.matched[0, row, j]


@njit(**LOOP)
def _color(room: Any, rows: int, match_all: bool, given: Any, g: int, colored: Any, c: int) -> None:
    """Lines 5 and 6: times the colors, except for RWK-."""
    for row in range(rows):
        if match_all:
            for j in range(given.shape[2]):
                colored[c, row, j] = room.walkers[0, row, j] * given[g, row, j]
        else:
            for j in range(given.shape[2]):
                colored[c, row, j] = given[g, row, j]


@njit(**LOOP)
def _color_backward(
    room: Any, over: Any, rows: int, match_all: bool, given: Any, over_given: Any, g: int, over_colored: Any, c: int
) -> None:
    for row in range(rows):
        if match_all:
            for j in range(given.shape[2]):
                over_given[g, row, j] += room.walkers[0, row, j] * over_colored[c, row, j]
            for j in range(given.shape[2]):
                over.walkers[0, row, j] += given[g, row, j] * over_colored[c, row, j]
        else:
            for j in range(given.shape[2]):
                over_given[g, row, j] += over_colored[c, row, j]


@njit(**LOOP)
def _score(plan: Any, block: int, matched: Any, a: int, b: int, match_all: bool, walks: Any, step: int) -> None:
    """Sum the products of matched walks over the members of each egonet; for RWK+, the first of them are all 1."""
    first = plan.slot[plan.block[block]]
    for v in range(plan.block[block], plan.block[block + 1]):
        for j in range(walks.shape[2]):
            walks[step, v, j] = 0
        for row in range(plan.slot[v] - first, plan.slot[v + 1] - first):
            if a == 0 and match_all:
                for j in range(walks.shape[2]):
                    walks[step, v, j] += matched[b, row, j]
            else:
                for j in range(walks.shape[2]):
                    walks[step, v, j] += matched[a, row, j] * matched[b, row, j]


@njit(**LOOP)
def _score_backward(
    plan: Any, block: int, matched: Any, a: int, b: int, match_all: bool, walks: Any, step: int, over: Any
) -> None:
    first = plan.slot[plan.block[block]]
    for v in range(plan.block[block], plan.block[block + 1]):
        for row in range(plan.slot[v] - first, plan.slot[v + 1] - first):
            if a == 0 and match_all:
                for j in range(walks.shape[2]):
                    over[b, row, j] += walks[step, v, j]
            else:
                for j in range(walks.shape[2]):
                    over[b, row, j] += walks[step, v, j] * matched[a, row, j]
                for j in range(walks.shape[2]):
                    over[a, row, j] += walks[step, v, j] * matched[b, row, j]


# One step of all egonets at once, because normalization joins them. Walks are (T, R, W), one row per slot.


@njit(**LOOP)
def take_step(plan: Any, bank: Any, step: int, match_all: bool, reached: Any, normal: Any) -> Any:
    """Line 4: write where walkers get in a step, counted from 0; return the sums of the columns, egonets by count."""
    width = reached.shape[2]
    total, part = np.zeros(width), np.empty(width, reached.dtype)
    walkers = np.empty((plan.rows, width), reached.dtype)
    moved = np.empty((bank.mix.shape[0], plan.rows, width), reached.dtype)
    for block in range(plan.block.size - 1):
        first, last = plan.slot[plan.block[block]], plan.slot[plan.block[block + 1]]
        if step > 0:
            _leave(plan, bank, step - 1, match_all, normal, walkers, first, last)
            for c in range(bank.mix.shape[0]):
                multiply(walkers[: last - first], bank.mix[c].T, moved[c, : last - first])
        rows, at = (moved, plan.target) if step > 0 else (bank.ahead, plan.target_node)
        clear(reached, step, first, last)
        reach(plan, block, rows, at, reached, step, first)
    for v in range(plan.slot.size - 1):
        for j in range(width):
            part[j] = 0
        for row in range(plan.slot[v], plan.slot[v + 1]):
            for j in range(width):
                part[j] += reached[step, row, j]
        for j in range(width):
            total[j] += plan.count[v] * part[j]
    return total


@njit(**LOOP)
def _leave(plan: Any, bank: Any, step: int, match_all: bool, normal: Any, walkers: Any, first: int, last: int) -> None:
    """Line 6: walkers after a step, of the members ``first`` to ``last``."""
    for row in range(first, last):
        node = plan.node[row]
        if match_all:
            for j in range(normal.shape[2]):
                color = bank.colors[node, j]
                walkers[row - first, j] = color * color * normal[step, row, j]
        else:
            for j in range(normal.shape[2]):
                walkers[row - first, j] = normal[step, row, j]


@njit(**LOOP)
def squared_deviations(plan: Any, step: int, reached: Any, mean: Any) -> Any:
    """Sum of the squared deviations from the mean of each column, egonets by count."""
    width = reached.shape[2]
    total, part = np.zeros(width), np.empty(width, reached.dtype)
    for v in range(plan.slot.size - 1):
        for j in range(width):
            part[j] = 0
        for row in range(plan.slot[v], plan.slot[v + 1]):
            for j in range(width):
                part[j] += (reached[step, row, j] - mean[j]) * (reached[step, row, j] - mean[j])
        for j in range(width):
            total[j] += plan.count[v] * part[j]
    return total


@njit(**LOOP)
def scale_and_shift(step: int, reached: Any, scale: Any, shift: Any, normal: Any) -> None:
    """Apply the same line to every row."""
    for row in range(reached.shape[1]):
        for j in range(reached.shape[2]):
            normal[step, row, j] = reached[step, row, j] * scale[j] + shift[j]


@njit(**LOOP)
def match(plan: Any, bank: Any, step: int, normal: Any, walks: Any) -> None:
    """Line 5: match colors and sum over the members of each egonet."""
    for v in range(plan.slot.size - 1):
        for j in range(walks.shape[2]):
            walks[step, v, j] = 0
        for row in range(plan.slot[v], plan.slot[v + 1]):
            node = plan.node[row]
            for j in range(walks.shape[2]):
                walks[step, v, j] += bank.colors[node, j] * normal[step, row, j]


@njit(**LOOP)
def match_backward(
    plan: Any,
    bank: Any,
    reached: Any,
    normal: Any,
    walks: Any,
    step: int,
    match_all: bool,
    grad: Any,
    mean: Any,
    grads: Any,
) -> Any:
    """Turn ``grad`` of the walkers into that of the step before the sigmoid, and add to ``grads`` of the bank.

    Returns its sum over each column, and the sum of its products with the deviations from the mean.
    """
    width = grad.shape[1]
    total, product = np.zeros(width), np.zeros(width)
    part, part_product = np.empty(width, grad.dtype), np.empty(width, grad.dtype)
    colored = np.empty(width, grad.dtype)
    for v in range(plan.slot.size - 1):
        for j in range(width):
            part[j] = part_product[j] = 0
        for row in range(plan.slot[v], plan.slot[v + 1]):
            node = plan.node[row]
            if match_all:  # walks = y0 z, walkers = y0 y0 z
                for j in range(width):
                    colored[j] = walks[step, v, j] + bank.colors[node, j] * grad[row, j]
                for j in range(width):
                    grads.colors[node, j] += normal[step, row, j] * (colored[j] + bank.colors[node, j] * grad[row, j])
                for j in range(width):
                    grad[row, j] = bank.colors[node, j] * colored[j]
            else:  # walks = y0 z, walkers = z
                for j in range(width):
                    grads.colors[node, j] += normal[step, row, j] * walks[step, v, j]
                for j in range(width):
                    grad[row, j] += bank.colors[node, j] * walks[step, v, j]
            for j in range(width):
                grad[row, j] *= normal[step, row, j] - normal[step, row, j] * normal[step, row, j]
            for j in range(width):
                part[j] += grad[row, j]
            for j in range(width):
                part_product[j] += grad[row, j] * (reached[step, row, j] - mean[j])
        for j in range(width):
            total[j] += part[j]
        for j in range(width):
            product[j] += part_product[j]
    return total, product


@njit(**LOOP)
def take_step_backward(
    plan: Any,
    bank: Any,
    reached: Any,
    normal: Any,
    walks: Any,
    step: int,
    match_all: bool,
    grad: Any,
    lines: Any,
    grads: Any,
) -> None:
    """Turn ``grad`` of the step before the sigmoid into that of the walkers before the step.

    The gradient of what was reached is ``lines[0] * grad + count * (lines[1] * reached + lines[2])`` column by column.
    """
    width = grad.shape[1]
    over = np.empty((1, plan.rows, width), grad.dtype)
    own = np.empty((bank.mix.shape[0], plan.rows, width), grad.dtype)
    walkers = np.empty((plan.rows, width), grad.dtype)
    for block in range(plan.block.size - 1):
        first, last = plan.slot[plan.block[block]], plan.slot[plan.block[block + 1]]
        rows = last - first
        for v in range(plan.block[block], plan.block[block + 1]):
            count = plan.count[v]
            for row in range(plan.slot[v], plan.slot[v + 1]):
                for j in range(width):
                    over[0, row - first, j] = lines[0, j] * grad[row, j] + count * lines[2, j]
                for j in range(width):
                    over[0, row - first, j] += count * lines[1, j] * reached[step, row, j]
        moved, at = (own, plan.target) if step > 0 else (grads.ahead, plan.target_node)
        if step > 0:
            for c in range(moved.shape[0]):
                clear(moved, c, 0, rows)
        reach_backward(plan, block, over, 0, at, moved)
        if step > 0:
            _leave(plan, bank, step - 1, match_all, normal, walkers, first, last)
            for row in range(first, last):
                for j in range(width):
                    grad[row, j] = 0
            for c in range(bank.mix.shape[0]):
                add_outer(own[c, :rows], walkers[:rows], grads.mix[c])
                multiply(own[c, :rows], bank.mix[c], over[0, :rows])
                add_rows(over[0, :rows], grad[first:last])

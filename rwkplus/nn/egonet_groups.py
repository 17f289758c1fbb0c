"""From tensors to compiled loops over egonets and back: checked, planned, and cut into groups of hidden graphs.

Normalization joins all egonets between steps, so they take their steps together. Walks of all egonets do not fit into
caches, so each pass over them does all it can with a part before it turns to the next: normalizes what the last step
reached, matches it, and takes the next step from there. Only what is reached is kept; normalizing it once more costs
less than memory.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rwkplus.nn import egonet_loops as loops
from rwkplus.nn.egonet_loops import Bank, Moments, Plan

Floats = NDArray[np.floating[Any]]
# Slots of a part of a plan. Fewer multiply the calls of loops, more leave the caches.
PART = 8192
# Hidden nodes in one block-diagonal matrix. Fewer make its products inefficient, more multiply too many zeros.
WIDTH = 48


def group_size(hidden_nodes: int) -> int:
    """Number of hidden graphs of that size in one block-diagonal matrix.

    >>> group_size(6), group_size(100)
    (8, 1)
    """
    return max(1, WIDTH // hidden_nodes)


class Part(NamedTuple):
    """Some blocks of a plan, as a plan of their own."""

    plan: Plan
    slots: slice
    egonets: slice


class Group:
    """A group of hidden graphs and the walks of all egonets with it.

    Args:
        bank: The hidden graphs.
        parts: The egonets.
        reached: Where walkers get in each step ``(T, R, W)``.
        walks: For each step, sums over the members of each egonet ``(T, B, W)``, or the gradients of these.
        normalized: Whether what is reached is normalized before it is matched.
    """

    def __init__(self, bank: Bank, parts: Sequence[Part], reached: Floats, walks: Floats, normalized: bool) -> None:
        self.bank, self.parts, self.reached, self.walks, self.normalized = bank, parts, reached, walks, normalized
        steps, _, width = reached.shape
        self.lines = np.empty((steps, 2, width), reached.dtype)
        """Slope and shift of each step and column, set when its moments are known."""
        rows = max((part.plan.node.size for part in parts), default=0) if normalized else 0
        self._room = np.empty((rows, width), reached.dtype)

    def take_step(self, step: int, match_all: bool, measure: bool) -> Moments:
        """Match what the step before has reached, if any, and go on; return the moments, if wanted."""
        width = self.reached.shape[2]
        moments = Moments(np.zeros(1), np.zeros(width), np.zeros(width))
        for part in self.parts:
            reached = self.reached[step, part.slots]
            normal = self.match(step - 1, part) if step > 0 else reached  # not read in the first step
            loops.take_step(part.plan, self.bank, step == 0, match_all, measure, normal, reached, moments)
        return moments

    def match(self, step: int, part: Part) -> Floats:
        """Match what a step has reached; return it normalized."""
        normal = self.normal(step, part)
        loops.match(part.plan, self.bank, normal, self.walks[step, part.egonets])
        return normal

    def match_last(self) -> None:
        """Match what the last step has reached."""
        for part in self.parts:
            self.match(len(self.reached) - 1, part)

    def normal(self, step: int, part: Part) -> Floats:
        """What a step has reached, perhaps on a line and through the sigmoid; there until the next call."""
        reached: Floats = self.reached[step, part.slots]
        if not self.normalized:
            return reached
        rows: Floats = self._room[: part.plan.node.size]
        loops.scale_and_shift(reached, *self.lines[step], rows)
        torch.from_numpy(rows).sigmoid_()
        return rows


class GroupBackward:
    """Gradients of a group, step by step.

    Args:
        group: With its lines, and the gradients of its walks.
        means: Of each step and column ``(T, W)``.
        match_all: RWK+ if true, RWK- otherwise.
    """

    def __init__(self, group: Group, means: Floats, match_all: bool) -> None:
        self.group, self.means, self.match_all = group, means, match_all
        self.grads = Bank(*(np.zeros(part.shape, part.dtype) for part in group.bank))
        self._walkers = np.zeros_like(group.reached[0])
        self._gate = np.array([not group.normalized, group.normalized], self._walkers.dtype)

    def match_last(self) -> Floats:
        """Begin with the last step; sums as in :func:`rwkplus.nn.egonet_loops.match_backward` ``(2, W)``."""
        sums, step = np.zeros((2, self.means.shape[1])), len(self.means) - 1
        for part in self.group.parts:
            self._match(step, part, self.group.normal(step, part), sums)
        return sums

    def take_step(self, step: int, lines: Floats) -> Floats:
        """Go back one step, and through the matching before it; the same sums for that one."""
        group, sums = self.group, np.zeros((2, self.means.shape[1]))
        for part in group.parts:
            normal = group.normal(step - 1, part) if step > 0 else group.reached[0, part.slots]  # not read
            rows = group.reached[step, part.slots], normal, self._walkers[part.slots]
            loops.take_step_backward(part.plan, group.bank, step == 0, self.match_all, lines, *rows, self.grads)
            if step > 0:
                self._match(step - 1, part, normal, sums)
        return sums

    def _match(self, step: int, part: Part, normal: Floats, sums: Floats) -> None:
        group, mean = self.group, self.means[step]
        rows = group.reached[step, part.slots], normal, group.walks[step, part.egonets], self._walkers[part.slots]
        loops.match_backward(part.plan, group.bank, self.match_all, self._gate, mean, *rows, self.grads, sums)


def groups_of(
    banks: Sequence[Bank], plan: Plan, kept: Tensor, walks: Sequence[Tensor], normalized: bool
) -> list[Group]:
    """Cut what is kept of all groups, see :func:`room_for`."""
    parts, slots, steps = parts_of(plan), plan.node.size, walks[0].size(0)
    reached = kept.split([walk.size(2) * steps * slots for walk in walks])
    return [
        Group(bank, parts, own.view(steps, slots, walk.size(2)).numpy(), walk.numpy(), normalized)
        for bank, own, walk in zip(banks, reached, walks, strict=True)
    ]


def room_for(steps: int, slots: int, y0: Tensor) -> Tensor:
    """Memory for all that is reached, by numpy: it asks for large pages, and the first touch of small ones is slow."""
    return torch.from_numpy(np.empty(steps * slots * y0.size(1) * y0.size(2), _float_type(y0)))


def plan_of(places: Sequence[Tensor], value: Tensor, count: Tensor, y0: Tensor) -> Plan:
    """Prepare egonets for the loops.

    Args:
        places: Members, sizes, links and numbers of links, as in :class:`rwkplus.functional.Egonets`.
        value: Weights and colors of links ``(F, C)``, with no column if all are 1.
        count: How often each egonet occurs ``(B,)``.
        y0: Similarity of nodes to hidden nodes ``(N, K, M)``.
    """
    if value.size(1) == 0:
        value = y0.new_ones(value.size(0), 1)
    plan: Plan = loops.plan_egonets(y0.size(0), *arrays(*places, value.to(y0.dtype), count.to(y0.dtype)))
    return plan


def parts_of(plan: Plan) -> list[Part]:
    """Cut a plan so that the walks of a part stay in the caches."""
    if plan.node.size <= PART:
        return [Part(plan, slice(None), slice(None))]
    first = plan.slot[plan.block]
    bounds = [*np.unique(first[:-1] // PART, return_index=True)[1].tolist(), len(first) - 1]
    return [_part(plan, begin, end) for begin, end in pairwise(bounds)]


def _part(plan: Plan, begin: int, end: int) -> Part:
    blocks = plan.block[begin : end + 1]
    egonets, bounds = slice(blocks[0], blocks[-1]), slice(blocks[0], blocks[-1] + 1)
    slots, links = (slice(first[blocks[0]], first[blocks[-1]]) for first in (plan.slot, plan.link))
    own = plan._replace(
        node=plan.node[slots],
        slot=plan.slot[bounds] - slots.start,
        link=plan.link[bounds] - links.start,
        block=blocks - egonets.start,
        source=plan.source[links],
        target=plan.target[links],
        target_node=plan.target_node[links],
        value=plan.value[links],
        count=plan.count[egonets],
    )
    return Part(own, slots, egonets)


def banks_of(y0: Tensor, hidden: Tensor) -> list[Bank]:
    """Cut the hidden graphs into groups."""
    size = group_size(y0.size(2))
    return [
        loops.hidden_bank(*arrays(colors.flatten(1), part))
        for colors, part in zip(y0.split(size, 1), hidden.split(size), strict=True)
    ]


def widths(y0: Tensor) -> list[int]:
    """Hidden nodes in each group.

    >>> widths(torch.zeros(3, 10, 6))  # ten hidden graphs of six nodes
    [48, 12]
    """
    return [part.size(1) * y0.size(2) for part in y0.split(group_size(y0.size(2)), 1)]


def banks_backward(y0: Tensor, hidden: Tensor, banks: Sequence[Bank], grads: Sequence[Bank]) -> tuple[Tensor, Tensor]:
    """Turn the gradients of the groups into those of ``y0`` and ``hidden``."""
    grad_hidden = hidden.new_empty(hidden.shape)
    for bank, over, part in zip(banks, grads, grad_hidden.split(group_size(y0.size(2))), strict=True):
        loops.hidden_bank_backward(bank, over, part.numpy())
    return _joined([torch.from_numpy(over.colors).unflatten(1, (-1, y0.size(2))) for over in grads], 1), grad_hidden


def sums_over_nodes(walks: Sequence[Tensor], hidden_nodes: int) -> Tensor:
    """Add up the columns ``(T, B, W)`` of each hidden graph and join the groups: ``(T, B, K)``."""
    return _joined([part @ _graph_of_node(part.size(2), hidden_nodes, part.dtype) for part in walks], 2)


def sums_over_nodes_backward(grad: Tensor, hidden_nodes: int) -> list[Tensor]:
    """Repeat the columns ``(T, B, K)`` for each node of a hidden graph, group by group."""
    parts = grad.split(group_size(hidden_nodes), 2)
    return [part @ _graph_of_node(part.size(2) * hidden_nodes, hidden_nodes, part.dtype).t() for part in parts]


@lru_cache(maxsize=64)
def _graph_of_node(width: int, hidden_nodes: int, dtype: torch.dtype) -> Tensor:
    """Which hidden node is of which hidden graph, ``(W, L)``: products with it are the fastest short sums."""
    return torch.eye(width // hidden_nodes, dtype=dtype, device="cpu").repeat_interleave(hidden_nodes, 0)


def by_node(values: Floats, y0: Tensor) -> list[Floats]:
    """Repeat one value per hidden graph ``(..., K)`` for each of its nodes, group by group."""
    repeated = np.repeat(values, y0.size(2), -1).astype(_float_type(y0))
    return [np.ascontiguousarray(part) for part in np.split(repeated, np.cumsum(widths(y0))[:-1], -1)]


def of_hidden_nodes(columns: Sequence[Floats], y0: Tensor) -> Floats:
    """One number per hidden node, of all groups: ``(K, M)``."""
    return np.concatenate(columns).reshape(y0.shape[1:])


def arrays(*tensors: Tensor) -> tuple[Any, ...]:
    """Tensors as arrays that share their memory where it is contiguous."""
    return tuple(tensor.detach().contiguous().numpy() for tensor in tensors)


def _float_type(y0: Tensor) -> type[np.floating[Any]]:
    return np.float32 if y0.dtype == torch.float32 else np.float64


def _joined(parts: Sequence[Tensor], dim: int) -> Tensor:
    return torch.cat(list(parts), dim) if len(parts) > 1 else parts[0]

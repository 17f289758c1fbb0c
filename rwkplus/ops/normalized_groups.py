"""Steps of a group of hidden graphs on all egonets, which normalization joins between steps.

Walks of all egonets do not fit into caches, so each pass over them does all it can with a part before it turns to the
next: normalizes what the last step reached, matches it, and takes the next step from there. Only what is reached is
kept; normalizing it once more costs less than memory.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from rwkplus.ops import egonet_loops as loops
from rwkplus.ops.egonet_groups import Part, float_type, parts_of, zero_gradients
from rwkplus.ops.egonet_loops import Bank, Moments, Plan
from rwkplus.ops.step_statistics import Floats


class Group:
    """A group of hidden graphs and the walks of all egonets with it.

    Args:
        bank: The hidden graphs.
        parts: The egonets.
        reached: Where walkers get in each step ``(T, R, W)``.
        walks: For each step, sums over the members of each egonet ``(T, B, W)``, or the gradients of these.
    """

    def __init__(self, bank: Bank, parts: Sequence[Part], reached: Floats, walks: Floats) -> None:
        self.bank, self.parts, self.reached, self.walks = bank, parts, reached, walks
        steps, _, width = reached.shape
        self.lines = np.empty((steps, 2, width), reached.dtype)
        """Slope and shift of each step and column, set when its moments are known."""
        self._room = np.empty((max((part.plan.node.size for part in parts), default=0), width), reached.dtype)

    def take_step(self, step: int, match_all: bool, measure: bool) -> Moments:
        """Match what the step before has reached, if any, and go on; return the moments, if wanted."""
        width = self.reached.shape[2]
        moments = Moments(np.zeros(1), np.zeros(width), np.zeros(width))
        for part in self.parts:
            normal = self.match(step - 1, part) if step > 0 else self._room  # not read in the first step
            reached = self.reached[step, part.slots]
            loops.take_step(part.plan, self.bank, step == 0, match_all, measure, normal, reached, moments)
        return moments

    def match(self, step: int, part: Part) -> Floats:
        """Match what a step has reached; return it normalized."""
        normal = self.normalized(step, part)
        loops.match(part.plan, self.bank, normal, self.walks[step, part.egonets])
        return normal

    def match_last(self) -> None:
        """Match what the last step has reached."""
        for part in self.parts:
            self.match(len(self.reached) - 1, part)

    def normalized(self, step: int, part: Part) -> Floats:
        """What a step has reached, on a line and through the sigmoid; there until the next call."""
        rows: Floats = self._room[: part.plan.node.size]
        loops.scale_and_shift(self.reached[step, part.slots], *self.lines[step], rows)
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
        self.grads = zero_gradients(group.bank)
        self._walkers = np.zeros_like(group.reached[0])

    def match_last(self) -> Floats:
        """Begin with the last step; sums as in :func:`rwkplus.ops.egonet_loops.match_backward` ``(2, W)``."""
        sums, step = np.zeros((2, self.means.shape[1])), len(self.means) - 1
        for part in self.group.parts:
            self._match(step, part, self.group.normalized(step, part), sums)
        return sums

    def take_step(self, step: int, lines: Floats) -> Floats:
        """Go back one step, and through the matching before it; the same sums for that one."""
        group, sums = self.group, np.zeros((2, self.means.shape[1]))
        for part in group.parts:
            normal = group.normalized(step - 1, part) if step > 0 else group.reached[0, part.slots]  # not read
            rows = group.reached[step, part.slots], normal, self._walkers[part.slots]
            loops.take_step_backward(part.plan, group.bank, step == 0, self.match_all, lines, *rows, self.grads)
            if step > 0:
                self._match(step - 1, part, normal, sums)
        return sums

    def _match(self, step: int, part: Part, normal: Floats, sums: Floats) -> None:
        group = self.group
        rows = group.reached[step, part.slots], normal, group.walks[step, part.egonets], self._walkers[part.slots]
        loops.match_backward(part.plan, group.bank, self.match_all, self.means[step], *rows, self.grads, sums)


def groups_of(banks: Sequence[Bank], plan: Plan, kept: Tensor, walks: Sequence[Tensor]) -> list[Group]:
    """Cut what is kept of all groups, see :func:`room_for`."""
    parts, slots, steps = parts_of(plan), plan.node.size, walks[0].size(0)
    reached = kept.split([walk.size(2) * steps * slots for walk in walks])
    return [
        Group(bank, parts, own.view(steps, slots, walk.size(2)).numpy(), walk.numpy())
        for bank, own, walk in zip(banks, reached, walks, strict=True)
    ]


def room_for(steps: int, slots: int, y0: Tensor) -> Tensor:
    """Memory for all that is reached, by numpy: it asks for large pages, and the first touch of small ones is slow."""
    return torch.from_numpy(np.empty(steps * slots * y0.size(1) * y0.size(2), float_type(y0)))

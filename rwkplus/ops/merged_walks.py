"""Walk kernels of kinds of nodes with StepNorm between lines 4 and 5, on the CPU, with a hand-written backward pass.

The slow twin is :func:`rwkplus.functional.merged_walks.merged_scores` with :class:`rwkplus.nn.StepNorm`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import njit
from torch import Tensor, einsum
from torch.autograd.function import once_differentiable

from rwkplus.ops import egonet_loops as loops
from rwkplus.ops.egonet_groups import arrays, by_node, float_type, zero_gradients
from rwkplus.ops.egonet_loops import BLOCK, LOOP, Bank, Moments, Plan
from rwkplus.ops.precision import in_full_precision
from rwkplus.ops.step_statistics import Floats, StepNormState, gradient_lines, moments_of_step


class Kinds(NamedTuple):
    """Kinds of nodes after a step, and where edges lead from them."""

    color: Tensor  # (C,): row of the similarities
    nodes: Tensor  # (C,): how many nodes are of each
    ptr: Tensor  # (C + 1,): first edge of each
    col: Tensor  # (F,): kind before the step


class Norm(NamedTuple):
    """:class:`StepNormState` in arrays, with the mean and variance that were used."""

    weight: Floats
    bias: Floats
    mean: Floats
    var: Floats
    training: bool
    sync: bool
    eps: float


class Step(NamedTuple):
    """What is kept of a step for the backward pass."""

    plan: Plan
    walkers: Tensor  # (C', K, M): before it
    reached: Floats  # (C, W)
    normal: Floats  # (C, W): the same after StepNorm


def score_merged(
    y0: Tensor, adj: Tensor, levels: Sequence[Kinds], norm: StepNormState, match_all: bool
) -> tuple[list[Tensor], Tensor]:
    """Score every kind of every step with every hidden graph.

    Args:
        y0: Similarity of kinds after no step, which are colors, to hidden nodes ``(C, K, M)``.
        adj: Adjacencies of the hidden graphs ``(K, M, M)``.
        levels: Kinds after one step, two steps, and so on.
        norm: StepNorm.
        match_all: RWK+ if true, RWK- otherwise.

    Returns:
        Scores ``(C, K)`` of each step; mean, variance, and the number of values they were taken of ``(3, T, K)``.
    """
    *scores, moments = _MergedWalks.apply(y0, adj, *norm[:4], tuple(levels), match_all, *norm[4:])  # type: ignore[no-untyped-call]
    return scores, moments


class _MergedWalks(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, y0: Tensor, adj: Tensor, *others: Any) -> tuple[Tensor, ...]:
        *state, ctx.levels, ctx.match_all, training, sync, eps = others
        weight, bias, mean, var = arrays(*(part.double() for part in state))
        norm = Norm(weight, bias, mean, var, training, sync, eps)
        scores, ctx.norm, number, ctx.steps = _score(y0, adj, ctx.levels, norm, ctx.match_all)
        ctx.save_for_backward(y0, adj)
        moments = torch.from_numpy(np.stack([ctx.norm.mean, ctx.norm.var, number])).to(y0.dtype)
        ctx.mark_non_differentiable(moments)
        return *scores, moments

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        y0, adj = ctx.saved_tensors
        found = _score_backward(y0, grads[:-1], adj, ctx.levels, ctx.norm, ctx.match_all, ctx.steps)
        return *found, *(None,) * 7


@in_full_precision
def _score(
    y0: Tensor, adj: Tensor, levels: Sequence[Kinds], norm: Norm, match_all: bool
) -> tuple[list[Tensor], Norm, Floats, list[Step]]:
    """Scores, the moments that were used, of how many values they are, and what is kept."""
    bank, number, y = _bank(y0), np.zeros_like(norm.weight), y0
    means, variances = norm.mean.copy(), norm.var.copy()
    scores, steps = [], []
    for i, kinds in enumerate(levels):
        plan, moved = _plan(kinds, y0), einsum("klm,ckm->ckl", adj, y).flatten(1)
        reached, normal, walks, walkers = (np.empty((len(plan.node), moved.size(1)), float_type(y0)) for _ in range(4))
        _reach(*arrays(kinds.ptr, kinds.col, moved), reached)
        if norm.training:
            found = Moments(np.zeros(1), np.zeros(moved.size(1)), np.zeros(moved.size(1)))
            loops.measure(plan, reached, found)
            center, squares = (part.reshape(y0.shape[1:]) for part in (found.mean, found.square))
            means[i], variances[i], number[i] = moments_of_step(center, squares, int(found.number[0]), norm.sync)
        slope = norm.weight[i] / np.sqrt(variances[i] + norm.eps)
        loops.scale_and_shift(reached, *by_node(np.stack([slope, norm.bias[i] - means[i] * slope]), y0), normal)
        torch.from_numpy(normal).sigmoid_()
        loops.match(plan, bank, normal, walks)
        loops.leave(plan, 0, len(walkers), bank, match_all, normal, walkers)
        steps.append(Step(plan, y, reached, normal))
        scores.append(_unflattened(walks, y0).sum(2))
        y = _unflattened(walkers, y0)
    return scores, norm._replace(mean=means, var=variances), number, steps


@in_full_precision
def _score_backward(
    y0: Tensor,
    grads: Sequence[Tensor],
    adj: Tensor,
    levels: Sequence[Kinds],
    norm: Norm,
    match_all: bool,
    steps: Sequence[Step],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of similarities, adjacencies, weight and bias."""
    bank = _bank(y0)
    over, grad_adj = zero_gradients(bank), torch.zeros_like(adj)
    grad_weight, grad_bias = np.empty_like(norm.weight), np.empty_like(norm.weight)
    inverses = 1 / np.sqrt(norm.var + norm.eps)
    slopes, grad = norm.weight * inverses, np.zeros_like(steps[-1].reached)
    for i, (kinds, step) in reversed(list(enumerate(zip(levels, steps, strict=True)))):
        walks = grads[i].unsqueeze(2).expand(-1, -1, y0.size(2)).flatten(1)
        (mean,), sums = by_node(norm.mean[i : i + 1], y0), np.zeros((2, grad.shape[1]))
        rows = step.reached, step.normal, *arrays(walks), grad
        loops.match_backward(step.plan, bank, match_all, mean, *rows, over, sums)
        total, product = sums.reshape(2, *y0.shape[1:]).sum(2)
        grad_weight[i], grad_bias[i] = product * inverses[i], total
        values = int(kinds.nodes.sum()) * y0.size(2)
        known = slopes[i], inverses[i], norm.mean[i]
        lines = gradient_lines(total, product, *known, values, norm.training, norm.sync)
        back = np.zeros((len(step.walkers), grad.shape[1]), grad.dtype)
        places = arrays(kinds.ptr, kinds.col, kinds.nodes.to(y0.dtype))
        _reach_backward(*places, by_node(lines, y0), step.reached, grad, back)
        moved = _unflattened(back, y0)
        grad_adj += einsum("ckl,ckm->klm", moved, step.walkers)
        grad = einsum("klm,ckl->ckm", adj, moved).flatten(1).contiguous().numpy()
    colors = _unflattened(over.colors + grad, y0)
    by_weight, by_bias = (torch.from_numpy(part).to(y0.dtype) for part in (grad_weight, grad_bias))
    return colors, grad_adj, by_weight, by_bias


def _plan(kinds: Kinds, y0: Tensor) -> Plan:
    """Kinds as egonets of a single member and no link, which is how they are matched and measured."""
    color, count = arrays(kinds.color, kinds.nodes.to(y0.dtype))
    first, none = np.arange(color.size + 1), np.empty(0, np.int64)
    blocks = np.append(np.arange(0, color.size, BLOCK), color.size)
    return Plan(color, first, np.zeros_like(first), blocks, none, none, none, np.empty((0, 1), count.dtype), count, 1)


def _bank(y0: Tensor) -> Bank:
    """The colors of hidden graphs, side by side; steps on them are left to torch, for there are few kinds to move."""
    (colors,) = arrays(y0.flatten(1))
    none = np.empty((0, 0, 0), colors.dtype)
    return Bank(colors, none, none)


def _unflattened(rows: Floats, y0: Tensor) -> Tensor:
    return torch.from_numpy(rows).view(-1, *y0.shape[1:])


@njit(**LOOP)
def _reach(ptr: Any, col: Any, moved: Any, reached: Any) -> None:
    """Line 4, the step on G: every kind gathers from where its edges lead."""
    for c in range(reached.shape[0]):
        for j in range(reached.shape[1]):
            reached[c, j] = 0
        for e in range(ptr[c], ptr[c + 1]):
            before = col[e]
            for j in range(reached.shape[1]):
                reached[c, j] += moved[before, j]


@njit(**LOOP)
def _reach_backward(ptr: Any, col: Any, count: Any, lines: Any, reached: Any, grad: Any, moved: Any) -> None:
    """Turn ``grad`` of the step before the sigmoid into that of what was reached, and spread it back along edges."""
    for c in range(reached.shape[0]):
        for j in range(reached.shape[1]):
            grad[c, j] = lines[0, j] * grad[c, j] + count[c] * (lines[1, j] * reached[c, j] + lines[2, j])
        for e in range(ptr[c], ptr[c + 1]):
            before = col[e]
            for j in range(reached.shape[1]):
                moved[before, j] += grad[c, j]

"""Walk kernels of all egonets with StepNorm between lines 4 and 5, on the CPU, as one torch operator.

Normalization joins all egonets at every step, so they take their steps together. The slow twin is
:func:`rwkplus.functional.egonet_scores` with :class:`rwkplus.nn.StepNorm` as ``normalize``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rwkplus.ops.egonet_groups import (
    arrays,
    banks_backward,
    banks_of,
    by_node,
    plan_of,
    sums_over_nodes,
    sums_over_nodes_backward,
    widths,
)
from rwkplus.ops.normalized_groups import Group, GroupBackward, groups_of, room_for
from rwkplus.ops.precision import in_full_precision
from rwkplus.ops.step_statistics import Floats, gradient_lines, moments_of_step


@in_full_precision
def _score(
    y0: Tensor,
    hidden: Tensor,
    egonets: Sequence[Tensor],
    count: Tensor,
    weight: Tensor,
    bias: Tensor,
    mean: Tensor,
    var: Tensor,
    match_all: bool,
    training: bool,
    sync: bool,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Scores and moments, and what is kept for the backward pass."""
    weights, biases, *known = arrays(*(part.double() for part in (weight, bias, mean, var)))
    moments = np.stack([*known, np.zeros_like(weights)])
    plan, rows = plan_of(egonets, y0, count), int((count * egonets[1]).sum())
    kept = room_for(len(weights), egonets[0].numel(), y0)
    walks = [y0.new_empty(len(weights), count.numel(), width) for width in widths(y0)]
    groups = groups_of(banks_of(y0, hidden), plan, kept, walks)
    for step, (center, spread, values) in enumerate(moments.swapaxes(0, 1)):
        found = [group.take_step(step, match_all, training) for group in groups]
        if training:
            means, squares = (_joined(part, y0) for part in zip(*((m.mean, m.square) for m in found), strict=True))
            center[:], spread[:], values[:] = moments_of_step(means, squares, rows, sync)
        _set_lines(groups, step, weights[step] / np.sqrt(spread + eps), center, biases[step], y0)
    for group in groups:
        group.match_last()
    return sums_over_nodes(walks, y0.size(2)), torch.from_numpy(moments).to(y0.dtype), kept


@in_full_precision
def _score_backward(
    grad: Tensor,
    y0: Tensor,
    hidden: Tensor,
    egonets: Sequence[Tensor],
    count: Tensor,
    weight: Tensor,
    bias: Tensor,
    mean: Tensor,
    var: Tensor,
    kept: Tensor,
    match_all: bool,
    training: bool,
    sync: bool,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of ``y0``, ``hidden``, weight and bias."""
    weights, biases, means, variances = arrays(*(part.double() for part in (weight, bias, mean, var)))
    plan, number = plan_of(egonets, y0, count), int((count * egonets[1]).sum()) * y0.size(2)
    banks = banks_of(y0, hidden)
    groups = groups_of(banks, plan, kept, sums_over_nodes_backward(grad, y0.size(2)))
    inverses = 1 / np.sqrt(variances + eps)
    slopes = weights * inverses
    for step in range(len(weights)):
        _set_lines(groups, step, slopes[step], means[step], biases[step], y0)
    back = [GroupBackward(group, part, match_all) for group, part in zip(groups, _by_node(means, y0), strict=True)]
    sums = [group.match_last() for group in back]
    grad_weight, grad_bias = np.empty_like(weights), np.empty_like(weights)
    for step in reversed(range(len(weights))):
        total, product = (_joined(part, y0).sum(1) for part in zip(*sums, strict=True))
        grad_weight[step], grad_bias[step] = product * inverses[step], total
        known = slopes[step], inverses[step], means[step]
        lines = gradient_lines(total, product, *known, number, training, sync)
        sums = [group.take_step(step, part) for group, part in zip(back, _by_node(lines, y0), strict=True)]
    grad_norm = [torch.from_numpy(part).to(weight.dtype) for part in (grad_weight, grad_bias)]
    return *banks_backward(y0, hidden, banks, [group.grads for group in back]), grad_norm[0], grad_norm[1]


normalized_walks = torch.library.custom_op("rwkplus::normalized_walks", _score, mutates_args=(), device_types="cpu")
normalized_walks_backward = torch.library.custom_op(
    "rwkplus::normalized_walks_backward", _score_backward, mutates_args=(), device_types="cpu"
)


@normalized_walks.register_fake
def _(
    y0: Tensor, hidden: Tensor, egonets: Sequence[Tensor], count: Tensor, weight: Tensor, *_: object
) -> tuple[Tensor, Tensor, Tensor]:
    steps, num_hidden = weight.shape
    kept = y0.new_empty(steps * egonets[0].numel() * num_hidden * y0.size(2))
    return y0.new_empty(steps, count.numel(), num_hidden), y0.new_empty(3, steps, num_hidden), kept


@normalized_walks_backward.register_fake
def _(
    grad: Tensor, y0: Tensor, hidden: Tensor, egonets: Sequence[Tensor], count: Tensor, weight: Tensor, *_: object
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return tuple(part.new_empty(part.shape) for part in (y0, hidden, weight, weight))  # type: ignore[return-value]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    y0, hidden, egonets, count, weight, bias, *known, ctx.match_all, ctx.training, ctx.sync, ctx.eps = inputs
    _, moments, kept = output
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(moments, kept)
    used = moments[:2] if ctx.training else known
    ctx.save_for_backward(y0, hidden, *egonets, count, weight, bias, *used, kept)


def _differentiate(
    ctx: Any, grad: Tensor | None, *_: None, backward: Any = normalized_walks_backward
) -> tuple[Any, ...]:
    y0, hidden, *egonets, count, weight, bias, mean, var, kept = ctx.saved_tensors
    grads: tuple[Tensor | None, ...] = (None,) * 4
    if grad is not None:
        options = (ctx.match_all, ctx.training, ctx.sync, ctx.eps)
        grads = backward(grad, y0, hidden, egonets, count, weight, bias, mean, var, kept, *options)
    return *grads[:2], [None] * len(egonets), None, *grads[2:], *(None,) * 6


normalized_walks.register_autograd(_differentiate, setup_context=_keep)


class _Eager(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> tuple[Tensor, Tensor, Tensor]:
        outputs = _score(*inputs)
        _keep(ctx, inputs, outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, *_: None) -> tuple[Any, ...]:
        # The operator knows that it has no derivative.
        backward = normalized_walks_backward if torch.is_grad_enabled() else _score_backward
        y0, hidden, _, *others = _differentiate(ctx, grad, backward=backward)
        return y0, hidden, None, *others


def score_normalized(
    y0: Tensor,
    hidden: Tensor,
    egonets: Sequence[Tensor],
    count: Tensor,
    weight: Tensor,
    bias: Tensor,
    mean: Tensor,
    var: Tensor,
    match_all: bool,
    training: bool,
    sync: bool,
    eps: float,
) -> tuple[Tensor, Tensor]:
    """Score every egonet with every hidden graph.

    Args:
        y0: Similarity of nodes to hidden nodes ``(N, K, M)``.
        hidden: Adjacencies of the hidden graphs for each of C edge colors ``(K, M, M, C)``.
        egonets: As in :func:`rwkplus.ops.egonet_walks.score_egonets`.
        count: How often each egonet occurs ``(B,)``, for mean and variance.
        weight: Of each step and hidden graph ``(T, K)``.
        bias: The same.
        mean: The same, used outside of training.
        var: The same.
        match_all: RWK+ if true, RWK- otherwise.
        training: Take mean and variance of the egonets at hand instead of the given ones.
        sync: Take them over all processes.
        eps: Added to variances.

    Returns:
        Scores ``(T, B, K)``; mean, variance, and the number of values they were taken of ``(3, T, K)``.
    """
    call: Any = normalized_walks if torch.compiler.is_compiling() else _Eager.apply
    scores, moments, _ = call(y0, hidden, egonets, count, weight, bias, mean, var, match_all, training, sync, eps)
    return scores, moments


def _set_lines(groups: Sequence[Group], step: int, scale: Floats, mean: Floats, bias: Floats, y0: Tensor) -> None:
    for group, line in zip(groups, _by_node(np.stack([scale, bias - mean * scale]), y0), strict=True):
        group.lines[step] = line


def _joined(columns: Sequence[Floats], y0: Tensor) -> Floats:
    """One number per hidden node, of all groups: ``(K, M)``."""
    return np.concatenate(columns).reshape(y0.shape[1:])


def _by_node(values: Floats, y0: Tensor) -> list[Floats]:
    """Repeat one value per hidden graph ``(..., K)`` for each of its nodes, group by group."""
    return [np.ascontiguousarray(part) for part in np.split(by_node(values, y0), np.cumsum(widths(y0))[:-1], -1)]

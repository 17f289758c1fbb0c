"""Walk kernels of all egonets with StepNorm between lines 4 and 5, on the CPU, as one torch operator.

Normalization joins all egonets at every step, so they take their steps together. What is reached in a step and what
normalization makes of it is kept for the backward pass, nothing else. The slow twin is
:func:`rwkplus.functional.egonet_scores` with :class:`rwkplus.nn.StepNorm` as ``normalize``.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch import distributed as dist

from rwkplus.ops import egonet_loops as loops
from rwkplus.ops.egonet_groups import (
    arrays,
    banks_backward,
    banks_of,
    plan_of,
    sums_over_nodes,
    sums_over_nodes_backward,
    zero_gradients,
)
from rwkplus.ops.egonet_loops import GROUP, Bank

Floats = NDArray[np.floating[Any]]


@torch.library.custom_op("rwkplus::normalized_walks", mutates_args=(), device_types="cpu")
def normalized_walks(
    y0: Tensor,
    hidden: Tensor,
    egonets: Sequence[Tensor],
    norm: Sequence[Tensor],
    match_all: bool,
    training: bool,
    sync: bool,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Score every egonet with every hidden graph.

    Args:
        y0: Similarity of nodes to hidden nodes ``(N, K, M)``.
        hidden: Adjacencies of the hidden graphs for each of C edge colors ``(K, M, M, C)``.
        egonets: As in :func:`rwkplus.ops.egonet_walks.egonet_walks`.
        norm: Weight, bias, mean and variance of each step and hidden graph, ``(T, K)`` each.
        match_all: RWK+ if true, RWK- otherwise.
        training: Take mean and variance of the egonets at hand instead of the given ones.
        sync: Take them over all processes.
        eps: Added to variances.

    Returns:
        Scores ``(T, N, K)``; mean, variance, and the number of values they were taken of ``(3, T, K)``; what is kept
        for the backward pass.
    """
    weight, bias, means, variances = arrays(*(part.double() for part in norm))
    moments = np.stack([means, variances, np.zeros_like(means)])
    kept = y0.new_empty(2, len(weight) * egonets[0].numel() * y0[:1].numel())
    plan, groups = plan_of(egonets, y0.dtype), _groups(banks_of(y0, hidden), y0, kept, len(weight))
    for step, (mean, var, count) in enumerate(moments.swapaxes(0, 1)):
        total = [loops.take_step(plan, g.bank, step, match_all, g.reached, g.normal) for g in groups]
        if training:
            mean[:], count[:] = _average(_by_graph(total, y0), plan.node.size * y0.size(2), sync)
            rows = zip(groups, _by_node(mean, y0), strict=True)
            squares = [loops.squared_deviations(plan, step, g.reached, row) for g, row in rows]
            var[:], _ = _average(_by_graph(squares, y0), plan.node.size * y0.size(2), sync)
        scale = weight[step] / np.sqrt(var + eps)
        lines = zip(groups, _by_node(scale, y0), _by_node(bias[step] - mean * scale, y0), strict=True)
        for group, slope, shift in lines:
            loops.scale_and_shift(step, group.reached, slope, shift, group.normal)
            torch.from_numpy(group.normal[step]).sigmoid_()
            loops.match(plan, group.bank, step, group.normal, group.walks)
    scores = sums_over_nodes([torch.from_numpy(g.walks) for g in groups], y0.size(2))
    return scores, torch.from_numpy(moments).to(y0.dtype), kept


@normalized_walks.register_fake
def _(
    y0: Tensor,
    hidden: Tensor,
    egonets: Sequence[Tensor],
    norm: Sequence[Tensor],
    match_all: bool,
    training: bool,
    sync: bool,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    steps, num_hidden = norm[0].shape
    kept = y0.new_empty(2, steps * egonets[0].numel() * num_hidden * y0.size(2))
    return y0.new_empty(steps, *y0.shape[:2]), y0.new_empty(3, steps, num_hidden), kept


@torch.library.custom_op("rwkplus::normalized_walks_backward", mutates_args=(), device_types="cpu")
def normalized_walks_backward(
    grad: Tensor,
    y0: Tensor,
    hidden: Tensor,
    egonets: Sequence[Tensor],
    norm: Sequence[Tensor],
    kept: Tensor,
    match_all: bool,
    training: bool,
    sync: bool,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of the scores with respect to ``y0``, ``hidden``, weight and bias."""
    weight, means, variances = arrays(*(part.double() for part in norm))
    plan, banks = plan_of(egonets, y0.dtype), banks_of(y0, hidden)
    walks = sums_over_nodes_backward(grad, y0.size(2))
    groups = _groups(banks, y0, kept, len(weight), walks)
    grads, walkers = [zero_gradients(bank) for bank in banks], [np.zeros_like(g.normal[0]) for g in groups]
    grad_weight, grad_bias = np.empty_like(weight), np.empty_like(weight)
    for step in reversed(range(len(weight))):
        rows = zip(groups, walkers, _by_node(means[step], y0), grads, strict=True)
        sums = [loops.match_backward(plan, *g, step, match_all, *row) for g, *row in rows]
        total, product = (_by_graph([part[i] for part in sums], y0) for i in (0, 1))
        inverse = 1 / np.sqrt(variances[step] + eps)
        grad_weight[step], grad_bias[step] = product * inverse, total
        slope = weight[step] * inverse
        lines = np.stack([slope, np.zeros_like(slope), np.zeros_like(slope)])
        if training:
            (total, product), _ = _average(np.stack([total, product]), plan.node.size * y0.size(2), sync)
            lines[1] = -slope * inverse**2 * product
            lines[2] = -slope * total - lines[1] * means[step]
        columns = [np.stack(rows) for rows in zip(*(_by_node(line, y0) for line in lines), strict=True)]
        for group, *row in zip(groups, walkers, columns, grads, strict=True):
            loops.take_step_backward(plan, *group, step, match_all, *row)
    grad_norm = [torch.from_numpy(part).to(norm[0].dtype) for part in (grad_weight, grad_bias)]
    return *banks_backward(y0, hidden, banks, grads), grad_norm[0], grad_norm[1]


@normalized_walks_backward.register_fake
def _(
    grad: Tensor,
    y0: Tensor,
    hidden: Tensor,
    egonets: Sequence[Tensor],
    norm: Sequence[Tensor],
    kept: Tensor,
    match_all: bool,
    training: bool,
    sync: bool,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return tuple(part.new_empty(part.shape) for part in (y0, hidden, norm[0], norm[0]))  # type: ignore[return-value]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    y0, hidden, egonets, (weight, _, mean, var), *ctx.options = inputs
    _, moments, kept = output
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(moments, kept)
    ctx.save_for_backward(y0, hidden, *egonets, weight, *(moments[:2] if ctx.options[1] else (mean, var)), kept)


def _differentiate(ctx: Any, grad: Tensor | None, *_: None) -> tuple[Any, ...]:
    y0, hidden, *egonets, weight, mean, var, kept = ctx.saved_tensors
    if grad is None:
        return None, None, [None] * len(egonets), [None] * 4, None, None, None, None
    grads = normalized_walks_backward(grad, y0, hidden, egonets, [weight, mean, var], kept, *ctx.options)
    return *grads[:2], [None] * len(egonets), [*grads[2:], None, None], None, None, None, None


normalized_walks.register_autograd(_differentiate, setup_context=_keep)


class _Group(NamedTuple):
    """A group of hidden graphs and the walks of all egonets with it."""

    bank: Bank
    reached: Floats  # (T, R, W)
    normal: Floats  # (T, R, W)
    walks: Floats  # (T, N, W): sums over the members of each egonet


def _groups(
    banks: Sequence[Bank], y0: Tensor, kept: Tensor, steps: int, walks: Sequence[Tensor] | None = None
) -> list[_Group]:
    """Cut what is kept into groups; the walks, or their gradients if these are given, are not kept."""
    if walks is None:
        walks = [y0.new_empty(steps, *bank.colors.shape) for bank in banks]
    sizes = [kept.size(1) // y0[:1].numel() * bank.colors.shape[1] for bank in banks]
    groups = []
    for bank, part, walk in zip(banks, kept.split(sizes, 1), walks, strict=True):
        reached, normal = part.view(2, steps, -1, bank.colors.shape[1]).numpy()
        groups.append(_Group(bank, reached, normal, walk.numpy()))
    return groups


def _by_graph(columns: list[Floats], y0: Tensor) -> Floats:
    """Sum columns of all groups over the nodes of each hidden graph: ``(K,)``."""
    sums: Floats = np.concatenate(columns).reshape(y0.shape[1:]).sum(1)
    return sums


def _by_node(values: Floats, y0: Tensor) -> list[Floats]:
    """Repeat one value per hidden graph for each of its nodes, group by group."""
    width = GROUP * y0.size(2)
    row: Floats = np.repeat(values, y0.size(2)).astype(np.float32 if y0.dtype == torch.float32 else np.float64)
    return [row[i : i + width] for i in range(0, row.size, width)]


def _average(total: Floats, count: int, sync: bool) -> tuple[Floats, int]:
    """Divide sums by a count, both taken over all processes if wanted."""
    if sync:
        both = torch.from_numpy(np.append(total.ravel(), count))
        dist.all_reduce(both)
        total, count = both[:-1].numpy().reshape(total.shape), int(both[-1])
    return total / max(count, 1), count

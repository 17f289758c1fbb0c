"""Walk kernels of all egonets on the CPU, perhaps with StepNorm between lines 4 and 5, as one torch operator.

The slow twin is :func:`rwkplus.functional.egonet_scores`. The operator has first derivatives only, written by hand, and
none with respect to edges.

Small batches take less time than torch needs to find its way to an operator of ours, so that only compiled models call
the operator; everyone else, a function.
"""

# ruff: noqa: ANN401 -- torch's contexts have no type of their own

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch import distributed as dist

from rwkplus.errors import ParameterError
from rwkplus.functional.kernels import Egonets, check_egonets, color_similarity, finite_scores
from rwkplus.nn.egonet_groups import (
    Floats,
    Group,
    GroupBackward,
    arrays,
    banks_backward,
    banks_of,
    by_node,
    groups_of,
    of_hidden_nodes,
    plan_of,
    room_for,
    sums_over_nodes,
    sums_over_nodes_backward,
    widths,
)
from rwkplus.tensors import in_full_precision, learns


class StepNormState(NamedTuple):
    """What StepNorm knows of each step and hidden graph, and how it is to be used."""

    weight: Float[Tensor, "T K"]
    bias: Float[Tensor, "T K"]
    mean: Float[Tensor, "T K"]
    """Used outside of training, and so is the variance."""

    var: Float[Tensor, "T K"]
    training: bool
    """Take mean and variance of the walks at hand."""

    sync: bool
    """Take them over all processes."""

    eps: float
    """Added to variances."""

    @classmethod
    def none(cls, steps: int, like: Tensor) -> "StepNormState":
        """No normalization: there is no column."""
        none = like.new_empty(steps, 0)
        return cls(none, none, none, none, training=False, sync=False, eps=0.0)


class _How(NamedTuple):
    """Numbers that the operators take as one list."""

    match_all: float
    training: float
    sync: float
    eps: float


def compiled_egonet_scores(
    x: Float[Tensor, "N D"],
    egonets: Egonets,
    hidden_x: Float[Tensor, "K M _D"],
    hidden_adj: Float[Tensor, "K M M"],
    *,
    steps: int,
    norm: StepNormState | None = None,
    match_all: bool = True,
    hidden_edge_attr: Float[Tensor, "K M M C"] | None = None,
    include_zero_step: bool = False,
) -> tuple[Float[Tensor, "T B K"], Float[Tensor, "3 t k"]]:
    """:func:`rwkplus.functional.egonet_scores` by compiled loops, for open walks in float32 or float64 on the CPU.

    Args:
        x: Node features.
        egonets: Neighborhood of every node. Gradients by their edges are lost.
        hidden_x: Node features of the hidden graphs.
        hidden_adj: Their weighted adjacencies.
        steps: Longest walk, counted in edges.
        norm: StepNorm between lines 4 and 5, which counts egonets by their ``multiplicity``.
        match_all: RWK+ if true, RWK- otherwise.
        hidden_edge_attr: Edge colors of the hidden graphs.
        include_zero_step: Put the zero-edge term before the first step.

    Returns:
        Scores, and the mean, variance and number of the walks that were normalized in each step, for training.

    Example:
        >>> from rwkplus.nn import extract_egonets
        >>> edges, x = torch.tensor([[0, 1], [1, 0]]), torch.ones(2, 1)
        >>> scores, _ = compiled_egonet_scores(x, extract_egonets(edges, 2), x[None], 1 - torch.eye(2)[None], steps=1)
        >>> scores.flatten()
        tensor([4., 4.])
    """
    check_egonets(x, egonets, hidden_x, hidden_adj, hidden_edge_attr, steps)
    if learns(egonets.weight, None if hidden_edge_attr is None else egonets.attr):
        raise ParameterError(
            "compiled loops have no gradients of edges.", "Call rwkplus.functional.egonet_scores, which has them."
        )
    y0 = color_similarity(x, hidden_x).to(hidden_adj.dtype)  # another type under autocast
    hidden = hidden_adj.unsqueeze(-1) if hidden_edge_attr is None else hidden_adj.unsqueeze(-1) * hidden_edge_attr
    value = y0.new_empty(egonets.link.size(0), 0) if egonets.weight is None else egonets.weight.view(-1, 1)
    if hidden_edge_attr is not None and egonets.attr is not None:
        value = egonets.attr if egonets.weight is None else egonets.attr * value
    count = torch.ones_like(egonets.size) if egonets.multiplicity is None else egonets.multiplicity
    norm = StepNormState.none(steps, y0) if norm is None else norm
    how = [float(part) for part in _How(match_all, *norm[4:])]
    fixed = [*egonets[:4], value.to(y0.dtype), count, *norm[2:4]]
    call: Any = egonet_walks if torch.compiler.is_compiling() else _Eager.apply
    scores, moments, _ = call(y0, hidden, *norm[:2], fixed, how)
    if include_zero_step:
        squares = (y0 * y0).sum(-1).index_select(0, egonets.member)
        zero = torch.zeros_like(scores[:1]).index_add(1, egonets.owner, squares.unsqueeze(0))
        scores = torch.cat([zero, scores])
    return finite_scores(scores), moments


@in_full_precision
def _score(
    y0: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor, fixed: Sequence[Tensor], how: Sequence[float]
) -> tuple[Tensor, Tensor, Tensor]:
    """Scores and moments, and what is kept for the backward pass.

    Args:
        y0: Similarity of nodes to hidden nodes ``(N, K, M)``.
        hidden: Adjacencies of the hidden graphs for each of C edge colors ``(K, M, M, C)``.
        weight: Of StepNorm ``(T, K)``, or ``(T, 0)`` for none.
        bias: The same.
        fixed: What has no gradient: members, sizes, links and their numbers, values of links, count of each egonet;
            mean and variance that are used outside of training.
        how: See :class:`_How`.
    """
    *places, value, count, _, _ = fixed
    options, normalized = _How(*how), weight.size(1) > 0
    weights, biases, *known = arrays(*(part.double() for part in (weight, bias, *fixed[-2:])))
    moments = np.stack([*known, np.zeros_like(weights)])
    kept = room_for(len(weights), places[0].numel(), y0)
    walks = [y0.new_empty(len(weights), count.numel(), width) for width in widths(y0)]
    groups = groups_of(banks_of(y0, hidden), plan_of(places, value, count, y0), kept, walks, normalized)
    rows = int((count * places[1]).sum())
    for step, (center, spread, values) in enumerate(moments.swapaxes(0, 1)):
        found = [group.take_step(step, bool(options.match_all), bool(options.training)) for group in groups]
        if options.training:
            joined = zip(*((part.mean, part.square) for part in found), strict=True)
            means, squares = (of_hidden_nodes(part, y0) for part in joined)
            center[:], spread[:], values[:] = _moments_of_step(means, squares, rows, bool(options.sync))
        if normalized:
            _set_lines(groups, step, weights[step] / np.sqrt(spread + options.eps), center, biases[step], y0)
    for group in groups:
        group.match_last()
    return sums_over_nodes(walks, y0.size(2)), torch.from_numpy(moments).to(y0.dtype), kept


@in_full_precision
def _score_backward(
    grad: Tensor,
    y0: Tensor,
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor,
    fixed: Sequence[Tensor],
    kept: Tensor,
    how: Sequence[float],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of ``y0``, ``hidden``, weight and bias; ``fixed`` ends with the mean and variance that were used."""
    *places, value, count, _, _ = fixed
    options, normalized = _How(*how), weight.size(1) > 0
    weights, biases, means, variances = arrays(*(part.double() for part in (weight, bias, *fixed[-2:])))
    plan, number = plan_of(places, value, count, y0), int((count * places[1]).sum()) * y0.size(2)
    banks = banks_of(y0, hidden)
    groups = groups_of(banks, plan, kept, sums_over_nodes_backward(grad, y0.size(2)), normalized)
    inverses = 1 / np.sqrt(variances + options.eps)
    slopes = weights * inverses
    if normalized:
        for step in range(len(weights)):
            _set_lines(groups, step, slopes[step], means[step], biases[step], y0)
    columns = by_node(means if normalized else np.zeros((len(weights), y0.size(1))), y0)
    back = [GroupBackward(group, part, bool(options.match_all)) for group, part in zip(groups, columns, strict=True)]
    sums = [group.match_last() for group in back]
    grad_weight, grad_bias = np.empty_like(weights), np.empty_like(weights)
    lines = np.stack([np.ones(y0.size(1)), *np.zeros((2, y0.size(1)))])  # without normalization
    for step in reversed(range(len(weights))):
        if normalized:
            total, product = (of_hidden_nodes(part, y0).sum(1) for part in zip(*sums, strict=True))
            grad_weight[step], grad_bias[step] = product * inverses[step], total
            lines = _gradient_lines(total, product, slopes[step], inverses[step], means[step], number, options)
        sums = [group.take_step(step, part) for group, part in zip(back, by_node(lines, y0), strict=True)]
    grad_norm = [torch.from_numpy(part).to(weight.dtype) for part in (grad_weight, grad_bias)]
    return *banks_backward(y0, hidden, banks, [group.grads for group in back]), grad_norm[0], grad_norm[1]


egonet_walks = torch.library.custom_op("rwkplus::egonet_walks", _score, mutates_args=(), device_types="cpu")
egonet_walks_backward = torch.library.custom_op(
    "rwkplus::egonet_walks_backward", _score_backward, mutates_args=(), device_types="cpu"
)


@egonet_walks.register_fake
def _(y0: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor, fixed: Sequence[Tensor], *_: object) -> Any:
    steps, num_hidden = weight.size(0), y0.size(1)
    kept = y0.new_empty(steps * fixed[0].numel() * num_hidden * y0.size(2))
    return y0.new_empty(steps, fixed[1].numel(), num_hidden), y0.new_empty(3, *weight.shape), kept


@egonet_walks_backward.register_fake
def _(grad: Tensor, *inputs: Any) -> Any:
    return tuple(part.new_empty(part.shape) for part in inputs[:4])


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    *learned, fixed, ctx.how = inputs
    _, moments, kept = output
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(moments, kept)
    used = moments[:2] if _How(*ctx.how).training else fixed[-2:]
    ctx.save_for_backward(*learned, kept, *fixed[:-2], *used)


def _differentiate(ctx: Any, grad: Tensor | None, *_: None, backward: Any = egonet_walks_backward) -> tuple[Any, ...]:
    *learned, kept = ctx.saved_tensors[:5]
    fixed = list(ctx.saved_tensors[5:])
    grads = (None,) * 4 if grad is None else backward(grad, *learned, fixed, kept, ctx.how)
    return *grads, [None] * len(fixed), None


egonet_walks.register_autograd(_differentiate, setup_context=_keep)


class _Eager(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> tuple[Tensor, Tensor, Tensor]:
        outputs = _score(*inputs)
        _keep(ctx, inputs, outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, *_: None) -> tuple[Any, ...]:
        # The operator knows that it has no derivative.
        backward = egonet_walks_backward if torch.is_grad_enabled() else _score_backward
        *grads, _, _ = _differentiate(ctx, grad, backward=backward)
        return *grads, None, None


def _set_lines(groups: Sequence[Group], step: int, scale: Floats, mean: Floats, bias: Floats, y0: Tensor) -> None:
    for group, line in zip(groups, by_node(np.stack([scale, bias - mean * scale]), y0), strict=True):
        group.lines[step] = line


def _moments_of_step(means: Floats, squares: Floats, rows: int, sync: bool) -> tuple[Floats, Floats, int]:
    """Join the moments of hidden nodes to those of hidden graphs: mean, variance, number of values.

    Args:
        means: Of each hidden node over all rows ``(K, M)``.
        squares: Sums of the squared deviations from them ``(K, M)``.
        rows: How many rows these are of.
        sync: Over all processes.
    """
    number = rows * means.shape[1]
    center, values = _average(rows * means.sum(1), number, sync)
    spread, _ = _average((squares + rows * (means - center[:, None]) ** 2).sum(1), number, sync)
    return center, spread, values


def _gradient_lines(
    total: Floats, product: Floats, slope: Floats, inverse: Floats, mean: Floats, number: int, how: _How
) -> Floats:
    """Lines ``(3, K)`` that turn gradients before the sigmoid into those of what was reached.

    That is ``lines[0] * gradient + count * (lines[1] * reached + lines[2])``; the last two are how each row acts
    through mean and variance, and nothing where these are not taken of the rows at hand.

    Args:
        total: Sums of the gradients ``(K,)``.
        product: Sums of their products with the deviations from the mean.
        slope: Weight times ``inverse``.
        inverse: One over the standard deviation.
        mean: Of what was reached.
        number: How many values there are.
        how: Whether mean and variance are taken of the rows at hand, and over all processes.
    """
    lines = np.stack([slope, np.zeros_like(total), np.zeros_like(total)])
    if how.training:
        (total, product), _ = _average(np.stack([total, product]), number, bool(how.sync))
        lines[1] = -slope * inverse**2 * product
        lines[2] = -slope * total - lines[1] * mean
    return lines


def _average(total: Floats, count: int, sync: bool) -> tuple[Floats, int]:
    """Divide sums by a count, both taken over all processes if wanted."""
    if sync:
        both = torch.from_numpy(np.append(total.ravel(), count))
        dist.all_reduce(both)
        total, count = both[:-1].numpy().reshape(total.shape), int(both[-1])
    return total / max(count, 1), count

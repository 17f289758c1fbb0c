r"""Walk kernels of all egonets as one torch operator with a backward pass written by hand.

Egonets are ragged, so nothing is padded, and they are small: compiled loops keep a block of them in the first-level
cache for all steps. Backward, the walks are walked again instead of kept.

With :math:`P` for one step of both walkers, the matched walks of Algorithm 1 are :math:`m_i = y_0 \odot P (y_0 \odot
m_{i-1})`, from :math:`m_0 = 1`, and the score of :math:`i` steps is :math:`\langle m_0, m_i \rangle`. For RWK-,
:math:`m_i = P m_{i-1}` from :math:`m_0 = y_0`. If neither edges nor hidden edges have a direction, :math:`P` is
symmetric and the score of :math:`i + j` steps is :math:`\langle m_i, m_j \rangle`: walks meet in the middle, and half
of the steps suffice.

Small batches take less time than torch needs to find its way to an operator of ours, so that only compiled models call
the operators; everyone else, a function.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from rwkplus.ops import egonet_loops as loops
from rwkplus.ops import egonet_tensors
from rwkplus.ops.egonet_groups import (
    banks_backward,
    banks_of,
    plan_of,
    sums_over_nodes,
    sums_over_nodes_backward,
    zero_gradients,
)
from rwkplus.ops.egonet_tensors import is_symmetric
from rwkplus.ops.precision import in_full_precision


@in_full_precision
def _score(
    y0: Tensor, hidden: Tensor, egonets: Sequence[Tensor], steps: int, match_all: bool, compiled: bool
) -> Tensor:
    if not compiled:
        return egonet_tensors.score_egonets(y0, hidden, egonets, steps, match_all)
    plan, symmetric = plan_of(egonets, y0), is_symmetric(hidden, egonets)
    banks = banks_of(y0, hidden)
    walks = [y0.new_empty(steps, egonets[1].numel(), bank.mix.shape[1]) for bank in banks]
    for bank, part in zip(banks, walks, strict=True):
        loops.score_blocks(plan, bank, symmetric, match_all, part.numpy())
    return sums_over_nodes(walks, y0.size(2))


@in_full_precision
def _score_backward(
    grad: Tensor, y0: Tensor, hidden: Tensor, egonets: Sequence[Tensor], match_all: bool, compiled: bool
) -> tuple[Tensor, Tensor]:
    """Gradients of ``y0`` and ``hidden``."""
    if not compiled:
        return egonet_tensors.score_egonets_backward(grad, y0, hidden, egonets, match_all)
    plan, symmetric = plan_of(egonets, y0), is_symmetric(hidden, egonets)
    banks = banks_of(y0, hidden)
    grads = [zero_gradients(bank) for bank in banks]
    for bank, part, over in zip(banks, sums_over_nodes_backward(grad, y0.size(2)), grads, strict=True):
        loops.score_blocks_backward(plan, bank, symmetric, match_all, part.numpy(), over)
    return banks_backward(y0, hidden, banks, grads, symmetric)


egonet_walks = torch.library.custom_op("rwkplus::egonet_walks", _score, mutates_args=())
egonet_walks_backward = torch.library.custom_op("rwkplus::egonet_walks_backward", _score_backward, mutates_args=())


@egonet_walks.register_fake
def _(y0: Tensor, hidden: Tensor, egonets: Sequence[Tensor], steps: int, match_all: bool, compiled: bool) -> Tensor:
    return y0.new_empty(steps, egonets[1].numel(), y0.size(1))


@egonet_walks_backward.register_fake
def _(
    grad: Tensor, y0: Tensor, hidden: Tensor, egonets: Sequence[Tensor], match_all: bool, compiled: bool
) -> tuple[Tensor, Tensor]:
    return y0.new_empty(y0.shape), hidden.new_empty(hidden.shape)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    y0, hidden, egonets, _, ctx.match_all, ctx.compiled = inputs
    ctx.save_for_backward(y0, hidden, *egonets)


def _differentiate(ctx: Any, grad: Tensor, backward: Any = egonet_walks_backward) -> tuple[Any, ...]:
    y0, hidden, *egonets = ctx.saved_tensors
    grads = backward(grad, y0, hidden, egonets, ctx.match_all, ctx.compiled)
    return *grads, [None] * len(egonets), None, None, None


egonet_walks.register_autograd(_differentiate, setup_context=_keep)


class _Eager(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        scores = _score(*inputs)
        _keep(ctx, inputs, scores)
        return scores

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        # The operator knows that it has no derivative.
        backward = egonet_walks_backward if torch.is_grad_enabled() else _score_backward
        y0, hidden, _, *others = _differentiate(ctx, grad, backward)
        return y0, hidden, None, *others


def score_egonets(
    y0: Tensor, hidden: Tensor, egonets: Sequence[Tensor], steps: int, match_all: bool, compiled: bool
) -> Tensor:
    """Score every egonet with every hidden graph.

    Args:
        y0: Similarity of nodes to hidden nodes ``(N, K, M)``.
        hidden: Adjacencies of the hidden graphs for each of C edge colors ``(K, M, M, C)``.
        egonets: Members of all egonets ``(R,)``; how many each has ``(B,)``; edges between members, as positions within
            the egonet ``(F, 2)``; how many each has ``(B,)``; weights and colors of those edges ``(F, C)``, with no
            column if all are 1; whether every edge has an equal opposite, in any number of answers to be joined.
        steps: Edges of the longest walk.
        match_all: RWK+ if true, RWK- otherwise.
        compiled: Compiled loops, on the CPU only, or tensor operations.

    Returns:
        ``(T, B, K)``.
    """
    call: Any = egonet_walks if torch.compiler.is_compiling() else _Eager.apply
    scores: Tensor = call(y0, hidden, egonets, steps, match_all, compiled)
    return scores

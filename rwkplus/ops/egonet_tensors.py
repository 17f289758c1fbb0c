"""The walks of :mod:`rwkplus.ops.egonet_walks` in plain torch: for other devices and types, and as the slow twin."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from rwkplus.ops.egonet_loops import meeting, num_products


def score_egonets(y0: Tensor, hidden: Tensor, egonets: Sequence[Tensor], steps: int, match_all: bool) -> Tensor:
    """Scores ``(T, B, K)``; arguments as in :func:`rwkplus.ops.egonet_walks.egonet_walks`."""
    links, symmetric = _Links.of(*egonets[:5]), is_symmetric(hidden, egonets)
    _, _, matched = _walk(y0, hidden, links, num_products(steps, symmetric), match_all)
    scores = y0.new_zeros(steps, egonets[1].numel(), y0.size(1))
    for step in range(1, steps + 1):
        a, b = meeting(step, symmetric)
        met = matched[b] if a == 0 and match_all else matched[a] * matched[b]
        scores[step - 1].index_add_(0, links.owner, met.sum(2))
    return scores


def score_egonets_backward(
    grad: Tensor, y0: Tensor, hidden: Tensor, egonets: Sequence[Tensor], match_all: bool
) -> tuple[Tensor, Tensor]:
    """Gradients of ``y0`` and ``hidden``, given that of the scores."""
    links, symmetric = _Links.of(*egonets[:5]), is_symmetric(hidden, egonets)
    walkers, reached, matched = _walk(y0, hidden, links, num_products(len(grad), symmetric), match_all)
    grad_matched = _meet_backward(grad, matched, links, symmetric, match_all)
    colors = walkers[0]
    grad_colors, grad_y0, grad_hidden = (torch.zeros_like(part) for part in (colors, y0, hidden))
    for i in reversed(range(len(reached))):
        grad_reached = grad_matched[i + 1]
        if match_all:
            grad_colors.addcmul_(reached[i], grad_reached)
            grad_reached *= colors
        before, at = (walkers[i], links.target) if i > 0 else (y0, links.target_node)
        grad_moved = links.reach_backward(grad_reached, at, before.size(0))
        grad_hidden += torch.einsum("crkv,rkw->kvwc", grad_moved, before)
        grad_walkers = torch.einsum("crkv,kvwc->rkw", grad_moved, hidden)
        if i == 0:
            grad_y0 += grad_walkers
            break
        if match_all:
            grad_colors.addcmul_(matched[i], grad_walkers)
            grad_walkers *= colors
        grad_matched[i] += grad_walkers
    grad_y0.index_add_(0, links.node, grad_colors if match_all else grad_matched[0])
    # See the compiled loops for the reason.
    return grad_y0, (grad_hidden + grad_hidden.transpose(1, 2)) / 2 if symmetric else grad_hidden


class _Links(NamedTuple):
    """Egonets as graphs of their own, whose nodes are their members."""

    node: Tensor  # (R,): node of each member
    owner: Tensor  # (R,): egonet of each member
    source: Tensor  # (F,): member where each link begins
    target: Tensor  # (F,): member where it ends
    target_node: Tensor  # (F,)
    value: Sequence[Tensor | None]  # of each color (F, 1, 1), or None for 1

    @classmethod
    def of(cls, index: Tensor, size: Tensor, link: Tensor, link_count: Tensor, value: Tensor) -> "_Links":
        first = (size.cumsum(0) - size).repeat_interleave(link_count, output_size=link.size(0))
        source, target = link.t() + first
        owner = torch.arange(size.numel(), device=size.device).repeat_interleave(size, output_size=index.numel())
        columns = [column.view(-1, 1, 1) for column in value.unbind(1)]
        return cls(index, owner, source, target, index[target], columns or [None])

    def reach(self, moved: Tensor, at: Tensor) -> Tensor:
        """Line 4, the step on G: every walker gathers from where its links lead, ``(C, ., K, M)`` to ``(R, K, M)``."""
        reached = moved.new_zeros(self.node.numel(), *moved.shape[2:])
        for channel, value in zip(moved.contiguous(), self.value, strict=True):
            rows = channel.index_select(0, at)
            reached.index_add_(0, self.source, rows if value is None else rows * value)
        return reached

    def reach_backward(self, reached: Tensor, at: Tensor, size: int) -> Tensor:
        """Spread gradients back along the links, ``(R, K, M)`` to ``(C, size, K, M)``."""
        rows = reached.index_select(0, self.source)
        moved = rows.new_zeros(len(self.value), size, *rows.shape[1:])
        for channel, value in zip(moved, self.value, strict=True):
            channel.index_add_(0, at, rows if value is None else rows * value)
        return moved


def _walk(
    y0: Tensor, hidden: Tensor, links: _Links, count: int, match_all: bool
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Walkers, what they reach in a step, and matched walks."""
    colors = y0.index_select(0, links.node)
    walkers, reached, matched = [colors], [], [colors]
    for i in range(count):
        if i > 0:
            walkers.append(colors * matched[i] if match_all else matched[i])  # line 6
        before, at = (walkers[i], links.target) if i > 0 else (y0, links.target_node)
        reached.append(links.reach(torch.einsum("kvwc,rkw->crkv", hidden, before), at))  # line 4
        matched.append(colors * reached[i] if match_all else reached[i])  # line 5
    return walkers, reached, matched


def _meet_backward(
    grad: Tensor, matched: list[Tensor], links: _Links, symmetric: bool, match_all: bool
) -> list[Tensor]:
    grads = [torch.zeros_like(part) for part in matched]
    for step in range(1, len(grad) + 1):
        a, b = meeting(step, symmetric)
        members = grad[step - 1].index_select(0, links.owner).unsqueeze(2)
        if a == 0 and match_all:
            grads[b] += members
        elif a == b:
            grads[b].addcmul_(members, matched[a], value=2)
        else:
            grads[b].addcmul_(members, matched[a])
            grads[a].addcmul_(members, matched[b])
    return grads


def is_symmetric(hidden: Tensor, egonets: Sequence[Tensor]) -> bool:
    """Whether neither edges nor hidden edges have a direction."""
    return bool(egonets[5].all()) and torch.equal(hidden, hidden.transpose(1, 2))

"""The walks of :mod:`rwkplus.ops.egonet_walks` in plain torch: for other devices and types, and as the slow twin.

Everything is a matrix with a column for each node of a few hidden graphs. That wastes products with the zeros between
hidden graphs, and is still several times faster than tensors with short last dimensions.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from rwkplus.ops.egonet_loops import group_size, num_products


def score_egonets(y0: Tensor, hidden: Tensor, egonets: Sequence[Tensor], steps: int, match_all: bool) -> Tensor:
    """Scores ``(T, B, K)``; arguments as in :func:`rwkplus.ops.egonet_walks.score_egonets`."""
    links, symmetric = _Links.of(*egonets[:5]), is_symmetric(hidden, egonets)
    parts = []
    for colors, mix, nodes in _groups(y0, hidden):
        walks = _walk(colors, mix, links, num_products(steps, symmetric), match_all)
        rows = [row for i in range(len(walks.reached)) for row in _met(walks, i, symmetric, match_all)][:steps]
        parts.append(torch.stack([links.sums(row) for row in rows]) @ nodes)
    return torch.cat(parts, 2)


def score_egonets_backward(
    grad: Tensor, y0: Tensor, hidden: Tensor, egonets: Sequence[Tensor], match_all: bool
) -> tuple[Tensor, Tensor]:
    """Gradients of ``y0`` and ``hidden``, given that of the scores."""
    links, symmetric = _Links.of(*egonets[:5]), is_symmetric(hidden, egonets)
    grads = []
    for part, (colors, mix, nodes) in zip(grad.split(group_size(y0.size(2)), 2), _groups(y0, hidden), strict=True):
        walks = _walk(colors, mix, links, num_products(len(grad), symmetric), match_all)
        grads.append(_backward(part @ nodes.t(), walks, mix, links, symmetric, match_all))
    over_y0 = torch.cat([over.unflatten(1, (-1, y0.size(2))) for over, _ in grads], 1)
    blocks = [over.unflatten(1, (-1, y0.size(2))).unflatten(3, (-1, y0.size(2))) for _, over in grads]
    over_hidden = torch.cat([block.diagonal(dim1=1, dim2=3).permute(3, 1, 2, 0) for block in blocks])
    # See the compiled loops for the reason.
    return over_y0, (over_hidden + over_hidden.transpose(1, 2)) / 2 if symmetric else over_hidden


def is_symmetric(hidden: Tensor, egonets: Sequence[Tensor]) -> bool:
    """Whether neither edges nor hidden edges have a direction."""
    return bool(egonets[5].all()) and torch.equal(hidden, hidden.transpose(1, 2))


class _Links(NamedTuple):
    """Egonets as graphs of their own, whose nodes are their members."""

    node: Tensor  # (R,): node of each member
    owner: Tensor  # (R,): egonet of each member
    slot: Tensor  # (B,): first member of each egonet
    link: Tensor  # (R,): first link of each member, for links are sorted by where they begin
    source: Tensor  # (F,): member where each link begins
    target: Tensor  # (F,): member where it ends
    value: Sequence[Tensor | None]  # of each color (F,), or None for 1

    @classmethod
    def of(cls, index: Tensor, size: Tensor, link: Tensor, link_count: Tensor, value: Tensor) -> "_Links":
        slot = size.cumsum(0) - size
        source, target = link.t() + slot.repeat_interleave(link_count, output_size=link.size(0))
        if bool((source[1:] < source[:-1]).any()):
            source, order = source.sort()
            target, value = target[order], value[order]
        count = torch.zeros_like(index).index_add_(0, source, torch.ones_like(source))
        owner = torch.arange(size.numel(), device=size.device).repeat_interleave(size, output_size=index.numel())
        columns = [column.contiguous() for column in value.unbind(1)]
        return cls(index, owner, slot, count.cumsum(0) - count, source, target, columns or [None])

    def sums(self, rows: Tensor) -> Tensor:
        """Sum over the members of each egonet, ``(R, W)`` to ``(B, W)``."""
        return embedding_bag(torch.arange(len(rows), device=rows.device), rows, self.slot, mode="sum")

    def reach(self, moved: Sequence[Tensor], at: Tensor) -> Tensor:
        """Line 4, the step on G: every walker gathers from where its links lead, C times ``(., W)`` to ``(R, W)``."""
        channels = zip(moved, self.value, strict=True)
        rows = [embedding_bag(at, rows, self.link, mode="sum", per_sample_weights=value) for rows, value in channels]
        return torch.stack(rows).sum(0) if len(rows) > 1 else rows[0]

    def reach_backward(self, reached: Tensor, symmetric: bool) -> list[Tensor]:
        """Spread gradients back along the links, ``(R, W)`` to C times ``(R, W)``."""
        moved = []
        for value in self.value:
            if symmetric:
                moved.append(embedding_bag(self.target, reached, self.link, mode="sum", per_sample_weights=value))
            else:
                rows = reached.index_select(0, self.source)
                rows = rows if value is None else rows * value.unsqueeze(1)
                moved.append(torch.zeros_like(reached).index_add_(0, self.target, rows))
        return moved


class _Walks(NamedTuple):
    """All walks of a group of hidden graphs."""

    nodes: Tensor  # (N, W): colors of nodes
    colors: Tensor  # (R, W): the same of members
    walkers: Sequence[Tensor]  # J times (R, W): what takes a step; the first are the colors
    reached: Sequence[Tensor]  # J times (R, W)


def _groups(y0: Tensor, hidden: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Hidden graphs side by side: colors ``(N, W)``, adjacencies ``(C, W, W)``, which node is whose ``(W, L)``."""
    size = group_size(y0.size(2))
    for colors, part in zip(y0.split(size, 1), hidden.split(size), strict=True):
        one = torch.eye(part.size(0), dtype=y0.dtype, device=y0.device)
        mix = torch.stack([torch.block_diag(*channel) for channel in part.movedim(3, 0)])
        yield colors.flatten(1), mix, one.repeat_interleave(part.size(1), 0)


def _walk(nodes: Tensor, mix: Tensor, links: _Links, count: int, match_all: bool) -> _Walks:
    colors = nodes.index_select(0, links.node)
    walkers, reached = [colors], [links.reach([nodes @ channel.t() for channel in mix], links.node[links.target])]
    for _ in range(1, count):
        walkers.append(colors * colors * reached[-1] if match_all else reached[-1])  # lines 5 and 6
        reached.append(links.reach([walkers[-1] @ channel.t() for channel in mix], links.target))  # line 4
    return _Walks(nodes, colors, walkers, reached)


def _met(walks: _Walks, i: int, symmetric: bool, match_all: bool) -> list[Tensor]:
    """What a step adds to scores: of its own number, or of two numbers where walks meet in the middle."""
    reached = walks.reached[i]
    if not symmetric:
        return [walks.colors * reached]
    return [walks.walkers[i] * reached, (walks.colors * reached if match_all else reached).square()]


def _backward(
    grad: Tensor, walks: _Walks, mix: Tensor, links: _Links, symmetric: bool, match_all: bool
) -> tuple[Tensor, Tensor]:
    """Gradients of the colors of nodes ``(N, W)`` and of the adjacencies ``(C, W, W)``, given ``(T, B, W)``."""
    colors = walks.colors
    over_colors, over_mix, over_walkers = torch.zeros_like(colors), torch.zeros_like(mix), torch.zeros_like(colors)
    for i in reversed(range(len(walks.reached))):
        reached, partner = walks.reached[i], walks.walkers[i] if symmetric else colors
        step = 2 * i if symmetric else i
        odd = grad[step].index_select(0, links.owner)
        ahead = walks_ahead = over_walkers
        if symmetric and step + 1 < len(grad):
            met = grad[step + 1].index_select(0, links.owner).mul_(reached)
            ahead, walks_ahead = over_walkers + met, torch.add(over_walkers, met, alpha=2)
        if match_all:
            over_colors.addcmul_(colors * reached, ahead, value=2)
            walks_ahead = walks_ahead * colors * colors
        over_moved = links.reach_backward(torch.addcmul(walks_ahead, odd, partner), symmetric)
        over_walkers = odd.mul_(reached)
        if not symmetric:
            over_colors += over_walkers
            over_walkers = torch.zeros_like(colors)
        for channel, moved, over in zip(mix, over_moved, over_mix, strict=True):
            over.addmm_(moved.t(), walks.walkers[i])
            over_walkers.addmm_(moved, channel)
    over_nodes = torch.zeros_like(walks.nodes).index_add_(0, links.node, over_colors + over_walkers)
    return over_nodes, over_mix

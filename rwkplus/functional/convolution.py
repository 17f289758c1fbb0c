"""RWK+Conv: the walks of Algorithm 1 as a graph convolution with a single hidden graph (Section 3.5 of the paper)."""

from collections import deque
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from rwkplus.functional.walks import Propagate, walk_steps
from rwkplus.tensors import can_look

Readout = Literal["last", "sum", "concat"]


def rwk_plus_conv(
    logits: Float[Tensor, "... N M"], propagate: Propagate, *, steps: int, combine: Readout = "last"
) -> Float[Tensor, "... N _M"]:
    r"""Walks that end at each node and match a hidden graph of M nodes in every color.

    .. math:: Y^{(1)} = Y_0 \odot p(Y_0), \qquad Y^{(i)} = Y_0 \odot p(Y_0 \odot Y^{(i-1)}), \qquad Y_0 = \sigma(L)

    Two things differ from the kernel: a sigmoid keeps similarities within (0, 1), and the walks of a node are not
    added up over the hidden nodes.

    Args:
        logits: Similarity :math:`L` of every node to every hidden node.
        propagate: One step of both walkers, :math:`p(Y) = A_G Y A_H^\top + b`.
        steps: Longest walk, counted in edges.
        combine: The ``"last"`` step, the ``"sum"`` over all, or all side by side (``"concat"``).

    Example:
        One node with a loop and one hidden node with a loop, similarity 1/2.

        >>> rwk_plus_conv(torch.zeros(1, 1), lambda y: y, steps=2, combine="concat")
        tensor([[0.2500, 0.0625]])
    """
    y0 = torch.sigmoid(logits).unsqueeze(-2)  # a bank of one hidden graph
    bank = walk_steps(y0, lambda y: propagate(y.squeeze(-2)).unsqueeze(-2), steps)
    walks = (matched.squeeze(-2) for matched in bank)
    if combine == "last":
        return deque(walks, maxlen=1)[0]
    matched = tuple(walks)
    return torch.stack(matched).sum(0) if combine == "sum" else torch.cat(matched, -1)


def split_by_color(
    row: Int[Tensor, " E"],
    col: Int[Tensor, " E"],
    weight: Float[Tensor, " E"],
    edge_attr: Int[Tensor, " E"] | Float[Tensor, "E C"],
    num_colors: int,
) -> tuple[Int[Tensor, " F"], Int[Tensor, " F"], Float[Tensor, " F"]]:
    r"""Entries of the matrices :math:`A^{(c)}_{ij} = A_{ij} e_{ij}[c]`, one beside the other by column.

    Column ``j * C + c`` of the wide matrix is column ``j`` of :math:`A^{(c)}`, so that the edge-colored step
    :math:`\sum_c A^{(c)} Y A_H^{(c)\top}` is a single sparse product with ``(N * C, M)`` rows of
    :math:`Y A_H^{(c)\top}`. Integers name the one color of an edge. Of floats, zeros are left out where no gradient
    asks for them, so that one-hot colors cost no more than integers.

    >>> one = torch.tensor([0])
    >>> split_by_color(one, one + 1, torch.ones(1), torch.tensor([[0.0, 0.5]]), num_colors=2)
    (tensor([0]), tensor([3]), tensor([0.5000]))
    """
    if not edge_attr.is_floating_point():
        return row, col * num_colors + edge_attr, weight
    colors = torch.arange(num_colors, device=col.device)
    row, col = row.repeat_interleave(num_colors), (col.unsqueeze(-1) * num_colors + colors).flatten()
    weight = (weight.unsqueeze(-1) * edge_attr.to(weight.dtype)).flatten()
    if weight.requires_grad or not can_look():
        return row, col, weight
    present = weight.nonzero().flatten()
    return row[present], col[present], weight[present]

r"""RWK+Conv on the CPU as one torch operator with a backward pass written by hand.

Every array that the straightforward version writes costs a pass over memory and often fresh pages, so the sparse
product, the bias and both color products of a step are one loop. Backward, three facts save memory and time.
With :math:`Y_0 = \sigma(L)`, the derivative of a product of colors with respect to :math:`L` is the product itself
times :math:`1 - Y_0`: neither sums nor quotients of unmatched walks are needed, only the walkers between the steps and
the output. The product with :math:`A_H` comes before the one with the sparse :math:`A_G`, so its gradient needs the
walkers alone. And the gradient of the output is the same for all steps of a sum. The slow twin is
:func:`rwkplus.functional.rwk_plus_conv`.
"""

# ruff: noqa: ANN401 -- torch's contexts have no type of their own

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rwkplus.nn.conv_loops import (
    counting_sort,
    first_backward,
    last_backward,
    match_step,
    over_rows,
    sparse_product,
    step_backward,
)
from rwkplus.tensors import check_range, needs_grad

# Share of pairs of node and edge color above which they are not looked for one by one.
MOST_PAIRS = 0.6


class CSR(NamedTuple):
    """A sparse matrix; row ``r`` has the entries ``ptr[r]:ptr[r + 1]``."""

    ptr: Tensor  # (R + 1,)
    col: Tensor  # (E,)
    value: Tensor  # (E,)


def to_csr(row: Tensor, col: Tensor, value: Tensor, num_rows: int, num_cols: int) -> CSR:
    """Sort the entries of a sparse matrix by row, on the CPU. Order within rows and repeated entries stay.

    >>> to_csr(torch.tensor([1, 0]), torch.tensor([0, 1]), torch.tensor([5.0, 7.0]), 2, 2)
    CSR(ptr=tensor([0, 1, 2]), col=tensor([1, 0]), value=tensor([7., 5.]))
    """
    return CSR(*_to_csr(row, col, value, num_rows, num_cols))


def transpose(matrix: CSR, num_cols: int) -> CSR:
    """Return the transposed matrix, which has ``num_cols`` rows.

    >>> transpose(CSR(torch.tensor([0, 2]), torch.tensor([0, 2]), torch.tensor([5.0, 7.0])), num_cols=3)
    CSR(ptr=tensor([0, 1, 1, 2]), col=tensor([0, 0]), value=tensor([5., 7.]))
    """
    num_rows = matrix.ptr.numel() - 1
    row = torch.arange(num_rows, device="cpu").repeat_interleave(matrix.ptr.diff(), output_size=matrix.col.numel())
    return to_csr(matrix.col, row, matrix.value, num_cols, num_rows)


@torch.library.custom_op("rwkplus::to_csr", mutates_args=(), device_types="cpu")
def _to_csr(row: Tensor, col: Tensor, value: Tensor, num_rows: int, num_cols: int) -> tuple[Tensor, Tensor, Tensor]:
    # Compiled loops do not look where they read: here is the last place to notice.
    check_range("edge_index", row, num_rows, "nodes")
    check_range("edge_index", col, num_cols, "nodes")
    ptr, by_row, ordered = row.new_empty(num_rows + 1), torch.empty_like(col), torch.empty_like(value)
    counting_sort(*(part.numpy() for part in (row, col, value, ptr, by_row, ordered)))
    return ptr, by_row, ordered


@_to_csr.register_fake
def _(row: Tensor, col: Tensor, value: Tensor, num_rows: int, num_cols: int) -> tuple[Tensor, Tensor, Tensor]:
    return row.new_empty(num_rows + 1), torch.empty_like(col), torch.empty_like(value)


def fused_conv(
    logits: Tensor,
    adjacency: Sequence[Tensor],
    hidden_adj: Tensor,
    bias: Tensor,
    *,
    steps: int,
    combine: str,
    recompute: bool = False,
) -> Tensor:
    """Run all steps of RWK+Conv with one hidden graph of M nodes and C edge colors.

    Args:
        logits: Similarity to the hidden nodes before the sigmoid: ``(N, M)``.
        adjacency: The :class:`CSR` matrix ``(N, N * C)``, followed by its transpose if that is at hand; column
            ``v * C + c`` stands for edges of color ``c`` from node ``v``.
        hidden_adj: ``(M, C * M)``, the transposed hidden adjacencies side by side.
        bias: ``(M,)``.
        steps: As in :class:`rwkplus.nn.RWKPlusConv`.
        combine: See there.
        recompute: See there.

    Example:
        >>> one, matrix = torch.ones(1, 1), CSR(torch.tensor([0, 1]), torch.tensor([0]), torch.ones(1))
        >>> fused_conv(0 * one, matrix, one, torch.zeros(1), steps=2, combine="sum")
        tensor([[0.3125]])
    """
    keep = needs_grad(logits, hidden_adj, bias) and not recompute
    out: Tensor = _conv(logits, list(adjacency), hidden_adj, bias, steps, combine, keep)[0]
    # What is kept for the backward pass must not change, but callers may want to, say with an in-place ReLU.
    return out.clone() if keep else out


@torch.library.custom_op("rwkplus::conv", mutates_args=(), device_types="cpu")
def _conv(
    logits: Tensor, adjacency: Sequence[Tensor], hidden_adj: Tensor, bias: Tensor, steps: int, combine: str, keep: bool
) -> tuple[Tensor, Tensor, Tensor]:
    walk = _Walk(logits.contiguous().sigmoid(), adjacency, hidden_adj, bias, steps, combine)
    walkers = _walkers(walk.y0, steps if keep else min(steps, 2))
    with _without_denormals():
        out = _forward(walk, walkers)
    return out, walk.y0, walkers if keep else _walkers(walk.y0, 1)


@_conv.register_fake
def _(logits: Tensor, adjacency: Any, hidden_adj: Tensor, bias: Tensor, steps: int, combine: str, keep: bool) -> Any:
    n, m = logits.shape
    out = logits.new_empty(n, m * steps if combine == "concat" else m)
    return out, torch.empty_like(logits), _walkers(logits, steps if keep else 1)


@torch.library.custom_op("rwkplus::conv_backward", mutates_args=(), device_types="cpu")
def _conv_backward(
    grad: Tensor,
    y0: Tensor,
    kept: Sequence[Tensor],
    adjacency: Sequence[Tensor],
    hidden_adj: Tensor,
    bias: Tensor,
    steps: int,
    combine: str,
) -> tuple[Tensor, Tensor, Tensor]:
    walk = _Walk(y0, adjacency, hidden_adj, bias, steps, combine)
    with _without_denormals():
        if kept:
            out, walkers = kept
        else:
            walkers = _walkers(y0, steps)
            out = _forward(walk, walkers)
        return _walk_back(walk, grad, out, walkers)


@_conv_backward.register_fake
def _(grad: Tensor, y0: Tensor, kept: Any, adjacency: Any, hidden_adj: Tensor, bias: Tensor, *_: object) -> Any:
    return torch.empty_like(y0), torch.empty_like(hidden_adj), torch.empty_like(bias)


class _Walk(NamedTuple):
    """What both passes know; see :func:`fused_conv`."""

    y0: Tensor
    adjacency: Sequence[Tensor]
    hidden_adj: Tensor
    bias: Tensor
    steps: int
    combine: str


def _forward(walk: _Walk, walkers: Tensor) -> Tensor:
    """All steps forward; ``walkers`` keeps what begins each step but the first, or only the last of them."""
    y0, adjacency, hidden_adj, bias, steps, combine = walk
    n, m = y0.shape
    moves = _Moves(CSR(*adjacency[:3]), hidden_adj)
    matrix = _arrays(*moves.matrix)
    out = y0.new_empty(n, m * steps if combine == "concat" else m)
    y, moved = y0, y0.new_empty(moves.num_rows, m)
    for step in range(steps):
        moves.forward(y, moved)
        last = step == steps - 1
        y = y0 if last else walkers[min(step, walkers.size(0) - 1)]
        dense = _arrays(moved, bias, y0, y, out.unflatten(1, (-1, m)))
        slot = step if combine == "concat" else 0
        write, add = last or combine != "last", step > 0 and combine == "sum"
        over_rows(match_step, n, adjacency[1].numel() * m, *matrix, *dense, slot, not last, write, add)
    return out


def _walk_back(walk: _Walk, grad: Tensor, out: Tensor, walkers: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """All steps backward; gradients of logits, hidden adjacency and bias."""
    y0, adjacency, hidden_adj, bias, steps, combine = walk
    n, m = y0.shape
    grad, out = (part.contiguous().unflatten(1, (-1, m)) for part in (grad, out))
    moves = _Moves(CSR(*adjacency[:3]), hidden_adj)
    matrix = moves.transposed(adjacency[3:])
    grad_adj, grad_bias = torch.zeros_like(hidden_adj), torch.zeros_like(bias)
    total, d, moved = torch.empty_like(y0), torch.empty_like(y0), y0.new_empty(moves.num_rows, m)
    for step in reversed(range(steps)):
        if step == steps - 1:
            over_rows(first_backward, n, n * m, *_arrays(grad, out, y0, d, total))
        else:
            slot, dense = step if combine == "concat" else 0, _arrays(grad, y0, walkers[step], d, total)
            over_rows(step_backward, n, n * m, *dense, slot, combine != "last")
        grad_bias += d.sum(0)
        over_rows(sparse_product, moves.num_rows, matrix[1].numel() * m, *_arrays(*matrix, d, moved))
        moves.backward(moved, walkers[step - 1] if step else y0, d, grad_adj)
    over_rows(last_backward, n, n * m, *_arrays(y0, d, total))
    return total, grad_adj, grad_bias


class _Moves:
    """Steps of the walkers on the hidden graph, for those pairs of node and color that some edge begins with.

    With many colors these are few: of 14 in ogbg-molhiv, 4 or so of a node. They are numbered color by color, so that
    each color is one dense product. Where most pairs occur, one product for all colors is faster.

    Args:
        matrix: The adjacency ``(N, N * C)``.
        hidden_adj: ``(M, C * M)``.
    """

    def __init__(self, matrix: CSR, hidden_adj: Tensor) -> None:
        m, n = hidden_adj.size(0), matrix.ptr.numel() - 1
        colors = hidden_adj.size(1) // m
        self.matrix, self.hidden_adj, self.num_rows = matrix, hidden_adj, n * colors
        self.nodes: Sequence[Tensor] = ()  # of each color; empty for all
        if colors == 1:
            return
        used = torch.zeros(n, colors, dtype=torch.bool, device="cpu")
        used.view(-1)[matrix.col] = True
        if int(used.sum()) > MOST_PAIRS * used.numel():
            return
        color, node = used.t().nonzero(as_tuple=True)
        place = matrix.col.new_empty(self.num_rows)
        place[node * colors + color] = torch.arange(node.numel(), device="cpu")
        self.matrix, self.num_rows = matrix._replace(col=place[matrix.col]), node.numel()
        self.nodes = node.split(used.sum(0).tolist())

    def transposed(self, known: Sequence[Tensor]) -> Sequence[Tensor]:
        """The transposed matrix; ``known`` is that of all pairs, if at hand."""
        return known if known and not self.nodes else transpose(self.matrix, self.num_rows)

    def forward(self, y: Tensor, moved: Tensor) -> None:
        """Write a row for each pair."""
        if not self.nodes:
            torch.mm(y, self.hidden_adj, out=moved.view(y.size(0), self.hidden_adj.size(1)))
            return
        for nodes, adj, part in self._by_color(moved):
            torch.mm(y[nodes], adj, out=part)

    def backward(self, moved: Tensor, y: Tensor, d: Tensor, grad_adj: Tensor) -> None:
        """Turn the gradient of ``moved`` into that of ``y``, in ``d``, and add to that of the hidden adjacency."""
        if not self.nodes:
            moved = moved.view(y.size(0), self.hidden_adj.size(1))
            grad_adj.addmm_(y.t(), moved)
            torch.mm(moved, self.hidden_adj.t(), out=d)
            return
        d.zero_()
        gradients = grad_adj.split(y.size(1), 1)
        for (nodes, adj, part), grad in zip(self._by_color(moved), gradients, strict=True):
            grad.addmm_(y[nodes].t(), part)
            d.index_add_(0, nodes, part @ adj.t())

    def _by_color(self, moved: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        sizes = [len(nodes) for nodes in self.nodes]
        return zip(self.nodes, self.hidden_adj.split(moved.size(1), 1), moved.split(sizes), strict=True)


@contextmanager
def _without_denormals() -> Iterator[None]:
    """Let numbers below the normal range be zero: colors near zero shrink at every step, and denormals take ages."""
    before = torch.finfo(torch.float32).tiny / torch.tensor(2.0, dtype=torch.float32, device="cpu") == 0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(bool(before))


def _walkers(like: Tensor, steps: int) -> Tensor:
    return like.new_empty(steps - 1, *like.shape)


def _arrays(*tensors: Tensor) -> list[Any]:
    return [tensor.numpy() for tensor in tensors]


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    _, adjacency, hidden_adj, bias, ctx.steps, ctx.combine, ctx.keep = inputs
    out, y0, walkers = output
    ctx.save_for_backward(y0, hidden_adj, bias, *((out, walkers) if ctx.keep else ()), *adjacency)
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, grad: Tensor | None, *_: None) -> tuple[Any, ...]:
    y0, hidden_adj, bias, *rest = ctx.saved_tensors
    kept, adjacency = (rest[:2], rest[2:]) if ctx.keep else ([], rest)
    total, *others = (
        (None, None, None)
        if grad is None
        else _conv_backward(grad, y0, kept, adjacency, hidden_adj, bias, ctx.steps, ctx.combine)
    )
    return total, [None] * len(adjacency), *others, None, None, None


_conv.register_autograd(_backward, setup_context=_save)

"""Algorithm 1 one step at a time (RWK+), its end-matching relative (RWK-), closed walks, and walks as a convolution.

Line 4 of Algorithm 1 is one step of both walkers at once, ``Y <- A_G Y A_H^T``; :func:`bank_propagation` makes it, also
for colored edges. StepNorm, BatchNorm over hidden graphs and then a sigmoid, has its place after it.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Literal

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor, einsum
from torch.nn.functional import pad

from rwkplus.errors import ShapeError
from rwkplus.tensors import can_read_values, check_edge_index

Propagate = Callable[[Tensor], Tensor]
Normalize = Callable[[Tensor, int], Tensor]
"""Maps the walks ``(N, K, M)`` of a step, counted from 1, such as :class:`rwkplus.nn.StepNorm`."""
Readout = Literal["last", "sum", "concat"]


def walk_steps(
    y0: Float[Tensor, "N K M ..."],
    propagate: Propagate,
    steps: int,
    *,
    match_all: bool = True,
    start: Float[Tensor, "N #K M S"] | None = None,
    normalize: Normalize | None = None,
) -> Iterator[Float[Tensor, "N K M ..."]]:
    r"""Yield the matched walks :math:`Y^{(1)}, \ldots, Y^{(t)}` one step at a time.

    A generator, so that a caller wanting only the last step keeps one tensor alive.

    Args:
        y0: Similarity of every node to every hidden node.
        propagate: One step of both walkers, :math:`Y \mapsto A_G Y A_H^\top`.
        steps: Longest walk, counted in edges.
        match_all: Match the colors of every node of a walk (RWK+, Eq. 9) or only of its two
            ends (RWK-, Eq. 6).
        start: Where walks may begin, one column per choice; everywhere by default.
        normalize: ``normalize(y, step)`` is applied between lines 4 and 5, StepNorm's place.

    Example:
        >>> y0 = torch.full((1, 1, 1), 0.5)
        >>> [float(matched) for matched in walk_steps(y0, lambda y: y, steps=2)]
        [0.25, 0.0625]
    """
    y = y0 if start is None else y0 * start
    for step in range(1, steps + 1):
        y = propagate(y)  # line 4: A_G Y A_H^T
        if normalize is not None:
            y = normalize(y, step)
        matched = y0 * y  # line 5
        yield matched
        if match_all:
            y = y0 * matched  # line 6: intermediate nodes are matched twice (s^2 in Eq. 10)


def closed_walks(
    y0: Float[Tensor, "N K M"],
    propagate: Propagate,
    batch: Int[Tensor, " N"],
    steps: int,
    *,
    match_all: bool,
    num_graphs: int,
) -> Iterator[Float[Tensor, "N K M"]]:
    """Yield per step the walks of the product graph that end where they began.

    All graphs start their i-th node at the same time: walks never leave their graph, so one column per hidden start
    node keeps them apart.
    """
    sizes = torch.bincount(batch, minlength=num_graphs)
    starts = torch.arange(int(pad(sizes, (0, 1)).max()), device=y0.device)
    rank = node_ranks(batch).unsqueeze(1)
    same_hidden = torch.eye(y0.size(2), dtype=y0.dtype, device=y0.device).unsqueeze(1)
    returned = [torch.zeros_like(y0) for _ in range(steps)]
    # One start at a time needs the least memory, but compilers cannot count loops that depend on the data.
    for some in [starts] if torch.compiler.is_compiling() else starts.split(1):
        start = ((rank == some).to(y0.dtype)[:, None, None, :, None] * same_hidden).flatten(3)
        walks = walk_steps(y0.unsqueeze(-1), propagate, steps, match_all=match_all, start=start)
        for step, matched in enumerate(walks):
            returned[step] = returned[step] + (matched * start).sum(-1)
    yield from returned


def closed_walks_by_ends(
    y0: Float[Tensor, "N K M"],
    edge_index: Int[Tensor, "2 E"],
    hidden_adj: Float[Tensor, "K M M"],
    batch: Int[Tensor, " N"],
    steps: int,
    *,
    edge_weight: Float[Tensor, " E"] | None = None,
    num_graphs: int,
) -> Iterator[Float[Tensor, "N K M"]]:
    r"""Yield what :func:`closed_walks` yields if only the ends are matched, and edges have no colors.

    Nothing ties the two walkers together on their way, so their returns multiply:
    :math:`s(v, h)^2 (A_G^i)_{vv} (A_H^i)_{hh}`. This saves the product graph, a factor :math:`K M^2`.
    """
    # Closed walks of every node are those shared with a graph of one node and a loop.
    loop = torch.ones(1, 1, 1, dtype=y0.dtype, device=batch.device)
    propagate, everywhere = (
        bank_propagation(edge_index, loop, edge_weight=edge_weight),
        loop.expand(batch.numel(), 1, 1),
    )
    walks = closed_walks(everywhere, propagate, batch, steps, match_all=False, num_graphs=num_graphs)
    matched, power = y0 * y0, hidden_adj
    for step, returns in enumerate(walks):
        power = power @ hidden_adj if step else power
        yield matched * returns * power.diagonal(dim1=1, dim2=2)


def node_ranks(batch: Int[Tensor, " N"]) -> Int[Tensor, " N"]:
    """Number of each node within its graph, in whatever order the nodes of all graphs stand.

    >>> node_ranks(torch.tensor([0, 0, 1, 0]))
    tensor([0, 1, 0, 2])
    """
    sizes = torch.bincount(batch)
    grouped = torch.argsort(batch, stable=True)
    places = torch.arange(batch.numel(), device=batch.device) - (sizes.cumsum(0) - sizes)[batch[grouped]]
    return torch.empty_like(places).index_copy_(0, grouped, places)


def sparse_product(
    edge_index: Int[Tensor, "2 E"],
    y: Float[Tensor, "S ..."],
    weight: Num[Tensor, " E"] | None = None,
    num_rows: int | None = None,
) -> Float[Tensor, "N ..."]:
    """Multiply the sparse matrix with entries ``weight`` at ``(edge_index[0], edge_index[1])`` by ``y``.

    Entry ``(u, v)`` is the edge from ``u`` to ``v``: row ``u`` of the result gathers the rows ``v``
    that a walker standing on ``u`` can reach next. The result has the type of ``y``.

    >>> sparse_product(torch.tensor([[0, 0], [1, 2]]), torch.tensor([1.0, 2.0, 3.0]))
    tensor([5., 0., 0.])
    """
    source, target = edge_index
    reached = y.index_select(0, target)
    if weight is not None:
        reached = reached * weight.view(-1, *[1] * (y.dim() - 1)).to(y.dtype)
    total = y.new_zeros(y.size(0) if num_rows is None else num_rows, *y.shape[1:])
    return total.index_add(0, source, reached)


def bank_propagation(
    edge_index: Int[Tensor, "2 E"],
    hidden_adj: Float[Tensor, "K M M"],
    *,
    edge_weight: Num[Tensor, " E"] | None = None,
    edge_type: Int[Tensor, " E"] | None = None,
    edge_attr: Num[Tensor, "E C"] | None = None,
    hidden_edge_attr: Float[Tensor, "K M M C"] | None = None,
) -> Propagate:
    r"""Return the function :math:`Y \mapsto \sum_c A_G^{(c)} Y A_H^{(c)\top}` on tensors ``(N, K, M, ...)``.

    Without edge colors there is a single channel. Discrete edge colors (``edge_type``) split the
    edges of G among the channels, so all channels together cost one sparse product; continuous ones
    (``edge_attr``) cost one per channel. Both compare with ``hidden_edge_attr`` by inner product.

    >>> step = bank_propagation(torch.tensor([[0], [1]]), hidden_adj=2 * torch.ones(1, 1, 1))
    >>> step(torch.tensor([[[1.0]], [[3.0]]])).flatten()
    tensor([6., 0.])
    """
    check_edge_index(edge_index, edge_weight=edge_weight, edge_type=edge_type, edge_attr=edge_attr)
    if edge_type is None and edge_attr is None:
        if hidden_edge_attr is not None:
            raise ShapeError(
                "the hidden graphs have edge colors but the input graphs have none.",
                "Pass edge_type or edge_attr, or leave hidden_edge_attr out.",
            )
        return lambda y: sparse_product(edge_index, einsum("klm,nkm...->nkl...", hidden_adj, y), edge_weight)
    if hidden_edge_attr is None:
        raise ShapeError(
            "the input graphs have edge colors but the hidden graphs have none.",
            "Pass hidden_edge_attr of shape (K, M, M, C), or leave edge_type and edge_attr out.",
        )
    channels = hidden_adj.unsqueeze(-1) * hidden_edge_attr
    if edge_type is not None:
        if edge_attr is not None:
            raise ShapeError("edge_type and edge_attr are two ways to color the same edges.", "Pass only one of them.")
        _check_types(edge_type, channels.size(-1))
        return _typed_propagation(edge_index, channels, edge_weight, edge_type)
    assert edge_attr is not None  # one of the two is given: checked above
    if edge_attr.shape[1:] != channels.shape[-1:]:
        raise ShapeError(
            f"edges must have the {channels.size(-1)} colors of the hidden graphs "
            f"(edge_attr: {tuple(edge_attr.shape)}, hidden_edge_attr: {tuple(hidden_edge_attr.shape)}).",
            "Give both the same number of columns C, edge_attr as (E, C).",
        )
    return _attributed_propagation(edge_index, channels, edge_weight, edge_attr)


def _check_types(edge_type: Tensor, num_types: int) -> None:
    # A type out of range would silently read the row of another node. No check inside torch.compile.
    if torch.compiler.is_compiling() or edge_type.numel() == 0:
        return
    lowest, highest = (int(bound) for bound in edge_type.aminmax())
    if lowest < 0 or highest >= num_types:
        raise ShapeError(
            f"edge_type holds types from {lowest} to {highest} but hidden_edge_attr has {num_types} channels.",
            "Count types from 0, and give each a channel.",
        )


def _typed_propagation(
    edge_index: Tensor, channels: Tensor, edge_weight: Tensor | None, edge_type: Tensor
) -> Propagate:
    num_types = channels.size(-1)
    source, target = edge_index
    # Rows (node, type): an edge of type c only reads the copy of its target mixed by A_H^(c).
    typed_index = torch.stack([source, target * num_types + edge_type])

    def propagate(y: Tensor) -> Tensor:
        mixed = einsum("klmc,nkm...->nckl...", channels, y).flatten(0, 1)
        return sparse_product(typed_index, mixed, edge_weight, num_rows=y.size(0))

    return propagate


def _attributed_propagation(
    edge_index: Tensor, channels: Tensor, edge_weight: Tensor | None, edge_attr: Tensor
) -> Propagate:
    weights = edge_attr if edge_weight is None else edge_attr * edge_weight.view(-1, 1)

    def propagate(y: Tensor) -> Tensor:
        total = torch.zeros_like(y)
        for c in range(channels.size(-1)):
            mixed = einsum("klm,nkm...->nkl...", channels[..., c], y)
            total = total + sparse_product(edge_index, mixed, weights[:, c])
        return total

    return propagate


def step_moments(
    y: Float[Tensor, "N K M"], add_up: Callable[[Tensor], Tensor] | None = None
) -> tuple[Float[Tensor, " K"], Float[Tensor, " K"], Float[Tensor, " K"]]:
    """Mean and variance of the walks of each hidden graph, and of how many values; 0 of none.

    ``add_up`` adds up sums over all processes of a run; there is one by default.

    >>> step_moments(torch.tensor([[[1.0]], [[3.0]]]))
    (tensor([2.]), tensor([1.]), tensor([2.]))
    """
    dtype, y = y.dtype, y.float() if y.dtype in (torch.half, torch.bfloat16) else y  # half cannot count to 100,000
    sums, number = y.sum((0, 2)), y.new_full((y.size(1),), y.size(0) * y.size(2))
    if add_up is not None:
        sums, number = add_up(torch.stack([sums, number]))
    mean = sums / number.clamp(min=1)
    squares = (y - mean.unsqueeze(-1)).square().sum((0, 2))
    var = (squares if add_up is None else add_up(squares)) / number.clamp(min=1)
    return mean.to(dtype), var.to(dtype), number


def step_norm(
    y: Float[Tensor, "N K M"],
    mean: Float[Tensor, " K"],
    var: Float[Tensor, " K"],
    weight: Float[Tensor, " K"],
    bias: Float[Tensor, " K"],
    eps: float,
) -> Float[Tensor, "N K M"]:
    """Standardize the walks of each hidden graph, rescale them and squash them into (0, 1).

    >>> zero, one = torch.zeros(1), torch.ones(1)
    >>> step_norm(torch.zeros(1, 1, 1), mean=zero, var=one, weight=one, bias=zero, eps=0.0)
    tensor([[[0.5000]]])
    """
    scale = (weight * (var + eps).rsqrt()).unsqueeze(-1)
    return torch.sigmoid((y - mean.unsqueeze(-1)) * scale + bias.unsqueeze(-1))


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
    if weight.requires_grad or not can_read_values():
        return row, col, weight
    present = weight.nonzero().flatten()
    return row[present], col[present], weight[present]

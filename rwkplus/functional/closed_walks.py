"""Walks that return to where they began: the traces of powers, which see cycles."""

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

from rwkplus.functional.colors import node_ranks
from rwkplus.functional.propagate import Propagate, bank_propagation
from rwkplus.functional.walks import walk_steps


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
    rank = node_ranks(batch)
    same_hidden = torch.eye(y0.size(2), dtype=y0.dtype, device=y0.device)
    returned = [torch.zeros_like(y0) for _ in range(steps)]
    for i in range(int(sizes.max()) if num_graphs else 0):
        start = (rank == i).to(y0.dtype).view(-1, 1, 1, 1) * same_hidden
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
    matched, power = y0 * y0, hidden_adj
    for step, returns in enumerate(_returns(edge_index, batch, steps, edge_weight, num_graphs, y0.dtype)):
        power = power @ hidden_adj if step else power
        yield matched * returns * power.diagonal(dim1=1, dim2=2)


def _returns(
    edge_index: Tensor, batch: Tensor, steps: int, weight: Tensor | None, num_graphs: int, dtype: torch.dtype
) -> Iterator[Float[Tensor, "N 1 1"]]:
    """Closed walks of every node, step by step: those shared with a graph of one node and a loop."""
    loop = torch.ones(1, 1, 1, dtype=dtype, device=batch.device)
    propagate = bank_propagation(edge_index, loop, edge_weight=weight)
    everywhere = loop.expand(batch.numel(), 1, 1)
    return closed_walks(everywhere, propagate, batch, steps, match_all=False, num_graphs=num_graphs)

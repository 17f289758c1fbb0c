"""From tensors to compiled loops over egonets and back: checked, planned, and cut into groups of hidden graphs."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rwkplus.ops import egonet_loops as loops
from rwkplus.ops.egonet_loops import Bank, Plan, group_size
from rwkplus.ops.step_statistics import Floats

# Slots of a part of a plan. Fewer multiply the calls of loops, more leave the caches.
PART = 8192


def plan_of(egonets: Sequence[Tensor], y0: Tensor, count: Tensor | None = None) -> Plan:
    """Prepare egonets, see :func:`rwkplus.ops.egonet_walks.egonet_walks`, for the loops."""
    *places, value, _ = egonets
    if value.size(1) == 0:
        value = y0.new_ones(value.size(0), 1)
    if count is None:
        count = y0.new_ones(places[1].numel())
    plan: Plan = loops.plan_egonets(y0.size(0), *arrays(*places, value.to(y0.dtype), count.to(y0.dtype)))
    return plan


class Part(NamedTuple):
    """Some blocks of a plan, as a plan of their own."""

    plan: Plan
    slots: slice
    egonets: slice


def parts_of(plan: Plan) -> list[Part]:
    """Cut a plan so that the walks of a part stay in the caches."""
    if plan.node.size <= PART:
        return [Part(plan, slice(None), slice(None))]
    first = plan.slot[plan.block]
    bounds = [*np.unique(first[:-1] // PART, return_index=True)[1].tolist(), len(first) - 1]
    return [_part(plan, begin, end) for begin, end in pairwise(bounds)]


def _part(plan: Plan, begin: int, end: int) -> Part:
    blocks = plan.block[begin : end + 1]
    egonets, bounds = slice(blocks[0], blocks[-1]), slice(blocks[0], blocks[-1] + 1)
    slots, links = (slice(first[blocks[0]], first[blocks[-1]]) for first in (plan.slot, plan.link))
    own = plan._replace(
        node=plan.node[slots],
        slot=plan.slot[bounds] - slots.start,
        link=plan.link[bounds] - links.start,
        block=blocks - egonets.start,
        source=plan.source[links],
        target=plan.target[links],
        target_node=plan.target_node[links],
        value=plan.value[links],
        count=plan.count[egonets],
    )
    return Part(own, slots, egonets)


def banks_of(y0: Tensor, hidden: Tensor) -> list[Bank]:
    """Cut the hidden graphs into groups."""
    size = group_size(y0.size(2))
    return [
        loops.hidden_bank(*arrays(colors.flatten(1), part))
        for colors, part in zip(y0.split(size, 1), hidden.split(size), strict=True)
    ]


def widths(y0: Tensor) -> list[int]:
    """Hidden nodes in each group."""
    return [part.size(1) * y0.size(2) for part in y0.split(group_size(y0.size(2)), 1)]


def zero_gradients(bank: Bank) -> Bank:
    """Gradients of a group, to be added to."""
    return Bank(*(np.zeros(part.shape, part.dtype) for part in bank))


def banks_backward(
    y0: Tensor, hidden: Tensor, banks: Sequence[Bank], grads: Sequence[Bank], symmetric: bool = False
) -> tuple[Tensor, Tensor]:
    """Turn the gradients of the groups into those of ``y0`` and ``hidden``."""
    grad_hidden = hidden.new_empty(hidden.shape)
    for bank, over, part in zip(banks, grads, grad_hidden.split(group_size(y0.size(2))), strict=True):
        loops.hidden_bank_backward(bank, over, symmetric, part.numpy())
    return _joined([torch.from_numpy(over.colors).unflatten(1, (-1, y0.size(2))) for over in grads], 1), grad_hidden


def sums_over_nodes(walks: Sequence[Tensor], hidden_nodes: int) -> Tensor:
    """Add up the columns ``(T, B, W)`` of each hidden graph and join the groups: ``(T, B, K)``."""
    return _joined([part @ _graph_of_node(part.size(2), hidden_nodes, part.dtype) for part in walks], 2)


def sums_over_nodes_backward(grad: Tensor, hidden_nodes: int) -> list[Tensor]:
    """Repeat the columns ``(T, B, K)`` for each node of a hidden graph, group by group."""
    parts = grad.split(group_size(hidden_nodes), 2)
    return [part @ _graph_of_node(part.size(2) * hidden_nodes, hidden_nodes, part.dtype).t() for part in parts]


@lru_cache(maxsize=64)
def _graph_of_node(width: int, hidden_nodes: int, dtype: torch.dtype) -> Tensor:
    """Which hidden node is of which hidden graph, ``(W, L)``: products with it are the fastest short sums."""
    return torch.eye(width // hidden_nodes, dtype=dtype, device="cpu").repeat_interleave(hidden_nodes, 0)


def by_node(values: Floats, y0: Tensor) -> Floats:
    """Repeat one value per hidden graph ``(..., K)`` for each of its nodes."""
    return np.repeat(values, y0.size(2), -1).astype(float_type(y0))


def float_type(y0: Tensor) -> type[np.floating[Any]]:
    """What numpy calls the type of a tensor."""
    return np.float32 if y0.dtype == torch.float32 else np.float64


def arrays(*tensors: Tensor) -> tuple[Any, ...]:
    """Tensors as arrays that share their memory where it is contiguous."""
    return tuple(tensor.detach().contiguous().numpy() for tensor in tensors)


def _joined(parts: Sequence[Tensor], dim: int) -> Tensor:
    return torch.cat(list(parts), dim) if len(parts) > 1 else parts[0]

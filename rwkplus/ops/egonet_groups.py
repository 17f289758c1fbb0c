"""From tensors to compiled loops over egonets and back: checked, planned, and cut into groups of hidden graphs."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rwkplus.ops import egonet_loops as loops
from rwkplus.ops.egonet_loops import Bank, Plan, group_size


def plan_of(egonets: Sequence[Tensor], y0: Tensor, count: Tensor | None = None) -> Plan:
    """Prepare egonets, see :func:`rwkplus.ops.egonet_walks.egonet_walks`, for the loops."""
    *places, value, _ = egonets
    if value.size(1) == 0:
        value = y0.new_ones(value.size(0), 1)
    if count is None:
        count = y0.new_ones(places[1].numel())
    plan: Plan = loops.plan_egonets(y0.size(0), *arrays(*places, value.to(y0.dtype), count.to(y0.dtype)))
    return plan


def banks_of(y0: Tensor, hidden: Tensor) -> list[Bank]:
    """Cut the hidden graphs into groups."""
    size = group_size(y0.size(2))
    return [
        loops.hidden_bank(*arrays(colors.flatten(1), part))
        for colors, part in zip(y0.split(size, 1), hidden.split(size), strict=True)
    ]


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
    return torch.eye(width // hidden_nodes, dtype=dtype).repeat_interleave(hidden_nodes, 0)


def arrays(*tensors: Tensor) -> tuple[Any, ...]:
    """Tensors as arrays that share their memory where it is contiguous."""
    return tuple(tensor.detach().contiguous().numpy() for tensor in tensors)


def _joined(parts: Sequence[Tensor], dim: int) -> Tensor:
    return torch.cat(list(parts), dim) if len(parts) > 1 else parts[0]

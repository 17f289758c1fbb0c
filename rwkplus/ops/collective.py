"""Sums over the processes of a run."""

from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist


class _Sum(torch.autograd.Function):
    """Every process has the sum, and the loss of each depends on it, so gradients are summed alike."""

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        total = value.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        total = grad.contiguous().clone()
        dist.all_reduce(total)
        return total


def all_sum(value: Tensor) -> Tensor:
    """Add up a tensor that every process has; gradients flow back to all of them."""
    total: Tensor = _Sum.apply(value)  # type: ignore[no-untyped-call]
    return total

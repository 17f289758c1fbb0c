"""The processes of a run: which one is this, what is its share of the work, and what do all have together."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch import distributed as dist

from rwkplus.errors import ParameterError


def rank_and_world() -> tuple[int, int]:
    """Number of this process, and how many take part in the run."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def share_of_batches(
    order: NDArray[np.int64], num_batches: int, rank: int, world: int, things: str
) -> list[NDArray[np.int64]]:
    """What a process has of every batch: batches and shares are as even as possible, and none is empty.

    Args:
        order: What is divided, one after the other.
        num_batches: Number of batches.
        rank: Number of the process.
        world: How many processes there are.
        things: What is divided, for the error.
    """
    if order.size // num_batches < world:
        raise ParameterError(
            f"{order.size} {things} in {num_batches} batches are too few for {world} processes: each needs one of "
            "every batch. Use fewer processes (devices) or larger batches."
        )
    return [np.array_split(batch, world)[rank] for batch in np.array_split(order, num_batches)]


class _Sum(torch.autograd.Function):
    """Every process has the sum, and the loss of each depends on it, so gradients are summed alike."""

    @staticmethod
    def forward(ctx: object, value: Tensor) -> Tensor:
        total = value.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: object, grad: Tensor) -> Tensor:
        total = grad.contiguous().clone()
        dist.all_reduce(total)
        return total


def all_sum(value: Tensor) -> Tensor:
    """Add up a tensor that every process has; gradients flow back to all of them."""
    total: Tensor = _Sum.apply(value)  # type: ignore[no-untyped-call]
    return total

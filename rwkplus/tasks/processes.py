"""One process or several: who am I, and what do all of us have together."""

import os
from typing import Any

import torch
from torch import Tensor
from torchmetrics.utilities.distributed import gather_all_tensors


def rank_and_world() -> tuple[int, int]:
    """Number of this process, and how many take part in the run."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


def sum_over_processes(value: Tensor) -> Tensor:
    """Add up a tensor that every process has; gradients flow back to all of them."""
    if rank_and_world()[1] == 1:
        return value
    total: Tensor = _Sum.apply(value)  # type: ignore[no-untyped-call]
    return total


class _Sum(torch.autograd.Function):
    """Every process has the sum, so what each one wants changed concerns the parts of all."""

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:  # noqa: ANN401
        total = value.clone()
        torch.distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # noqa: ANN401
        total = gradient.contiguous().clone()
        torch.distributed.all_reduce(total)
        return total


def cat_over_processes(parts: list[Tensor]) -> Tensor:
    """Concatenate the rows of all processes; they may have different numbers of them."""
    together = torch.cat(parts)
    return torch.cat(gather_all_tensors(together)) if rank_and_world()[1] > 1 else together


def is_first_process() -> bool:
    """Whether this is the only process, or the one of several that writes and prints."""
    ranks = ("RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "SLURM_PROCID")
    return all(os.environ.get(rank, "0") == "0" for rank in ranks)

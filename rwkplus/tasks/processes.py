"""One process or several: what do all of us have together."""

import os

import torch
from torch import Tensor
from torchmetrics.utilities.distributed import gather_all_tensors

from rwkplus.ops.collective import all_sum, rank_and_world


def sum_over_processes(value: Tensor) -> Tensor:
    """Add up a tensor that every process has; gradients flow back to all of them."""
    return all_sum(value) if rank_and_world()[1] > 1 else value


def cat_over_processes(parts: list[Tensor]) -> Tensor:
    """Concatenate the rows of all processes; they may have different numbers of them."""
    together = torch.cat(parts)
    return torch.cat(gather_all_tensors(together)) if rank_and_world()[1] > 1 else together


def is_first_process() -> bool:
    """Whether this is the only process, or the one of several that writes and prints."""
    ranks = ("RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "SLURM_PROCID")
    return all(os.environ.get(rank, "0") == "0" for rank in ranks)

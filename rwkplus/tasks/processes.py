"""One process or several: what do all of us have together."""

import atexit
import os
from functools import cache

import torch
from torch import Tensor, distributed
from torchmetrics.utilities.distributed import gather_all_tensors

from rwkplus.tensors import all_sum, rank_and_world


def sum_over_processes(value: Tensor) -> Tensor:
    """Add up a tensor that every process has; gradients flow back to all of them."""
    return all_sum(value) if rank_and_world()[1] > 1 else value


def cat_over_processes(parts: list[Tensor]) -> Tensor:
    """Concatenate the rows of all processes; they may have different numbers of them."""
    together = torch.cat(parts)
    return torch.cat(gather_all_tensors(together)) if rank_and_world()[1] > 1 else together


@cache  # once
def leave_at_exit() -> None:
    """Have this process leave its group before Python ends: threads of the group that still run would abort it."""
    atexit.register(_leave)


def _leave() -> None:
    if distributed.is_initialized():
        distributed.destroy_process_group()


def is_first_process() -> bool:
    """Whether this is the only process, or the one of several that writes and prints."""
    ranks = ("RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "SLURM_PROCID")
    return all(os.environ.get(rank, "0") == "0" for rank in ranks)

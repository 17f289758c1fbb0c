"""Training in one process or several: what all of them have together."""

import atexit
import os
from functools import cache

import torch
from torch import Tensor, distributed, nn
from torchmetrics.utilities.distributed import gather_all_tensors

from rwkplus.tensors import all_sum, rank_and_world


def sum_over_processes(value: Tensor) -> Tensor:
    """Add up a tensor that every process has; gradients flow back to all of them.

    >>> sum_over_processes(torch.tensor(3.0))
    tensor(3.)
    """
    return all_sum(value) if rank_and_world()[1] > 1 else value


def cat_over_processes(parts: list[Tensor]) -> Tensor:
    """Concatenate the rows of all processes; they may have different numbers of them."""
    return torch.cat(gather_all_tensors(torch.cat(parts)))


@cache  # once
def leave_at_exit() -> None:
    """Have this process leave its group before Python ends: threads of the group that still run would abort it."""
    atexit.register(_leave)


def _leave() -> None:
    if distributed.is_initialized():
        distributed.destroy_process_group()


def is_first_process() -> bool:
    """Whether this is the only process, or the one of several that writes and prints.

    >>> is_first_process()
    True
    """
    ranks = ("RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "SLURM_PROCID")
    return all(os.environ.get(rank, "0") == "0" for rank in ranks)


class SharedBatchNorm(nn.BatchNorm1d):
    """``BatchNorm1d`` whose statistics are those of the batches of all processes; torch's own needs GPUs."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 -- torch's name
        """Normalize rows ``(N, C)``."""
        if not self.training or rank_and_world()[1] == 1:
            return super().forward(input)
        sums = sum_over_processes(torch.cat([input.sum(0), input.new_tensor([input.size(0)])]))
        total, count = sums.tensor_split([-1])
        mean = total / count
        centered = input - mean
        variance = sum_over_processes(centered.square().sum(0)) / count
        self._follow(mean.detach(), (variance * count / (count - 1)).detach())
        scaled = centered / (variance + self.eps).sqrt()
        normalized: Tensor = scaled * self.weight + self.bias if self.affine else scaled
        return normalized

    def _follow(self, mean: Tensor, variance: Tensor) -> None:
        """Let the running statistics follow those of the batch."""
        if self.running_mean is None or self.running_var is None or self.num_batches_tracked is None:
            return
        self.num_batches_tracked.add_(1)
        share = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean, share)
        self.running_var.lerp_(variance, share)


def share_batch_norm(module: nn.Module) -> None:
    """Replace every ``BatchNorm1d`` inside a module by a shared one; parameters and buffers stay the same tensors.

    >>> network = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    >>> share_batch_norm(network)
    >>> type(network[1]).__name__
    'SharedBatchNorm'
    """
    shared: dict[nn.Module, nn.Module] = {}
    for name, part in list(module.named_modules(remove_duplicate=False)):
        if type(part) is nn.BatchNorm1d:
            if part not in shared:
                shared[part] = SharedBatchNorm(part.num_features)
                shared[part].__dict__.update(part.__dict__)
            parent, _, own = name.rpartition(".")
            setattr(module.get_submodule(parent), own, shared[part])

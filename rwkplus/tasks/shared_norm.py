"""BatchNorm over the batches of all processes, on any hardware; torch's own needs GPUs."""

import torch
from torch import Tensor, nn

from rwkplus.tasks.processes import sum_over_processes
from rwkplus.tensors import rank_and_world


class SharedBatchNorm(nn.BatchNorm1d):
    """``BatchNorm1d`` whose statistics, and gradients through them, are those of the whole batch."""

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
    """Turn every ``BatchNorm1d`` inside a module into a shared one; parameters and buffers stay the same tensors."""
    for part in module.modules():
        if type(part) is nn.BatchNorm1d:
            part.__class__ = SharedBatchNorm

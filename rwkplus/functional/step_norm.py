"""StepNorm: BatchNorm over hidden graphs, then a sigmoid, so that walks of all lengths have one scale."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from rwkplus.ops.collective import all_sum


def step_moments(
    y: Float[Tensor, "N K M"], mask: Bool[Tensor, "#N #K #M"] | None = None, sync: bool = False
) -> tuple[Float[Tensor, " K"], Float[Tensor, " K"], Float[Tensor, " K"]]:
    """Mean and variance of the walks of each hidden graph, and of how many values; 0 of none.

    Args:
        y: Walks of one step.
        mask: Which of them are real; padding counts nowhere.
        sync: Count those of all processes, whatever their numbers.
    """
    real = torch.ones_like(y) if mask is None else mask.to(y.dtype).expand_as(y)
    total, count = _over_processes(torch.stack([(y * real).sum((0, 2)), real.sum((0, 2))]), sync)
    number = count.clamp(min=1)
    mean = total / number
    deviation = (y - mean.unsqueeze(-1)) * real
    return mean, _over_processes(deviation.square().sum((0, 2)), sync) / number, count


def step_norm(
    y: Float[Tensor, "N K M"],
    mean: Float[Tensor, " K"],
    var: Float[Tensor, " K"],
    weight: Float[Tensor, " K"],
    bias: Float[Tensor, " K"],
    eps: float,
    mask: Bool[Tensor, "#N #K #M"] | None = None,
) -> Float[Tensor, "N K M"]:
    """Standardize the walks of each hidden graph, rescale them and squash them into (0, 1); padding becomes 0."""
    scale = weight * (var + eps).rsqrt()
    normal = torch.sigmoid((y - mean.unsqueeze(-1)) * scale.unsqueeze(-1) + bias.unsqueeze(-1))
    return normal if mask is None else normal * mask


def _over_processes(sums: Tensor, sync: bool) -> Tensor:
    return all_sum(sums) if sync else sums

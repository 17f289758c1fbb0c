"""StepNorm: BatchNorm over hidden graphs, then a sigmoid, so that walks of all lengths have one scale."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from rwkplus.ops.collective import all_sum


def step_moments(
    y: Float[Tensor, "N K M"],
    mask: Bool[Tensor, "#N #K #M"] | None = None,
    count: Float[Tensor, " N"] | None = None,
    sync: bool = False,
) -> tuple[Float[Tensor, " K"], Float[Tensor, " K"], Float[Tensor, " K"]]:
    """Mean and variance of the walks of each hidden graph, and of how many values; 0 of none.

    Args:
        y: Walks of one step.
        mask: Which of them are real; padding counts nowhere.
        count: How often each row occurs; once by default.
        sync: Count those of all processes, whatever their numbers.
    """
    dtype, y = y.dtype, y.float() if y.dtype in (torch.half, torch.bfloat16) else y  # half cannot count to 100,000
    if mask is None:
        rows = y.new_ones(y.size(0)) if count is None else count.to(y.dtype)
        values = (rows.sum() * y.size(2)).expand(y.size(1))

        def total(y: Tensor) -> Tensor:  # a product with rows is the fastest weighted sum
            return (rows @ y.flatten(1)).view(y.shape[1:]).sum(1)
    else:
        real = mask.to(y.dtype).expand_as(y)
        values = real.sum((0, 2))

        def total(y: Tensor) -> Tensor:
            return (y * real).sum((0, 2))

    sums, number = _over_processes(torch.stack([total(y), values]), sync)
    mean = sums / number.clamp(min=1)
    squares = total((y - mean.unsqueeze(-1)).square())
    var = _over_processes(squares, sync) / number.clamp(min=1)
    return mean.to(dtype), var.to(dtype), number


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
    scale = (weight * (var + eps).rsqrt()).unsqueeze(-1)
    normal = torch.sigmoid((y - mean.unsqueeze(-1)) * scale + bias.unsqueeze(-1))
    return normal if mask is None else normal * mask


def _over_processes(sums: Tensor, sync: bool) -> Tensor:
    return all_sum(sums) if sync else sums

"""Dropout that reads 16 random bits for each entry, several times faster on CPUs than torch's Bernoulli draws."""

import torch
from torch import Tensor
from torch.nn import functional

from rwkplus.ops.transforms import is_transformed

LEVELS = 1 << 16


def dropout(x: Tensor, share: float, training: bool = True) -> Tensor:
    """What :func:`torch.nn.functional.dropout` does, with the share of dropped entries rounded to 1/65536.

    Args:
        x: A dense tensor.
        share: Share of entries that become zero, the others grow, so that means stay.
        training: Whether to drop anything.
    """
    if not training or share == 0:
        return x
    if share == 1:
        return x * 0
    if x.device.type != "cpu" or torch.compiler.is_compiling() or is_transformed():
        return functional.dropout(x, share)
    dropped = min(round(share * LEVELS), LEVELS - 1)
    words = torch.randint(-(1 << 63), (1 << 63) - 1, (-(-x.numel() // 4),), device="cpu")  # four entries each
    kept = words.view(torch.int16)[: x.numel()].view(x.shape) >= dropped - LEVELS // 2
    return x * kept.to(x.dtype).mul_(LEVELS / (LEVELS - dropped))

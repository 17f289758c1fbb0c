"""Whatever follows torch's operations one by one, which compiled loops and hand-written backward passes escape."""

import torch
from torch import Tensor
from torch.autograd import forward_ad


def is_transformed() -> bool:
    """Whether :mod:`torch.func`, forward-mode derivatives or the tracer of :mod:`torch.jit` are at work."""
    if torch.compiler.is_compiling():
        return False
    transformed = bool(torch._C._are_functorch_transforms_active())
    return transformed or forward_ad._current_level >= 0 or bool(torch._C._is_tracing())


def can_look() -> bool:
    """Whether checks may read values: inside compilers and transforms there are none."""
    return not torch.compiler.is_compiling() and not is_transformed()


def learns(*tensors: Tensor | None) -> bool:
    """Whether gradients by any of these are wanted."""
    return torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)

"""Transforms of torch.func, which hand-written backward passes know nothing of."""

import torch


def is_transformed() -> bool:
    """Whether ``grad``, ``jvp``, ``vmap`` or the like of :mod:`torch.func` are at work."""
    return not torch.compiler.is_compiling() and bool(torch._C._are_functorch_transforms_active())

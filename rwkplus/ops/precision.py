"""Numbers of walks grow geometrically, and half precision loses count of them."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import torch
from torch import Tensor

from rwkplus.errors import ParameterError

AUTOCAST = (torch.float32, torch.float16, torch.bfloat16)
"""Types between which autocast converts."""
P = ParamSpec("P")
R = TypeVar("R")


def full_precision(x: Tensor) -> AbstractContextManager[Any]:
    """Leave autocast, if it is on where ``x`` is: what is computed inside has the type of its inputs."""
    device = x.device.type
    return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext()


def in_full_precision(operator: Callable[Concatenate[Tensor, P], R]) -> Callable[Concatenate[Tensor, P], R]:
    """Let an operator on tensors leave autocast."""

    @wraps(operator)
    def operate(x: Tensor, /, *arguments: P.args, **options: P.kwargs) -> R:
        with full_precision(x):
            return operator(x, *arguments, **options)

    return operate


def check_place(field: str, values: object, device: torch.device, layer: object) -> None:
    """Refuse what is no tensor, or one on another device than a layer."""
    if not isinstance(values, Tensor):
        raise ParameterError(f"{field} must be a tensor, got {type(values).__name__}: call torch.as_tensor.")
    if values.device != device:
        raise ParameterError(f"{field} is on {values.device} but {layer} on {device}: move one of them with .to().")


def check_type(x: Tensor, dtype: torch.dtype, layer: object) -> None:
    """Refuse features of another type than a layer's weights, unless autocast makes them one."""
    if x.dtype == dtype:
        return
    converted = x.dtype in AUTOCAST and dtype in AUTOCAST and torch.is_autocast_enabled(x.device.type)
    if not converted:
        other = f", or .to({x.dtype}) on the layer" if x.is_floating_point() else ""  # layers hold floats alone
        raise ParameterError(f"x is {x.dtype} but {layer} {dtype}: call x.to({dtype}){other}.")

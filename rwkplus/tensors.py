"""PyTorch, imported first by every room that needs it so that its absence is told once and well; checks of tensors.

Whatever follows torch's operations one by one (compilers, :mod:`torch.func`, tracers) cannot look at values and cannot
see into compiled loops; autocast changes types on the way; several processes may share the work. Layers ask here what
is going on.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import GraphError, MissingExtraError, ParameterError, Remedy, ShapeError

try:
    import torch
    import torch_geometric  # noqa: F401
    from torch import Tensor
    from torch import distributed as dist
    from torch.autograd import forward_ad
except ImportError as error:
    raise MissingExtraError("this part of rwkplus needs PyTorch and PyG: pip install 'rwkplus[nn]'.") from error

AUTOCAST = (torch.float32, torch.float16, torch.bfloat16)
"""Types between which autocast converts."""
P = ParamSpec("P")
R = TypeVar("R")


def is_transformed() -> bool:
    """Whether :mod:`torch.func`, forward-mode derivatives or the tracer of :mod:`torch.jit` are at work."""
    if torch.compiler.is_compiling():
        return False
    transformed = bool(torch._C._are_functorch_transforms_active())
    return transformed or forward_ad._current_level >= 0 or bool(torch._C._is_tracing())


def can_read_values() -> bool:
    """Whether checks may read values: inside compilers and transforms there are none."""
    return not torch.compiler.is_compiling() and not is_transformed()


def needs_grad(*tensors: Tensor | None) -> bool:
    """Whether gradients by any of these are wanted.

    >>> needs_grad(None, torch.ones(2)), needs_grad(torch.ones(2, requires_grad=True))
    (False, True)
    """
    return torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)


def full_precision(x: Tensor) -> AbstractContextManager[Any]:
    """Leave autocast, if it is on where ``x`` is: numbers of walks grow, and half precision loses count of them."""
    device = x.device.type
    return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext()


def in_full_precision(operator: Callable[Concatenate[Tensor, P], R]) -> Callable[Concatenate[Tensor, P], R]:
    """Let an operator on tensors leave autocast."""

    @wraps(operator)
    def operate(x: Tensor, /, *arguments: P.args, **options: P.kwargs) -> R:
        with full_precision(x):
            return operator(x, *arguments, **options)

    return operate


def check_device(field: str, values: object, device: torch.device, layer: object) -> None:
    """Refuse what is no tensor, or one on another device than a layer.

    >>> check_device("x", [1.0], torch.device("cpu"), "KernelConv")
    Traceback (most recent call last):
    rwkplus.errors.ParameterError: x must be a tensor, got list. Call torch.as_tensor.
    """
    if not isinstance(values, Tensor):
        raise ParameterError(f"{field} must be a tensor, got {type(values).__name__}.", "Call torch.as_tensor.")
    if values.device != device:
        raise ParameterError(
            f"{field} is on {values.device} but {layer} is on {device}.", "Move one of them with .to()."
        )


def check_dtype(x: Tensor, dtype: torch.dtype, layer: object) -> None:
    """Refuse features of another type than a layer's weights, unless autocast makes them one.

    >>> check_dtype(torch.ones(1).double(), torch.float32, "KernelConv")
    Traceback (most recent call last):
    ...
    rwkplus.errors.ParameterError: x is torch.float64 but KernelConv torch.float32. Call x.to(torch.float32), or
    .to(torch.float64) on the layer.
    """
    if x.dtype == dtype:
        return
    converted = x.dtype in AUTOCAST and dtype in AUTOCAST and torch.is_autocast_enabled(x.device.type)
    if not converted:
        other = f", or .to({x.dtype}) on the layer" if x.is_floating_point() else ""  # layers hold floats alone
        raise ParameterError(f"x is {x.dtype} but {layer} {dtype}.", f"Call x.to({dtype}){other}.")


def check_edge_index(edge_index: object, num_nodes: int | None = None, **values: Tensor | None) -> None:
    """Refuse what is no list of edges, and weights, types or colors that are not one for each of them.

    Torch would read two rows of a matrix as edges, and give a single weight to all edges.

    Args:
        edge_index: Both ends of every edge ``(2, E)``.
        num_nodes: Ends must be below; None where values cannot be looked at, or will be looked at later.
        values: What belongs to edges: a row of colors as ``edge_attr``, a number under any other name.

    Raises:
        ShapeError: They are of another kind or shape.
        GraphError: They name nodes that are not there.

    >>> check_edge_index(torch.tensor([[0, 1], [1, 2]]), num_nodes=2)
    Traceback (most recent call last):
    rwkplus.errors.GraphError: edge_index names nodes from 0 to 2 but there are 2 nodes, counted from 0.
    """
    if not isinstance(edge_index, Tensor) or not _holds_pairs(edge_index):
        found = type(edge_index).__name__
        if isinstance(edge_index, Tensor):
            layout = "" if edge_index.layout == torch.strided else f" with {edge_index.layout}"
            found = f"{edge_index.dtype} {tuple(edge_index.shape)}{layout}"
        raise ShapeError(
            f"edge_index must be a tensor (2, E) of node numbers, got {found}.",
            "Call edge_index.long() on other numbers; for matrices, see torch_geometric.utils: dense_to_sparse, "
            "to_edge_index.",
        )
    num_edges = edge_index.size(1)
    for name, value in values.items():
        if value is None:
            continue
        single = name != "edge_attr"
        if value.shape[:1] != (num_edges,) or (single and value.numel() != num_edges):
            raise ShapeError(
                f"there are {num_edges} edges but {name} is {tuple(value.shape)}.",
                f"Give one {'number' if single else 'row of colors'} for each edge.",
            )
    if num_nodes is not None:
        check_range("edge_index", edge_index, num_nodes, "nodes")


def _holds_pairs(edge_index: Tensor) -> bool:
    integers = not edge_index.is_floating_point() and edge_index.dtype != torch.bool
    return edge_index.layout == torch.strided and edge_index.dim() == 2 and edge_index.size(0) == 2 and integers


def check_range(field: str, numbers: Tensor, size: int, things: str) -> None:
    """Refuse numbers that are none of ``0, ..., size - 1``.

    >>> check_range("edge_attr", torch.tensor([0, 3]), 3, "colors")
    Traceback (most recent call last):
    ...
    rwkplus.errors.GraphError: edge_attr names colors from 0 to 3 but there are 3 colors, counted from 0.
    """
    low, high = (int(bound) for bound in numbers.aminmax()) if numbers.numel() else (0, -1)
    if low < 0 or high >= size:
        raise GraphError(f"{field} names {things} from {low} to {high} but there are {size} {things}, counted from 0.")


def rank_and_world() -> tuple[int, int]:
    """Number of this process, and how many take part in the run."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def share_of_batches(
    order: NDArray[np.int64], num_batches: int, rank: int, world: int, things: str
) -> list[NDArray[np.int64]]:
    """What a process has of every batch: batches and shares are as even as possible, and none is empty.

    >>> share_of_batches(np.arange(6), num_batches=2, rank=1, world=2, things="graphs")
    [array([2]), array([5])]
    """
    if order.size // num_batches < world:
        raise ParameterError(
            f"{order.size} {things} in {num_batches} batches are too few for {world} processes: each needs one of "
            "every batch.",
            Remedy("Use fewer processes, {devices}, or larger batches.", devices=max(1, order.size // num_batches)),
        )
    return [np.array_split(batch, world)[rank] for batch in np.array_split(order, num_batches)]


class _Sum(torch.autograd.Function):
    """Every process has the sum, and the loss of each depends on it, so gradients are summed alike."""

    @staticmethod
    def forward(ctx: object, value: Tensor) -> Tensor:
        total = value.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: object, grad: Tensor) -> Tensor:
        return _Sum.forward(ctx, grad)


def all_sum(value: Tensor) -> Tensor:
    """Add up a tensor that every process has; gradients flow back to all of them."""
    total: Tensor = _Sum.apply(value)  # type: ignore[no-untyped-call]
    return total

"""What networks share between their graphs and their outputs."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, TypeVar, Unpack

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import MLP

from rwkplus.errors import GraphError, ShapeError
from rwkplus.functional.kernels import count_graphs
from rwkplus.nn.kernel_conv import KernelModule, KernelOptions
from rwkplus.nn.norms import FixedScale
from rwkplus.tensors import check_place, check_type
from rwkplus.types import check_choice, check_share

Norm = Literal["batch", "fixed"]
Init = TypeVar("Init", bound=Callable[..., None])


def node_features(data: Data, network: nn.Module, in_channels: int) -> Tensor:
    """Features of all nodes ``(N, in_channels)``; refuses others than the network was made for."""
    x: Tensor | None = data.get("x")
    if x is None:
        raise GraphError(
            f"the graphs have no node features x, of which the network reads {in_channels}.",
            "Give them some, such as rwkplus.io.pyg.one_hot_degree(graphs).",
        )
    weight, name = next(network.parameters()), type(network).__name__
    check_place("x", x, weight.device, name)
    if x.dim() != 2 or x.size(1) != in_channels:
        raise ShapeError(f"x is {tuple(x.shape)} but {name} takes (N, {in_channels}).")
    check_type(x, weight.dtype, name)
    return x


def graphs_of(data: Data) -> tuple[Tensor, int]:
    """Graph of each node, and the number of graphs; a ``Data`` without ``batch`` is a single one.

    >>> graphs_of(Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]])))
    (tensor([0, 0]), 1)
    """
    batch: Tensor | None = data.get("batch")
    if batch is None:
        return torch.zeros(data.num_nodes, dtype=torch.long, device=data.edge_index.device), 1
    return batch, count_graphs(batch, getattr(data, "num_graphs", None))


def make_norm(norm: Norm, channels: int) -> nn.BatchNorm1d | FixedScale:
    """Make BatchNorm, or a scale that the first batch sets.

    >>> make_norm("fixed", 8)
    FixedScale(8, batches=1)
    """
    check_choice("norm", norm, Norm)
    return nn.BatchNorm1d(channels) if norm == "batch" else FixedScale(channels)


def make_head(channels: int, mlp_channels: int | None, out_channels: int, norm: Norm, dropout: float) -> MLP:
    """Make an MLP with a hidden layer, or a linear map if that has no width; with fixed scales it has no BatchNorm.

    >>> make_head(8, None, 2, "batch", 0.0)
    MLP(8, 2)
    """
    check_share("dropout", dropout)
    sizes = [channels, out_channels] if mlp_channels is None else [channels, mlp_channels, out_channels]
    return MLP(sizes, norm="batch_norm" if norm == "batch" else None, dropout=float(dropout))


def takes_kernel_options(**defaults: Unpack[KernelOptions]) -> Callable[[Init], Init]:
    """Let a network pass all of :class:`~rwkplus.nn.KernelOptions` on to its layers, with defaults of its own.

    Its signature names them, so that editors, ``help`` and :mod:`rwkplus.models.registry` see them.

    >>> class Network:
    ...     @takes_kernel_options(steps=2)
    ...     def __init__(self, **options):
    ...         self.options = options
    >>> Network(kernel="rwk-").options
    {'steps': 2, 'kernel': 'rwk-'}
    """
    given: dict[str, Any] = {**defaults}

    def decorate(init: Init) -> Init:
        @wraps(init)
        def with_defaults(self: object, *arguments: object, **options: object) -> None:
            init(self, *arguments, **given | options)

        signature = inspect.signature(init)
        own = [part for part in signature.parameters.values() if part.kind is not inspect.Parameter.VAR_KEYWORD]
        known = inspect.signature(KernelModule.__init__).parameters
        options = [
            known[name].replace(default=given.get(name, known[name].default))
            for name in KernelOptions.__annotations__
            if name not in ("generator", "compiled")  # neither can be written down as JSON
        ]
        with_defaults.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
        return with_defaults  # type: ignore[return-value]

    return decorate

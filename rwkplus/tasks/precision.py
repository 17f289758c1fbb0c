"""Numbers of a graph in the type that a network computes in."""

import torch
from torch import nn
from torch_geometric.data import Data

FIELDS = ("x", "edge_attr", "edge_weight")


def dtype_of(model: nn.Module) -> torch.dtype:
    """The type of a network's weights; torch's default if it has none."""
    return next((part.dtype for part in model.parameters()), torch.get_default_dtype())


def in_precision_of(model: nn.Module, data: Data) -> Data:
    """The same graph or batch, floats in the type of the network's weights; the given one is changed."""
    dtype = dtype_of(model)
    for field in FIELDS:
        value = data.get(field)
        if value is not None and value.is_floating_point():
            data[field] = value.to(dtype)
    return data

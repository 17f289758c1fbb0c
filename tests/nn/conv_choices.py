"""A small graph and the layers that several tests of RWKPlusConv lay on it."""

import pytest
import torch

from rwkplus.nn import RWKPlusConv

N, D, M, C = 8, 5, 4, 3
FUSED = pytest.mark.parametrize("fused", [True, False], ids=["fused", "torch"])
# Directed, with a self-loop, a repeated edge, and node 7 without neighbors.
EDGES = torch.tensor([[0, 1, 2, 3, 3, 4, 5, 6, 2, 2, 0], [1, 2, 3, 3, 0, 1, 6, 5, 5, 5, 2]])
WEIGHT = torch.linspace(0.5, 2, EDGES.size(1), dtype=torch.float64)
TYPES = torch.arange(EDGES.size(1)) % C


def features(nodes=N, seed=0):
    return torch.randn(nodes, D, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def layer(*args, **kwargs):
    """A layer in float64 whose biases are not zero."""
    torch.manual_seed(1)
    conv = RWKPlusConv(D, M, *args, **kwargs).double()
    for name, parameter in conv.named_parameters():
        if "bias" in name:
            torch.nn.init.normal_(parameter)
    return conv


def colors(kind):
    attributes = torch.rand(EDGES.size(1), C, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    return {"none": None, "discrete": TYPES, "continuous": attributes}[kind]

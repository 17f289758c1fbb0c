"""A few small graphs and the layers that several tests of KernelConv lay on them."""

import pytest
import torch
from torch_geometric.data import Batch

from rwkplus.nn import KernelConv
from tests.strategies import data_list, random_graphs

GRAPHS = data_list(random_graphs(4, real=True))
BATCH = Batch.from_data_list(GRAPHS)
# How the layer can come to its value; they must agree.
PATHS = {"compiled": True, "torch": False}
WAYS = pytest.mark.parametrize("compiled", PATHS.values(), ids=PATHS)
PLACEMENTS = pytest.mark.parametrize("step_norm", [None, "propagate", "readout"])


def layer(out_channels=5, **options):
    options = {"hidden_nodes": 3, "steps": 3, "generator": torch.Generator().manual_seed(0)} | options
    return KernelConv(2, out_channels, **options).double()

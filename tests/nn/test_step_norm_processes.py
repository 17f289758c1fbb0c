"""Two real processes with shares of different size give the statistics and gradients of one with the whole batch."""

import numpy as np
import pytest
import torch
from torch import distributed as dist
from torch import multiprocessing
from torch_geometric.data import Batch

from rwkplus.nn import KernelConv, KernelLayer, StepNorm
from tests.strategies import data_list, random_graphs

pytestmark = pytest.mark.slow

SHARES = (slice(0, 5), slice(5, 7))
STEPS, K, M = 2, 10, 3


def step_norm(share):
    """StepNorm itself."""
    y = torch.linspace(-3, 9, 7 * K * M, dtype=torch.float64).view(7, K, M)[share].sin().clone().requires_grad_()
    norm = StepNorm(K, STEPS).double()
    output = norm(y, 2)
    (output * y.detach().cos()).sum().backward()
    return output, y.grad, norm


def kernel_conv(share, compiled):
    """The layer, by compiled loops that normalize themselves or by the plain recurrence."""
    graphs = data_list(random_graphs(7, real=True))[share]
    conv = KernelConv(
        2, K, hidden_nodes=M, steps=STEPS, step_norm="propagate", compiled=compiled, generator=torch.Generator()
    ).double()
    x = torch.cat([graph.x for graph in graphs]).requires_grad_()
    offset = np.cumsum([0] + [len(graph.x) for graph in graphs])
    edge_index = torch.cat([g.edge_index + int(first) for g, first in zip(graphs, offset, strict=False)], 1)
    output = conv(x, edge_index)
    output.square().sum().backward()
    return output, x.grad, conv


def whole_graphs(share):
    """Whole graphs."""
    batch = Batch.from_data_list(data_list(random_graphs(7))[share])
    layer = KernelLayer(3, K, hidden_nodes=M, steps=STEPS, step_norm="propagate", generator=torch.Generator()).double()
    output = layer(batch.x, batch.edge_index, batch.batch)
    output.square().sum().backward()
    return output, output.detach(), layer


CASES = {
    "StepNorm": step_norm,
    "compiled": lambda share: kernel_conv(share, None),
    "torch": lambda share: kernel_conv(share, False),
    "whole graphs": whole_graphs,
}


def work(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    for name, case in CASES.items():
        output, grad, module = case(SHARES[rank])
        parts = {"output": output, "grad": grad}
        parts |= {f"grad of {key}": value.grad for key, value in module.named_parameters()}
        parts |= {key: value for key, value in module.named_buffers() if "running" in key}
        np.savez(f"{folder}/{name}-{rank}.npz", **{key: value.detach().numpy() for key, value in parts.items()})
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    multiprocessing.spawn(work, args=(str(folder),), nprocs=2)
    return folder


@pytest.mark.parametrize("name", CASES)
def test_two_processes_are_like_one(folder, name):
    output, grad, module = CASES[name](slice(None))
    first, second = (np.load(folder / f"{name}-{rank}.npz") for rank in (0, 1))
    np.testing.assert_allclose(np.concatenate([first["output"], second["output"]]), output.detach(), rtol=1e-10)
    np.testing.assert_allclose(np.concatenate([first["grad"], second["grad"]]), grad, rtol=1e-8, atol=1e-12)
    for key, value in module.named_parameters():
        both = first[f"grad of {key}"] + second[f"grad of {key}"]
        np.testing.assert_allclose(both, value.grad, rtol=1e-8, atol=1e-10)
    for key, value in module.named_buffers():
        if "running" in key:
            np.testing.assert_allclose(first[key], value, rtol=1e-10)
            np.testing.assert_allclose(second[key], value, rtol=1e-10)

"""``torch.compile(dynamic=True, fullgraph=True)`` takes every layer; compiled once, it takes graphs of any size."""

import pytest
import torch
from torch import nn
from torch_geometric.data import Data

from rwkplus import nn as layers
from rwkplus.nn import ClosedWalks, FixedScale, HiddenGraphs, KernelConv, KernelLayer, RWKPlusConv, StepNorm

D, K = 3, 4
SIZES = [(6, 14), (9, 20), (13, 31)]


class Bank(nn.Module):
    """Compares nodes with those of a :class:`HiddenGraphs`, which has no ``forward`` of its own."""

    def __init__(self):
        super().__init__()
        self.hidden = HiddenGraphs(K, 3, D, adjacency="discrete", features="softmax", num_edge_features=2)

    def forward(self, x):
        return torch.einsum("nd,kmd,kml->nkl", x, self.hidden.x, self.hidden.adj + self.hidden.edge_attr.sum(-1))


def graph(nodes, edges):
    return torch.rand(nodes, D), torch.randint(0, nodes, (2, edges))


def weighted(nodes, edges):
    return *graph(nodes, edges), torch.rand(edges)


def colored(nodes, edges):
    return *weighted(nodes, edges), torch.rand(edges, 2)


def small_graphs(nodes, edges):
    x, ends = graph(nodes, edges)
    ends[1] = (ends[0] // 3 * 3 + ends[1] % 3).clamp(max=nodes - 1)  # three consecutive nodes are a graph
    return x, ends, torch.arange(nodes) // 3


def rows(nodes, _):
    return (torch.rand(nodes, D),)


def walks(nodes, _):
    return torch.rand(nodes, K, 2), 1


LAYERS = [
    (KernelConv, (D, K), {}, graph),
    (KernelConv, (D, K), {"step_norm": "propagate", "max_nodes": 3, "aggr": "mean"}, weighted),
    (KernelConv, (D, K), {"walks": "closed"}, graph),
    (KernelLayer, (D, K), {"step_norm": "readout"}, small_graphs),
    (KernelLayer, (D, K), {"walks": "closed", "kernel": "rwk-"}, small_graphs),
    (KernelLayer, ((2, 1), K), {"include_zero_step": True}, small_graphs),
    (RWKPlusConv, (D, K), {}, weighted),
    (RWKPlusConv, (D, K), {"aggr": "mean"}, weighted),
    (RWKPlusConv, (D, K), {"fused": False, "edge_dim": 2}, colored),
    (StepNorm, (K, 2), {}, walks),
    (FixedScale, (D,), {"batches": 2}, rows),
    (Bank, (), {}, rows),
]


def test_every_layer_is_here():
    known = {case[0] for case in LAYERS} | {HiddenGraphs}
    public = {value for value in vars(layers).values() if isinstance(value, type) and issubclass(value, nn.Module)}
    assert public == known - {Bank}


@pytest.mark.slow
@pytest.mark.unchecked_shapes
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(("kind", "sizes", "options", "inputs"), LAYERS)
def test_layers_compile_into_one_graph_for_any_size(kind, sizes, options, inputs):
    torch.manual_seed(0)
    layer, again = (kind(*sizes, **options) for _ in range(2))
    again.load_state_dict(layer.state_dict())
    torch.compiler.reset()
    compiled = torch.compile(again, backend="aot_eager", dynamic=True, fullgraph=True)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for size in SIZES:
            values = inputs(*size)
            torch.testing.assert_close(compiled(*values), layer(*values))
    for name, value in layer.state_dict().items():  # running statistics, too
        torch.testing.assert_close(again.state_dict()[name], value)


@pytest.mark.slow
def test_transforms_before_a_compiled_layer_are_kept():
    data = Data(x=torch.rand(5, D), edge_index=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]))
    chances = ClosedWalks(3)
    expected = chances.of(data)
    compiled = torch.compile(chances.of, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(chances(data)), expected)

import pytest
import torch
from torch_geometric.data import Batch
from torch_geometric.nn import SGConv

from rwkplus.errors import ParameterError
from rwkplus.models.igad import IGAD, node_colors, two_hops
from tests.strategies import data_list, random_graphs

GRAPHS = data_list(random_graphs(6, real=True))


def batch(graphs=GRAPHS):
    return Batch.from_data_list(graphs)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "rwk-", "steps": 3},
        {"step_norm": None},
        {"step_norm": "readout", "num_hidden": 3},
        {"colors": "x"},
        {"colors": None, "kernel": "rwk-", "step_norm": None},
    ],
)
def test_graphs_become_outputs_and_every_parameter_learns(options):
    model = IGAD(2, **options).double()
    output = model(batch())
    assert output.shape == (6, 2)
    output.square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_two_hops_are_those_of_simplified_convolutions():
    expected = SGConv(2, 2, K=2, bias=False).double()
    with torch.no_grad():
        expected.lin.weight.copy_(torch.eye(2))
    directed = batch().edge_index[:, ::2]
    for edge_index in (batch().edge_index, directed):
        torch.testing.assert_close(two_hops(batch().x, edge_index), expected(batch().x, edge_index))


def test_company_does_not_matter():
    model = IGAD(2).double()
    model(batch())
    model.eval()
    alone = torch.cat([model(batch([graph])) for graph in GRAPHS])
    torch.testing.assert_close(model(batch()), alone)


def test_the_topology_branch_does_not_see_node_features():
    model = IGAD(2).double().eval()
    other = batch([graph.clone() for graph in GRAPHS])
    other.x = other.x + torch.randn_like(other.x)
    torch.testing.assert_close(model._topology_branch(batch()), model._topology_branch(other))
    branches = [model._feature_branch(data, two_hops(data.x, data.edge_index)) for data in (batch(), other)]
    assert not torch.allclose(*branches)


def test_without_features_walks_per_node_are_counted():
    model = IGAD(2, kernel="rwk-", step_norm=None, colors=None, steps=1, num_hidden=1).double()
    seen = []
    model.norm.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0]))
    data = batch()
    model(data)
    edges = torch.bincount(data.batch[data.edge_index[0]], minlength=6)
    color, adj = model.kernels.hidden.x[0, :, 0], model.kernels.hidden.adj[0]
    expected = edges.double() / data.ptr.diff() * (color @ adj @ color)
    torch.testing.assert_close(seen[0][:, 0], expected)


def test_large_degrees_count_as_the_largest():
    model = IGAD(2, max_degree=2).double()
    colors = node_colors(batch(), model.colors, model.max_degree)
    assert colors.shape == (batch().num_nodes, 3)
    assert (colors.sum(1) == 1).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"colors": "atoms"},
        {"steps": 2.5},
        {"max_degree": 0},
        {"max_degree": 1.5},
        {"feature_channels": 1},
        {"topology_channels": 1},
    ],
)
def test_sizes_that_leave_nothing_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        IGAD(2, **wrong)

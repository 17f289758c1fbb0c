import pytest
import torch
from torch_geometric.data import Data

from rwkplus.errors import ParameterError, ShapeError
from rwkplus.nn import EgoNets, KernelConv
from tests.nn.kernel_conv_choices import BATCH, layer


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"kernel": "rwk"}, "kernel"),
        ({"combine": "max"}, "combine"),
        ({"walks": "all"}, "walks"),
        ({"aggr": "max"}, "aggr"),
        ({"step_norm": "before"}, "step_norm"),
        ({"walks": "closed", "step_norm": "propagate"}, "closed"),
        ({"max_nodes": 0}, "max_nodes"),
        ({"hops": 0}, "hops"),
        ({"steps": 0}, "^steps must"),
        ({"steps": 2.5}, "^steps must"),
        ({"edge_dim": 0}, "edge_dim"),
        ({"edge_dim": -1}, "edge_dim"),
        ({"out_channels": 0}, "hidden"),
    ],
)
def test_impossible_arguments_are_refused(wrong, name):
    with pytest.raises(ParameterError, match=name):
        KernelConv(**{"in_channels": 2, "out_channels": 3} | wrong)


def test_misfits_are_refused():
    with pytest.raises(ShapeError, match="2 features per node, got 3"):
        layer()(torch.ones(4, 3).double(), BATCH.edge_index)
    with pytest.raises(ShapeError, match="colors"):
        layer(edge_dim=3)(BATCH.x, BATCH.edge_index)


def test_every_edge_has_its_weight():
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    with pytest.raises(ShapeError, match="4 edges but edge_weight is"):
        layer()(torch.rand(3, 2).double(), edge_index, torch.ones(5).double())


@pytest.mark.parametrize(
    "edges",
    [
        BATCH.edge_index.t().contiguous(),
        torch.ones(BATCH.num_nodes, BATCH.num_nodes),
        torch.ones(2, 3, dtype=torch.bool),
    ],
    ids=["transposed", "matrix", "bool"],
)
def test_what_is_no_list_of_edges_is_refused(edges):
    with pytest.raises(ShapeError, match=r"edge_index must be a tensor \(2, E\)"):
        layer()(BATCH.x, edges)
    with pytest.raises(ShapeError, match=r"edge_index must be a tensor \(2, E\)"):
        EgoNets()(Data(x=BATCH.x, edge_index=edges))


def test_features_of_integers_are_refused():
    with pytest.raises(ShapeError, match=r"expects floating-point features, got torch\.int64"):
        layer()(BATCH.x.long(), BATCH.edge_index)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.rand(BATCH.num_nodes), r"node features \(N, D\)"),
        (torch.ones(BATCH.num_nodes, 3, dtype=torch.long), "floating-point"),
    ],
)
def test_a_wrong_first_input_does_not_fix_the_size(x, message):
    conv = KernelConv(-1, 3)
    with pytest.raises(ShapeError, match=message):
        conv(x, BATCH.edge_index)
    assert conv(BATCH.x.float(), BATCH.edge_index).shape == (BATCH.num_nodes, 3)


def test_features_of_another_precision_are_refused():
    with pytest.raises(ParameterError, match=r"x is torch\.float32 but KernelConv.* torch\.float64. Call x\.to"):
        layer()(BATCH.x.float(), BATCH.edge_index)

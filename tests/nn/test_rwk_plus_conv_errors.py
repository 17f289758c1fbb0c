"""RWKPlusConv names inputs and arguments that do not fit."""

import pytest
import torch
from torch_geometric.utils import to_torch_csr_tensor

from rwkplus.errors import GraphError, NumericError, ParameterError, ShapeError
from rwkplus.nn import RWKPlusConv
from tests.nn.conv_choices import EDGES, FUSED, TYPES, WEIGHT, C, D, M, N, features, layer


@FUSED
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (((features(), features()), EDGES), ParameterError, "bipartite"),
        ((features().numpy(), EDGES), ParameterError, "x must be a tensor, got ndarray"),
        ((features().float(), EDGES), ParameterError, r"x.to\(torch.float64\), or .to\(torch.float32\) on the layer"),
        ((features().long(), EDGES), ParameterError, r"torch.int64.*Call x.to\(torch.float64\)\.$"),
        ((features().to("meta"), EDGES), ParameterError, "meta"),
        ((features()[:, :3], EDGES), ShapeError, r"\(8, 3\).*\(N, 5\)"),
        ((features()[0], EDGES), ShapeError, r"\(N, 5\)"),
        ((features(), EDGES + 2), GraphError, "from 2 to 8 but there are 8 nodes"),
        ((features(), EDGES - 1), GraphError, "from -1"),
        ((features(), EDGES.t()), ShapeError, r"\(11, 2\)"),
        ((features(), EDGES.double()), ShapeError, "long"),
        ((features(), None), ShapeError, "NoneType"),
        ((features(), EDGES, WEIGHT[:3]), ShapeError, "11 edges"),
        ((features(), EDGES, WEIGHT.tolist()), ParameterError, "edge_weight must be a tensor, got list"),
        ((features(), EDGES, None, TYPES.numpy()), ParameterError, "edge_attr must be a tensor, got ndarray"),
        ((features(), EDGES, None, TYPES), ParameterError, "no edge_dim"),
        ((features(), to_torch_csr_tensor(EDGES, size=(9, 9))), ShapeError, "9 x 9"),
        ((features(), to_torch_csr_tensor(EDGES, size=(N, N)), WEIGHT), ParameterError, "own weights"),
    ],
)
def test_inputs_that_do_not_fit_are_named(arguments, error, message, fused):
    with pytest.raises(error, match=message):
        layer(2, fused=fused)(*arguments)


@pytest.mark.parametrize(
    ("edge_attr", "error", "message"),
    [
        (None, ParameterError, "no edge_attr"),
        (TYPES + 1, GraphError, "edge_attr names colors from 1 to 3 but there are 3 colors"),
        (TYPES[:4], ShapeError, "integers"),
        (torch.rand(EDGES.size(1), C + 1), ShapeError, "floats"),
    ],
)
def test_edge_colors_that_do_not_fit_are_named(edge_attr, error, message):
    with pytest.raises(error, match=message):
        layer(2, edge_dim=C)(features(), EDGES, None, edge_attr)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"steps": 0}, "steps must be a whole number of at least 1, got 0"),
        ({"steps": 2.5}, "steps .*got 2.5"),
        ({"steps": "2"}, "steps .*got '2'"),
        ({"out_channels": 4.0}, "out_channels .*got 4.0"),
        ({"in_channels": (3, 3)}, "in_channels .*got "),
        ({"steps": True}, "improved is given by name"),
        ({"combine": "mean"}, "combine"),
        ({"edge_dim": 0}, "edge_dim .*got 0"),
        ({"normalize": False, "add_self_loops": True}, "normalize"),
    ],
)
def test_arguments_that_make_no_layer_are_named(arguments, message):
    with pytest.raises(ParameterError, match=message):
        RWKPlusConv(**{"in_channels": D, "out_channels": M} | arguments)


def test_sparse_adjacencies_flow_one_way():
    with pytest.raises(ParameterError, match="flow"):
        layer(2, flow="target_to_source")(features(), to_torch_csr_tensor(EDGES, size=(N, N)))


@FUSED
@pytest.mark.parametrize("field", ["edge_index", "edge_weight", "edge_attr"])
def test_edges_on_another_device_are_named(field, fused):
    edges = {"edge_index": EDGES, "edge_weight": WEIGHT, "edge_attr": TYPES}
    with pytest.raises(ParameterError, match=f"{field} is on meta but x is on cpu"):
        layer(2, edge_dim=C, fused=fused)(features(), **edges | {field: edges[field].to("meta")})


@pytest.mark.parametrize("dtype", [torch.float64, torch.long])
def test_autocast_excuses_no_type_that_it_does_not_convert(dtype):
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(ParameterError, match=f"x is {dtype}"):
        layer(2).float()(features().to(dtype), EDGES)


@FUSED
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite_are_named(bad, fused):
    x, weight = features(), WEIGHT.clone()
    x[3, 1], weight[5] = bad, bad
    with pytest.raises(NumericError, match="x holds nan or inf in row 3"):
        layer(2, fused=fused)(x, EDGES)
    with pytest.raises(NumericError, match="x holds nan or inf in row 3"):
        layer(2, fused=fused).eval()(x.to_sparse(), EDGES)
    with pytest.raises(NumericError, match="edge_weight of edge 5 is nan or inf"):
        layer(2, fused=fused)(features(), EDGES, weight)
    conv = layer(2, fused=fused)
    torch.nn.init.constant_(conv.hidden_x.weight, bad)
    with pytest.raises(NumericError, match="parameters that are not finite"):
        conv(features(), EDGES)


def test_large_numbers_are_fine_as_long_as_they_are_finite():
    """Their sum need not be."""
    x = torch.full((N, D), 60_000.0, dtype=torch.float64)
    with torch.no_grad():
        assert layer(2).half()(x.half() / 100, EDGES).isfinite().all()


def test_several_aggregations_are_refused():
    with pytest.raises(ParameterError, match=r"several aggregations .*aggr='mean'"):
        RWKPlusConv(D, M, aggr=["mean", "max"])

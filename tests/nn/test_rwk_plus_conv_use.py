"""RWKPlusConv as a part of PyTorch and PyG: lazy sizes, caches, compilers, exports, precisions."""

import copy
from itertools import product

import pytest
import torch
from torch.autograd import forward_ad
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.explain.algorithm.utils import set_masks
from torch_geometric.nn import GCNConv

from rwkplus.errors import ShapeError
from rwkplus.nn import RWKPlusConv
from rwkplus.nn import rwk_plus_conv as module
from tests.nn.conv_choices import EDGES, FUSED, TYPES, WEIGHT, C, D, M, N, colors, features, layer


@pytest.mark.parametrize("in_channels", [D, -1])
def test_signals_begin_neither_faint_nor_drowned(in_channels):
    torch.manual_seed(0)
    conv = RWKPlusConv(in_channels, 64, edge_dim=2).double()
    conv(features(), EDGES, None, TYPES % 2)
    torch.testing.assert_close(conv.hidden_adj.sum(-1), torch.zeros(3, 64).double(), rtol=0, atol=1e-5)
    for parameter, sizes in ((conv.hidden_adj, 128), (conv.hidden_x.weight, 64 + D)):
        assert parameter.std().item() == pytest.approx(4 * (2 / sizes) ** 0.5, rel=0.1)  # four times Glorot's
    assert RWKPlusConv(D, 1).hidden_adj.item() != 0


@pytest.mark.parametrize("fused", [True, False])
def test_the_size_may_be_read_off_the_first_input(fused):
    conv = RWKPlusConv(-1, M, fused=fused).double()
    assert str(conv) == "RWKPlusConv(-1, 4, steps=2)"
    assert conv(features(), EDGES).shape == (N, M)
    assert conv.hidden_x.weight.shape == (M, D)


def test_it_stands_where_a_gcn_conv_stood():
    for arguments in ({}, {"improved": True}, {"add_self_loops": False}, {"normalize": False}, {"bias": False}):
        shapes = [conv(D, M, **arguments).double()(features(), EDGES).shape for conv in (GCNConv, RWKPlusConv)]
        assert shapes[0] == shapes[1]
    assert RWKPlusConv(D, M, steps=3, combine="concat").double()(features(), EDGES).shape == (N, 3 * M)


@FUSED
def test_the_cache_holds_until_the_type_changes(fused, monkeypatch):
    calls = []
    monkeypatch.setattr(module, "gcn_norm", lambda *a, f=module.gcn_norm, **k: calls.append(a) or f(*a, **k))
    conv = layer(2, cached=True, fused=fused)
    first, second = conv(features(), EDGES), conv(features(), EDGES)
    assert len(calls) == 1
    torch.testing.assert_close(first, second)
    conv.float()(features().float(), EDGES)
    assert len(calls) == 2
    conv.reset_parameters()
    conv(features().float(), EDGES)
    assert len(calls) == 3


def test_another_graph_is_not_mistaken_for_the_cached_one():
    conv = layer(2, cached=True)
    conv(features(), EDGES)
    with pytest.raises(ShapeError, match="single graph"):
        conv(features(N + 1), EDGES)


def test_a_copy_computes_the_same():
    conv = layer(2, cached=True)
    expected = conv(features(), EDGES)
    torch.testing.assert_close(copy.deepcopy(conv)(features(), EDGES), expected)
    other = RWKPlusConv(D, M).double()
    other.load_state_dict(conv.state_dict())
    torch.testing.assert_close(other(features(), EDGES), expected)


COMPILED = [{}, {"cached": True}, {"recompute": True}, {"normalize": False}, {"edge_dim": C}, {"combine": "concat"}]


@pytest.mark.slow
@pytest.mark.parametrize(("options", "fused"), list(product(COMPILED, [True, False])))
def test_torch_compiles_it_without_a_break(options, fused):
    conv = layer(2, fused=fused, **options)
    edge_attr = TYPES if "edge_dim" in options else None
    torch.compiler.reset()
    compiled = torch.compile(conv, backend="aot_eager", fullgraph=True)
    out = compiled(features(), EDGES, WEIGHT, edge_attr)
    expected = conv(features(), EDGES, WEIGHT, edge_attr)
    torch.testing.assert_close(out, expected)
    grads = [torch.autograd.grad(value.sum(), list(conv.parameters())) for value in (out, expected)]
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other)


DYNAMIC = {"x": {0: torch.export.Dim("N", min=2)}, "edge_index": {1: torch.export.Dim("E", min=2)}}


def test_an_exported_layer_takes_graphs_of_any_size_and_needs_only_torch():
    conv = layer(2).eval()
    program = torch.export.export(conv, (features(), EDGES), dynamic_shapes=DYNAMIC)
    x, edges = features(12), torch.randint(12, (2, 30))
    torch.testing.assert_close(program.module()(x, edges), conv(x, edges))
    assert not any("rwkplus" in str(node.target) for node in program.graph.nodes)


@pytest.mark.parametrize("edge_dim", [None, C])
@pytest.mark.parametrize("combine", ["last", "concat"])
def test_nodes_may_stand_in_another_dimension(edge_dim, combine):
    many = torch.stack([features(seed=seed) for seed in range(3)])  # (3, N, D)
    options = {"combine": combine, "edge_dim": edge_dim}
    edges = (EDGES, WEIGHT, None if edge_dim is None else TYPES)
    expected = layer(2, **options)(many, *edges)
    torch.testing.assert_close(expected[1], layer(2, **options)(many[1], *edges))
    found = layer(2, node_dim=0, **options)(many.transpose(0, 1), *edges)
    torch.testing.assert_close(found, expected.transpose(0, 1))


@pytest.mark.parametrize("aggr", ["mean", "max", "sum"])
def test_walkers_may_be_joined_in_another_way(aggr):
    """As ``GCNConv`` allows; a single step is line 5 on what is reached."""
    conv = layer(1, aggr=aggr, normalize=False, bias=False)
    y0 = conv.hidden_x(features()).sigmoid()
    moved = (y0 @ conv.hidden_adj[0].t())[EDGES[0]]
    reduce = {"max": "amax"}.get(aggr, aggr)
    index = EDGES[1].unsqueeze(1).expand_as(moved)
    reached = torch.zeros_like(y0).scatter_reduce(0, index, moved, reduce, include_self=False)
    torch.testing.assert_close(conv(features(), EDGES), y0 * reached)


@pytest.mark.slow
def test_onnx_runs_it(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    conv = RWKPlusConv(D, M).eval()
    path = str(tmp_path / "conv.onnx")
    x = features().float()
    torch.onnx.export(
        conv, (x, EDGES), path, dynamo=True, dynamic_shapes=DYNAMIC, input_names=["x", "edge_index"], verbose=False
    )
    x, edges = features(12).float(), torch.randint(12, (2, 30))
    (out,) = runtime.InferenceSession(path).run(None, {"x": x.numpy(), "edge_index": edges.numpy()})
    torch.testing.assert_close(torch.from_numpy(out), conv(x, edges))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_follows_full_precision(dtype):
    conv = layer(2)
    expected = conv(features(), EDGES)
    out = copy.deepcopy(conv).to(dtype)(features().to(dtype), EDGES)
    assert out.dtype == dtype
    torch.testing.assert_close(out.double(), expected, rtol=0.1, atol=0.02)


def test_autocast_lowers_the_precision_by_itself():
    conv = layer(2).float()
    with torch.autocast("cpu", torch.bfloat16):
        out = conv(features().float(), EDGES)
    torch.testing.assert_close(out.float(), conv(features().float(), EDGES), rtol=0.1, atol=0.02)


@pytest.mark.parametrize("options", [{}, {"cached": True}, {"recompute": True}, {"flow": "target_to_source"}])
@pytest.mark.parametrize("kind", ["none", "discrete", "continuous"])
def test_explanations_reach_its_edges(kind, options):
    conv = layer(2, edge_dim=None if kind == "none" else C, **options).float()
    explainer = Explainer(
        conv,
        GNNExplainer(epochs=3),
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": "regression", "task_level": "node", "return_type": "raw"},
    )
    kept = EDGES[0] != EDGES[1]
    color = colors(kind)
    if color is not None:
        color = color[kept].float() if kind == "continuous" else color[kept]
    arguments = {"edge_weight": WEIGHT[kept].float(), "edge_attr": color}
    conv(features().float(), EDGES[:, kept], **arguments)  # fills the cache
    mask = explainer(features().float(), EDGES[:, kept], **arguments).edge_mask
    assert mask.shape == (int(kept.sum()),)
    assert mask.unique().numel() > 1


@pytest.mark.parametrize("kind", ["none", "discrete", "continuous"])
def test_an_explanation_that_masks_nothing_changes_nothing(kind):
    conv = layer(2, edge_dim=None if kind == "none" else C)
    kept = EDGES[0] != EDGES[1]
    arguments = features(), EDGES[:, kept], WEIGHT[kept], None if kind == "none" else colors(kind)[kept]
    expected = conv(*arguments)
    set_masks(conv, torch.ones(int(kept.sum())), EDGES[:, kept], apply_sigmoid=False)
    torch.testing.assert_close(conv(*arguments), expected)


HOOKS = [f"{part}_forward{when}" for part in ("propagate", "message", "aggregate") for when in ("_pre", "")]


@pytest.mark.parametrize("place", HOOKS)
def test_hooks_are_called(place):
    conv, calls = layer(2), []
    expected = conv(features(), EDGES)
    handle = getattr(conv, f"register_{place}_hook")(lambda *arguments: calls.append(arguments))
    torch.testing.assert_close(conv(features(), EDGES), expected)
    assert len(calls) == 2  # once for each step
    handle.remove()
    conv(features(), EDGES)
    assert len(calls) == 2


def test_transforms_of_torch_take_the_plain_path():
    conv = RWKPlusConv(3, 4).double()
    x, edges = torch.rand(5, 3, dtype=torch.float64), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    _, tangent = torch.func.jvp(lambda x: conv(x, edges), (x,), (torch.ones_like(x),))
    jacobian = torch.func.jacrev(lambda x: conv(x, edges))(x)
    torch.testing.assert_close(tangent, jacobian.sum((2, 3)))
    expected = torch.autograd.functional.jacobian(lambda x: conv(x, edges), x)
    torch.testing.assert_close(jacobian, expected)
    assert expected.any()


@pytest.mark.parametrize("options", [{}, {"recompute": True}])
@pytest.mark.parametrize("by", ["edge_weight", "edge_attr"])
def test_forward_derivatives_by_edges_are_those_of_the_backward_pass(by, options):
    conv, x = layer(2, edge_dim=C, **options), features()
    edges = {"edge_weight": WEIGHT, "edge_attr": torch.nn.functional.one_hot(TYPES, C).double()}

    def walked(value):
        return conv(x, EDGES, **edges | {by: value})

    value = edges[by]
    expected = torch.autograd.functional.jacobian(walked, value)
    torch.testing.assert_close(torch.func.jacfwd(walked)(value), expected)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(walked(forward_ad.make_dual(value, torch.ones_like(value)))).tangent
    torch.testing.assert_close(tangent, expected.flatten(2).sum(2))
    stacked = torch.func.vmap(walked)(torch.stack([value, 2 * value]))
    torch.testing.assert_close(stacked[1], walked(2 * value))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_a_traced_layer_takes_graphs_of_other_sizes():
    conv = layer(2).eval()
    traced = torch.jit.trace(conv, (features(), EDGES))
    x, edges = features(12), torch.randint(12, (2, 30))
    torch.testing.assert_close(traced(x, edges), conv(x, edges))


class SilentMessages(RWKPlusConv):
    def message(self, x_j):
        return 0 * x_j


class SilentSums(RWKPlusConv):
    def aggregate(self, inputs, index, dim_size):
        return inputs.new_zeros(dim_size, inputs.size(-1))


class SilentUpdates(RWKPlusConv):
    def update(self, inputs):
        return 0 * inputs


@pytest.mark.parametrize("silent", [SilentMessages, SilentSums, SilentUpdates])
def test_a_subclass_may_change_what_is_passed_on(silent):
    assert RWKPlusConv(D, M, bias=False)(features().float(), EDGES).any()
    assert not silent(D, M, bias=False)(features().float(), EDGES).any()


def test_the_cache_is_forgotten_without_the_weights():
    conv = layer(2, cached=True)
    conv(features(), EDGES)
    conv.reset_cache()
    torch.testing.assert_close(conv(features(N + 1), EDGES), layer(2)(features(N + 1), EDGES))


@pytest.mark.parametrize("flushed", [True, False])
def test_denormals_are_treated_afterwards_as_before(flushed):
    kind = torch.get_default_dtype()
    try:
        torch.set_flush_denormal(flushed)
        torch.set_default_dtype(torch.float64)
        layer(2)(features(), EDGES)
        assert (torch.tensor(1e-310, dtype=torch.float64) / 1 == 0) == flushed
    finally:
        torch.set_flush_denormal(False)
        torch.set_default_dtype(kind)

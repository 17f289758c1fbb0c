import copy
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric import EdgeIndex
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.explain.algorithm.utils import set_masks
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import to_torch_coo_tensor, to_torch_csc_tensor, to_torch_csr_tensor

from rwkplus.errors import GraphError, ParameterError, ShapeError
from rwkplus.functional import rwk_plus
from rwkplus.nn import RWKPlusConv
from rwkplus.nn import rwk_plus_conv as module

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


@pytest.mark.parametrize("kind", ["none", "discrete", "continuous"])
@FUSED
def test_steps_add_up_to_the_kernel_with_the_hidden_graph(kind, fused):
    edge_attr = colors(kind)
    conv = layer(3, "concat", None if kind == "none" else C, add_self_loops=False, bias=False, fused=fused)
    steps = conv(features(), EDGES, WEIGHT, edge_attr).view(N, 3, M).sum((0, 2))
    # The kernel compares by inner product, here Y0 with unit vectors, and walks along edges, the layer against them.
    y0 = torch.sigmoid(features() @ conv.hidden_x.weight.t())
    _, weight = gcn_norm(EDGES, WEIGHT, N, add_self_loops=False)
    hidden = {"hidden_adj": conv.hidden_adj}
    if kind != "none":
        edge = {"edge_type": edge_attr} if kind == "discrete" else {"edge_attr": edge_attr}
        hidden = {
            "hidden_adj": torch.ones(1, M, M, dtype=torch.float64),
            "hidden_edge_attr": conv.hidden_adj.permute(1, 2, 0)[None],
            **edge,
        }
    scores = rwk_plus(
        y0,
        EDGES.flip(0),
        torch.zeros(N, dtype=torch.long),
        torch.eye(M, dtype=torch.float64)[None],
        steps=3,
        edge_weight=weight,
        **hidden,
    )
    torch.testing.assert_close(steps, scores.flatten())


@given(
    seed=st.integers(0, 99),
    steps=st.integers(1, 4),
    combine=st.sampled_from(["last", "sum", "concat"]),
    kind=st.sampled_from(["none", "discrete", "continuous"]),
    cached=st.booleans(),
    recompute=st.booleans(),
    bias=st.booleans(),
    loops=st.booleans(),
    flow=st.sampled_from(["source_to_target", "target_to_source"]),
)
def test_both_paths_agree(seed, steps, combine, kind, loops, **options):
    conv = layer(steps, combine, None if kind == "none" else C, add_self_loops=loops, **options)
    results = []
    for fused in (True, False):
        conv.fused, conv._cached = fused, None
        for _ in range(2):  # the second time from the cache
            x = features(seed=seed).requires_grad_()
            out = conv(x, EDGES, WEIGHT, colors(kind))
            grads = torch.autograd.grad(out.square().sum(), [x, *conv.parameters()])
            results.append((out, *grads))
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            torch.testing.assert_close(one, two)


@pytest.mark.parametrize("fused", [True, False])
def test_gradients_are_those_of_finite_differences(fused):
    conv = layer(2, edge_dim=C, fused=fused)
    x = features().requires_grad_()

    def call(x, *parameters):
        named = dict(zip(dict(conv.named_parameters()), parameters, strict=True))
        return torch.func.functional_call(conv, named, (x, EDGES, WEIGHT, TYPES))

    assert torch.autograd.gradcheck(call, (x, *conv.parameters()))


def test_edge_weights_and_colors_get_gradients():
    conv = layer(2, edge_dim=C)
    weight, color = WEIGHT.clone().requires_grad_(), colors("continuous").requires_grad_()
    assert torch.autograd.gradcheck(lambda *edges: conv(features(), EDGES, *edges), (weight, color))


# Layouts


@FUSED
def test_all_layouts_agree(fused):
    conv = layer(2, fused=fused)
    edges = torch.unique(EDGES, dim=1).contiguous()  # matrices have no repeated edges
    expected = conv(features(), edges)
    adjacency = edges.flip(0), torch.ones(edges.size(1), dtype=torch.float64), (N, N)
    layouts = [
        EdgeIndex(edges, sparse_size=(N, N)),
        EdgeIndex(edges, sparse_size=(N, N)).sort_by("col")[0],
        edges.int(),
        *(build(*adjacency) for build in (to_torch_coo_tensor, to_torch_csr_tensor, to_torch_csc_tensor)),
    ]
    for layout in layouts:
        torch.testing.assert_close(conv(features(), layout), expected)


def test_weights_in_a_sparse_adjacency_are_edge_weights():
    edges, weight = torch.unique(EDGES, dim=1), WEIGHT[:10]
    conv = layer(2)
    adjacency = to_torch_csr_tensor(edges.flip(0), weight, (N, N))
    torch.testing.assert_close(conv(features(), adjacency), conv(features(), edges, weight))


@FUSED
def test_static_graphs_take_a_batch_of_features(fused):
    conv = layer(2, edge_dim=C, fused=fused)
    x = torch.stack([features(), features(seed=1)])
    expected = torch.stack([conv(part, EDGES, edge_attr=TYPES) for part in x])
    torch.testing.assert_close(conv(x, EDGES, edge_attr=TYPES), expected)


# Laws


@FUSED
def test_nodes_may_be_numbered_in_any_way(fused):
    conv = layer(3, edge_dim=C, fused=fused)
    order = torch.randperm(N, generator=torch.Generator().manual_seed(0))
    renamed = torch.empty_like(order).scatter_(0, order, torch.arange(N))[EDGES]
    shuffled = conv(features()[order], renamed, WEIGHT, TYPES)
    torch.testing.assert_close(shuffled, conv(features(), EDGES, WEIGHT, TYPES)[order])


@FUSED
def test_edges_may_come_in_any_order(fused):
    conv = layer(3, edge_dim=C, fused=fused)
    order = torch.randperm(EDGES.size(1), generator=torch.Generator().manual_seed(0))
    expected = conv(features(), EDGES, WEIGHT, TYPES)
    torch.testing.assert_close(conv(features(), EDGES[:, order], WEIGHT[order], TYPES[order]), expected)


@FUSED
def test_information_travels_as_far_as_the_walk(fused):
    conv = layer(3, normalize=False, fused=fused)
    x, path = features(6).requires_grad_(), torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
    (grad,) = torch.autograd.grad(conv(x, path)[5].sum(), x)
    assert grad.abs().sum(1).gt(0).tolist() == [False, False, True, True, True, True]


def test_one_color_is_no_color():
    plain, colored = layer(2, add_self_loops=False), layer(2, edge_dim=1, add_self_loops=False)
    zeros = torch.zeros(EDGES.size(1), dtype=torch.long)
    torch.testing.assert_close(colored(features(), EDGES, WEIGHT, zeros), plain(features(), EDGES, WEIGHT))


def test_added_loops_have_a_color_of_their_own():
    conv = layer(1, edge_dim=C)
    assert conv.hidden_adj.shape == (C + 1, M, M)
    one_hot = torch.nn.functional.one_hot(TYPES, C).double()
    expected = conv(features(), EDGES, WEIGHT, TYPES)
    torch.testing.assert_close(conv(features(), EDGES, WEIGHT, one_hot), expected)
    with torch.no_grad():
        conv.hidden_adj[C] += 1
    changed = (conv(features(), EDGES, WEIGHT, TYPES) - expected).abs().sum(1).gt(0)
    assert changed.tolist() == [True, True, True, False, True, True, True, True]  # node 3 brought its own loop


def test_flow_turns_all_edges_around():
    conv, turned = layer(2, edge_dim=C), layer(2, edge_dim=C, flow="target_to_source")
    torch.testing.assert_close(turned(features(), EDGES.flip(0), WEIGHT, TYPES), conv(features(), EDGES, WEIGHT, TYPES))


def test_improved_weights_added_loops_with_two():
    twos = torch.full((N,), 2.0, dtype=torch.float64)
    loops = torch.arange(N).expand(2, N)
    edges = EDGES[:, EDGES[0] != EDGES[1]]
    ones = torch.ones(edges.size(1), dtype=torch.float64)
    with_loops = layer(2)(features(), torch.cat([edges, loops], 1), torch.cat([ones, twos]))
    torch.testing.assert_close(layer(2, improved=True)(features(), edges), with_loops)


# Ways to use it


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
    monkeypatch.setattr(module, "normalized", lambda *a, f=module.normalized, **k: calls.append(a) or f(*a, **k))
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


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
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


# Graphs at the border


@pytest.mark.parametrize("nodes", [0, 1, 3])
@FUSED
def test_graphs_without_edges_have_an_output(nodes, fused):
    empty = torch.empty(2, 0, dtype=torch.long)
    x = features(nodes).requires_grad_()
    out = layer(2, fused=fused)(x, empty)
    out.sum().backward()
    assert out.shape == (nodes, M)
    assert torch.isfinite(x.grad).all()


@FUSED
def test_nodes_without_neighbors_match_nothing(fused):
    conv = layer(2, add_self_loops=False, bias=False, fused=fused)
    out = conv(features(), EDGES)
    assert out[7].abs().sum() == 0
    assert torch.isfinite(out).all()


# Bad input


@FUSED
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (((features(), features()), EDGES), ParameterError, "bipartite"),
        ((features().float(), EDGES), ParameterError, r"x.to\(torch.float64\)"),
        ((features().long(), EDGES), ParameterError, "torch.int64"),
        ((features().to("meta"), EDGES), ParameterError, "meta"),
        ((features()[:, :3], EDGES), ShapeError, r"\(8, 3\).*\(N, 5\)"),
        ((features()[0], EDGES), ShapeError, r"\(N, 5\)"),
        ((features(), EDGES + 2), GraphError, "from 2 to 8 but there are 8 nodes"),
        ((features(), EDGES - 1), GraphError, "from -1"),
        ((features(), EDGES.t()), ShapeError, r"\(11, 2\)"),
        ((features(), EDGES.double()), ShapeError, "long"),
        ((features(), None), ShapeError, "NoneType"),
        ((features(), EDGES, WEIGHT[:3]), ShapeError, "11 edges"),
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
        (TYPES + 1, GraphError, "edge_attr holds numbers from 1 to 3"),
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
        ({"steps": 0}, "steps=0"),
        ({"combine": "mean"}, "combine"),
        ({"edge_dim": 0}, "edge_dim=0"),
        ({"normalize": False, "add_self_loops": True}, "normalize"),
    ],
)
def test_arguments_that_make_no_layer_are_named(arguments, message):
    with pytest.raises(ParameterError, match=message):
        RWKPlusConv(D, M, **arguments)


def test_sparse_adjacencies_flow_one_way():
    with pytest.raises(ParameterError, match="flow"):
        layer(2, flow="target_to_source")(features(), to_torch_csr_tensor(EDGES, size=(N, N)))

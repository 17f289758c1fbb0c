import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric import EdgeIndex
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import to_torch_coo_tensor, to_torch_csc_tensor, to_torch_csr_tensor

from rwkplus.functional import rwk_plus
from tests.nn.conv_choices import EDGES, FUSED, TYPES, WEIGHT, C, M, N, colors, features, layer


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

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from rwkplus.functional import color_similarity, rwk_minus, rwk_plus
from rwkplus.nn import EgoNets, KernelConv, egonet_kernel, egonets_of, extract_egonets
from rwkplus.nn.egonet_kernel import _banks_of, _Group, _parts_of, _plan_of
from rwkplus.nn.transforms import merge_egonets
from tests.nn.kernel_conv_choices import BATCH, GRAPHS, PATHS, PLACEMENTS, WAYS, layer
from tests.strategies import data_list, random_graphs, real_graphs

graphs = real_graphs(min_nodes=1, max_nodes=6, edge_weights=True, edge_colors=True)
extents = st.tuples(st.integers(1, 2), st.sampled_from([None, 2, 4]))


def induced(data, members):
    """One egonet as a graph of its own, cut out by PyG."""
    return data.subgraph(members)


@settings(max_examples=40)
@given(
    st.lists(graphs, min_size=1, max_size=3),
    extents,
    st.sampled_from(["rwk+", "rwk-"]),
    st.sampled_from(["open", "closed"]),
    st.booleans(),
    st.sampled_from([None, 2]),
    st.booleans(),
)
def test_the_value_at_a_node_is_the_kernel_of_its_egonet(graphs, extent, kernel, walks, zero, edge_dim, compiled):
    options = {"kernel": kernel, "walks": walks, "include_zero_step": zero, "edge_dim": edge_dim, "combine": "concat"}
    conv = layer(hops=extent[0], max_nodes=extent[1], compiled=compiled, **options)
    batch = Batch.from_data_list(data_list(graphs))
    output = conv(batch.x, batch.edge_index, batch.edge_weight, batch.edge_attr)
    egonets = extract_egonets(batch.edge_index, batch.num_nodes, *extent)
    hidden = conv.hidden
    for v, members in enumerate(egonets.member.split(egonets.size.tolist())):
        ego = induced(batch, members)
        colors = {} if edge_dim is None else {"edge_attr": ego.edge_attr, "hidden_edge_attr": hidden.edge_attr}
        expected = (rwk_plus if kernel == "rwk+" else rwk_minus)(
            ego.x,
            ego.edge_index,
            torch.zeros(len(members), dtype=torch.long),
            hidden.x,
            hidden.adj,
            steps=3,
            edge_weight=ego.edge_weight,
            closed=walks == "closed",
            include_zero_step=zero,
            **colors,
        )
        torch.testing.assert_close(output[v], expected[:, 0].flatten())


@WAYS
@PLACEMENTS
def test_egonets_that_were_found_before_give_the_same(step_norm, compiled):
    conv = layer(hops=2, max_nodes=4, step_norm=step_norm, compiled=compiled)
    batch = Batch.from_data_list([EgoNets(2, 4)(graph) for graph in GRAPHS])
    expected = copy.deepcopy(conv)(BATCH.x, BATCH.edge_index)
    torch.testing.assert_close(conv(batch.x, egonets_of(batch, 2, 4)), expected)


@PLACEMENTS
@pytest.mark.parametrize("kernel", ["rwk+", "rwk-"])
@pytest.mark.parametrize("training", [True, False])
def test_compiled_loops_agree_with_the_plain_recurrence(step_norm, kernel, training):
    """Values, gradients and running statistics, also with two groups of hidden graphs and edge colors."""
    batch = Batch.from_data_list(data_list(random_graphs(6, real=True, edge_colors=True, edge_weights=True)))
    results = []
    for compiled in PATHS.values():
        conv = layer(11, kernel=kernel, step_norm=step_norm, edge_dim=2, include_zero_step=True, compiled=compiled)
        x = batch.x.clone().requires_grad_()
        for _ in range(2):  # the second batch sees statistics of the first
            conv.train(training)
            output = conv(x, batch.edge_index, batch.edge_weight, batch.edge_attr)
        output.square().sum().backward()
        results.append((output, x.grad, *(p.grad for p in conv.parameters()), *conv.buffers()))
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("kernel", ["rwk+", "rwk-"])
@pytest.mark.parametrize("training", [True, False])
def test_normalized_walks_part_by_part_are_those_of_the_whole(kernel, training, monkeypatch):
    batch = Batch.from_data_list(data_list(random_graphs(40, real=True)))
    egonets, results = extract_egonets(batch.edge_index, batch.num_nodes), []
    for slots in (egonets.member.numel(), 200, 1):
        monkeypatch.setattr(egonet_kernel, "PART", slots)
        conv = layer(11, kernel=kernel, step_norm="propagate").train(training)
        x = batch.x.clone().requires_grad_()
        output = conv(x, egonets)
        output.square().sum().backward()
        results.append((output, x.grad, *(p.grad for p in conv.parameters()), *conv.buffers()))
    assert egonets.member.numel() > 600
    torch.testing.assert_close(results[1], results[0])
    torch.testing.assert_close(results[2], results[0])


@WAYS
@PLACEMENTS
def test_gradients(step_norm, compiled):
    conv = layer(2, step_norm=step_norm, compiled=compiled, edge_dim=2)
    graph = data_list(random_graphs(1, seed=3, real=True, edge_colors=True))[0]
    names, parameters = zip(*conv.named_parameters(), strict=True)

    def values(x, *parameters):
        state = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(conv, state, (x, graph.edge_index, None, graph.edge_attr))

    inputs = [part.detach().clone().requires_grad_() for part in (graph.x, *parameters)]
    assert torch.autograd.gradcheck(values, inputs, fast_mode=True)


@WAYS
@PLACEMENTS
def test_outputs_in_evaluation_do_not_depend_on_company(step_norm, compiled):
    conv = layer(step_norm=step_norm, compiled=compiled, max_nodes=4)
    conv(BATCH.x, BATCH.edge_index)
    conv.eval()
    alone = torch.cat([conv(graph.x, graph.edge_index) for graph in GRAPHS])
    torch.testing.assert_close(conv(BATCH.x, BATCH.edge_index), alone)


@WAYS
def test_step_norm_sees_real_nodes_only(compiled):
    """Egonets of a single node, as padding would leave them, still count by what they are: one node without walks."""
    conv = layer(2, step_norm="propagate", compiled=compiled)
    conv(BATCH.x, BATCH.edge_index)
    egonets = extract_egonets(BATCH.edge_index, BATCH.num_nodes)
    ends = egonets.edge_index
    y0 = torch.einsum("nd,kmd->nkm", BATCH.x, conv.hidden.x)[egonets.member]
    moved = torch.einsum("rkm,klm->rkl", y0, conv.hidden.adj)
    reached = torch.zeros_like(y0).index_add(0, ends[0], moved[ends[1]])
    torch.testing.assert_close(conv.norm.running_mean[0], 0.1 * reached.mean((0, 2)))
    torch.testing.assert_close(conv.norm.running_var[0], 0.9 + 0.1 * reached.transpose(1, 2).flatten(0, 1).var(0))


@WAYS
@PLACEMENTS
@pytest.mark.parametrize("training", [True, False])
def test_egonets_that_are_alike_can_be_computed_once(step_norm, compiled, training):
    """The same outputs, gradients and statistics, for features that are the same function of each row."""
    graphs = [EgoNets(1, 4)(graph) for graph in data_list(random_graphs(4, edge_weights=True, edge_colors=True))]
    batch = Batch.from_data_list(graphs * 3 + graphs[:1])
    egonets = egonets_of(batch, 1, 4)
    results = []
    for merge in (True, False):
        conv = layer(9, step_norm=step_norm, compiled=compiled, edge_dim=2, aggr="mean", include_zero_step=True)
        encoder = torch.nn.Linear(3, 2).double()
        torch.nn.init.ones_(encoder.weight)
        with torch.no_grad():
            encoder.weight[0, :2], encoder.bias[:] = torch.tensor([0.5, -1.0]), 0.25
        output = conv.train(training)(encoder(batch.x), egonets, merge=merge)
        output.square().sum().backward()
        results.append((output, encoder.weight.grad, *(p.grad for p in conv.parameters()), *conv.buffers()))
    torch.testing.assert_close(*results)
    distinct, _ = merge_egonets(egonets)
    assert distinct.member.numel() < 0.5 * egonets.member.numel()  # so that merging was worth it


def test_the_mean_is_over_pairs_of_a_node_and_a_hidden_node():
    egonets = extract_egonets(BATCH.edge_index, BATCH.num_nodes)
    mean, total = (layer(aggr=aggr)(BATCH.x, BATCH.edge_index) for aggr in ("mean", "sum"))
    torch.testing.assert_close(mean * 3 * egonets.size.unsqueeze(1), total)


@WAYS
@PLACEMENTS
@pytest.mark.parametrize("merge", [True, False])
def test_edges_can_learn(step_norm, compiled, merge):
    """Gradients by weights and colors of edges are those of egonets as graphs of their own, which the layer of whole
    graphs walks through in torch; merging egonets that are alike would mix them up.
    """
    ring = torch.stack([torch.arange(6), torch.arange(1, 7) % 6])
    graph = Data(x=torch.ones(6, 3).double(), edge_index=torch.cat([ring, ring.flip(0)], 1))
    graph.edge_weight, graph.edge_attr = torch.ones(12).double(), torch.ones(12, 2).double()
    each = torch.linspace(1, 2, 6).double().unsqueeze(1)
    grads = []
    for whole in (False, True):
        conv = KernelConv(
            3, 2, hidden_nodes=2, step_norm=step_norm, compiled=compiled, edge_dim=2, generator=torch.Generator()
        ).double()
        weight, attr = (graph[key].clone().requires_grad_() for key in ("edge_weight", "edge_attr"))
        egonets = extract_egonets(graph.edge_index, graph.num_nodes, 1, None, weight, attr)
        if merge:
            egonets = egonets._replace(kind=EgoNets(1)(copy.copy(graph)).ego_kind)
        if whole:
            scores = rwk_plus(
                graph.x[egonets.member],
                egonets.edge_index,
                egonets.owner,
                conv.hidden.x,
                conv.hidden.adj,
                steps=3,
                edge_weight=egonets.weight,
                edge_attr=egonets.attr,
                hidden_edge_attr=conv.hidden.edge_attr,
                normalize=conv.norm.normalize,
                readout=conv.norm.readout,
            )
            output = scores.sum(0)
        else:
            output = conv(graph.x, egonets, merge=merge)
        (each * output).sum().backward()
        grads.append((weight.grad, attr.grad))
    torch.testing.assert_close(*grads)
    assert all(grad.any() for grad in grads[0])


@pytest.mark.parametrize("nodes", [0, 1])
def test_ways_agree_for_hardly_any_walks(nodes):
    """A single value is its own mean, and a batch without nodes leaves running statistics as they are."""
    results = []
    for compiled in PATHS.values():
        conv = layer(hidden_nodes=1, step_norm="propagate", compiled=compiled)
        conv(BATCH.x, BATCH.edge_index)
        x = torch.ones(nodes, 2, dtype=torch.float64, requires_grad=True)
        output = conv(x, torch.tensor([[0], [0]])[:, :nodes])
        output.sum().backward()
        results.append((output, x.grad, *conv.buffers()))
    torch.testing.assert_close(*results)


def test_moments_are_not_taken_in_evaluation():
    """They would be thrown away; the number of values that they are of stays 0."""
    conv = layer(step_norm="propagate").eval()
    egonets = extract_egonets(BATCH.edge_index, BATCH.num_nodes)
    y0 = color_similarity(BATCH.x, conv.hidden.x).detach()
    plan = _plan_of(egonets[:4], y0.new_empty(len(egonets.link), 0), torch.ones_like(egonets.size), y0)
    (bank,) = _banks_of(y0, conv.hidden.adj.detach().unsqueeze(-1))
    reached = np.zeros((1, egonets.member.numel(), bank.mix.shape[1]))
    group = _Group(bank, _parts_of(plan), reached, reached, normalized=True)
    for measure in (True, False):
        moments = group.take_step(0, match_all=True, measure=measure)
        assert moments.square.any() == measure

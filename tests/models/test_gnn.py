import json
from typing import get_args

import pytest
import torch
from torch_geometric.data import Batch, Data

from rwkplus.errors import ParameterError
from rwkplus.models import GNN
from rwkplus.models.gnn import Conv
from rwkplus.models.registry import build

CONVS = get_args(Conv)
PLAIN = [conv for conv in CONVS if conv != "GINEConv"]


def graph(nodes, seed, *, discrete=False):
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(nodes, (2, 3 * nodes), generator=generator)
    if discrete:
        x = torch.stack([torch.randint(k, (nodes,), generator=generator) for k in (5, 3)], 1)
        edge_attr = torch.stack([torch.randint(k, (3 * nodes,), generator=generator) for k in (4, 2)], 1)
    else:
        x = torch.randn(nodes, 6, generator=generator)
        edge_attr = torch.randn(3 * nodes, 2, generator=generator)
    return Data(x=x, edge_index=edges, edge_attr=edge_attr)


def batch(**kwargs):
    return Batch.from_data_list([graph(nodes, nodes, **kwargs) for nodes in (5, 8, 3)])


def network(conv, **kwargs):
    torch.manual_seed(0)
    model = GNN(kwargs.pop("in_channels", 6), 2, conv=conv, hidden_channels=8, **kwargs)
    return model.eval()


def edges_of(conv, **kwargs):
    return kwargs if conv in ("RWKPlusConv", "GINEConv") else {}


@pytest.mark.parametrize("conv", CONVS)
def test_outputs_for_nodes_and_graphs(conv):
    edges = edges_of(conv, edge_channels=2)
    assert network(conv, level="node", **edges)(batch()).shape == (16, 2)
    assert network(conv, level="graph", **edges)(batch()).shape == (3, 2)


@pytest.mark.parametrize("conv", CONVS)
def test_discrete_nodes_and_edges(conv):
    edges = edges_of(conv, edge_categories=[4, 2])
    model = network(conv, in_channels=2, categories=[5, 3], **edges)
    out = model(batch(discrete=True))
    assert out.shape == (3, 2)
    out.sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize("conv", CONVS)
def test_graphs_of_a_batch_do_not_see_each_other(conv):
    model = network(conv, **edges_of(conv, edge_channels=2))
    alone = [model(Batch.from_data_list([data])) for data in batch().to_data_list()]
    torch.testing.assert_close(model(batch()), torch.cat(alone))


@pytest.mark.parametrize("conv", ["RWKPlusConv", "GINEConv"])
def test_edge_features_change_the_output(conv):
    model, data = network(conv, edge_channels=2), batch()
    before = model(data)
    data.edge_attr = data.edge_attr + 1
    assert not torch.allclose(model(data), before)


@pytest.mark.parametrize("conv", PLAIN)
def test_only_what_is_asked_for_is_read(conv):
    model, data = network(conv), batch()
    before = model(data)
    data.edge_attr = data.edge_attr + 1
    torch.testing.assert_close(model(data), before)
    assert "edge_attr" not in model.reads
    data.edge_weight = torch.linspace(0.5, 2, data.num_edges)
    assert ("edge_weight" in model.reads) == (not torch.allclose(model(data), before))


def test_everything_but_the_convolution_is_the_same():
    names = [
        {name: p.shape for name, p in network(conv).named_parameters() if not name.startswith("convs")}
        for conv in PLAIN
    ]
    assert names[0] == names[1] == names[2]


def test_nodes_are_their_own_neighbors_only_at_node_level():
    assert [network("GCNConv", level=level).convs[0].add_self_loops for level in ("node", "graph")] == [True, False]
    assert network("RWKPlusConv", add_self_loops=True).convs[0].add_self_loops


@pytest.mark.parametrize("conv", ["RWKPlusConv", "GCNConv"])
def test_options_reach_the_layers(conv):
    layer = network(conv, layers=3, steps=4, combine="sum", cached=True, recompute=True).convs[2]
    assert layer.cached
    if conv == "RWKPlusConv":
        assert (layer.steps, layer.combine, layer.recompute) == (4, "sum", True)


def test_initial_parameters_of_walks_can_be_smaller():
    plain, small = network("RWKPlusConv"), network("RWKPlusConv", initial_scale=0.25)
    for layer, scaled in zip(plain.convs, small.convs, strict=True):
        torch.testing.assert_close(scaled.hidden_x.weight, layer.hidden_x.weight / 4)
        torch.testing.assert_close(scaled.hidden_adj, layer.hidden_adj / 4)
    before = small.convs[0].hidden_adj.abs().mean()
    small.reset_parameters()
    assert 0.5 < small.convs[0].hidden_adj.abs().mean() / before < 2


def test_sum_and_mean_pool():
    total, mean = network("GCNConv", residual=False), network("GCNConv", residual=False, pool="mean")
    total.head = mean.head = torch.nn.Identity()
    sizes = torch.tensor([[5.0], [8.0], [3.0]])
    torch.testing.assert_close(mean(batch()) * sizes, total(batch()))


def test_the_residual_carries_the_input_past_a_silent_layer():
    for residual in (True, False):
        model = network("GCNConv", level="node", residual=residual)
        model.head = torch.nn.Identity()
        for norm in model.norms:
            torch.nn.init.zeros_(norm.weight)
        expected = model.encoder(batch().x) if residual else torch.zeros(16, 8)
        torch.testing.assert_close(model(batch()), expected)


def test_a_linear_layer_can_follow_each_convolution():
    model = network("GCNConv", level="node", layers=1, residual=False, feed_forward=True).eval()
    model.head = torch.nn.Identity()
    before, linear, after = model.norms[0][0], model.norms[0][2], model.norms[0][3]
    x = model.convs[0](model.encoder(batch().x), batch().edge_index)
    torch.testing.assert_close(model(batch()), after(linear(before(x).relu())).relu())
    weight = linear.weight.clone()
    model.reset_parameters()
    assert not torch.equal(linear.weight, weight)


@pytest.mark.parametrize("share", ["dropout", "input_dropout"])
@pytest.mark.parametrize("discrete", [False, True])
def test_dropout_acts_in_training_only(share, discrete):
    nodes = {"in_channels": 2, "categories": [5, 3]} if discrete else {}
    model, data = network("GCNConv", **{share: 0.5}, **nodes), batch(discrete=discrete)
    torch.testing.assert_close(model(data), model(data))
    model.train()
    assert not torch.allclose(model(data), model(data))


@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_coo])
def test_features_of_sparse_rows_are_dropped_as_well(layout):
    torch.manual_seed(0)
    x, seen = torch.eye(40), []
    data = Data(x=x.to_sparse(layout=layout), edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]))
    network = GNN(40, 2, level="node", hidden_channels=4, input_dropout=0.5)
    network.encoder.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].to_dense()))
    network(data)
    diagonal = seen[0].diagonal()
    assert seen[0].equal(diagonal.diag())
    assert set(diagonal.tolist()) == {0.0, 2.0}
    torch.testing.assert_close(network.eval()(data), network(Data(x=x, edge_index=data.edge_index)))
    assert seen[1].equal(x)


@pytest.mark.parametrize("conv", PLAIN)
def test_closed_walks_tell_rings_apart(conv):
    ring = torch.arange(6)
    hexagon = torch.stack([ring, (ring + 1) % 6])
    triangles = torch.stack([ring, torch.tensor([1, 2, 0, 4, 5, 3])])
    graphs = [Data(x=torch.ones(6, 6), edge_index=torch.cat([e, e.flip(0)], 1)) for e in (hexagon, triangles)]
    blind, seeing = network(conv), network(conv, closed_walks=3)
    assert blind.pre_transform is None
    torch.testing.assert_close(*blind(Batch.from_data_list(graphs)))
    first, second = seeing(Batch.from_data_list(graphs))
    assert not torch.allclose(first, second)
    prepared = Batch.from_data_list([seeing.pre_transform(graph) for graph in graphs])
    torch.testing.assert_close(seeing(prepared), torch.stack([first, second]))


@pytest.mark.parametrize("conv", CONVS)
def test_a_few_steps_of_training_fit_a_batch(conv):
    model, target = network(conv, **edges_of(conv, edge_channels=2)).train(), torch.tensor([0, 1, 0])
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(batch()), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def test_parameters_survive_json_and_drawing_anew_changes_them():
    params = {"conv": "RWKPlusConv", "categories": [5, 3], "edge_categories": [4, 2], "steps": 3, "hidden_channels": 8}
    model = build(GNN, 2, 1, json.loads(json.dumps(params)))
    before = {name: value.clone() for name, value in model.named_parameters()}
    model.reset_parameters()
    same = [name for name, value in model.named_parameters() if torch.equal(value, before[name])]
    assert all("bias" in name or "norm" in name for name in same)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"conv": "GATConv"}, "conv must be one of RWKPlusConv"),
        ({"level": "edge"}, "level"),
        ({"pool": "max"}, "pool"),
        ({"combine": "concat"}, "combine"),
        ({"layers": 0}, "layers must be a whole number"),
        ({"closed_walks": -1}, "closed_walks must be a whole number"),
        ({"closed_walks": 3, "level": "node"}, "closed_walks are for whole graphs"),
        ({"categories": [3, 4]}, "in_channels=6 columns"),
        ({"conv": "GINConv", "edge_channels": 2}, "GINEConv"),
        ({"conv": "GINEConv"}, "needs edge features"),
        ({"edge_channels": 2, "edge_categories": [2]}, "Give one"),
    ],
)
def test_networks_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(ParameterError, match=message):
        GNN(6, 2, **arguments)


def test_missing_edge_features_are_named():
    data = batch()
    del data.edge_attr
    with pytest.raises(ParameterError, match="no edge_attr"):
        network("RWKPlusConv", edge_channels=2)(data)


@pytest.mark.parametrize("conv", ["RWKPlusConv", "GCNConv"])
def test_without_normalization_neighbors_add_up(conv):
    model = network(conv, normalize=False)
    assert not any(layer.normalize or layer.add_self_loops for layer in model.convs)
    assert not any(layer.add_self_loops for layer in network(conv, normalize=False, level="node").convs)
    assert all(layer.normalize and layer.add_self_loops for layer in network(conv, level="node").convs)


def test_heads_of_graphs_do_not_mind_the_scale_of_sums():
    model = network("GCNConv").train()
    pooled = torch.randn(16, 8)
    torch.testing.assert_close(model.head(pooled), model.head(1000 * pooled), rtol=1e-3, atol=1e-3)

import copy
import inspect
import json

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from rwkplus.errors import GraphError, ParameterError
from rwkplus.models import RWNN, KerGNN
from rwkplus.nn import EgoNets, KernelConv
from rwkplus.nn.transforms import find_egonets
from tests.strategies import data_list, random_graphs

GRAPHS = data_list(random_graphs(6, real=True, edge_colors=True, edge_weights=True))
NETWORKS = pytest.mark.parametrize("network", [KerGNN, RWNN])


def batch(graphs=GRAPHS):
    return Batch.from_data_list(graphs)


def kergnn(**options):
    return KerGNN(2, 3, **{"hidden_nodes": 3} | options).double()


@NETWORKS
@pytest.mark.parametrize(
    "options",
    [
        {"norm": "fixed", "mlp_channels": None},
        {},
        {"kernel": "rwk+", "steps": 2},
        {"kernel": "rwk-", "combine": "concat"},
        {"step_norm": "readout", "walks": "closed"},
        {"step_norm": None, "include_zero_step": True},
        {"edge_dim": 2, "dropout": 0.2},
        {"hidden_channels": 5},
        {"hidden_channels": None},
    ],
)
def test_graphs_become_outputs_and_every_parameter_learns(network, options):
    model = network(2, 3, hidden_nodes=3, **json.loads(json.dumps(options))).double()
    output = model(batch())
    assert output.shape == (6, 3)
    output.square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


@NETWORKS
def test_one_graph_does_not_see_another_in_evaluation(network):
    model = network(2, 3, hidden_nodes=3).double()
    model(batch())
    model.eval()
    alone = torch.cat([model(batch([graph])) for graph in GRAPHS])
    torch.testing.assert_close(model(batch()), alone)


def test_egonets_found_beforehand_give_the_same_outputs():
    model = kergnn(max_nodes=4, edge_dim=2, layers=2)
    other = copy.deepcopy(model)
    loader = DataLoader([model.pre_transform(graph) for graph in GRAPHS], batch_size=6)
    torch.testing.assert_close(model(next(iter(loader))), other(batch()))


def test_egonets_that_look_alike_at_first_differ_in_later_layers():
    """All inner nodes of a path have the same egonet, but not the same second layer."""
    line = torch.arange(7)
    edges = torch.stack([line[:-1], line[1:]])
    path = Data(x=torch.ones(7, 2, dtype=torch.float64), edge_index=torch.cat([edges, edges.flip(0)], 1))
    model = kergnn(layers=2).eval()
    expected = model.embed(batch([path, path]))
    torch.testing.assert_close(model.embed(batch([model.pre_transform(path)] * 2)), expected)
    assert not torch.allclose(expected[1], expected[2])


def test_egonets_found_beforehand_are_not_searched_again(monkeypatch):
    model = kergnn(layers=2)
    loader = DataLoader([model.pre_transform(graph) for graph in GRAPHS], batch_size=6)

    def search(*_):
        raise AssertionError("searched again")

    monkeypatch.setattr("rwkplus.nn.transforms.find_egonets", search)
    model(next(iter(loader)))
    with pytest.raises(AssertionError, match="searched again"):
        model(batch())


def test_egonets_are_searched_once_for_all_layers(monkeypatch):
    searches = []

    def search(*arguments):
        searches.append(arguments)
        return find_egonets(*arguments)

    monkeypatch.setattr("rwkplus.nn.transforms.find_egonets", search)
    kergnn(layers=3)(batch())
    assert len(searches) == 1


def test_egonets_of_another_network_are_refused():
    with pytest.raises(GraphError, match="max_nodes=4"):
        kergnn(max_nodes=10)(batch([EgoNets(1, 4)(graph) for graph in GRAPHS]))


def test_it_is_built_as_described():
    model = kergnn(hidden_channels=5, num_hidden=4, layers=2).eval()
    with torch.no_grad():
        x = model.encoder(batch().x).relu()
        for i, conv in enumerate(model.convs):
            y = model.norms[i](conv(x, batch().edge_index, batch().edge_weight, batch().edge_attr)).relu()
            x = y + model.skips[i](x)
        pooled = torch.zeros(6, 4, dtype=x.dtype).index_add(0, batch().batch, x)
        torch.testing.assert_close(model(batch()), model.mlp(pooled))
    assert isinstance(model.skips[1], torch.nn.Identity)  # 4 hidden graphs in, 4 out
    assert [type(conv) for conv in model.convs] == [KernelConv] * 2
    assert (model.convs[0].in_channels, model.convs[1].in_channels) == (5, 4)


def test_the_residual_can_be_left_out():
    model = kergnn(residual=False, num_hidden=4).eval()
    x = model.encoder(batch().x).relu()
    expected = model.norms[0](model.convs[0](x, batch().edge_index, batch().edge_weight)).relu()
    torch.testing.assert_close(model.embed(batch()), expected)


def test_the_scores_of_rwnn_are_concatenated_by_step():
    model = RWNN(2, 3, num_hidden=5, hidden_nodes=3, steps=2).double()
    assert model.embed(batch()).shape == (6, 3 * 5)
    assert model.kernels.kernel == "rwk-"
    assert model.kernels.include_zero_step
    assert (model.kernels.hidden.adj == 0).any()


@NETWORKS
def test_all_arguments_have_names_and_plain_defaults(network):
    parameters = list(inspect.signature(network).parameters.values())
    assert [p.name for p in parameters[:2]] == ["in_channels", "out_channels"]
    json.dumps({p.name: p.default for p in parameters[2:]})
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters[2:])


@NETWORKS
def test_it_tells_which_fields_it_reads(network):
    assert network(2, 3).reads == ("x", "edge_weight")
    assert network(2, 3, edge_dim=2).reads == ("x", "edge_weight", "edge_attr")


@NETWORKS
def test_parameters_are_drawn_anew(network):
    model = network(2, 3, hidden_channels=5)
    before = copy.deepcopy(model.state_dict())
    model.reset_parameters()
    drawn = [name for name, value in before.items() if value.is_floating_point() and value.unique().numel() > 1]
    assert drawn
    assert not [name for name in drawn if torch.equal(before[name], model.state_dict()[name])]


def test_learning_makes_the_loss_smaller():
    torch.manual_seed(0)
    model = kergnn(steps=2)
    target = torch.linspace(-1, 1, 18, dtype=torch.float64).view(6, 3)
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = (model(batch()) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]


def test_no_layer_is_no_network():
    with pytest.raises(ParameterError, match="layers"):
        KerGNN(2, 3, layers=0)


def test_fixed_scales_without_activation_add_up_over_parts_of_a_graph():
    model = kergnn(norm="fixed", activation=None, mlp_channels=None, hidden_channels=None, step_norm=None)
    model(batch())  # sets the scales
    model.eval()

    def union(*parts):
        together = batch([GRAPHS[i] for i in parts])
        return Data(**{key: together[key] for key in ("x", "edge_index", "edge_weight", "edge_attr")})

    ab, cd, ac, bd = model(batch([union(0, 1), union(2, 3), union(0, 2), union(1, 3)]))
    torch.testing.assert_close(ab + cd, ac + bd)


def test_unknown_norms_and_activations_are_refused():
    with pytest.raises(ParameterError, match="norm must be one of batch, fixed"):
        kergnn(norm="layer")
    with pytest.raises(ParameterError, match="activation must be relu or None"):
        kergnn(activation="tanh")


@pytest.mark.parametrize("beforehand", [True, False])
def test_gradients_reach_weights_and_colors_of_edges(beforehand):
    model, graphs = kergnn(edge_dim=2), batch()
    if beforehand:
        graphs = model.pre_transform(graphs)
    graphs.edge_weight.requires_grad_()
    graphs.edge_attr.requires_grad_()
    model(graphs).square().sum().backward()
    assert graphs.edge_weight.grad.any()
    assert graphs.edge_attr.grad.any()


def test_gradients_by_features_do_not_depend_on_egonets_found_beforehand():
    ring = torch.arange(6)
    edges = torch.stack([ring, (ring + 1) % 6])
    graph = Data(x=torch.ones(6, 2, dtype=torch.double), edge_index=torch.cat([edges, edges.flip(0)], 1))
    model, grads = kergnn(step_norm=None).eval(), []
    for found in (graph, model.pre_transform(copy.copy(graph))):
        found.x = graph.x.clone().requires_grad_()
        grads.extend(torch.autograd.grad(model(found).sum(), found.x))
    torch.testing.assert_close(*grads)
    assert grads[0].any()

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch

from rwkplus.errors import ParameterError
from rwkplus.models.gnn import GIN, GNN
from rwkplus.models.registry import MODELS, build, class_of, name_of, parameters_of, register
from tests.training.toy import rings


class Mine(nn.Module):
    def __init__(self, in_channels, out_channels, width=3):
        super().__init__()
        self.linear = nn.Linear(in_channels, out_channels)

    def forward(self, batch):
        return self.linear(batch.x)


def test_networks_are_built_by_name_or_class():
    assert build("gin", 2, 3, {"layers": 1}).head.out_channels == 3
    assert isinstance(build(Mine, 2, 3, {"width": 4}), Mine)
    assert name_of("gin") == name_of(GIN) == "gin"
    assert name_of("gnn") == name_of(GNN) == "gnn"
    assert name_of(Mine) is None


def test_parameters_of_a_network_are_listed_without_its_channels():
    assert parameters_of(Mine) == ["width"]
    assert {"conv", "categories", "edge_categories"} <= set(parameters_of("gnn"))


class Wider(GNN):
    def __init__(self, *args, factor=2, **kwargs):
        super().__init__(*args, hidden_channels=factor * 8, **kwargs)


def test_networks_may_pass_parameters_on_to_their_base():
    assert {"factor", "conv", "level"} <= set(parameters_of(Wider))
    assert not {"args", "kwargs", "self", "in_channels"} & set(parameters_of(Wider))
    assert build(Wider, 3, 2, {"factor": 3, "steps": 4}).convs[0].steps == 4
    with pytest.raises(ParameterError, match="Wider cannot be made with stepz=4"):
        build(Wider, 3, 2, {"stepz": 4})


def test_unknown_names_are_refused():
    with pytest.raises(ParameterError, match=r"no model 'gim'; known are kergnn, rwnn, "):
        class_of("gim")
    with pytest.raises(ParameterError, match="GIN has no parameter 'kernel'; known are hidden_channels"):
        build("gin", 2, 3, {"kernel": "rwk+"})


def test_own_networks_can_be_registered(monkeypatch):
    monkeypatch.setattr("rwkplus.models.registry.MODELS", dict(MODELS))
    register("mine", Mine)
    assert name_of(Mine) == "mine"
    assert isinstance(build("mine", 2, 3, {}), Mine)


def local_network():
    class Local(Mine):
        pass

    return Local


def test_classes_that_no_import_finds_can_be_registered(monkeypatch):
    monkeypatch.setattr("rwkplus.models.registry.MODELS", dict(MODELS))
    one, other = local_network(), local_network()
    register("one", one)
    register("other", other)
    assert type(build("one", 2, 3, {})) is one
    assert type(build("other", 2, 3, {})) is other
    assert (name_of(one), name_of(other), name_of(local_network())) == ("one", "other", None)


def test_gin_does_not_care_about_company_or_order_of_nodes():
    torch.manual_seed(0)
    graphs, model = rings(4), GIN(2, 3, hidden_channels=8).eval()
    together = model(Batch.from_data_list(graphs))
    assert together.shape == (4, 3)
    for graph, expected in zip(graphs, together, strict=True):
        order = torch.randperm(graph.num_nodes)
        turned = graph.clone()
        turned.x, turned.edge_index = graph.x[order], order.argsort()[graph.edge_index]
        torch.testing.assert_close(model(Batch.from_data_list([turned]))[0], expected)


@pytest.mark.parametrize("params", [{"layers": 0}, {"hidden_channels": 0}])
def test_gin_refuses_impossible_sizes(params):
    with pytest.raises(ParameterError, match="at least 1"):
        GIN(2, 3, **params)


@pytest.mark.parametrize("model", ["kergnn", "rwnn", "gin", "gnn", "igad"])
def test_a_dropout_of_zero_may_be_a_whole_number(model):
    """As it comes from a command line or a JSON file."""
    assert build(model, 3, 2, {"dropout": 0}) is not None


@pytest.mark.parametrize("model", ["kergnn", "rwnn", "gin", "gnn", "igad"])
@pytest.mark.parametrize("share", [2, -0.1, "half"])
def test_impossible_dropout_is_named(model, share):
    with pytest.raises(ParameterError, match="dropout"):
        build(model, 3, 2, {"dropout": share})


@pytest.mark.parametrize(
    "params",
    [
        {"layers": 2.5},
        {"hidden_channels": "many"},
        {"steps": 1.5},
        {"edge_categories": 3},
        {"conv": "GCNConv", "normalize": False, "add_self_loops": True},
    ],
)
def test_parameters_that_make_no_network_are_named(params):
    with pytest.raises(ParameterError, match=next(reversed(params))):
        build("gnn", 3, 2, params)


def test_mistakes_of_own_networks_stay_what_they_are():
    class Broken(nn.Module):
        def __init__(self, in_channels, out_channels):
            raise TypeError("not finished")

    with pytest.raises(TypeError, match="not finished"):
        build(Broken, 3, 2, {})

"""Label numbers in columns, from the graphs to a saved network and back."""

import json

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from rwkplus.errors import GraphError, ParameterError
from rwkplus.models.registry import fitted_params, sizes_of
from rwkplus.saving import load
from rwkplus.training import GraphDataset, train
from rwkplus.training.dataset import Inputs, as_table
from rwkplus.training.estimators import estimator_of
from tests.training.toy import QUICK, rings

GNN = {"hidden_channels": 8, "layers": 1}


def molecules(num_graphs=24):
    """Rings whose nodes and edges carry label numbers."""
    graphs = []
    for i, ring in enumerate(rings(num_graphs)):
        color = ring.x.argmax(1)
        x = torch.stack([3 * color, (color + i) % 2], 1)
        graphs.append(Data(x=x, edge_index=ring.edge_index, edge_attr=x[ring.edge_index[0]], y=ring.y))
    return graphs


def fit(graphs, features="auto"):
    inputs = Inputs.fit(as_table(graphs), features)
    return inputs, inputs.read(graphs).graphs()


def test_integers_beyond_one_are_label_numbers():
    inputs, graphs = fit(molecules())
    assert inputs.features == "discrete"
    assert inputs.reader.nodes.vocabularies == (("0", "3"), ("0", "1"))
    assert sizes_of(inputs.reader) == {"categories": [4, 2], "edge_categories": [4, 2]}
    assert torch.equal(graphs[3].x, molecules()[3].x)
    assert torch.equal(graphs[3].edge_attr, molecules()[3].edge_attr)


def test_zeros_and_ones_are_label_numbers_only_on_demand():
    graphs = [Data(x=graph.x.long(), edge_index=graph.edge_index) for graph in rings(3)]
    assert fit(graphs)[0].features == "given"
    inputs, read = fit(graphs, "discrete")
    assert read[0].x.dtype == torch.long
    assert sizes_of(inputs.reader) == {"categories": [2]}  # one-hot rows are one label
    assert torch.equal(read[0].x[:, 0], graphs[0].x.argmax(1))


def test_several_zeros_and_ones_are_numbers_unless_labels_are_wanted():
    several = [torch.tensor([[1, 0, 1], [0, 1, 1]]), torch.tensor([[1, 1, 1], [0, 0, 0]])]
    graphs = [Data(x=x, edge_index=torch.tensor([[0, 1], [1, 0]]), edge_attr=x) for x in several]
    inputs, read = fit(graphs)
    assert inputs.features == "given"
    assert [graph.x.tolist() for graph in read] == [x.tolist() for x in several]
    assert [graph.edge_attr.tolist() for graph in read] == [x.tolist() for x in several]
    later = Data(x=torch.eye(3).long()[:2], edge_index=graphs[0].edge_index, edge_attr=several[0])
    assert inputs.read([later]).graphs()[0].x.tolist() == [[1, 0, 0], [0, 1, 0]]  # one-hot by accident
    assert sizes_of(fit(graphs, "discrete")[0].reader) == {"categories": [2, 2, 2], "edge_categories": [2, 2, 2]}


def test_label_numbers_can_be_read_as_one_hot_labels():
    inputs, read = fit(molecules(), "given")
    assert sizes_of(inputs.reader) == {"edge_channels": 4}
    assert read[0].x.shape[1] == inputs.width == 4
    assert read[0].x.sum(1).tolist() == [1] * read[0].num_nodes


def test_words_have_numbers_too():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: "C", 1: "O", 2: "N"}, "label")
    nx.set_node_attributes(graph, {0: "+", 1: "-", 2: "+"}, "charge")
    inputs, (read,) = fit([graph], "discrete")
    assert sizes_of(inputs.reader) == {"categories": [3, 2]}
    assert read.x.tolist() == [[0, 0], [2, 1], [1, 0]]


def test_large_numbers_do_not_ask_for_room():
    graph = Data(x=torch.tensor([[10**9], [7]]), edge_index=torch.tensor([[0, 1], [1, 0]]))
    inputs, (read,) = fit([graph])
    assert sizes_of(inputs.reader) == {"categories": [2]}
    assert read.x.tolist() == [[1], [0]]


def test_continuous_edges_go_with_discrete_nodes():
    graphs = [graph.clone() for graph in molecules(3)]
    for graph in graphs:
        graph.edge_attr = graph.edge_attr / 2
    inputs, read = fit(graphs)
    assert sizes_of(inputs.reader) == {"categories": [4, 2], "edge_channels": 2}
    assert read[0].edge_attr.dtype == torch.float32


def test_values_that_training_did_not_see_are_blank():
    inputs, _ = fit(molecules())
    (graph,) = molecules(1)
    graph.x[0] = torch.tensor([2, 7])
    assert inputs.read([graph]).graphs()[0].x[0].tolist() == [-1, -1]
    with pytest.raises(GraphError, match="graph 0: node 0 has the label '2' in 'x0', which no fitted graph had"):
        inputs.read([graph], "error")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda graph: graph.update({"x": graph.x - 1}), "graph 0: node 0 has the label -1 in 'x0', but numbers of"),
        (lambda graph: graph.update({"x": graph.x.float()}), "features='discrete' reads labels, but column 'x' of"),
    ],
)
def test_what_is_no_label_number_is_named(change, message):
    graphs = molecules(2)
    change(graphs[0])
    with pytest.raises(GraphError, match=message):
        fit(graphs, "discrete")


def test_inputs_survive_json():
    inputs, _ = fit(molecules(3))
    assert Inputs.from_dict(json.loads(json.dumps(inputs.to_dict()))) == inputs


def test_networks_get_what_can_be_read_off_the_graphs():
    inputs, _ = fit(molecules(3))
    assert fitted_params(inputs.reader, "gnn", GNN) == {**GNN, "categories": [4, 2], "edge_categories": [4, 2]}
    assert fitted_params(inputs.reader, "gin", {}) == {}
    given = {"categories": [9, 9], "edge_channels": 3}
    assert fitted_params(inputs.reader, "gnn", given) == given


@pytest.mark.parametrize(
    ("model", "params", "ignore", "message"),
    [
        (
            "gin",
            {},
            ("edge_attr",),
            r"does not read as it is. Give .* gnn categories=\[4, 2\].*features='given'",
        ),
        ("gnn", {"categories": [3, 2]}, ("edge_attr",), r"x needs categories=\[4, 2\] but .* made for \[3, 2\]"),
        ("gnn", {"categories": [4, 2], "edge_channels": 2}, (), "edge_attr holds label numbers"),
    ],
)
def test_networks_without_room_for_them_are_refused(model, params, ignore, message):
    with pytest.raises(GraphError, match=message):
        train(model, molecules(), model_params=params, ignore=ignore, settings=QUICK)


@pytest.mark.parametrize("conv", ["RWKPlusConv", "GCNConv", "GINConv", "GINEConv"])
def test_trained_networks_are_saved_with_their_columns(conv, tmp_path):
    bonds = conv in ("RWKPlusConv", "GINEConv")
    data = GraphDataset(molecules(), ignore=() if bonds else ("edge_attr",))
    trained = train("gnn", data, model_params={"conv": conv, **GNN}, settings=QUICK)
    again = load(estimator_of(trained).save(tmp_path / "model.safetensors")).trained_
    graphs = molecules(5)
    graphs[0].x[0] = 2
    np.testing.assert_array_equal(again.predict_proba(graphs), trained.predict_proba(graphs))
    assert again.params["categories"] == [4, 2]


def test_absolute_error_is_a_choice_of_the_database():
    outputs, y = torch.tensor([[1.0], [0.0], [5.0]]), torch.tensor([[0.0], [-2.0], [torch.nan]])
    losses = {}
    for loss in ("absolute", "squared"):
        target = GraphDataset(molecules(), torch.rand(24), loss=loss, ignore=("edge_attr",)).target(np.arange(20))
        losses[loss] = [float(part) for part in target.loss(outputs, y)]
    assert losses == {"absolute": [3, 2], "squared": [5, 2]}
    with pytest.raises(ParameterError, match="loss must be one of squared, absolute"):
        GraphDataset(molecules(), loss="huber")


def test_networks_learn_by_absolute_error_too(tmp_path):
    data = GraphDataset(molecules(), torch.rand(24), loss="absolute", ignore=("edge_attr",))
    params = fitted_params(data.inputs.reader, "gnn", GNN)
    result = train("gnn", data, model_params=params, settings=QUICK)
    scale = result.target.scale[0]
    assert result.validation["mae"] == pytest.approx(scale * result.validation["loss"], rel=1e-4)
    again = load(estimator_of(result).save(tmp_path / "model.safetensors"))
    np.testing.assert_array_equal(again.predict(molecules(3)), result.predict(molecules(3)))

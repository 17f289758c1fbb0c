import json

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data

from rwkplus.errors import GraphError, ParameterError
from rwkplus.graphs import one_hot_degree
from rwkplus.tasks.inputs import Inputs
from tests.tasks.toy import rings


def bare(graphs):
    return [Data(edge_index=graph.edge_index, num_nodes=graph.num_nodes) for graph in graphs]


def star(leaves):
    return Data(edge_index=torch.tensor([[0] * leaves, list(range(1, leaves + 1))]), num_nodes=leaves + 1)


def test_given_features_are_read_and_names_kept_in_the_schema():
    inputs, graphs = Inputs.of(rings(3))
    assert inputs.features == "given"
    assert inputs.schema.nodes.names == ("blue", "red")
    assert sorted(graphs[0].keys()) == ["edge_index", "x"]
    assert torch.equal(graphs[1].x, rings(3)[1].x)


def test_degrees_stand_in_for_missing_features():
    inputs, graphs = Inputs.of([star(2), star(3)])
    assert (inputs.features, inputs.max_degree) == ("degree", 3)
    assert torch.equal(graphs[0].x, one_hot_degree([star(2), star(3)])[0].x)
    (large,) = inputs.read([star(9)])
    assert large.x[0].tolist() == [0, 0, 0, 1]  # shares the column of the largest degree that training had


def test_constants_replace_features_on_demand():
    inputs, graphs = Inputs.of(rings(2), "constant")
    assert graphs[0].x.tolist() == [[1.0]] * graphs[0].num_nodes
    assert inputs.read(rings(1))[0].x.shape[1] == 1


def test_later_graphs_are_aligned_by_name():
    inputs, _ = Inputs.of(rings(4))
    graph = rings(1)[0]
    graph.x, graph.node_label_names = graph.x.flip(1), ("red", "blue")
    assert torch.equal(inputs.read([graph])[0].x, rings(1)[0].x)


def test_labels_that_training_did_not_see():
    inputs, _ = Inputs.of(rings(4))
    graph = Data(
        x=torch.eye(3), edge_index=torch.empty(2, 0, dtype=torch.long), node_label_names=("blue", "green", "red")
    )
    assert inputs.read([graph])[0].x.tolist() == [[1, 0], [0, 0], [0, 1]]
    with pytest.raises(GraphError, match="no fitted graph had"):
        inputs.read([graph], "error")
    with pytest.raises(ParameterError, match="unknown_label"):
        inputs.read([graph], "new")


def test_networkx_graphs_go_in_as_they_are():
    path = nx.path_graph(3)
    nx.set_node_attributes(path, {0: "red", 1: "blue", 2: "red"}, "label")
    inputs, _ = Inputs.of(rings(4))
    assert inputs.read([path])[0].x.tolist() == [[0, 1], [1, 0], [0, 1]]
    assert Inputs.of([nx.path_graph(3), nx.star_graph(4)])[0].max_degree == 4


def test_numbers_get_the_type_of_the_network():
    graph = rings(1, edge_attr=True)[0]
    graph.x, graph.edge_attr = graph.x.double(), graph.edge_attr.double()
    _, (read,) = Inputs.of([graph])
    assert read.x.dtype == read.edge_attr.dtype == torch.float32


@pytest.mark.parametrize("features", ["auto", "degree", "constant"])
def test_inputs_survive_json(features):
    inputs, _ = Inputs.of(rings(3, edge_attr=True), features)
    assert Inputs.from_dict(json.loads(json.dumps(inputs.to_dict()))) == inputs


def test_what_is_no_graph_is_named():
    with pytest.raises(GraphError, match="graph 1 is a int"):
        Inputs.of([*rings(1), 7])
    with pytest.raises(ParameterError, match="features must be one of"):
        Inputs.of(rings(1), "labels")

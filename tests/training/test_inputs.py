import json

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data

from rwkplus.errors import GraphError, ParameterError
from rwkplus.io.pyg import one_hot_degree
from rwkplus.table import GraphTable
from rwkplus.training.dataset import Inputs, as_table
from tests.training.toy import rings


def fit(graphs, features="auto", ignore=()):
    """Fitted inputs, and the very graphs as they read them."""
    inputs = Inputs.fit(as_table(graphs), features, ignore)
    return inputs, read(inputs, graphs)


def read(inputs, graphs, unknown_label="ignore"):
    return inputs.read(graphs, unknown_label).graphs()


def star(leaves):
    return Data(edge_index=torch.tensor([[0] * leaves, list(range(1, leaves + 1))]), num_nodes=leaves + 1)


def test_given_features_are_read_and_names_kept_by_the_reader():
    inputs, graphs = fit(rings(3))
    assert inputs.features == "given"
    assert inputs.reader.nodes.names == ("blue", "red")
    assert sorted(graphs[0].keys()) == ["edge_index", "x"]
    assert torch.equal(graphs[1].x, rings(3)[1].x)


def test_degrees_stand_in_for_missing_features():
    inputs, graphs = fit([star(2), star(3)])
    assert (inputs.features, inputs.max_degree) == ("degree", 3)
    assert torch.equal(graphs[0].x, one_hot_degree([star(2), star(3)])[0].x)
    (large,) = read(inputs, [star(9)])
    assert large.x[0].tolist() == [0, 0, 0, 1]  # shares the column of the largest degree that training had


def test_constants_replace_features_on_demand():
    inputs, graphs = fit(rings(2), "constant")
    assert graphs[0].x.tolist() == [[1.0]] * graphs[0].num_nodes
    assert read(inputs, rings(1))[0].x.shape[1] == 1


def test_later_graphs_are_aligned_by_name():
    inputs, _ = fit(rings(4))
    graph = rings(1)[0]
    graph.x, graph.node_label_names = graph.x.flip(1), ("red", "blue")
    assert torch.equal(read(inputs, [graph])[0].x, rings(1)[0].x)


def test_labels_that_training_did_not_see():
    inputs, _ = fit(rings(4))
    graph = Data(
        x=torch.eye(3), edge_index=torch.empty(2, 0, dtype=torch.long), node_label_names=("blue", "green", "red")
    )
    assert read(inputs, [graph])[0].x.tolist() == [[1, 0], [0, 0], [0, 1]]
    with pytest.raises(GraphError, match="no fitted graph had"):
        read(inputs, [graph], "error")
    with pytest.raises(ParameterError, match="unknown_label"):
        read(inputs, [graph], "new")


def test_networkx_graphs_go_in_as_they_are():
    path = nx.path_graph(3)
    nx.set_node_attributes(path, {0: "red", 1: "blue", 2: "red"}, "label")
    inputs, _ = fit(rings(4))
    assert read(inputs, [path])[0].x.tolist() == [[0, 1], [1, 0], [0, 1]]
    assert fit([nx.path_graph(3), nx.star_graph(4)])[0].max_degree == 4


def test_numbers_get_the_type_of_the_network():
    graph = rings(1, edge_attr=True)[0]
    graph.x, graph.edge_attr = graph.x.double(), graph.edge_attr.double()
    _, (read,) = fit([graph])
    assert read.x.dtype == read.edge_attr.dtype == torch.float32


@pytest.mark.parametrize("features", ["auto", "degree", "constant"])
def test_inputs_survive_json(features):
    inputs, _ = fit(rings(3, edge_attr=True), features)
    assert Inputs.from_dict(json.loads(json.dumps(inputs.to_dict()))) == inputs


def test_what_is_no_graph_is_named():
    with pytest.raises(GraphError, match="graph 1 is a int"):
        fit([*rings(1), 7])
    with pytest.raises(ParameterError, match="features must be one of"):
        fit(rings(1), "labels")


@pytest.mark.parametrize("features", ["given", "discrete"])
def test_nodes_without_anything_are_told_how_to_get_features(features):
    with pytest.raises(GraphError, match=r"neither labels nor attributes.*features='degree'"):
        fit([nx.path_graph(3)], features)


def test_what_is_left_out_does_not_matter():
    inputs, (one, *_) = fit(rings(4), ignore=("x",))
    assert inputs.features == "degree"
    assert one.x.tolist() == [[0, 0, 1]] * one.num_nodes
    assert read(inputs, rings(1))[0].x.shape[1] == 3


def test_every_form_of_the_same_graphs_reads_the_same():
    table = GraphTable.of(rings(6))
    inputs, expected = fit(rings(6))
    for form in (table, list(table), table.to_pyg(), table.to_networkx()):
        for one, other in zip(read(inputs, form), expected, strict=True):
            assert torch.equal(one.x, other.x)
            assert sorted(one.edge_index.t().tolist()) == sorted(other.edge_index.t().tolist())


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values.pop("features"),
        lambda values: values.update(features="magic"),
        lambda values: values.update(features="discrete"),
        lambda values: values.update(features="degree"),
        lambda values: values.update(max_degree=3),
        lambda values: values.update(ignore="x"),
        lambda values: values.update(reader=None),
        lambda values: values.update(more=1),
        lambda values: values["reader"]["nodes"].update(names=["red"]),
        lambda values: values["reader"]["nodes"].update(vocabularies=[["red"]]),
    ],
)
def test_a_description_that_was_changed_is_refused(change):
    values = fit(rings(3))[0].to_dict()
    change(values)
    with pytest.raises((ValueError, KeyError, TypeError)):
        Inputs.from_dict(values)

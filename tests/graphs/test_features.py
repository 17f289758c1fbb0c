import networkx as nx
import pytest
import torch
from torch_geometric.data import Batch, Data

from rwkplus.errors import GraphError, ParameterError
from rwkplus.graphs import as_batch, constant_features, one_hot, one_hot_degree
from rwkplus.graphs.features import is_one_hot, label_numbers

STAR = torch.tensor([[0, 1, 0, 2, 0, 3], [1, 0, 2, 0, 3, 0]])
NO_EDGES = torch.empty(2, 0, dtype=torch.long)


def graph(labels, edge_index=NO_EDGES):
    return Data(x=torch.tensor(labels), edge_index=edge_index)


def test_labels_get_columns_common_to_all_graphs():
    first, second = one_hot([graph([0, 1]), graph([[3], [0]])])
    assert first.x.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]]
    assert second.x.tolist() == [[0, 0, 0, 1], [1, 0, 0, 0]]


def test_edge_labels_are_encoded_as_well():
    data = Data(x=torch.eye(4), edge_index=STAR, edge_attr=torch.tensor([0, 0, 1, 1, 2, 2]))
    (encoded,) = one_hot([data], "edge_attr")
    assert encoded.edge_attr.argmax(1).tolist() == [0, 0, 1, 1, 2, 2]
    assert as_batch([encoded]).edge_attr.shape == (6, 3)


def test_num_labels_sets_the_width():
    assert one_hot([graph([0, 1])], num_labels=5)[0].x.shape == (2, 5)


def test_a_label_beyond_num_labels_is_named():
    with pytest.raises(GraphError, match="graph 1: x holds the label 7, num_labels is 3"):
        one_hot([graph([0]), graph([2, 7])], num_labels=3)


def test_graphs_without_nodes_are_encoded():
    empty = Data(x=torch.empty(0, dtype=torch.long), edge_index=NO_EDGES)
    assert one_hot([empty, graph([2])])[0].x.shape == (0, 3)
    assert one_hot([empty])[0].x.shape == (0, 1)


def test_encoding_leaves_the_given_graphs_alone():
    given = graph([1, 0])
    one_hot([given])
    one_hot_degree([given])
    constant_features([given])
    assert given.x.tolist() == [1, 0]
    assert "node_label_names" not in given


def test_negative_labels_are_refused():
    with pytest.raises(GraphError, match=r"graph 1: x holds the negative label -1; labels count from 0"):
        one_hot([graph([0, 1]), graph([0, -1])])


@pytest.mark.parametrize("labels", [[0.0, 1.0], [[0, 1], [1, 0]], [1j]])
def test_labels_that_are_not_one_integer_per_row_are_refused(labels):
    with pytest.raises(GraphError, match=r"graph 1: labels in x must be one integer per row.*\.long\(\)"):
        one_hot([graph([0, 1]), graph(labels)])


def test_a_missing_field_is_named():
    with pytest.raises(GraphError, match="graph 0 has no edge_attr to encode"):
        one_hot([graph([0])], "edge_attr")


def test_degrees_become_labels_with_names():
    star, pair = one_hot_degree([Data(edge_index=STAR, num_nodes=5), Data(edge_index=STAR[:, :2], num_nodes=2)])
    assert star.x.argmax(1).tolist() == [3, 1, 1, 1, 0]
    assert pair.x.tolist() == [[0, 1, 0, 0], [0, 1, 0, 0]]
    assert star.node_label_names == pair.node_label_names == ("0", "1", "2", "3")


def test_degrees_above_the_maximum_share_the_last_column():
    (star,) = one_hot_degree([Data(edge_index=STAR, num_nodes=4)], max_degree=2)
    assert star.x.tolist() == [[0, 0, 1], [0, 1, 0], [0, 1, 0], [0, 1, 0]]
    assert star.node_label_names == ("0", "1", "2+")


def test_graphs_without_edges_have_degree_zero():
    (data,) = one_hot_degree([Data(edge_index=NO_EDGES, num_nodes=2)])
    assert data.x.tolist() == [[1], [1]]
    assert data.node_label_names == ("0",)


def test_the_maximal_degree_must_be_positive():
    with pytest.raises(ParameterError, match="max_degree must be at least 1, got 0"):
        one_hot_degree([Data(edge_index=STAR, num_nodes=4)], max_degree=0)


def test_degrees_need_an_edge_index():
    with pytest.raises(GraphError, match="graph 1 has no edge_index"):
        one_hot_degree([Data(edge_index=STAR, num_nodes=4), Data(num_nodes=4)])


@pytest.mark.parametrize("end", [-1, 4])
def test_degrees_need_edges_between_existing_nodes(end):
    with pytest.raises(GraphError, match=r"graph 0: edge_index names nodes from .* but there are 4 nodes"):
        one_hot_degree([Data(edge_index=torch.tensor([[end], [0]]), num_nodes=4)])


def test_constant_features_give_every_node_the_same_color():
    first, empty = constant_features([Data(edge_index=STAR, num_nodes=4), Data(edge_index=NO_EDGES, num_nodes=0)])
    assert first.x.tolist() == [[1]] * 4
    assert empty.x.shape == (0, 1)
    assert as_batch([first, empty]).ptr.tolist() == [0, 4, 4]


def test_new_colors_have_no_names_of_old_ones():
    named = Data(x=torch.eye(4), edge_index=STAR, node_label_names=tuple("abcd"), edge_label_names=("-",))
    (constant,) = constant_features([named])
    assert "node_label_names" not in constant
    assert constant.edge_label_names == ("-",)
    assert named.node_label_names == tuple("abcd")
    assert as_batch([constant]).x.shape == (4, 1)


def test_constant_features_are_where_the_graph_is():
    (there,) = constant_features([Data(edge_index=STAR.to("meta"), num_nodes=4)])
    assert there.x.device.type == "meta"
    assert constant_features([Data(num_nodes=2)])[0].x.tolist() == [[1], [1]]


@pytest.mark.parametrize(
    ("colors", "expected"),
    [
        ([[1.0, 0], [0, 1]], True),
        ([[1.0, 0], [0, 0]], True),
        ([[1.0, 1], [0, 1]], False),
        ([[0.5, 0.5]], False),
        ([[2.0, 0]], False),
        ([[1.0, -1, 1]], False),
    ],
)
def test_one_hot_rows_have_at_most_a_single_one(colors, expected):
    assert is_one_hot(torch.tensor(colors)) is expected


def test_label_numbers_are_columns_and_minus_one_for_blank_rows():
    assert label_numbers(torch.tensor([[0.0, 1], [1, 0], [0, 0]])).tolist() == [1, 0, -1]
    assert label_numbers(torch.empty(2, 0)).tolist() == [-1, -1]
    assert label_numbers(torch.empty(0, 3)).tolist() == []


def test_networkx_graphs_without_labels_get_features_as_the_error_advises():
    path, star = nx.path_graph(3), nx.star_graph(3)
    with pytest.raises(GraphError, match="one_hot_degree"):
        as_batch([path, star])
    assert as_batch(one_hot_degree([path, star])).x.argmax(1).tolist() == [1, 2, 1, 3, 1, 1, 1]
    assert as_batch(constant_features([path, star])).x.tolist() == [[1]] * 7


def test_a_batch_is_taken_apart():
    edge = torch.tensor([[0, 1], [1, 0]])
    batch = Batch.from_data_list([Data(x=torch.tensor([[0], [k]]), edge_index=edge) for k in (1, 2)])
    assert [graph.x.argmax(1).tolist() for graph in one_hot(batch)] == [[0, 1], [0, 2]]
    assert [graph.x.argmax(1).tolist() for graph in one_hot_degree(batch)] == [[1, 1], [1, 1]]
    assert [graph.x.tolist() for graph in constant_features(batch)] == [[[1.0], [1.0]]] * 2

import networkx as nx
import pytest
import torch
from torch_geometric.data import Batch, Data

from rwkplus.errors import GraphError, ParameterError
from rwkplus.io.pyg import as_batch, is_one_hot, label_numbers, one_hot_degree
from rwkplus.table import GraphTable

STAR = torch.tensor([[0, 1, 0, 2, 0, 3], [1, 0, 2, 0, 3, 0]])
NO_EDGES = torch.empty(2, 0, dtype=torch.long)


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
    with pytest.raises(ParameterError, match="max_degree must be a whole number of at least 1, got 0"):
        one_hot_degree([Data(edge_index=STAR, num_nodes=4)], max_degree=0)


def test_degrees_need_an_edge_index():
    with pytest.raises(GraphError, match="graph 1 has no edge_index"):
        one_hot_degree([Data(edge_index=STAR, num_nodes=4), Data(num_nodes=4)])


@pytest.mark.parametrize("end", [-1, 4])
def test_degrees_need_edges_between_existing_nodes(end):
    with pytest.raises(GraphError, match=r"graph 0: edge_index names the edge .* but the graph has 4 nodes"):
        one_hot_degree([Data(edge_index=torch.tensor([[end], [0]]), num_nodes=4)])


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
    with pytest.raises(GraphError, match="with_degrees"):
        as_batch([path, star])
    degrees = GraphTable.of([path, star]).with_degrees().to_pyg()
    assert as_batch(degrees).x.argmax(1).tolist() == [1, 2, 1, 3, 1, 1, 1]
    assert torch.equal(as_batch(degrees).x, as_batch(one_hot_degree([path, star])).x)


def test_a_batch_is_taken_apart_and_left_alone():
    edge = torch.tensor([[0, 1], [1, 0]])
    batch = Batch.from_data_list([Data(x=torch.tensor([[0], [k]]), edge_index=edge) for k in (1, 2)])
    assert [graph.x.argmax(1).tolist() for graph in one_hot_degree(batch)] == [[1, 1], [1, 1]]
    assert batch.x.tolist() == [[0], [1], [0], [2]]

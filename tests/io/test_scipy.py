import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from rwkplus.errors import GraphError, ParameterError
from rwkplus.io.networkx import from_networkx
from rwkplus.io.scipy import from_scipy
from rwkplus.io.sources import ReadOptions
from rwkplus.table import GraphTable
from tests.strategies import colored_graphs


@given(st.lists(colored_graphs(directed=False), min_size=1, max_size=3))
def test_undirected_graphs_are_those_of_networkx(graphs):
    bare = [bare_copy(graph) for graph in graphs]
    assert from_scipy([nx.to_scipy_sparse_array(graph, dtype=int) for graph in bare]) == from_networkx(bare)


def bare_copy(graph):
    """The same nodes and edges, in order and without attributes."""
    bare = nx.Graph()
    bare.add_nodes_from(sorted(graph))
    bare.add_edges_from(sorted(tuple(sorted(edge)) for edge in graph.edges))
    return bare


@given(colored_graphs(directed=True))
def test_directed_graphs_are_those_of_networkx(graph):
    matrix = nx.to_scipy_sparse_array(graph, weight=None, dtype=int)
    table = from_scipy([matrix], ReadOptions(directed=True))
    assert table.directed
    back = sparse.coo_array((np.ones(table.num_edges, int), (table.source, table.target)), shape=matrix.shape)
    assert (back.toarray() == matrix.toarray()).all()


def test_values_are_an_attribute_unless_they_are_said_to_be_a_weight():
    matrix = sparse.coo_matrix([[0, 0.5], [0.5, 2]])
    table = GraphTable.of(matrix)
    assert table.edges["weight"].numbers.tolist() == [0.5, 2]
    assert table.weight is None
    assert GraphTable.of([matrix], weight="weight").weight == "weight"
    assert not GraphTable.of([matrix > 0]).edges


def test_repeated_entries_add_up_and_zeros_are_no_edges():
    matrix = sparse.coo_array(([1, 1, 0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    table = from_scipy([matrix])
    assert table.directed
    assert table.edges["weight"].numbers.tolist() == [2]


def test_one_matrix_that_is_not_symmetric_makes_all_directed():
    both = [sparse.csr_array([[0, 1], [1, 0]]), sparse.csr_array([[0, 1], [0, 0]])]
    table = from_scipy(both)
    assert table.directed
    assert table.edge_ptr.tolist() == [0, 2, 3]


def test_a_graph_without_edges_is_read():
    table = from_scipy([sparse.csr_array((3, 3))])
    assert (table.num_nodes, table.num_edges, table.directed) == (3, 0, False)


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        ([sparse.csr_array((2, 3))], r"graph 0: an adjacency matrix is square, this one has the shape \(2, 3\)"),
        ([sparse.csr_array((2, 2)), np.ones((2, 2))], "graph 1 is a ndarray"),
        ([sparse.csr_array([[np.nan]])], "graph 0: the adjacency matrix holds nan or inf"),
        ([sparse.csr_array([[1j]])], "holds numbers, this one complex"),
    ],
)
def test_what_is_no_adjacency_is_refused(matrices, message):
    with pytest.raises(GraphError, match=message):
        from_scipy(matrices)


def test_options_without_meaning_are_refused():
    with pytest.raises(ParameterError, match="adjacency matrices"):
        from_scipy([sparse.csr_array((2, 2))], ReadOptions(n_jobs=2))

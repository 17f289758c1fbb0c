import networkx as nx
import pytest

from experiments.recovery import copied_patterns, majority_label
from experiments.testbeds import copies, tailed_triangle
from rwkplus.datasets.generators import triangle_chains
from rwkplus.errors import ParameterError


def test_pieces_are_connected_and_occur():
    graphs = triangle_chains(5)
    patterns = copied_patterns(graphs, 2, 4, restarts=3, seed=0)
    assert [len(restart) for restart in patterns] == [2, 2, 2]
    for piece in (piece for restart in patterns for piece in restart):
        assert len(piece) == 4
        assert nx.is_connected(piece)
        match = nx.algorithms.isomorphism.categorical_node_match("label", None)
        assert any(nx.isomorphism.GraphMatcher(g, piece, match).subgraph_is_isomorphic() for g in graphs)


def test_a_copy_of_the_only_graph_is_that_graph():
    ((piece,),) = copied_patterns(copies(tailed_triangle(), 3), 1, 4, restarts=1, seed=1)
    assert nx.utils.graphs_equal(piece, tailed_triangle())


def test_the_seed_decides():
    pieces = [copied_patterns(triangle_chains(9), 1, 3, restarts=5, seed=seed) for seed in (0, 0, 1)]
    nodes = [[sorted(piece) for (piece,) in drawn] for drawn in pieces]
    assert nodes[0] == nodes[1] != nodes[2]


def test_the_most_frequent_label_wins():
    assert majority_label([tailed_triangle()]) == "red"


def test_pieces_larger_than_every_graph_are_refused():
    with pytest.raises(ParameterError, match="pattern_size"):
        copied_patterns([tailed_triangle()], 1, 5, restarts=1, seed=0)

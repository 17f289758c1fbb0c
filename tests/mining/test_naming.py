import networkx as nx
import pytest

from rwkplus.mining.patterns import describe


@pytest.mark.parametrize(
    ("graph", "labels", "name"),
    [
        (nx.path_graph(3), "BAC", "path B-A-C"),
        (nx.path_graph(2), "BA", "path A-B"),
        (nx.cycle_graph(3), "BAA", "triangle A-A-B"),
        (nx.cycle_graph(4), "ABAB", "4-ring A-B-A-B"),
        (nx.complete_graph(4), "AABB", "4-clique 2 x A, 2 x B"),
        (nx.star_graph(3), "CAAB", "star C(2 x A, B)"),
        (nx.Graph([(0, 1), (1, 2), (2, 3), (1, 4)]), "ABCAA", "tree of 3 x A, B, C"),
        (nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3)]), "AABC", "graph with 4 edges of 2 x A, B, C"),
    ],
)
def test_forms_have_names(graph, labels, name):
    nx.set_node_attributes(graph, dict(zip(sorted(graph), labels, strict=True)), "label")
    assert describe(graph) == name

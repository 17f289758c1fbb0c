from collections import Counter

import networkx as nx
import pytest

from experiments import testbeds
from rwkplus.errors import ParameterError


def colors(graph):
    return Counter(color for _, color in graph.nodes(data="label"))


def test_bipartite_graphs_join_every_red_node_with_every_blue_one():
    graphs = testbeds.bipartite_graphs(30)
    for graph in graphs:
        sides = colors(graph)
        assert set(sides) == {"red", "blue"}
        assert all(5 <= size <= 7 for size in sides.values())
        assert graph.number_of_edges() == sides["red"] * sides["blue"]
        assert all(graph.nodes[u]["label"] != graph.nodes[v]["label"] for u, v in graph.edges)
    assert {side for graph in graphs for side in colors(graph).values()} == {5, 6, 7}


def test_targets_are_what_their_names_say():
    assert colors(testbeds.butterfly()) == {"red": 2, "blue": 2}
    assert nx.is_isomorphic(testbeds.butterfly(), nx.cycle_graph(4))
    assert colors(testbeds.three_star("blue")) == {"blue": 1, "red": 3}
    assert [colors(p) for p in testbeds.chain_patterns()] == [{"red": 2, "blue": 1}, {"purple": 2, "green": 1}]
    tailed = testbeds.tailed_triangle()
    assert {tailed.nodes[v]["label"]: tailed.degree[v] for v in tailed} == {"green": 3, "red": 2, "blue": 1}
    assert [color for _, color in testbeds.ring("RRBRRB").nodes(data="label")] == ["red", "red", "blue"] * 2
    for cubic, triangles in ((testbeds.prism(), 2), (testbeds.complete_bipartite_33(), 0)):
        assert {degree for _, degree in cubic.degree} == {3}
        assert len(cubic) == 6
        assert sum(nx.triangles(cubic).values()) == 3 * triangles


def test_every_node_has_a_label_and_nothing_else():
    targets = [testbeds.butterfly(), testbeds.prism(), testbeds.complete_bipartite_33(), testbeds.ring()]
    for graph in [*targets, *testbeds.bipartite_graphs(2)]:
        assert all(list(fields) == ["label"] for _, fields in graph.nodes(data=True))


def test_copies_are_separate_graphs():
    first, second = testbeds.copies(testbeds.ring(), 2)
    first.remove_node(0)
    assert len(second) == 6


def test_impossible_wishes_are_refused():
    with pytest.raises(ParameterError, match="colors"):
        testbeds.ring("RX")
    with pytest.raises(ParameterError, match="num_graphs"):
        testbeds.copies(testbeds.ring(), 0)

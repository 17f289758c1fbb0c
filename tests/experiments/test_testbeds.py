from collections import Counter

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import GraphMatcher, categorical_node_match

from experiments import testbeds
from experiments.testbeds import planted_database, random_pattern
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


def occurs(pattern, graph):
    return GraphMatcher(graph, pattern, categorical_node_match("label", None)).subgraph_is_monomorphic()


def test_without_distortion_every_graph_has_every_pattern():
    rng = np.random.default_rng(0)
    patterns = [random_pattern(5, rng), random_pattern(4, rng, cyclic=False)]
    graphs = planted_database(patterns, rng, num_graphs=10)
    assert all(occurs(pattern, graph) for pattern in patterns for graph in graphs)
    assert all(nx.is_connected(graph) for graph in graphs)


def test_distortion_leaves_out_that_share_of_edges():
    rng = np.random.default_rng(0)
    chain = nx.path_graph(50)
    nx.set_node_attributes(chain, 9, "label")  # a label that the background does not have
    graphs = planted_database([chain], rng, num_graphs=40, distortion=0.2, num_labels=2)
    kept = [
        sum(graph.nodes[u]["label"] == graph.nodes[v]["label"] == 9 for u, v in graph.edges) / 49 for graph in graphs
    ]
    assert np.mean(kept) == pytest.approx(0.8, abs=0.02)
    assert all(nx.is_connected(graph) for graph in graphs)


def test_the_same_seed_makes_the_same_database():
    one, two = (planted_database([], np.random.default_rng(3), num_graphs=3) for _ in range(2))
    assert all(nx.utils.graphs_equal(a, b) for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("cyclic", [True, False])
def test_random_patterns_are_connected_and_cyclic_when_asked(cyclic):
    for seed in range(20):
        pattern = random_pattern(6, np.random.default_rng(seed), cyclic=cyclic)
        assert nx.is_connected(pattern)
        assert nx.is_tree(pattern) is not cyclic


def test_impossible_random_patterns_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ParameterError, match="distortion"):
        planted_database([], rng, distortion=1.0)
    with pytest.raises(ParameterError, match="nodes"):
        random_pattern(2, rng, cyclic=True)

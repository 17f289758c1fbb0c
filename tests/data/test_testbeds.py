from collections import Counter

import networkx as nx
import pytest

from rwkplus.data import testbeds
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


@pytest.mark.parametrize("linking", ["rand", "apexbase", "base"])
def test_triangle_chains_are_three_to_five_triangles_and_the_bridges_between_them(linking):
    graphs = testbeds.triangle_chains(60, linking)
    triangles = Counter()
    for graph in graphs:
        bridges = list(nx.bridges(graph))
        parts = graph.copy()
        parts.remove_edges_from(bridges)
        pieces = [tuple(sorted(graph.nodes[v]["label"] for v in part)) for part in nx.connected_components(parts)]
        assert 3 <= len(pieces) <= 5
        assert len(bridges) == len(pieces) - 1
        assert graph.number_of_edges() == 3 * len(pieces) + len(bridges)
        triangles.update(pieces)
    assert set(triangles) == {("blue", "red", "red"), ("green", "purple", "purple")}
    assert 0.5 < triangles["blue", "red", "red"] / triangles.total() < 0.7


@pytest.mark.parametrize(
    ("linking", "lone_ends"), [("rand", {0, 1, 2}), ("apexbase", {1}), ("base", {0})], ids=["rand", "apexbase", "base"]
)
def test_linking_says_how_many_lone_colors_a_bridge_touches(linking, lone_ends):
    seen = {
        sum(graph.nodes[v]["label"] in ("blue", "green") for v in bridge)
        for graph in testbeds.triangle_chains(60, linking)
        for bridge in nx.bridges(graph)
    }
    assert seen == lone_ends


def test_the_same_seed_gives_the_same_database():
    first, again, other = (testbeds.triangle_chains(5, seed=seed) for seed in (3, 3, 4))
    same = [nx.utils.graphs_equal(a, b) for a, b in zip(first, again, strict=True)]
    assert all(same)
    assert not all(nx.utils.graphs_equal(a, b) for a, b in zip(first, other, strict=True))


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
    for graph in [*targets, *testbeds.bipartite_graphs(2), *testbeds.triangle_chains(2)]:
        assert all(list(fields) == ["label"] for _, fields in graph.nodes(data=True))


def test_copies_are_separate_graphs():
    first, second = testbeds.copies(testbeds.ring(), 2)
    first.remove_node(0)
    assert len(second) == 6


def test_impossible_wishes_are_refused():
    with pytest.raises(ParameterError, match="linking"):
        testbeds.triangle_chains(1, "apex")
    with pytest.raises(ParameterError, match="colors"):
        testbeds.ring("RX")
    with pytest.raises(ParameterError, match="num_graphs"):
        testbeds.copies(testbeds.ring(), 0)

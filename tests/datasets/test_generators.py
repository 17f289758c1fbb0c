from collections import Counter

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import GraphMatcher, categorical_node_match

from rwkplus.datasets.generators import planted_database, random_pattern, triangle_chains
from rwkplus.errors import ParameterError


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


def test_impossible_wishes_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ParameterError, match="distortion"):
        planted_database([], rng, distortion=1.0)
    with pytest.raises(ParameterError, match="nodes"):
        random_pattern(2, rng, cyclic=True)


@pytest.mark.parametrize("linking", ["rand", "apexbase", "base"])
def test_triangle_chains_are_three_to_five_triangles_and_the_bridges_between_them(linking):
    graphs = triangle_chains(60, linking)
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
        for graph in triangle_chains(60, linking)
        for bridge in nx.bridges(graph)
    }
    assert seen == lone_ends


def test_the_same_seed_gives_the_same_database():
    first, again, other = (triangle_chains(5, random_state=seed) for seed in (3, 3, 4))
    same = [nx.utils.graphs_equal(a, b) for a, b in zip(first, again, strict=True)]
    assert all(same)
    assert not all(nx.utils.graphs_equal(a, b) for a, b in zip(first, other, strict=True))


def test_nodes_of_chains_have_a_label_and_nothing_else():
    for graph in triangle_chains(2):
        assert all(list(fields) == ["label"] for _, fields in graph.nodes(data=True))


def test_unknown_links_are_refused():
    with pytest.raises(ParameterError, match="linking"):
        triangle_chains(1, "apex")
    with pytest.raises(ParameterError, match="num_graphs"):
        triangle_chains(0)

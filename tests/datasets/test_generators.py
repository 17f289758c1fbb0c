from collections import Counter

import networkx as nx
import pytest

from rwkplus.datasets.generators import triangle_chains
from rwkplus.errors import ParameterError


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

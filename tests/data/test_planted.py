import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import GraphMatcher, categorical_node_match

from rwkplus.data.planted import planted_database, random_pattern
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

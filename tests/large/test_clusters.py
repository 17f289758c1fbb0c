import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.utils import from_networkx

from rwkplus.errors import MissingExtraError, ParameterError
from rwkplus.large.csr_graph import CSRGraph
from rwkplus.large.parts import _breadth_first, clusters


def csr(graph):
    return CSRGraph.of(from_networkx(graph))


@st.composite
def undirected(draw):
    n = draw(st.integers(1, 14))
    return csr(nx.gnp_random_graph(n, draw(st.sampled_from([0.0, 0.2, 0.6])), seed=draw(st.integers(0, 99))))


def in_python(graph, number, passes):
    """Greedy restreaming, word by word."""
    rows = [graph.indices[a:b].tolist() for a, b in zip(graph.indptr, graph.indptr[1:], strict=False)]
    capacity = -(-len(rows) // number)
    cluster = {}
    for _ in range(passes):
        sizes = [0] * number
        for v in _breadth_first(graph.indptr, graph.indices).tolist():
            near = [cluster[u] for u in rows[v] if u in cluster]
            scores = {c: near.count(c) * (1 - sizes[c] / capacity) for c in near}
            best = max(scores, key=lambda c: (scores[c], -c), default=None)
            cluster[v] = best if best is not None and scores[best] > 0 else sizes.index(min(sizes))
            sizes[cluster[v]] += 1
    return [cluster[v] for v in range(len(rows))]


@given(undirected(), st.integers(1, 5), st.integers(1, 3))
def test_clusters_equal_those_of_plain_python(graph, number, passes):
    number = min(number, graph.num_nodes)
    found = clusters(graph.indptr, graph.indices, number, passes=passes, method="restreaming")
    assert found.tolist() == in_python(graph, number, passes if number > 1 else 1)
    assert np.bincount(found, minlength=number).max() <= -(-graph.num_nodes // number)


@given(undirected())
def test_breadth_first_visits_neighbors_in_the_order_of_networkx(graph):
    order = _breadth_first(graph.indptr, graph.indices).tolist()
    whole = nx.from_edgelist(graph.data().edge_index.T.tolist())
    whole.add_nodes_from(range(graph.num_nodes))
    place = {v: i for i, v in enumerate(order)}
    assert sorted(order) == list(range(graph.num_nodes))
    for component in nx.connected_components(whole):
        distance = nx.single_source_shortest_path_length(whole, min(component))
        assert [distance[v] for v in sorted(component, key=place.get)] == sorted(distance.values())


def cut(graph, assigned):
    """Share of edges between clusters."""
    target = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    return (assigned[target] != assigned[graph.indices]).mean()


@pytest.mark.parametrize("method", ["restreaming", "metis"])
def test_planted_communities_stay_together(method):
    if method == "metis":
        pytest.importorskip("pymetis")
    graph = csr(nx.planted_partition_graph(20, 30, 0.3, 0.005, seed=1))  # a fourth of the edges lie between them
    ideal = cut(graph, np.arange(600) // 30)
    random = cut(graph, np.random.default_rng(0).permutation(600) // 30)
    assert cut(graph, clusters(graph.indptr, graph.indices, 20, method=method)) < ideal + 0.2 * (random - ideal)


def test_metis_cuts_fewer_edges_and_is_taken_where_it_is_installed():
    pytest.importorskip("pymetis")
    graph = csr(nx.connected_watts_strogatz_graph(3000, 6, 0.05, seed=0))
    found = {method: clusters(graph.indptr, graph.indices, 16, method=method) for method in ("metis", "restreaming")}
    assert cut(graph, found["metis"]) < 0.9 * cut(graph, found["restreaming"])
    assert np.bincount(found["metis"]).max() <= 1.05 * 3000 / 16
    assert found["metis"].dtype == np.int32
    assert np.array_equal(clusters(graph.indptr, graph.indices, 16), found["metis"])


def test_metis_takes_graphs_with_self_loops():
    pytest.importorskip("pymetis")
    ring = nx.cycle_graph(8)
    ring.add_edges_from((v, v) for v in range(0, 8, 2))
    found = clusters(csr(ring).indptr, csr(ring).indices, 2, method="metis")
    assert np.bincount(found).tolist() == [4, 4]


def test_metis_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr("rwkplus.large.parts.find_spec", lambda _: None)
    arguments = np.array([0, 1, 2]), np.array([1, 0]), 2
    with pytest.raises(MissingExtraError, match=r"rwkplus\[metis\].*method='auto'"):
        clusters(*arguments, method="metis")
    assert sorted(clusters(*arguments).tolist()) == [0, 1]


@pytest.mark.parametrize("number", [0, 4])
def test_an_impossible_number_is_refused(number):
    with pytest.raises(ParameterError, match="num_clusters"):
        clusters(np.array([0, 0, 0, 0]), np.zeros(0, np.int32), number)

import networkx as nx
import numpy as np
import pytest

from rwkplus.detect import PatternDetector
from rwkplus.errors import GraphError, ParameterError
from rwkplus.mining import PatternMiner
from tests.detect.conftest import MINER


@pytest.fixture(scope="module")
def fitted(graphs):
    return PatternDetector(0.1, MINER).fit(graphs)


@pytest.mark.slow
def test_the_score_is_the_share_of_edges_outside_all_occurrences(fitted, graphs):
    scores = -fitted.score_samples(graphs)
    edges = np.array([graph.num_edges for graph in graphs])
    assert 1 - (scores * edges).sum() / edges.sum() == pytest.approx(fitted.miner_.score(graphs))
    np.testing.assert_array_equal(fitted.fitted_scores_, -scores)


def test_nodes_are_unusual_by_their_unexplained_edges(fitted, graphs):
    for graph, why in zip(graphs[:10], fitted.explain(graphs[:10]), strict=True):
        degree = np.bincount(graph.edge_index[0].numpy(), minlength=graph.num_nodes)
        left = float((why.node_scores * degree).sum() / degree.sum())
        assert left == pytest.approx(-fitted.score_samples([graph])[0])


def test_a_graph_without_edges_is_not_explained_at_all(fitted):
    lonely = nx.empty_graph(1)
    lonely.nodes[0]["label"] = "C"
    assert fitted.score_samples([lonely]).tolist() == [-1.0]
    assert fitted.explain([lonely])[0].nodes == (0,)


@pytest.mark.slow
def test_something_must_be_usual(graphs):
    with pytest.raises(ParameterError, match="PatternMiner"):
        PatternDetector(miner="blocks").fit(graphs)
    rng = np.random.default_rng(0)
    noise = [nx.gnm_random_graph(8, 9, seed=int(s)) for s in rng.integers(1000, size=12)]
    for graph in noise:
        nx.set_node_attributes(graph, {v: int(rng.integers(9)) for v in graph}, "label")
    with (
        pytest.warns(UserWarning, match="no pattern occurs more often than by chance"),
        pytest.raises(GraphError, match="no patterns"),
    ):
        PatternDetector(miner=PatternMiner(2, n_controls=3, beam_width=4, random_state=0)).fit(noise)


def test_an_interruption_is_no_result(graphs, monkeypatch):
    def interrupted(miner, *_, **__):
        miner.patterns_, miner.interrupted_ = [1], True
        return miner

    monkeypatch.setattr(PatternMiner, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        PatternDetector().fit(graphs)


@pytest.mark.slow
def test_graphs_may_come_one_by_one(fitted, graphs):
    again = PatternDetector(0.1, MINER).fit(graph for graph in graphs)
    np.testing.assert_array_equal(again.fitted_scores_, fitted.fitted_scores_)

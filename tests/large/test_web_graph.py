"""What is planted into generated graphs can be found there."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from rwkplus.errors import ParameterError
from rwkplus.large.web_graph import WebGraph


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    return WebGraph(nodes=2000).write(tmp_path_factory.mktemp("web") / "graph")


def ends(graph):
    return np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr)), np.asarray(graph.indices)


def test_edges_are_undirected_and_simple(graph):
    source, target = ends(graph)
    pairs = set(zip(source.tolist(), target.tolist(), strict=True))
    assert len(pairs) == graph.num_edges
    assert pairs == {(v, u) for u, v in pairs}
    assert all(u != v for u, v in pairs)


def test_the_same_seed_gives_the_same_graph(graph, tmp_path):
    same = WebGraph(nodes=2000).write(tmp_path / "same")
    other = WebGraph(nodes=2000, random_state=1).write(tmp_path / "other")
    for name in graph.nodes:
        assert np.array_equal(graph[name], same[name])
    assert np.array_equal(graph.indices, same.indices)
    assert other.num_edges != graph.num_edges
    assert graph.facts["nodes"] == 2000


def test_degrees_have_a_long_tail_and_are_much_the_same_for_bots(graph):
    degree = np.diff(graph.indptr)
    assert 8 < degree.mean() < 14
    assert degree.max() > 10 * degree.mean()
    bots = graph["y"] == 1
    assert 0.7 < np.median(degree[bots]) / np.median(degree[~bots]) < 1.6


def test_users_stay_in_their_community_and_bots_in_their_farm(graph):
    source, target = ends(graph)
    bot, community, farm = graph["y"] == 1, graph["community"], graph["farm"]
    assert 0.11 < bot.mean() < 0.17
    assert np.array_equal(farm >= 0, bot)
    inside = community[source] == community[target]
    assert inside[~bot[source]].mean() > inside[bot[source]].mean() + 0.15
    assert bot[target][bot[source]].mean() > 2 * bot[target][~bot[source]].mean()
    together = farm[source] == farm[target]
    assert together[bot[source]].mean() > 0.1


def test_features_alone_do_not_solve_the_task_but_neighbors_help(graph):
    y, train, test = graph["y"], ~np.asarray(graph["test_mask"]), np.asarray(graph["test_mask"])
    adjacency = scipy.sparse.csr_array((np.ones(graph.num_edges), graph.indices, graph.indptr), (2000, 2000))
    x = np.asarray(graph["x"], np.float64)
    around = (adjacency @ x) / np.maximum(adjacency.sum(1), 1)[:, None]
    bots_around = (adjacency @ (y * train)) / np.maximum(adjacency @ train, 1)  # known labels of neighbors

    def f1(features):
        model = LogisticRegression(class_weight={0: 1, 1: 5}, max_iter=1000).fit(features[train], y[train])
        return f1_score(y[test], model.predict(features[test]))

    alone = f1(x)
    assert 0.15 < alone < 0.5
    assert f1(np.column_stack([x, around, bots_around])) > alone + 0.05


def test_masks_divide_all_users(graph):
    masks = np.stack([graph[f"{part}_mask"] for part in ("train", "val", "test")])
    assert masks.sum(0).tolist() == [1] * 2000
    assert masks.sum(1).tolist() == [1400, 400, 200]


@pytest.mark.parametrize(
    "wrong",
    [
        {"nodes": 10}, {"nodes": 400.5}, {"bots": 0}, {"camouflage": 0.8}, {"exponent": 2}, {"farm_size": 0},
        {"community_size": 0}, {"random_state": -1},
    ],
)  # fmt: skip
def test_impossible_graphs_are_refused(wrong):
    with pytest.raises(ParameterError, match=r"must be|are shares"):
        WebGraph(**wrong)


def test_a_graph_needs_users_of_both_kinds(tmp_path):
    with pytest.raises(ParameterError, match="of 100 users, bots=1e-06 made all bots or none"):
        WebGraph(nodes=100, bots=1e-6).write(tmp_path / "graph")

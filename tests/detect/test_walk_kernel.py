import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM
from torch_geometric.data import Data

from rwkplus.detect import Judgments, WalkKernelDetector
from rwkplus.detect.walk_kernel import Density, Nearest, color_counts, novelty
from rwkplus.errors import GraphError, ParameterError
from rwkplus.kernels import RandomWalkKernel
from rwkplus.reports import detection_report
from rwkplus.reports.detection import most_similar
from tests.strategies import pyg_graphs

GRAM = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]])


def flagged(detector):
    """One graph, an anomaly."""
    return Judgments(np.array([detector.offset_ - 1]), np.array([True]))


def test_the_nearest_reference_decides():
    judge = Nearest(1).fit(GRAM)
    np.testing.assert_allclose(judge.scores(GRAM[:, :2]), np.sqrt([0, 0, 1.6]))
    np.testing.assert_allclose(judge.own(GRAM)[0], np.sqrt([0.2, 0.2, 1.6]))  # never itself


def test_density_is_lower_farther_away():
    scores = Density().fit(GRAM).scores(np.array([[1.0, 0.9, 0.1], [0.5, 0.5, 0.5], [0, 0, 0]]))
    assert (np.diff(scores) > 0).all()


def test_scikit_learn_sees_similarities_or_distances(graphs):
    gram = RandomWalkKernel("node-centric", 3, normalize=True).fit_transform(graphs)
    svm = OneClassSVM(kernel="precomputed").fit(gram[:40, :40])
    ours = novelty("svm", None, 40, 0).fit(gram[:40, :40])
    np.testing.assert_allclose(ours.scores(gram[40:, :40]), -svm.score_samples(gram[40:, :40]))
    lof = LocalOutlierFactor(20, novelty=True, metric="precomputed").fit(np.sqrt(np.maximum(2 - 2 * gram, 0)))
    np.testing.assert_allclose(novelty("lof", None, 60, 0).fit(gram).own(gram)[0], -lof.negative_outlier_factor_)


@pytest.mark.parametrize("method", ["nearest", "density", "lof", "svm", "forest"])
def test_the_estimator_is_the_kernel_and_the_method(graphs, method):
    gram = RandomWalkKernel("node-centric", 3, normalize=True).fit_transform(graphs)
    judge = novelty(method, None, 40, 0).fit(gram[:40, :40])
    kernel = RandomWalkKernel("node-centric", 3, normalize=True) if method == "forest" else None
    detector = WalkKernelDetector(method=method, kernel=kernel).fit(graphs[:40])
    np.testing.assert_allclose(-detector.score_samples(graphs[40:]), judge.scores(gram[40:, :40]), atol=1e-9)


def test_a_forest_reads_counts_of_walks_unless_a_kernel_is_given(graphs):
    counts = color_counts().fit(graphs[:4])
    forest = IsolationForest(random_state=0).fit(counts.transform(graphs[:4]))
    detector = WalkKernelDetector(method="forest").fit(graphs[:4])
    known = counts.transform(graphs[4:])
    everything = color_counts().fit_transform(graphs)[4:]
    new = 1 - np.asarray(known.sum(1)).ravel() / np.asarray(everything.sum(1)).ravel()
    assert (new > 0).any()
    expected = -forest.score_samples(known)
    np.testing.assert_allclose(-detector.score_samples(graphs[4:]), expected + new * (1 - expected))
    assert np.ptp(expected) > 0


@pytest.mark.filterwarnings("ignore:no label in")
def test_a_forest_flags_what_it_has_never_seen(graphs):
    detector = WalkKernelDetector(method="forest").fit(graphs)
    strange = nx.cycle_graph(6)
    nx.set_node_attributes(strange, "Xe", "label")
    nx.set_edge_attributes(strange, "?", "label")
    assert detector.predict([strange]).tolist() == [-1]
    assert -detector.score_samples([strange])[0] == pytest.approx(1)


def test_large_databases_are_compared_with_some_references(graphs):
    detector = WalkKernelDetector(n_references=10, random_state=1).fit(graphs)
    assert len(detector.references_) == 10
    assert detector.fitted_scores_.shape == (len(graphs),)
    rest = np.setdiff1d(np.arange(len(graphs)), detector.reference_indices_)
    expected = -detector.score_samples([graphs[i] for i in rest])
    np.testing.assert_allclose(-detector.fitted_scores_[rest], expected)


def test_a_twin_among_the_references_is_the_nearest(graphs):
    detector = WalkKernelDetector().fit(graphs[:30] * 2)
    assert (-detector.score_samples(graphs[:30]) < 1e-6).all()
    np.testing.assert_allclose(detector.similarity(graphs[:30]).max(1), 1)
    alone = WalkKernelDetector().fit(graphs[:30])
    assert (-alone.score_samples(graphs[:30])).max() > 0.1  # without itself


def test_graphs_with_a_twin_are_not_flagged_for_rounding(graphs):
    twins = Nearest(1).scores(WalkKernelDetector().fit(graphs).similarity(graphs))
    exact, rounded = (graphs[int(i)] for i in (twins.argmin(), twins.argmax()))
    assert 0 == twins.min() < twins.max() < 1e-6
    detector = WalkKernelDetector().fit([exact] * 97 + [rounded] * 3)
    assert (detector.fit_predict([exact] * 97 + [rounded] * 3) == 1).all()
    assert (detector.predict([exact, rounded]) == 1).all()
    assert (detector.predict(graphs) == -1).sum() >= len(graphs) - 2


def test_unusual_nodes_are_those_the_nearest_reference_lacks(database):
    usual = [graph for graph, anomaly in zip(*database, strict=True) if anomaly is None]
    odd, anomaly = next((g, a) for g, a in zip(*database, strict=True) if a is not None and a.kind == "wrong color")
    detector = WalkKernelDetector().fit(usual)
    assert set(anomaly.nodes) <= set(detector.explain([odd])[0].part)


def test_what_the_kernel_ignores_is_ignored_by_explanations(graphs):
    weighted = [graph.clone() for graph in graphs[:20]]
    for graph in weighted:
        graph.edge_weight = torch.rand(graph.num_edges)
    kernel = RandomWalkKernel("node-centric", steps=2, normalize=True, ignore=("edge_weight",))
    detector = WalkKernelDetector(kernel=kernel).fit(weighted)
    plain = WalkKernelDetector(kernel=kernel).fit(graphs[:20])
    for why, expected in zip(detector.explain(weighted), plain.explain(graphs[:20]), strict=True):
        np.testing.assert_array_equal(why.node_scores, expected.node_scores)


def test_weights_of_edges_between_labelled_nodes_count(graphs):
    weighted = [graph.clone() for graph in graphs[:20]]
    for graph in weighted:
        graph.edge_weight = torch.ones(graph.num_edges)
    odd = weighted[0].clone()
    odd.edge_weight[::3] = 9
    detector = WalkKernelDetector().fit(weighted)
    assert -detector.score_samples([weighted[0], odd])[1] > 0.1
    page = detection_report(detector, [odd], "weights", flagged(detector), weighted)
    assert "similarity" in page


def test_measurements_are_compared_by_algorithm_one():
    rng = np.random.default_rng(0)
    graphs = [nx.path_graph(4) for _ in range(12)]
    for graph in graphs:
        nx.set_node_attributes(graph, {v: rng.random(2).tolist() for v in graph}, "x")
    detector = WalkKernelDetector().fit(graphs)
    assert detector.kernel_.kernel == "rwk+"
    assert np.isfinite(detector.score_samples(pyg_graphs(graphs[:3]))).all()
    assert not detector.explains
    with pytest.raises(GraphError, match="explanations need labels"):
        detector.explain(graphs[:1])


@pytest.mark.parametrize(
    "wrong",
    [{"method": "guess"}, {"n_references": 0}, {"n_neighbors": 0}, {"kernel": RandomWalkKernel()}, {"kernel": "rwk+"}],
)
def test_wrong_parameters_are_refused(graphs, wrong):
    with pytest.raises(ParameterError):
        WalkKernelDetector(**wrong).fit(graphs)


def test_a_fitted_graph_is_not_compared_with_itself(graphs):
    detector = WalkKernelDetector().fit(graphs)
    odd = int(detector.fitted_scores_.argmin())
    (why,) = detector.explain(graph for graph in [graphs[odd]])
    assert why.nodes


def test_the_most_similar_are_found_among_all(graphs):
    found = most_similar(graphs[:3], graphs, 2)
    assert [row[0] for row in found] == [(i, pytest.approx(1)) for i in range(3)]
    gram = RandomWalkKernel("node-centric", steps=3, normalize=True).fit_transform(graphs)
    assert [value for _, value in found[1]] == pytest.approx(sorted(gram[1], reverse=True)[:2])


def test_graphs_without_edges_are_compared_by_their_nodes():
    rng = np.random.default_rng(0)
    single = [Data(x=torch.ones(1, 2) * (1 + i % 2), edge_index=torch.empty(2, 0, dtype=torch.long)) for i in range(10)]
    detector = WalkKernelDetector(0.1).fit(single + [Data(x=torch.tensor(rng.normal(size=(4, 2))).float(),
        edge_index=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])) for _ in range(10)])  # fmt: skip
    assert -detector.fitted_scores_[:10] == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("method", ["nearest", "density", "svm", "forest"])
def test_one_graph_suffices_to_fit(graphs, method):
    assert np.isfinite(WalkKernelDetector(method=method).fit(graphs[:1]).score_samples(graphs[:5])).all()


def test_the_local_outlier_factor_needs_neighbors(graphs):
    with pytest.raises(GraphError, match="give at least two"):
        WalkKernelDetector(method="lof").fit(graphs[:1])

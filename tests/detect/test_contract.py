"""Every detector follows scikit-learn."""

from copy import copy
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone

from rwkplus.detect import SurpriseDetector, WalkKernelDetector
from rwkplus.detect.graph_detector import graph_digests
from rwkplus.errors import GraphError, ParameterError
from rwkplus.table import GraphTable, Reader, Text
from tests.contract import check_graph_detector
from tests.detect.conftest import DETECTORS, TIES
from tests.strategies import data_list, random_graphs

pytestmark = pytest.mark.slow


def path(labels):
    graph = nx.path_graph(len(labels))
    nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    return graph


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_detectors_keep_the_contract(detector, graphs):
    check_graph_detector(detector, graphs[:14])


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_graphs_without_nodes_are_refused(detector, graphs):
    empty = copy(graphs[0])
    for field in ("x", "edge_attr"):
        empty[field] = empty[field][:0]
    empty.edge_index, empty.num_nodes = empty.edge_index[:, :0], 0
    with pytest.raises(GraphError, match="graph 1 has no nodes"):
        clone(detector).fit([graphs[0], empty])
    with pytest.raises(GraphError, match="graph 0 has no nodes"):
        clone(detector).fit(graphs).predict([empty])


SHARES = pytest.mark.parametrize("contamination", [0.02, 0.05, 0.1, 0.2, 0.37])


@SHARES
@pytest.mark.parametrize("name", [name for name in DETECTORS if name not in TIES])
def test_the_share_asked_for_is_flagged(name, contamination, graphs):
    """The scores of these graphs have ties, which the second score breaks."""
    detector = clone(DETECTORS[name]).set_params(contamination=contamination)
    assert (detector.fit_predict(graphs) == -1).sum() == round(contamination * len(graphs))


def test_ties_are_broken_by_the_second_score():
    """Both odd graphs have a node of the same surprise; one of them has two such nodes."""
    usual = [path("aaaa") for _ in range(18)]
    one, two = path("aaab"), path("baab")
    detector = SurpriseDetector(0.05, steps=1).fit([*usual, one, two])
    first, second = detector.score_samples([one, two])
    assert first == second == detector.offset_
    assert detector.predict([one, two]).tolist() == [1, -1]
    assert detector.decision_function([one])[0] == 0 > detector.decision_function([two])[0]


def test_graphs_that_are_equal_are_flagged_together_or_not_at_all():
    graphs = [path("aaaa") for _ in range(18)] + [path("aaab"), path("aaab")]
    assert (SurpriseDetector(0.05).fit_predict(graphs) == 1).all()
    assert (SurpriseDetector(0.1).fit_predict(graphs) == -1).tolist() == [False] * 18 + [True] * 2


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_where_all_are_alike_none_is_flagged(detector, graphs):
    judged = clone(detector).set_params(contamination=0.5).fit([graphs[0]] * 12)
    assert (judged.predict([graphs[0]] * 3) == 1).all()
    assert (judged.fit_predict([graphs[0]] * 12) == 1).all()


@pytest.mark.parametrize("name", ["surprise", "nearest"])
def test_more_may_be_asked_for_than_differ(name):
    graphs = [path("aaaa") for _ in range(19)] + [path("abba")]
    assert np.flatnonzero(clone(DETECTORS[name]).set_params(contamination=0.5).fit_predict(graphs) == -1) == [19]


@pytest.mark.parametrize("name", ["nearest", "density", "forest"])
def test_graphs_beyond_the_references_are_recognized(name, graphs):
    detector = clone(DETECTORS[name]).set_params(n_references=20)
    np.testing.assert_array_equal(detector.fit_predict(graphs), detector.predict(graphs))
    np.testing.assert_array_equal(detector.score_samples(graphs), detector.fitted_scores_)


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_fitted_graphs_are_recognized_in_any_form(detector, database):
    """By what a detector sees of them: names of graphs and the order of edges are no part of it."""
    table = database.graphs
    named = table.with_columns(graphs={"name": Text.of(f"g{i}" for i in range(len(table)))})
    fitted = clone(detector).fit(named)
    for form in (table, table.to_pyg(), table.to_networkx()):
        np.testing.assert_array_equal(fitted.score_samples(form), fitted.fitted_scores_)


@pytest.mark.parametrize("fields", [{"real": True}, {"edge_colors": True, "edge_weights": True}])
@pytest.mark.parametrize("name", ["surprise", "nearest", "lof"])
def test_attributes_and_weights_are_recognized(name, fields):
    graphs = data_list(random_graphs(16, min_nodes=2, **fields))
    detector = clone(DETECTORS[name]).set_params(ignore=("edge_weight",) if name == "surprise" else ())
    np.testing.assert_array_equal(detector.fit_predict(graphs), detector.predict(graphs))
    np.testing.assert_array_equal(detector.score_samples(graphs), detector.fitted_scores_)


def test_digests_see_every_node_and_edge():
    base = GraphTable.of([path("abc")])
    arrays = Reader.fit(base).read(base)
    changes = {
        "label": arrays.label[::-1].copy(),
        "source": np.zeros_like(arrays.source),
        "weight": np.arange(1.0, 1 + arrays.source.size),
        "edge_attr": np.ones((arrays.source.size, 1)),
    }
    found = {int(graph_digests(replace(arrays, **{name: value}))[0]) for name, value in changes.items()}
    assert len(found | {int(graph_digests(arrays)[0])}) == len(changes) + 1
    order = np.random.default_rng(0).permutation(arrays.source.size)
    shuffled = replace(arrays, source=arrays.source[order], target=arrays.target[order])
    assert graph_digests(shuffled) == graph_digests(arrays)


@pytest.mark.parametrize("ignore", ["edge_attr", None, 1])
@pytest.mark.parametrize("kind", [SurpriseDetector, WalkKernelDetector])
def test_fields_to_ignore_are_a_sequence_of_names(kind, ignore, graphs):
    with pytest.raises(ParameterError, match="ignore must be a sequence of field names"):
        kind(ignore=ignore).fit(graphs)

"""Every detector keeps the manners of scikit-learn and PyOD."""

from copy import copy

import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rwkplus.detect import SurpriseDetector, WalkKernelDetector
from rwkplus.errors import GraphError, ParameterError
from tests.contract import check_graph_detector
from tests.detect.conftest import DETECTORS


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


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_a_failed_fit_leaves_no_half_detector(detector, graphs):
    fitted = clone(detector).fit(graphs)
    with pytest.raises(GraphError):
        fitted.fit([])
    with pytest.raises(NotFittedError):
        fitted.predict(graphs)


@pytest.mark.parametrize("ignore", ["edge_attr", None, 1])
@pytest.mark.parametrize("kind", [SurpriseDetector, WalkKernelDetector])
def test_fields_to_ignore_are_a_sequence_of_names(kind, ignore, graphs):
    with pytest.raises(ParameterError, match="ignore must be a sequence of field names"):
        kind(ignore=ignore).fit(graphs)

"""The adapter is a detector of PyOD."""

import sys

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rwkplus.errors import MissingExtraError, ParameterError
from tests.detect.conftest import DETECTORS

base = pytest.importorskip("pyod.models.base")
from rwkplus.detect import PyODDetector  # noqa: E402


@pytest.mark.slow
@pytest.mark.parametrize("name", ["surprise", "nearest", "pattern"])
def test_signs_and_labels_are_those_of_pyod(name, graphs):
    own = clone(DETECTORS[name]).set_params(contamination=0.2)
    detector = PyODDetector(DETECTORS[name], contamination=0.2).fit(graphs)
    assert isinstance(detector, base.BaseDetector)
    flagged = own.fit_predict(graphs) == -1
    np.testing.assert_array_equal(detector.labels_, flagged.astype(int))
    np.testing.assert_array_equal(detector.decision_scores_, -own.fitted_scores_)
    assert detector.threshold_ == -own.offset_
    np.testing.assert_array_equal(detector.predict(graphs), detector.labels_)
    np.testing.assert_array_equal(detector.decision_function(graphs), detector.decision_scores_)
    assert (detector.decision_scores_[flagged] >= detector.threshold_).all()


def test_what_pyod_adds_works(graphs):
    detector = PyODDetector().fit(graphs[:40])
    chances = detector.predict_proba(graphs[40:])
    assert chances.shape == (20, 2)
    np.testing.assert_allclose(chances.sum(1), 1)
    found, confidence = detector.predict(graphs[40:], return_confidence=True)
    assert set(found) <= {0, 1}
    assert ((confidence >= 0) & (confidence <= 1)).all()
    again = clone(detector)
    assert repr(again.get_params(deep=False)) == repr(detector.get_params(deep=False))


def test_it_must_be_fitted_with_a_detector_of_graphs(graphs):
    with pytest.raises(NotFittedError):
        PyODDetector().predict(graphs)
    with pytest.raises(ParameterError, match="detector must be"):
        PyODDetector("surprise").fit(graphs)
    with pytest.raises(ValueError, match="contamination"):
        PyODDetector(contamination=0.7)


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyod.models.base", None)
    monkeypatch.delitem(sys.modules, "rwkplus.detect.pyod_detector")
    with pytest.raises(MissingExtraError, match=r"rwkplus\[pyod\]"):
        import rwkplus.detect.pyod_detector  # noqa: F401


def test_a_default_detector_flags_the_odd_one():
    graphs = [nx.cycle_graph(5)] * 19 + [nx.star_graph(4)]
    assert PyODDetector(contamination=0.05).fit(graphs).labels_.nonzero()[0].tolist() == [19]

"""The scikit-learn contract for estimators on graphs: one call per estimator, any later one can join.

scikit-learn's own ``check_estimator`` feeds matrices, so what it asks for is asked here with graphs.
"""

import copy
import inspect
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from rwkplus.errors import RWKPlusError


def check_graph_estimator(estimator, graphs):
    """Check a transformer of graphs; ``graphs`` are at least four PyG ``Data`` with ``x``."""
    for check in (
        check_arguments_are_stored_and_survive_clone,
        check_not_fitted,
        check_fit_returns_self_and_changes_no_argument,
        check_fit_transform_is_fit_then_transform,
        check_transform_keeps_the_order_of_graphs,
        check_transform_does_not_depend_on_company,
        check_refit_forgets,
        check_graphs_are_neither_changed_nor_kept,
        check_pickle,
        check_names_and_pandas,
        check_pipeline,
    ):
        check(clone(estimator), graphs)


def check_graph_detector(detector, graphs):
    """Check a detector of anomalies among graphs; ``graphs`` are at least eight PyG ``Data`` with ``x``."""
    for check in (
        check_arguments_are_stored_and_survive_clone,
        check_detector_not_fitted,
        check_fit_returns_self_and_changes_no_argument,
        check_signs_and_threshold,
        check_fitted_graphs_are_judged_without_themselves,
        check_no_more_are_flagged_than_asked_for,
        check_a_failed_refit_changes_nothing,
        check_scores_keep_order_and_do_not_depend_on_company,
        check_detector_refit_forgets,
        check_detector_does_not_keep_graphs,
        check_detector_pickle,
    ):
        check(clone(detector), graphs)


def check_detector_not_fitted(detector, graphs):
    for method in ("decision_function", "score_samples", "predict", "judge", "explain"):
        with pytest.raises(NotFittedError):
            getattr(detector, method)(graphs)


def check_signs_and_threshold(detector, graphs):
    fitted = clone(detector).fit_predict(graphs)
    scores = detector.fit(graphs).score_samples(graphs)
    assert scores.shape == detector.fitted_scores_.shape == (len(graphs),)
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(detector.decision_function(graphs), scores - detector.offset_, atol=1e-300)
    np.testing.assert_array_equal(detector.predict(graphs), np.where(detector.decision_function(graphs) < 0, -1, 1))
    np.testing.assert_array_equal(detector.judge(graphs).scores, scores)
    np.testing.assert_array_equal(detector.judge(graphs).flagged, detector.predict(graphs) == -1)
    assert set(fitted) <= {-1, 1}
    assert (scores[fitted == -1] <= detector.offset_).all()
    assert (scores[fitted == 1] >= detector.offset_).all()


def check_fitted_graphs_are_judged_without_themselves(detector, graphs):
    fitted = clone(detector).fit_predict(graphs)
    np.testing.assert_array_equal(detector.fit(graphs).predict(graphs), fitted)
    np.testing.assert_array_equal(detector.score_samples(graphs), detector.fitted_scores_)
    np.testing.assert_array_equal(detector.predict(graphs[::-1]), fitted[::-1])
    assert [detector.predict([graph])[0] for graph in graphs] == fitted.tolist()
    judged = clone(detector).fit_judge(graphs)
    np.testing.assert_array_equal(judged.scores, detector.fitted_scores_)
    np.testing.assert_array_equal(judged.flagged, fitted == -1)


def check_no_more_are_flagged_than_asked_for(detector, graphs):
    for contamination in (0.01, 0.1, 0.25, 0.5):
        flagged = clone(detector).set_params(contamination=contamination).fit_predict(graphs) == -1
        assert flagged.sum() <= round(contamination * len(graphs))
    assert not (clone(detector).set_params(contamination=0.5).fit_predict(graphs[:1] * 8) == -1).any()


def check_a_failed_refit_changes_nothing(detector, graphs):
    expected = detector.fit(graphs).judge(graphs)
    with pytest.raises(RWKPlusError):
        detector.fit([])
    for now, then in zip(detector.judge(graphs), expected, strict=True):
        np.testing.assert_array_equal(now, then)


def check_scores_keep_order_and_do_not_depend_on_company(detector, graphs):
    together = detector.fit(graphs[:-2]).score_samples(graphs)
    np.testing.assert_allclose(detector.score_samples(graphs[::-1]), together[::-1], rtol=1e-9, atol=1e-9)
    alone = np.concatenate([detector.score_samples([graph]) for graph in graphs])
    np.testing.assert_allclose(alone, together, rtol=1e-9, atol=1e-9)


def check_detector_refit_forgets(detector, graphs):
    once = clone(detector).fit(graphs[:8]).score_samples(graphs)
    twice = detector.fit(graphs).fit(graphs[:8]).score_samples(graphs)
    assert np.array_equal(once, twice)


def check_detector_does_not_keep_graphs(detector, graphs):
    given = [graph.clone() for graph in graphs]
    expected = detector.fit(given).score_samples(graphs)
    for graph, original in zip(given, graphs, strict=True):
        assert graph.x.equal(original.x)
        assert graph.edge_index.equal(original.edge_index)
        graph.x.zero_()
        graph.edge_index.zero_()
    assert np.array_equal(detector.score_samples(graphs), expected)


def check_detector_pickle(detector, graphs):
    expected = detector.fit(graphs).score_samples(graphs)
    assert np.array_equal(pickle.loads(pickle.dumps(detector)).score_samples(graphs), expected)


def dense(output):
    return output.toarray() if sparse.issparse(output) else np.asarray(output)


def check_arguments_are_stored_and_survive_clone(estimator, graphs):
    params = estimator.get_params(deep=False)
    names = [name for name in inspect.signature(type(estimator).__init__).parameters if name != "self"]
    assert sorted(params) == sorted(names)
    for name in names:
        assert getattr(estimator, name) is params[name]
    fresh = type(estimator)()
    assert fresh.set_params(**params) is fresh
    assert repr(fresh.get_params()) == repr(estimator.get_params())
    estimator.fit(graphs)
    again = clone(estimator)
    assert repr(again.get_params()) == repr(estimator.get_params())
    assert not [name for name in vars(again) if name.endswith("_") and not name.startswith("_")]


def check_not_fitted(estimator, graphs):
    for method in ("transform", "diagonal"):
        if hasattr(estimator, method):
            with pytest.raises(NotFittedError):
                getattr(estimator, method)(graphs)
    with pytest.raises(NotFittedError):
        estimator.get_feature_names_out()


def check_fit_returns_self_and_changes_no_argument(estimator, graphs):
    before = copy.deepcopy(vars(estimator))
    assert estimator.fit(graphs, y=[0] * len(graphs)) is estimator
    assert repr({name: vars(estimator)[name] for name in before}) == repr(before)
    assert any(name.endswith("_") for name in vars(estimator))


def check_fit_transform_is_fit_then_transform(estimator, graphs):
    at_once = dense(estimator.fit_transform(graphs, [0] * len(graphs)))
    assert at_once.shape[0] == len(graphs)
    np.testing.assert_allclose(dense(clone(estimator).fit(graphs).transform(graphs)), at_once, atol=1e-9)


def check_transform_keeps_the_order_of_graphs(estimator, graphs):
    forth = dense(estimator.fit(graphs).transform(graphs))
    np.testing.assert_allclose(dense(estimator.transform(graphs[::-1])), forth[::-1], rtol=1e-12, atol=1e-12)


def check_transform_does_not_depend_on_company(estimator, graphs):
    together = dense(estimator.fit(graphs[:-1]).transform(graphs))
    alone = np.concatenate([dense(estimator.transform([graph])) for graph in graphs])
    np.testing.assert_allclose(alone, together, rtol=1e-12, atol=1e-12)


def check_refit_forgets(estimator, graphs):
    once = dense(clone(estimator).fit(graphs[:3]).transform(graphs))
    twice = dense(estimator.fit(graphs).fit(graphs[:3]).transform(graphs))
    assert np.array_equal(once, twice)


def check_graphs_are_neither_changed_nor_kept(estimator, graphs):
    graphs = [graph.clone() for graph in graphs]
    originals = [graph.clone() for graph in graphs]
    expected = dense(estimator.fit(graphs).transform(graphs))
    for graph, original in zip(graphs, originals, strict=True):
        assert graph.keys() == original.keys()
        for field, value in original:
            assert value.equal(graph[field]) if hasattr(value, "equal") else value == graph[field]
    for graph in graphs:  # what happens to them after fit is nobody's business
        graph.x.zero_()
        graph.edge_index.zero_()
        for field in ("edge_attr", "edge_weight"):
            if graph.get(field) is not None:
                graph[field].zero_()
    assert np.array_equal(dense(estimator.transform(originals)), expected)
    first = [originals[0].clone()]  # nor is a single graph, where concatenation could be a view
    lonely = clone(estimator).fit(first)
    expected = dense(lonely.transform(originals[:1]))
    first[0].x.zero_()
    assert np.array_equal(dense(lonely.transform(originals[:1])), expected)


def check_pickle(estimator, graphs):
    expected = dense(estimator.fit(graphs).transform(graphs))
    loaded = pickle.loads(pickle.dumps(estimator))
    assert np.array_equal(dense(loaded.transform(graphs)), expected)


def check_names_and_pandas(estimator, graphs):
    names = estimator.fit(graphs).get_feature_names_out()
    output = estimator.transform(graphs)
    assert names.dtype == object
    assert len(names) == output.shape[1]
    assert len(set(names)) == len(names)
    if sparse.issparse(output):
        return
    try:
        import pandas as pd
    except ImportError:
        return
    estimator.set_output(transform="pandas")
    for frame in (estimator.transform(graphs), estimator.fit_transform(graphs)):
        assert isinstance(frame, pd.DataFrame)
        assert frame.columns.tolist() == names.tolist()
        np.testing.assert_allclose(frame.to_numpy(), dense(output), atol=1e-9)


def check_pipeline(estimator, graphs):
    pipeline = make_pipeline(estimator, FunctionTransformer(dense))
    assert isinstance(clone(pipeline), Pipeline)
    expected = dense(clone(estimator).fit(graphs).transform(graphs))
    np.testing.assert_allclose(pipeline.fit(graphs).transform(graphs), expected, atol=1e-9)
    assert len(pipeline[:1].get_feature_names_out()) == expected.shape[1]

"""What notebooks show of estimators, patterns and tables."""

from dataclasses import replace

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from rwkplus import PatternMiner, RandomWalkFeatures, RandomWalkKernel, SurpriseDetector
from rwkplus.datasets import load_graphs

ODD = "<script>alert(1)</script>\u202e\x1b[2J"


def shown(value):
    """As IPython asks for it."""
    bundle = getattr(value, "_repr_mimebundle_", None)
    return bundle()["text/html"] if bundle else value._repr_html_()


def odd_molecules():
    """Molecules in which carbon has a name of its own, and edges a column."""
    table = load_graphs("functional-groups")
    label = table.nodes["label"]
    named = replace(label, names=tuple(ODD if name == "C" else name for name in label.names))
    return table.without(["edges.label"]).with_columns(nodes={"label": named}, edges={ODD: table.edges["label"]})


@pytest.fixture(scope="module")
def miner():
    return PatternMiner(1, criterion="blocks", n_controls=0).fit(odd_molecules())


@pytest.mark.parametrize("estimator", [PatternMiner(3), SurpriseDetector(0.25), RandomWalkKernel(steps=7)], ids=repr)
def test_estimators_show_their_parameters(estimator):
    html = shown(estimator)
    assert type(estimator).__name__ in html
    assert all(name in html for name in estimator.get_params(deep=False))
    assert "<figure" not in html


def test_pipelines_are_diagrams():
    html = shown(make_pipeline(RandomWalkFeatures(), SVC()))
    assert "RandomWalkFeatures" in html
    assert "SVC" in html


def test_a_fitted_miner_shows_its_patterns(miner):
    html = shown(miner)
    assert "n_patterns" in html
    assert "1 pattern explaining 50% of the edges" in html
    assert html.count("<figure") == 1


def test_a_fitted_detector_says_what_it_found():
    detector = SurpriseDetector(0.1).fit(["CCCC", "CCC", "CCCCC"] * 3 + ["CNC"])
    assert "1 of the 10 fitted graphs are anomalies: scores above" in shown(detector)


def test_labels_are_text_everywhere(miner):
    (pattern,) = miner.patterns_
    table = odd_molecules()
    for told in (shown(miner).partition("<figure")[2], shown(pattern), shown(table)):
        assert "&lt;script&gt;" in told
        for sign in ("<script>", "\u202e", "\x1b"):
            assert sign not in told
    for told in (repr(table), str(pattern)):
        assert "\\u202e" in told
        assert "\x1b" not in told


def test_transformers_give_data_frames(miner):
    pytest.importorskip("pandas")
    frame = miner.set_output(transform="pandas").transform(odd_molecules())
    assert frame.shape == (200, 1)
    miner.set_output(transform="default")
    features = RandomWalkFeatures(steps=1, sparse_output=False).set_output(transform="pandas")
    frame = features.fit_transform(["CCO", "CN"])
    assert list(frame.columns) == list(features.get_feature_names_out())
    kernel = RandomWalkKernel(steps=1).set_output(transform="pandas").fit_transform(["CCO", "CN"])
    assert kernel.shape == (2, 2)
    assert list(kernel.columns) == list(RandomWalkKernel(steps=1).fit(["CCO", "CN"]).get_feature_names_out())

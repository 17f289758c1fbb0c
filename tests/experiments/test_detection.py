import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from experiments import detection, kernels, planted_anomalies
from experiments.detection import (
    COUNTS,
    KERNELS,
    METHODS,
    class_table,
    detection_page,
    kernel_aurocs,
    run_class_anomalies,
    splits,
)
from experiments.planted_anomalies import run_planted_anomalies
from rwkplus.datasets import functional_groups
from rwkplus.detect import WalkKernelDetector
from rwkplus.kernels import RandomWalkKernel


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Forty molecules in place of every data set, results in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(detection, "load_graphs", lambda _: functional_groups(40))
    return functional_groups(40)


def test_every_class_is_usual_in_turn_and_nothing_is_learned_from_what_is_judged():
    y = np.repeat([0, 1, 2], [10, 5, 20])
    found = list(splits(y, [0, 1]))
    assert len(found) == 6
    for split in found:
        assert len(set(y[split.train])) == 1
        assert not set(split.train) & set(split.test)
        assert split.train.size + split.test.size == 35
        np.testing.assert_array_equal(split.anomalous, y[split.test] != y[split.train[0]])


def test_slices_of_a_matrix_give_the_scores_of_the_detector(tiny):
    y = tiny.y
    gram = KERNELS["walk colors"](tiny)
    split = next(splits(y, [0]))
    detector = WalkKernelDetector(ignore=("edge_attr",)).fit([tiny[i] for i in split.train])
    direct = roc_auc_score(split.anomalous, -detector.score_samples([tiny[i] for i in split.test]))
    assert kernel_aurocs(gram, y, "nearest", [0])[0] == pytest.approx(direct)


def test_counts_are_those_behind_the_kernels(tiny):
    grakel = pytest.importorskip("grakel")
    kernel = grakel.WeisfeilerLehman(n_iter=3, base_graph_kernel=grakel.VertexHistogram)
    gram = kernel.fit_transform(kernels.grakel_graphs(tiny.to_pyg()))
    ours, theirs = (counted(tiny.to_pyg()) for counted in COUNTS.values())
    np.testing.assert_allclose((theirs @ theirs.T).toarray(), gram)
    kernel = RandomWalkKernel("node-centric", 3, include_zero_step=True, assignment="dirac", ignore=("edge_attr",))
    np.testing.assert_allclose((ours @ ours.T).toarray(), kernel.fit_transform(tiny))


def test_a_run_is_written_resumed_and_shown(tiny, monkeypatch):
    pytest.importorskip("grakel")
    told = []
    scores = run_class_anomalies("MUTAG", [0], on_step=told.append)
    assert len(scores) == len(KERNELS) * len(METHODS) + len(COUNTS) + 1
    assert all(len(values) == 2 for values in scores.values())
    for judge in ("kernel_aurocs", "_aurocs"):  # a second run computes nothing
        monkeypatch.setattr(detection, judge, None)
    assert run_class_anomalies("MUTAG", [0]) == scores
    assert "MUTAG" in detection_page()
    assert f"{100 * np.mean(scores['walk colors, nearest']):.1f}" in class_table(["MUTAG"])


def test_planted_rows_are_written_resumed_and_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = {name: planted_anomalies.DETECTORS[name] for name in ("surprise", "walk kernel, nearest")}
    monkeypatch.setattr(planted_anomalies, "DETECTORS", kept)
    rows = run_planted_anomalies(1, 60)
    assert len(rows) == 2 * (len(kept) + 2)
    assert all(0 <= row["auroc"] <= 1 for row in rows)
    assert all(0 <= row["covered"] <= row["hits"] <= row["flagged"] for row in rows if "hits" in row)
    monkeypatch.setattr(planted_anomalies, "_detect", None)
    assert run_planted_anomalies(1, 60) == rows
    assert "Planted anomalies" in detection_page()

import json
import math
import pickle

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.base import clone

from rwkplus.detect import WalkKernelDetector, load_detector
from rwkplus.errors import DataError, RWKPlusWarning
from rwkplus.kernels import RandomWalkKernel
from tests.detect.conftest import DETECTORS


@pytest.mark.parametrize("name", ["surprise", "pattern", "nearest", "lof", "forest"])
def test_a_loaded_detector_is_the_same(name, graphs, tmp_path):
    detector = clone(DETECTORS[name]).fit(graphs[:40])
    path = detector.save(tmp_path / "new" / "detector.safetensors")
    assert [file.name for file in path.parent.iterdir()] == ["detector.safetensors"]
    loaded = load_detector(path)
    assert type(loaded) is type(detector)
    assert repr(loaded.get_params()) == repr(detector.get_params())
    assert loaded.threshold_ == detector.threshold_
    np.testing.assert_array_equal(loaded.decision_scores_, detector.decision_scores_)
    np.testing.assert_allclose(loaded.anomaly_scores(graphs), detector.anomaly_scores(graphs), rtol=1e-12)
    for mine, theirs in zip(loaded.explain(graphs[:3]), detector.explain(graphs[:3]), strict=True):
        assert mine.part == theirs.part


def test_a_kernel_of_ones_own_is_kept(graphs, tmp_path):
    detector = WalkKernelDetector(kernel=RandomWalkKernel(steps=2, normalize=True, combine=(0.5, 1.0))).fit(graphs)
    loaded = load_detector(detector.save(tmp_path / "d.safetensors"))
    np.testing.assert_allclose(loaded.anomaly_scores(graphs), detector.anomaly_scores(graphs), atol=1e-9)


@pytest.fixture
def saved(graphs, tmp_path):
    return clone(DETECTORS["surprise"]).fit(graphs).save(tmp_path / "detector.safetensors")


def changed(path, change):
    """Write the file again, its header or arrays changed."""
    with safe_open(path, "numpy") as file:
        record = json.loads(file.metadata()["rwkplus"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    change(record, arrays)
    save_file(arrays, path, metadata={"rwkplus": json.dumps(record)})
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda record, arrays: record.update(format="something else"),
        lambda record, arrays: record.update(detector="os.system"),
        lambda record, arrays: record.pop("learned"),
        lambda record, arrays: record["parameters"].update(contamination=3),
        lambda record, arrays: record["parameters"].update(steps="many"),
        lambda record, arrays: record["parameters"].update(surprise=1),
        lambda record, arrays: record["learned"].update(reader=[]),
        lambda record, arrays: arrays.pop("level.1.key"),
        lambda record, arrays: arrays.update({"level.1.unknown": np.zeros(1)}),
        lambda record, arrays: arrays.update({"level.1.key": arrays["level.1.key"].astype(float)}),
        lambda record, arrays: arrays.pop("decision_scores"),
        lambda record, arrays: record.update(threshold=math.nan),
        lambda record, arrays: record["parameters"].update(steps=1),
        lambda record, arrays: record["parameters"].update(steps=-1),
        lambda record, arrays: record["parameters"].update(unknown_label="zzz"),
        lambda record, arrays: record["learned"]["reader"]["nodes"].update(unnamed="a"),
        lambda record, arrays: record["learned"]["reader"]["nodes"].update(names=["a"]),
        lambda record, arrays: record["learned"]["reader"]["nodes"].update(attributes=[["y", 0]]),
        lambda record, arrays: record["learned"]["reader"]["nodes"]["names"].__setitem__(0, {}),
        lambda record, arrays: record["learned"]["reader"]["edges"]["seen"].__setitem__(0, [[]]),
        lambda record, arrays: record["learned"]["reader"].update(weighted=[]),
        lambda record, arrays: record["parameters"].update(ignore="edge_attr"),
        lambda record, arrays: arrays.update({"level.0.known": arrays["level.0.known"][None]}),
        lambda record, arrays: arrays.update({"level.1.key": arrays["level.1.key"][::-1].copy()}),
        lambda record, arrays: arrays.update({"level.1.known": arrays["level.1.known"] * math.nan}),
    ],
)
def test_a_file_from_a_stranger_is_refused(saved, change):
    with pytest.raises(DataError, match=r"detector\.safetensors"):
        load_detector(changed(saved, change))


@pytest.mark.parametrize(
    "change",
    [
        lambda patterns: patterns.clear(),
        lambda patterns: patterns[0].update(labels=["Xx"] * len(patterns[0]["labels"])),
        lambda patterns: patterns[0].update(labels=patterns[0]["labels"][:1]),
        lambda patterns: patterns[0].update(edges=[[0, 99, None]]),
        lambda patterns: patterns[0].update(edges=[]),
        lambda patterns: patterns[0]["edges"][0].__setitem__(0, 0.5),
    ],
)
def test_patterns_from_a_stranger_are_refused(graphs, tmp_path, change):
    path = clone(DETECTORS["pattern"]).fit(graphs).save(tmp_path / "detector.safetensors")
    with pytest.raises(DataError, match=r"detector\.safetensors"):
        load_detector(changed(path, lambda record, arrays: change(record["learned"]["fitted"]["learned"]["patterns"])))


def test_a_header_that_is_too_deep_is_refused(saved):
    save_file({"a": np.zeros(1)}, saved, metadata={"rwkplus": "[" * 200_000})
    with pytest.raises(DataError, match="no detector saved by rwkplus"):
        load_detector(saved)


def test_a_truncated_file_or_a_pickle_or_none_is_refused(saved, tmp_path):
    saved.write_bytes(saved.read_bytes()[:-100])
    with pytest.raises(DataError, match="not complete"):
        load_detector(saved)
    saved.write_bytes(pickle.dumps({"threshold": 1}))
    with pytest.raises(DataError, match="is a pickle"):
        load_detector(saved)
    with pytest.raises(DataError, match="cannot read the detector"):
        load_detector(tmp_path / "nothing")
    save_file({"a": np.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(DataError, match="does not hold a detector"):
        load_detector(tmp_path / "other.safetensors")


def test_a_model_that_scores_differently_after_refitting_warns(graphs, tmp_path):
    path = WalkKernelDetector(method="forest").fit(graphs).save(tmp_path / "detector.safetensors")
    changed(path, lambda record, arrays: arrays.update(reference_scores=arrays["reference_scores"] + 1))
    with pytest.warns(RWKPlusWarning, match="fitted anew"):
        load_detector(path)


def test_wrong_references_are_refused(graphs, tmp_path):
    path = WalkKernelDetector().fit(graphs).save(tmp_path / "detector.safetensors")
    changed(path, lambda record, arrays: arrays.update({"graphs.node_ptr": arrays["graphs.node_ptr"][:-1]}))
    with pytest.raises(DataError, match="changed by hand"):
        load_detector(path)


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(0)])
@pytest.mark.parametrize("name", ["surprise", "forest"])
def test_a_seed_of_chance_is_kept(name, random_state, graphs, tmp_path):
    detector = clone(DETECTORS[name]).set_params(random_state=random_state).fit(graphs[:30])
    again = load_detector(detector.save(tmp_path / "detector.safetensors"))
    assert again.random_state == detector.seed_
    np.testing.assert_array_equal(again.anomaly_scores(graphs[30:]), detector.anomaly_scores(graphs[30:]))

import math
import pickle

import networkx as nx
import numpy as np
import pytest
from safetensors.numpy import save_file
from sklearn.base import clone

from rwkplus.detect import GraphDetector, PatternDetector, SurpriseDetector, WalkKernelDetector
from rwkplus.errors import DataError, RWKPlusWarning
from rwkplus.kernels import RandomWalkKernel
from rwkplus.saving import load
from tests.detect.conftest import DETECTORS
from tests.saved_files import changed, in_a_fresh_process


@pytest.mark.slow
@pytest.mark.parametrize("name", DETECTORS)
def test_a_loaded_detector_is_the_same(name, graphs, tmp_path):
    detector = clone(DETECTORS[name]).fit(graphs[:40])
    path = detector.save(tmp_path / "new" / "detector.safetensors")
    assert [file.name for file in path.parent.iterdir()] == ["detector.safetensors"]
    loaded = load(path)
    assert type(loaded) is type(detector)
    assert repr(loaded.get_params()) == repr(detector.get_params())
    assert loaded.offset_ == detector.offset_
    np.testing.assert_array_equal(loaded.fitted_scores_, detector.fitted_scores_)
    np.testing.assert_allclose(loaded.score_samples(graphs), detector.score_samples(graphs), rtol=1e-12)
    np.testing.assert_array_equal(loaded.predict(graphs), detector.predict(graphs))
    np.testing.assert_array_equal(loaded.score_samples(graphs[:40]), loaded.fitted_scores_)
    for mine, theirs in zip(loaded.explain(graphs[:3]), detector.explain(graphs[:3]), strict=True):
        assert mine.part == theirs.part


def test_a_kernel_of_ones_own_is_kept(graphs, tmp_path):
    detector = WalkKernelDetector(kernel=RandomWalkKernel(steps=2, normalize=True, combine=(0.5, 1.0))).fit(graphs)
    loaded = load(detector.save(tmp_path / "d.safetensors"))
    np.testing.assert_allclose(loaded.score_samples(graphs), detector.score_samples(graphs), atol=1e-9)


@pytest.fixture
def saved(graphs, tmp_path):
    return clone(DETECTORS["surprise"]).fit(graphs).save(tmp_path / "detector.safetensors")


@pytest.mark.parametrize(
    "change",
    [
        lambda record, arrays: record.update(format="something else"),
        lambda record, arrays: record.update(kind="os.system"),
        lambda record, arrays: record.update(kind="PatternDetector"),
        lambda record, arrays: record.pop("learned"),
        lambda record, arrays: record["parameters"].update(contamination=3),
        lambda record, arrays: record["parameters"].update(steps="many"),
        lambda record, arrays: record["parameters"].update(surprise=1),
        lambda record, arrays: record["learned"].update(reader=[]),
        lambda record, arrays: arrays.pop("level.1.key"),
        lambda record, arrays: arrays.update({"level.1.unknown": np.zeros(1)}),
        lambda record, arrays: arrays.update({"level.1.key": arrays["level.1.key"].astype(float)}),
        lambda record, arrays: arrays.pop("fitted.first"),
        lambda record, arrays: arrays.update({"fitted.first": arrays["fitted.first"][:-1].copy()}),
        lambda record, arrays: arrays.update({"fitted.second": arrays["fitted.second"] * math.nan}),
        lambda record, arrays: arrays.update({"fitted.digest": arrays["fitted.digest"].astype(float)}),
        lambda record, arrays: arrays.update({"fitted.more": np.zeros(1)}),
        lambda record, arrays: arrays.update({"level.9.key": np.zeros(1, np.int64)}),
        lambda record, arrays: record.update(threshold=1.0),
        lambda record, arrays: record["learned"].update(more=1),
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
def test_a_file_that_was_changed_is_refused(saved, change):
    with pytest.raises(DataError, match=r"detector\.safetensors"):
        load(changed(saved, change))


@pytest.mark.slow
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
def test_patterns_that_were_changed_are_refused(graphs, tmp_path, change):
    path = clone(DETECTORS["pattern"]).fit(graphs).save(tmp_path / "detector.safetensors")
    with pytest.raises(DataError, match=r"detector\.safetensors"):
        load(changed(path, lambda record, arrays: change(record["learned"]["miner"]["learned"]["patterns"])))


def test_a_header_that_is_too_deep_is_refused(saved):
    save_file({"a": np.zeros(1)}, saved, metadata={"rwkplus": "[" * 200_000})
    with pytest.raises(DataError, match="not a file saved by rwkplus"):
        load(saved)


def test_a_truncated_file_or_a_pickle_or_none_is_refused(saved, tmp_path):
    saved.write_bytes(saved.read_bytes()[:-100])
    with pytest.raises(DataError, match="is incomplete"):
        load(saved)
    saved.write_bytes(pickle.dumps({"threshold": 1}))
    with pytest.raises(DataError, match="is a pickle"):
        load(saved)
    with pytest.raises(DataError, match="cannot read"):
        load(tmp_path / "nothing")
    save_file({"a": np.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(DataError, match="holds nothing that this version"):
        load(tmp_path / "other.safetensors")


def test_a_model_that_scores_differently_after_refitting_warns(graphs, tmp_path):
    path = WalkKernelDetector(method="forest").fit(graphs).save(tmp_path / "detector.safetensors")
    changed(path, lambda record, arrays: arrays.update(reference_scores=arrays["reference_scores"] + 1))
    with pytest.warns(RWKPlusWarning, match="was refitted"):
        load(path)


def test_wrong_references_are_refused(graphs, tmp_path):
    path = WalkKernelDetector().fit(graphs).save(tmp_path / "detector.safetensors")
    changed(path, lambda record, arrays: arrays.update({"graphs.node_ptr": arrays["graphs.node_ptr"][:-1]}))
    with pytest.raises(DataError, match="changed by hand"):
        load(path)


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(0)])
@pytest.mark.parametrize("name", ["surprise", "forest"])
def test_a_seed_that_was_drawn_is_kept(name, random_state, graphs, tmp_path):
    detector = clone(DETECTORS[name]).set_params(random_state=random_state).fit(graphs[:30])
    again = load(detector.save(tmp_path / "detector.safetensors"))
    assert again.random_state == detector.seed_
    np.testing.assert_array_equal(again.score_samples(graphs[30:]), detector.score_samples(graphs[30:]))


@pytest.mark.slow
@pytest.mark.parametrize("name", DETECTORS)
def test_a_fresh_process_judges_alike(name, database, tmp_path):
    detector = clone(DETECTORS[name]).fit(database.graphs[:40])
    path = detector.save(tmp_path / "detector.safetensors")
    graphs = "__import__('rwkplus').datasets.anomalous_molecules(60, random_state=3).graphs"
    scores, flags = in_a_fresh_process(path, f"[part.tolist() for part in loaded.judge({graphs})]")
    np.testing.assert_allclose(scores, detector.score_samples(database.graphs), rtol=1e-12)
    assert flags == (detector.predict(database.graphs) == -1).tolist()


def test_a_detector_opens_as_what_it_is(graphs, tmp_path):
    path = SurpriseDetector().fit(graphs).save(tmp_path / "detector.safetensors")
    assert type(GraphDetector.load(path)) is type(SurpriseDetector.load(path)) is SurpriseDetector
    with pytest.raises(DataError, match="holds a SurpriseDetector, not a PatternDetector"):
        PatternDetector.load(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda record, arrays: record["parameters"].update(kernel="rwk+"),
        lambda record, arrays: record["parameters"].update(kernel={"steps": 1}),
        lambda record, arrays: record["parameters"].update(method="guess"),
        lambda record, arrays: record["parameters"].update(n_references=2),
        lambda record, arrays: record["learned"].pop("references"),
        lambda record, arrays: arrays.update(reference_indices=arrays["reference_indices"] + 99),
        lambda record, arrays: arrays.update(reference_indices=arrays["reference_indices"][::-1].copy()),
        lambda record, arrays: arrays.update(reference_scores=arrays["reference_scores"][:-1].copy()),
        lambda record, arrays: arrays.pop("graphs.source"),
        lambda record, arrays: arrays.update(more=np.zeros(1)),
    ],
)
def test_references_that_were_changed_are_refused(graphs, tmp_path, change):
    kernel = RandomWalkKernel(steps=2, normalize=True)
    path = WalkKernelDetector(kernel=kernel).fit(graphs).save(tmp_path / "detector.safetensors")
    with pytest.raises(DataError, match=r"detector\.safetensors"):
        load(changed(path, change))


@pytest.mark.parametrize("name", ["surprise", "nearest", "lof"])
@pytest.mark.parametrize("fields", ["attributes", "nothing"])
def test_graphs_without_labels_are_kept_too(name, fields, tmp_path):
    rng = np.random.default_rng(0)
    graphs = [nx.path_graph(int(n)) for n in rng.integers(3, 7, 20)]
    for graph in graphs if fields == "attributes" else ():
        nx.set_node_attributes(graph, {v: rng.normal(size=2).tolist() for v in graph}, "x")
    detector = clone(DETECTORS[name]).fit(graphs[:15])
    loaded = load(detector.save(tmp_path / "detector.safetensors"))
    np.testing.assert_allclose(loaded.score_samples(graphs), detector.score_samples(graphs), rtol=1e-12)
    np.testing.assert_array_equal(loaded.predict(graphs), detector.predict(graphs))

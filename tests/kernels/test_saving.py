"""Kernels and features in files: what is loaded answers as what was saved, and changed files are refused."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from rwkplus.errors import DataError
from rwkplus.kernels import RandomWalkFeatures, RandomWalkKernel, RandomWalkNystroem
from rwkplus.saving import load
from tests.saved_files import changed, in_a_fresh_process
from tests.strategies import data_list, random_graphs

MOLECULES = ["CCO", "CC=O", "OCCN", "C1CC1", "CC(C)O"]
LATER = ["CCN", "C=CO", "CCCl", "N"]
ESTIMATORS = {
    "kernel": RandomWalkKernel(steps=3),
    "pairs": RandomWalkKernel(steps=3, route="blocks", normalize=True),
    "rwk-": RandomWalkKernel("rwk-", steps=2, combine=(0.5, 2.0), unknown_label="ignore"),
    "geometric": RandomWalkKernel(steps=3, combine="geometric", decay=0.01),
    "colors": RandomWalkKernel("node-centric", steps=2, normalize=True),
    "closed": RandomWalkKernel(steps=3, walks="closed"),
    "features": RandomWalkFeatures(steps=3),
    "ends": RandomWalkFeatures("rwk-", steps=3, include_zero_step=True),
    "color counts": RandomWalkFeatures("node-centric", steps=2, assignment="dirac"),
    "hashed": RandomWalkFeatures(steps=2, hash_width=16, sparse_output=False),
    "without bonds": RandomWalkFeatures(steps=2, ignore=("edges.label",)),
    "landmarks": RandomWalkNystroem(RandomWalkKernel("rwk-", 2, normalize=True), 3, random_state=1),
    "default landmarks": RandomWalkNystroem(n_components=9),
}


def dense(values):
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


@pytest.mark.filterwarnings("ignore:no label")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_is_loaded_answers_as_what_was_saved(name, tmp_path):
    fitted = clone(ESTIMATORS[name]).fit(MOLECULES)
    path = fitted.save(tmp_path / "new" / "estimator.safetensors")
    assert [file.name for file in path.parent.iterdir()] == ["estimator.safetensors"]
    for loaded in (load(path), type(fitted).load(path), load(path.parent)):
        assert type(loaded) is type(fitted)
        assert repr(loaded.get_params()) == repr(fitted.get_params())
        for graphs in (MOLECULES, LATER):
            np.testing.assert_array_equal(dense(loaded.transform(graphs)), dense(fitted.transform(graphs)))
        np.testing.assert_array_equal(loaded.get_feature_names_out(), fitted.get_feature_names_out())
    again = load(loaded.save(tmp_path / "again.safetensors"))
    np.testing.assert_array_equal(dense(again.transform(LATER)), dense(fitted.transform(LATER)))
    if isinstance(fitted, RandomWalkKernel):
        np.testing.assert_array_equal(loaded.diagonal(), fitted.diagonal())
        assert loaded.route_ == fitted.route_
        assert loaded.truncation_error_ == fitted.truncation_error_


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pairs", "features", "color counts", "landmarks"])
def test_a_fresh_process_answers_alike(name, tmp_path):
    fitted = clone(ESTIMATORS[name]).fit(MOLECULES)
    path = fitted.save(tmp_path / "estimator.safetensors")
    values = (
        "(lambda v: v.toarray() if hasattr(v, 'toarray') else v)(loaded.transform(['CCO', 'CC=O', 'NCC'])).tolist()"
    )
    assert in_a_fresh_process(path, values) == dense(fitted.transform(["CCO", "CC=O", "NCC"])).tolist()


@pytest.mark.parametrize("fields", [{"real": True}, {"edge_colors": True, "edge_weights": True}])
@pytest.mark.parametrize("kind", [RandomWalkKernel, RandomWalkNystroem])
def test_attributes_weights_and_edge_labels_are_kept(kind, fields, tmp_path):
    graphs = data_list(random_graphs(8, **fields))
    fitted = kind().fit(graphs[:5])
    loaded = load(fitted.save(tmp_path / "estimator.safetensors"))
    np.testing.assert_array_equal(loaded.transform(graphs), fitted.transform(graphs))


@pytest.mark.parametrize("given", [None, np.random.default_rng(0), np.random.RandomState(0)])
def test_landmarks_drawn_by_a_generator_are_kept(given, tmp_path):
    fitted = RandomWalkNystroem(n_components=2, random_state=given).fit(MOLECULES)
    loaded = load(fitted.save(tmp_path / "estimator.safetensors"))
    assert loaded.random_state is None
    np.testing.assert_array_equal(loaded.landmarks_, fitted.landmarks_)
    assert fitted.random_state is given


def test_another_kind_is_refused_by_name(tmp_path):
    path = RandomWalkFeatures(steps=1).fit(MOLECULES).save(tmp_path / "features.safetensors")
    with pytest.raises(DataError, match="holds a RandomWalkFeatures, not a RandomWalkKernel"):
        RandomWalkKernel.load(path)


def put(where, name, value):
    """A change of one entry, of the arrays or of a part of the header."""

    def change(record, arrays):
        place = arrays if where == "arrays" else record[where]
        if value is None:
            place.pop(name)
        else:
            place[name] = value(place[name]) if callable(value) else value

    return change


CHANGES = [
    ("kernel", put("parameters", "steps", "many")),
    ("kernel", put("parameters", "route", "detour")),
    ("kernel", put("parameters", "unheard_of", 1)),
    ("kernel", put("learned", "reader", None)),
    ("kernel", put("learned", "reader", [])),
    ("kernel", put("learned", "more", 1)),
    ("kernel", put("learned", "table", lambda table: table | {"columns": {}})),
    ("kernel", put("learned", "reader", lambda reader: reader | {"weighted": not reader["weighted"]})),
    ("kernel", put("arrays", "graphs.source", None)),
    ("kernel", put("arrays", "graphs.source", lambda ends: ends + 99)),
    ("kernel", put("arrays", "graphs.node_ptr", lambda ptr: ptr.astype(float))),
    ("kernel", put("arrays", "more", np.zeros(1))),
    ("features", put("parameters", "steps", 2)),
    ("features", put("parameters", "steps", 4)),
    ("features", put("parameters", "kernel", "node-centric")),
    ("features", put("parameters", "hash_width", 4)),
    ("features", put("parameters", "hash_width", -4)),
    ("features", put("parameters", "ignore", "x")),
    ("features", put("learned", "reader", None)),
    ("features", put("arrays", "sequences.2.label", None)),
    ("features", put("arrays", "sequences.2.label", lambda part: part[:-1].copy())),
    ("features", put("arrays", "sequences.2.label", lambda part: part + 99)),
    ("features", put("arrays", "sequences.2.edge", lambda part: part - 1)),
    ("features", put("arrays", "sequences.2.prefix", lambda part: part + 99)),
    ("features", put("arrays", "sequences.2.prefix", lambda part: part[::-1].copy())),
    ("features", put("arrays", "sequences.2.prefix", lambda part: part.astype(float))),
    ("features", put("arrays", "prefixes.0.label", lambda part: part * 0)),
    ("features", put("arrays", "more", np.zeros(1, np.int64))),
    ("color counts", put("arrays", "colors.1", lambda keys: keys[::-1].copy())),
    ("color counts", put("arrays", "colors.1", lambda keys: keys[None])),
    ("color counts", put("arrays", "colors.2", None)),
    ("hashed", put("parameters", "hash_width", 0)),
    ("landmarks", put("parameters", "kernel", "rwk+")),
    ("landmarks", put("parameters", "kernel", {"steps": 2})),
    ("landmarks", put("parameters", "kernel", lambda kernel: kernel | {"steps": -1})),
    ("landmarks", put("parameters", "n_components", 2)),
    ("landmarks", put("learned", "kernel", None)),
    ("landmarks", put("arrays", "normalization", lambda part: part * math.nan)),
    ("landmarks", put("arrays", "normalization", lambda part: part[:-1].copy())),
    ("landmarks", put("arrays", "landmarks", lambda part: part[::-1].copy())),
    ("landmarks", put("arrays", "landmarks", lambda part: part[:-1].copy())),
    ("landmarks", put("arrays", "kernel.graphs.target", None)),
]


@pytest.mark.parametrize(("name", "change"), CHANGES)
def test_a_file_that_was_changed_is_refused(name, change, tmp_path):
    path = clone(ESTIMATORS[name]).fit(MOLECULES).save(tmp_path / "estimator.safetensors")
    load(path)
    with pytest.raises(DataError, match=r"estimator\.safetensors"):
        load(changed(path, change))


def test_files_of_the_first_release_are_refused_with_what_to_do(tmp_path):
    path = RandomWalkKernel(steps=1).fit(MOLECULES).save(tmp_path / "estimator.safetensors")
    with pytest.raises(DataError, match=r"saved by rwkplus 0\.1.*Fit and save it again"):
        load(changed(path, lambda record, arrays: record.update(format="rwkplus detector, version 2")))

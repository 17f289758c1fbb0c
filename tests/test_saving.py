"""One way to save: what all files have in common, whatever is in them."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

import rwkplus
from rwkplus import RandomWalkKernel, load
from rwkplus.errors import DataError
from rwkplus.files import HEADER
from rwkplus.saving import FORMAT, KINDS


@pytest.fixture
def kernel():
    return RandomWalkKernel(steps=2).fit(["CCO", "CCN"])


def with_header(path, **changes):
    record = {"format": FORMAT, "version": "9", "kind": "RandomWalkKernel", "parameters": {}, "learned": {}}
    save_file({"a": np.zeros(1)}, path, metadata={HEADER: json.dumps(record | changes)})
    return path


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_is_where_it_is_said_to_be(name):
    module = __import__(KINDS[name], fromlist=[name])
    assert getattr(module, name).__name__ == name


@pytest.mark.parametrize(
    "wrote", ["rwkplus detector, version 2", "rwkplus model, version 1", "rwkplus miner, version 1"]
)
def test_files_of_the_first_version_are_refused_with_a_way_out(tmp_path, wrote):
    with pytest.raises(DataError, match=rf"saved by rwkplus 0\.1 .*{wrote}.*Fit and save it again"):
        load(with_header(tmp_path / "old.safetensors", format=wrote))


@pytest.mark.parametrize("kind", ["Popen", 7, None, ["RandomWalkKernel"]])
def test_only_known_classes_are_opened(tmp_path, kind):
    with pytest.raises(DataError, match="nothing that this version of rwkplus"):
        load(with_header(tmp_path / "strange.safetensors", kind=kind))


@pytest.mark.parametrize("parameters", [{}, {"steps": 2}, {"no_such": 1}, [], None])
def test_all_parameters_must_be_there_and_no_others(tmp_path, parameters):
    with pytest.raises(DataError, match="damaged or was changed by hand"):
        load(with_header(tmp_path / "changed.safetensors", parameters=parameters))


def test_a_folder_stands_for_the_one_file_in_it(tmp_path, kernel):
    kernel.save(tmp_path / "run" / "kernel.safetensors")
    assert load(tmp_path / "run").steps == 2
    kernel.save(tmp_path / "run" / "other.safetensors")
    with pytest.raises(DataError, match=r"several: kernel\.safetensors, other\.safetensors.*Name one"):
        load(tmp_path / "run")


def test_a_class_that_could_not_be_opened_again_is_not_saved(tmp_path):
    class OwnKernel(RandomWalkKernel):
        pass

    own = OwnKernel(steps=1).fit(["CC"])
    with pytest.raises(DataError, match=r"OwnKernel could be saved but not opened.*KINDS\['OwnKernel'\]"):
        own.save(tmp_path / "own.safetensors")
    assert not (tmp_path / "own.safetensors").exists()


def test_data_sets_and_saved_files_are_told_apart(tmp_path, kernel):
    path = kernel.save(tmp_path / "kernel.safetensors")
    with pytest.raises(DataError, match=r"rwkplus\.load opens it"):
        rwkplus.load_graphs(str(path))

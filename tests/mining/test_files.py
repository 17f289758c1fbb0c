import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from torch_geometric.data import Data

from rwkplus.datasets import functional_groups
from rwkplus.errors import DataError
from rwkplus.mining import Pattern, PatternMiner
from rwkplus.mining.files import load_patterns, save_patterns
from rwkplus.mining.occurrences import Occurrences

PLACES = Occurrences(np.array([1]), np.array([[4, 5]]))
EDGE = Pattern(("C", "O"), ((0, 1, "="),), "maximal", 3.5, 1, 2, PLACES, 0.5, 0.25, 0.25)


def test_patterns_survive_the_file(tmp_path):
    path = save_patterns([EDGE], tmp_path / "new" / "patterns.json")
    assert load_patterns(path) == [EDGE]
    assert [file.name for file in path.parent.iterdir()] == ["patterns.json"]


def test_ids_survive_the_file(tmp_path):
    ids = np.array([["ann", ("b", 2)]], dtype=object)
    named = replace(EDGE, occurrences=Occurrences(np.array([1]), np.array([[4, 5]]), np.array(["monday"], object), ids))
    (again,) = load_patterns(save_patterns([named], tmp_path / "patterns.json"))
    assert again.occurrences[0] == ("monday", ("ann", ("b", 2)))
    assert again == named


def test_patterns_of_the_first_version_are_read(tmp_path):
    record = EDGE.to_dict() | {"occurrences": [[1, 4, 5]]}
    (tmp_path / "old.json").write_text(json.dumps({"format": "rwkplus patterns, version 1", "patterns": [record]}))
    assert load_patterns(tmp_path / "old.json") == [EDGE]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "does not hold patterns"),
        ('{"format": "other"}', "does not hold patterns"),
        ('{"format": "rwkplus patterns, version 1"}', "has no list of patterns"),
        ('{"format": "rwkplus patterns, version 1", "patterns": [{"labels": []}]}', "not a stored pattern"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    path = tmp_path / "patterns.json"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        load_patterns(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.json"):
        load_patterns(tmp_path / "none.json")


@pytest.fixture(scope="module")
def miner():
    graphs = functional_groups(40)
    y = graphs.y.tolist()
    return PatternMiner(2, (3, 6), criterion="blocks", n_controls=2, beam_width=6, random_state=3).fit(graphs, y)


def test_a_miner_survives_the_file(miner, tmp_path):
    again = PatternMiner.load(miner.save(tmp_path / "new" / "miner.safetensors"))
    assert again.get_params() == miner.get_params()
    assert again.patterns_ == miner.patterns_
    assert again.reader_ == miner.reader_
    assert again.threshold_ == miner.threshold_
    assert again.interrupted_ is False
    np.testing.assert_array_equal(again.explained_, miner.explained_)
    graphs = functional_groups(10, random_state=5)
    np.testing.assert_array_equal(again.transform(graphs), miner.transform(graphs))
    assert again.score(graphs) == miner.score(graphs)
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["miner.safetensors"]


def test_classes_of_measurements_survive_the_file(tmp_path):
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.tensor([[0, 1, 1, 2, 0, 2], [1, 0, 2, 1, 2, 0]])
    graphs = [Data(x=torch.rand(3, 2, generator=generator), edge_index=edge_index) for _ in range(12)]
    fitted = PatternMiner(1, 3, criterion="blocks", n_colors=2, n_controls=0).fit(graphs)
    again = PatternMiner.load(fitted.save(tmp_path / "miner.safetensors"))
    np.testing.assert_array_equal(again.transform(graphs), fitted.transform(graphs))


@pytest.mark.parametrize("cut", [0, 5, 100, -1])
def test_a_damaged_miner_is_refused(miner, tmp_path, cut):
    path = miner.save(tmp_path / "miner.safetensors")
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(DataError, match="miner"):
        PatternMiner.load(path)


def test_another_safetensors_file_is_refused(tmp_path):
    save_file({"weight": np.zeros(3)}, tmp_path / "model.safetensors")
    with pytest.raises(DataError, match="does not hold a miner"):
        PatternMiner.load(tmp_path / "model.safetensors")
    with pytest.raises(DataError, match="cannot read the miner"):
        PatternMiner.load(tmp_path / "nothing.safetensors")

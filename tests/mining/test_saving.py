import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save_file
from torch_geometric.data import Data

from rwkplus.datasets import functional_groups
from rwkplus.errors import DataError
from rwkplus.mining import Condition, Pattern, PatternMiner, load_patterns, save_patterns
from rwkplus.mining.pattern_parts import Occurrences
from rwkplus.saving import load

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


PAID = Pattern(
    ("shop", "bank"),
    ((0, 1, "cash"), (1, 0, "cash"), (0, 1, "card"), (0, 1, "card")),
    *("contrast", 3.5, 1, 2, PLACES, 0.5, 0.25, 0.25),
    directed=True,
    node_conditions=((Condition("balance", None, 0.0),), ()),
    edge_conditions=((), (), (Condition("amount", 50.0, 200.0),), (Condition("amount", 1e4, None),)),
    mni=7,
)


def test_directions_conditions_and_minimum_images_survive_the_file(tmp_path):
    assert load_patterns(save_patterns([PAID, EDGE], tmp_path / "patterns.json")) == [PAID, EDGE]
    assert Pattern.from_dict(PAID.to_dict()) == PAID


def test_patterns_of_the_second_version_are_read(tmp_path):
    later = ("directed", "node_conditions", "edge_conditions", "mni")
    record = {name: value for name, value in EDGE.to_dict().items() if name not in later}
    (tmp_path / "old.json").write_text(json.dumps({"format": "rwkplus patterns, version 2", "patterns": [record]}))
    assert load_patterns(tmp_path / "old.json") == [EDGE]


@pytest.mark.parametrize(
    "change",
    [
        {"directed": "yes"},
        {"directed": False},  # then an edge and its reverse are the same
        {"edge_conditions": []},  # then two edges are the same
        {"edges": [[0, 1, "cash"], [1, 0, "cash"], [0, 1, "card"], [1, 1, "card"]]},
        {"edges": [[0, 1, "cash"], [1, 0, "cash"], [0, 1, "card"], [0, 1, None]]},
        {"node_conditions": [[]]},
        {"edge_conditions": [[], [], [["amount", 50, 200]]]},
        {"node_conditions": [[["balance", None, None]], []]},
        {"node_conditions": [[["balance", 5, 5]], []]},
        {"node_conditions": [[["balance", 7, 5]], []]},
        {"node_conditions": [[["balance", "low", 5]], []]},
        {"node_conditions": [[["balance", float("nan"), 5]], []]},
        {"node_conditions": [[["balance", float("-inf"), 5]], []]},
        {"node_conditions": [[[7, 0, 5]], []]},
        {"node_conditions": [[["balance", 0]], []]},
        {"mni": -1},
        {"mni": 0.5},
    ],
)
def test_an_edited_directed_pattern_is_refused(change):
    with pytest.raises(DataError, match="this is not a stored pattern"):
        Pattern.from_dict(json.loads(json.dumps(PAID.to_dict() | change)))


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


@pytest.mark.parametrize(
    "change",
    [
        {"labels": "CO"},
        {"labels": ["C", 8]},
        {"labels": ["C", None]},
        {"labels": ["C", "O", "O"]},
        {"labels": [], "edges": []},
        {"edges": []},
        {"edges": [[0, 1]]},
        {"edges": [[0, 1, 2]]},
        {"edges": [[0, 2, "="]]},
        {"edges": [[-1, 1, "="]]},
        {"edges": [[0.5, 1, "="]]},
        {"edges": [[0, 0, "="]]},
        {"edges": [[0, 1, "="], [1, 0, "="]]},
        {"criterion": 3},
        {"score": "high"},
        {"score": float("nan")},
        {"score": float("inf")},
        {"support": 3},
        {"support": -1},
        {"support": 1.5},
        {"num_graphs": 0},
        {"num_graphs": 1},
        {"node_coverage": 1.5},
        {"edge_coverage": None},
        {"gain": float("nan")},
        {"exhaustive": "yes"},
        {"contrast": [["a", 1]]},
        {"contrast": [[1, 1, 2, 1.0, 0.5, 0.5]]},
        {"contrast": [["a", 2, 1, 1.0, 0.5, 0.5]]},
        {"contrast": [["a", 1, 2, float("inf"), 0.5, 0.5]]},
        {"occurrences": 5},
        {"occurrences": [[]]},
        {"occurrences": [[1, 4]]},
        {"occurrences": [[1, 4, 4]]},
        {"occurrences": {"graphs": [1]}},
        {"occurrences": {"graphs": [1], "nodes": [4, 5]}},
        {"occurrences": {"graphs": [1], "nodes": [[4, 5, 6]]}},
        {"occurrences": {"graphs": [1, 1], "nodes": [[4, 5]]}},
        {"occurrences": {"graphs": [7], "nodes": [[4, 5]]}},
        {"occurrences": {"graphs": [10**30], "nodes": [[4, 5]]}},
        {"occurrences": {"graphs": [1], "nodes": [[4, 5]], "node_ids": [["a"]]}},
        {"occurrences": {"graphs": [1], "nodes": [[4, 5]], "node_ids": [["a", {}]]}},
        {"occurrences": {"graphs": [1], "nodes": [[4, 5]], "graph_names": ["a", "b"]}},
        {"occurrences": {"graphs": [1], "nodes": [[4, 5]], "graph_names": [{"a": 1}]}},
        {"color": "red"},
    ],
    ids=str,
)
def test_an_edited_pattern_is_refused_when_it_is_read(tmp_path, change):
    """Not later, when it is drawn, counted or written."""
    record = {"format": "rwkplus patterns, version 2", "patterns": [EDGE.to_dict(), EDGE.to_dict() | change]}
    (tmp_path / "patterns.json").write_text(json.dumps(record))
    with pytest.raises(DataError, match=r"patterns\.json is damaged .* in pattern 1, this is not a stored pattern"):
        load_patterns(tmp_path / "patterns.json")


def test_ids_may_be_tuples_of_tuples(tmp_path):
    ids = np.empty((1, 2), object)
    ids[0, 0], ids[0, 1] = (0, (1, "a")), (0, (2, "b"))
    named = replace(EDGE, occurrences=Occurrences(np.array([1]), np.array([[4, 5]]), None, ids))
    assert load_patterns(save_patterns([named], tmp_path / "patterns.json")) == [named]
    ids[0, 0] = frozenset("a")
    with pytest.raises(DataError, match="an id of a graph or node has no form in JSON"):
        save_patterns([named], tmp_path / "other.json")
    assert not (tmp_path / "other.json").exists()


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
    with pytest.raises(DataError, match="holds nothing that this version of rwkplus"):
        PatternMiner.load(tmp_path / "model.safetensors")
    with pytest.raises(DataError, match=r"cannot read the file .*nothing\.safetensors"):
        PatternMiner.load(tmp_path / "nothing.safetensors")


def edited(path, *keys, to):
    """Change one value in the header of a saved miner."""
    with safe_open(path, "numpy") as file:
        header = json.loads(file.metadata()["rwkplus"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    *above, last = keys
    part = tensors if keys[0] == "tensors" else header
    for key in above[1:] if keys[0] == "tensors" else above:
        part = part[key]
    if to is None:
        del part[last]
    else:
        part[last] = to
    save_file(tensors, path, {"rwkplus": json.dumps(header)})
    return path


@pytest.mark.parametrize(
    ("keys", "to"),
    [
        (("parameters", "n_patterns"), "many"),
        (("parameters", "n_jobs"), "all"),
        (("parameters", "n_jobs"), 0),
        (("parameters", "ignore"), "name"),
        (("parameters", "ignore"), 5),
        (("parameters", "unheard"), 5),
        (("parameters", "random_state"), -1),
        (("learned", "patterns"), 5),
        (("learned", "patterns"), [5]),
        (("learned", "patterns"), []),
        (("learned", "patterns", 0, "labels"), ["C", "Unobtainium", "C", "C", "C", "C"]),
        (("learned", "patterns", 0, "labels", 0), 6),
        (("learned", "patterns", 0, "edges", 0), [0, 1, None]),
        (("learned", "patterns", 0, "edges", 0), [0, 99, "-"]),
        (("learned", "patterns", 0, "support"), 1),
        (("learned", "threshold"), None),
        (("learned", "threshold"), "high"),
        (("learned", "threshold"), float("nan")),
        (("learned", "interrupted"), "no"),
        (("learned", "reader"), None),
        (("learned", "reader"), []),
        (("learned", "more"), 1),
        (("tensors", "explained_"), None),
        (("tensors", "explained_"), np.zeros(7)),
        (("tensors", "saved_"), np.zeros(7)),
        (("tensors", "saved_"), np.array([1.0, np.nan])),
        (("tensors", "control_"), np.zeros((2, 2))),
        (("tensors", "control_"), np.zeros(2, np.int64)),
        (("tensors", "more"), np.zeros(2)),
    ],
)
def test_an_edited_miner_is_refused(miner, tmp_path, keys, to):
    path = edited(miner.save(tmp_path / "miner.safetensors"), *keys, to=to)
    with pytest.raises(DataError, match=r"miner\.safetensors"):
        PatternMiner.load(path)


def test_rwkplus_load_opens_a_miner(miner, tmp_path):
    assert load(miner.save(tmp_path / "miner.safetensors")).patterns_ == miner.patterns_

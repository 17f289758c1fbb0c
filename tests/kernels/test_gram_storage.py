import dataclasses
import json

import numpy as np
import pytest

from rwkplus.kernels.gram_storage import ResumableMatrix, fingerprint
from rwkplus.table import GraphTable
from tests.strategies import data_list, random_graphs


def table(seed=0, **fields):
    return GraphTable.of(data_list(random_graphs(3, seed=seed, edge_colors=True, edge_weights=True, **fields)))


def test_in_memory_rows_and_their_mirror_are_stored():
    matrix = ResumableMatrix((3, 3), None, "")
    matrix.write(0, 2, 0, np.array([[1.0, 2, 3], [2, 4, 5]]), mirror=True)
    matrix.write(2, 3, 2, np.array([[6.0]]), mirror=True)
    assert matrix.complete().tolist() == [[1, 2, 3], [2, 4, 5], [3, 5, 6]]


def test_the_file_appears_only_when_it_is_complete(tmp_path):
    path = tmp_path / "gram.npy"
    matrix = ResumableMatrix((2, 2), path, "key")
    matrix.write(0, 1, 0, np.array([[1.0, 2.0]]), mirror=False)
    assert not path.exists()
    matrix.write(1, 2, 0, np.array([[3.0, 4.0]]), mirror=False)
    assert not path.exists()
    assert matrix.complete().tolist() == [[1, 2], [3, 4]]
    assert np.load(path).tolist() == [[1, 2], [3, 4]]
    assert [file.name for file in tmp_path.iterdir()] == ["gram.npy"]


def test_nothing_is_written_before_the_first_block(tmp_path):
    ResumableMatrix((2, 2), tmp_path / "gram.npy", "key")
    assert list(tmp_path.iterdir()) == []


def test_finished_blocks_survive_an_interruption(tmp_path):
    ResumableMatrix((2, 2), tmp_path / "k.npy", "key").write(0, 1, 0, np.array([[1.0, 2.0]]), mirror=False)
    again = ResumableMatrix((2, 2), str(tmp_path / "k.npy"), "key")
    assert again.finished == {(0, 1)}
    assert again.values[0].tolist() == [1, 2]


def test_blocks_of_another_computation_are_not_taken(tmp_path):
    ResumableMatrix((2, 2), tmp_path / "k.npy", "one").write(0, 1, 0, np.array([[1.0, 2.0]]), mirror=False)
    other = ResumableMatrix((2, 2), tmp_path / "k.npy", "other")
    assert other.finished == set()
    assert other.values.tolist() == [[0, 0], [0, 0]]


def test_blocks_overwritten_by_another_computation_are_not_taken_back(tmp_path):
    ResumableMatrix((2, 2), tmp_path / "k.npy", "one").write(0, 1, 0, np.array([[1.0, 2.0]]), mirror=False)
    ResumableMatrix((2, 2), tmp_path / "k.npy", "other")  # interrupted before its first block
    assert ResumableMatrix((2, 2), tmp_path / "k.npy", "one").finished == set()


@pytest.mark.parametrize(
    "note", ["", "{", "[]", "{}", '{"fingerprint": "key"}', '{"fingerprint": "key", "finished": 1}']
)
def test_a_damaged_note_means_to_start_again(tmp_path, note):
    ResumableMatrix((2, 2), tmp_path / "k.npy", "key").write(0, 1, 0, np.array([[1.0, 2.0]]), mirror=False)
    (tmp_path / "k.npy.progress").write_text(note)
    assert ResumableMatrix((2, 2), tmp_path / "k.npy", "key").finished == set()


def test_a_note_without_its_blocks_means_to_start_again(tmp_path):
    (tmp_path / "k.npy.progress").write_text(json.dumps({"fingerprint": "key", "finished": [[0, 1]]}))
    assert ResumableMatrix((2, 2), tmp_path / "k.npy", "key").finished == set()


def test_a_cut_file_means_to_start_again(tmp_path):
    ResumableMatrix((2, 2), tmp_path / "k.npy", "key").write(0, 1, 0, np.array([[1.0, 2.0]]), mirror=False)
    partial = tmp_path / "k.npy.partial"
    partial.write_bytes(partial.read_bytes()[:20])
    assert ResumableMatrix((2, 2), tmp_path / "k.npy", "key").finished == set()


def test_the_fingerprint_is_reproducible_and_sees_settings():
    assert fingerprint({"steps": 2}, [table()]) == fingerprint({"steps": 2}, [table()])
    assert fingerprint({"steps": 2}, [table()]) != fingerprint({"steps": 3}, [table()])
    assert fingerprint({}, [table()]) != fingerprint({}, [table(), table()])
    assert fingerprint({}, [table()]) != fingerprint({}, [table(seed=1)])


@pytest.mark.parametrize("field", ["source", "target"])
def test_the_fingerprint_sees_every_end_of_the_edges(field):
    graphs = table()
    changed = getattr(graphs, field).copy()
    changed[-1] = 0 if changed[-1] else 1
    assert fingerprint({}, [dataclasses.replace(graphs, **{field: changed})]) != fingerprint({}, [graphs])


@pytest.mark.parametrize(
    ("side", "name", "real"),
    [("nodes", "x", False), ("nodes", "x", True), ("edges", "edge_attr", True), ("edges", "edge_weight", False)],
)
def test_the_fingerprint_sees_every_cell_of_the_columns(side, name, real):
    graphs = table(real=real)
    column = getattr(graphs, side)[name]
    array = next(iter(vars(column).values())).copy()
    array.flat[-1] = 0 if array.flat[-1] else 1
    other = dataclasses.replace(column, **{next(iter(vars(column))): array})
    assert fingerprint({}, [graphs.with_columns(**{side: {name: other}})]) != fingerprint({}, [graphs])

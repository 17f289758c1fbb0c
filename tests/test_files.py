"""A file is there whole or not at all, and what cannot be read is refused with the reason."""

import os
import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import torch

from rwkplus.errors import DataError
from rwkplus.files import read_json, read_tensors, whole_file, write_tensors, write_whole

FORMAT = "rwkplus toy, version 1"
RECORD = {"format": FORMAT, "names": ["a", "b"]}
read = partial(read_tensors, kind="toy", expected=FORMAT, framework="pt")


@pytest.fixture
def path(tmp_path):
    return write_tensors(tmp_path / "new" / "toy.safetensors", RECORD, {"weight": torch.arange(6).view(2, 3).T})


@pytest.mark.parametrize("content", ["ä\r\n", b"\x00\n"])
def test_text_and_bytes_are_written_as_they_are(tmp_path, content):
    path = write_whole(str(tmp_path / "a" / "b" / "file"), content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert list(path.parent.iterdir()) == [path]


def test_json_is_read_in_the_encoding_it_is_written_in(tmp_path):
    path = write_whole(tmp_path / "file.json", '\ufeff{"ä": 1}')
    assert read_json(path) == {"ä": 1}
    with pytest.raises(DataError, match=r"cannot read .*none\.json: No such file"):
        read_json(tmp_path / "none.json")
    with pytest.raises(DataError, match="run it first"):
        read_json(tmp_path / "none.json", "run it first")
    with pytest.raises(DataError, match=r"file\.json is not valid JSON"):
        read_json(write_whole(path, "{"))
    with pytest.raises(DataError, match="not text in UTF-8"):
        read_json(write_whole(path, b'{"\xe4": 1}'))


@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt])
def test_a_block_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, failure):
    path = write_whole(tmp_path / "file.json", "old")

    def write():
        with whole_file(path) as scratch:
            scratch.write_text("half of the n")
            raise failure

    with pytest.raises(failure):
        write()
    assert (path.read_text(), list(tmp_path.iterdir())) == ("old", [path])


def test_the_old_file_is_there_until_the_block_ends(tmp_path):
    path = write_whole(tmp_path / "file.json", "old")
    with whole_file(path) as scratch:
        scratch.write_text("new")
        assert path.read_text() == "old"
        assert list(tmp_path.glob("*.json")) == [path]  # nobody finds what is not complete
    assert path.read_text() == "new"


def test_numpy_adds_nothing_to_the_name(tmp_path):
    with whole_file(tmp_path / "a.npy") as first, whole_file(tmp_path / "b.npz") as second:
        np.save(first, np.ones(2))
        np.savez(second, x=np.ones(2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npy", "b.npz"]


def test_two_processes_do_not_share_a_scratch_file(tmp_path):
    code = "import sys; from rwkplus.files import write_whole; write_whole(sys.argv[1], 'theirs')"
    with whole_file(tmp_path / "file") as scratch:
        scratch.write_text("ours")
        subprocess.run([sys.executable, "-c", code, tmp_path / "file"], check=True)
        assert (tmp_path / "file").read_text() == "theirs"
        assert str(os.getpid()) in scratch.name
    assert (tmp_path / "file").read_text() == "ours"


def test_a_folder_is_not_replaced(tmp_path):
    with pytest.raises(DataError, match="is a folder"):
        write_whole(tmp_path, "text")


def test_tensors_survive_the_file(path):
    record, tensors = read(path)
    assert record == RECORD
    assert torch.equal(tensors["weight"], torch.tensor([[0, 3], [1, 4], [2, 5]]))
    assert [file.name for file in path.parent.iterdir()] == ["toy.safetensors"]


def test_arrays_and_tensors_make_the_same_file(path, tmp_path):
    arrays = {"weight": np.arange(6).reshape(2, 3).T}
    assert write_tensors(tmp_path / "arrays", RECORD, arrays).read_bytes() == path.read_bytes()
    np.testing.assert_array_equal(read(path, framework="numpy")[1]["weight"], arrays["weight"])


def test_what_is_not_json_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(DataError, match="cannot be written as JSON: Object of type Tensor"):
        write_tensors(tmp_path / "new" / "toy", {"a": torch.ones(1)}, {})
    assert list(tmp_path.iterdir()) == []


def bad_files(whole):
    torch.save({}, "torch")
    write_tensors("other", {"format": "rwkplus toy, version 9"}, {})
    write_tensors("list", [FORMAT], {})
    write_tensors("foreign", RECORD, {}, key="another program")
    return {
        "pickle": pickle.dumps({"weight": 1}),
        "empty": b"",
        "short": whole[:-1],
        "text": whole.replace(b'{\\"format', b'[\\"format'),
    }


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none", "cannot read the toy none: No such file"),
        (".", "cannot read the toy .: Is a directory"),
        ("pickle", "is a pickle"),
        ("torch", "is a pickle"),
        ("other", "does not hold a toy .*: its format is 'rwkplus toy, version 9'"),
        ("list", r"does not hold a toy that this version of rwkplus reads\."),
        ("foreign", r"does not hold a toy that this version of rwkplus reads\."),
        ("empty", "is no toy saved by rwkplus, or is not complete"),
        ("short", "is no toy saved by rwkplus, or is not complete"),
        ("text", "is no toy saved by rwkplus, or is not complete"),
    ],
)
def test_every_other_file_is_refused_with_the_reason(path, tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    for bad, content in bad_files(path.read_bytes()).items():
        write_whole(bad, content)
    with pytest.raises(DataError, match=message):
        read(name)

"""A file is there whole or not at all, and what cannot be read is refused with the reason."""

import json
import os
import pickle
import re
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import torch
from safetensors.numpy import save

from rwkplus.errors import DataError
from rwkplus.files import (
    HEADER,
    atomic_file,
    json_text,
    json_values,
    printable,
    read_json,
    read_tensors,
    visible,
    write_atomic,
    write_tensors,
)

FORMAT = "rwkplus toy, version 1"
RECORD = {"format": FORMAT, "names": ["a", "b"]}
read = partial(read_tensors, kind="toy", expected=FORMAT, framework="pt")


def run_python(code, *arguments):
    """What a process of its own prints."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def path(tmp_path):
    return write_tensors(tmp_path / "new" / "toy.safetensors", RECORD, {"weight": torch.arange(6).view(2, 3).T})


@pytest.mark.parametrize("content", ["ä\r\n", b"\x00\n"])
def test_text_and_bytes_are_written_as_they_are(tmp_path, content):
    path = write_atomic(str(tmp_path / "a" / "b" / "file"), content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert list(path.parent.iterdir()) == [path]


def test_json_is_read_in_the_encoding_it_is_written_in(tmp_path):
    path = write_atomic(tmp_path / "file.json", '\ufeff{"ä": 1}')
    assert read_json(path) == {"ä": 1}
    with pytest.raises(DataError, match=r"cannot read .*none\.json: No such file"):
        read_json(tmp_path / "none.json")
    with pytest.raises(DataError, match="run it first"):
        read_json(tmp_path / "none.json", "run it first")
    with pytest.raises(DataError, match=r"file\.json is not valid JSON"):
        read_json(write_atomic(path, "{"))
    with pytest.raises(DataError, match="not text in UTF-8"):
        read_json(write_atomic(path, b'{"\xe4": 1}'))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (100_000 * "[" + 100_000 * "]", "its brackets are nested too deeply"),
        (f'{{"a": {5000 * "9"}}}', "one of its numbers has thousands of digits"),
    ],
)
def test_json_that_python_cannot_read_is_refused_by_file(tmp_path, text, reason):
    with pytest.raises(DataError, match=rf"cannot read .*file\.json: {reason}\."):
        read_json(write_atomic(tmp_path / "file.json", text))
    with pytest.raises(DataError, match=r"toy is not a toy saved by rwkplus"):
        read(write_atomic(tmp_path / "toy", save({}, {HEADER: text})))


@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt])
def test_a_block_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, failure):
    path = write_atomic(tmp_path / "file.json", "old")

    def write():
        with atomic_file(path) as scratch:
            scratch.write_text("half of the n")
            raise failure

    with pytest.raises(failure):
        write()
    assert (path.read_text(), list(tmp_path.iterdir())) == ("old", [path])


def test_the_old_file_is_there_until_the_block_ends(tmp_path):
    path = write_atomic(tmp_path / "file.json", "old")
    with atomic_file(path) as scratch:
        scratch.write_text("new")
        assert path.read_text() == "old"
        assert list(tmp_path.glob("*.json")) == [path]  # nobody finds what is not complete
    assert path.read_text() == "new"


def test_numpy_adds_nothing_to_the_name(tmp_path):
    with atomic_file(tmp_path / "a.npy") as first, atomic_file(tmp_path / "b.npz") as second:
        np.save(first, np.ones(2))
        np.savez(second, x=np.ones(2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npy", "b.npz"]


def test_two_processes_do_not_share_a_scratch_file(tmp_path):
    code = "import sys; from rwkplus.files import write_atomic; write_atomic(sys.argv[1], 'theirs')"
    with atomic_file(tmp_path / "file") as scratch:
        scratch.write_text("ours")
        run_python(code, tmp_path / "file")
        assert (tmp_path / "file").read_text() == "theirs"
        assert str(os.getpid()) in scratch.name
    assert (tmp_path / "file").read_text() == "ours"


def test_of_several_writers_in_a_process_the_last_to_end_wins(tmp_path):
    with atomic_file(tmp_path / "file") as last:
        last.write_text("last to end")
        with atomic_file(tmp_path / "file") as first:
            first.write_text("first to end, and longer")
    assert (tmp_path / "file").read_text() == "last to end"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["file.json", "a.npy"])
def test_the_next_writer_removes_what_killed_ones_left(tmp_path, name):
    code = """if True:
        import os, sys
        from rwkplus.files import atomic_file
        with atomic_file(sys.argv[1]) as first, atomic_file(sys.argv[2]) as second:
            first.write_text("half")
            second.write_text("half")
            os._exit(0)
    """
    run_python(code, tmp_path / name, tmp_path / f"other {name}")
    (left,) = tmp_path.glob(f"{name}.*")
    (other,) = tmp_path.glob(f"other {name}.*")
    of_another_machine, of_the_user = tmp_path / left.name.replace("-0-", "-0-f"), tmp_path / f"{name}.123.new"
    for kept in (of_another_machine, of_the_user):
        kept.write_text("")
    path = write_atomic(tmp_path / name, "whole")
    assert set(tmp_path.iterdir()) == {path, other, of_another_machine, of_the_user}


def test_what_is_written_stays_when_the_machine_stops(tmp_path, monkeypatch):
    path, synced = tmp_path / "file", []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append((os.fstat(file).st_ino, path.exists())))
    write_atomic(path, "text")
    assert synced == [(path.stat().st_ino, False), (tmp_path.stat().st_ino, True)]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of files")
@pytest.mark.parametrize(
    "write", ["write_atomic(path, bytes(4096))", "atomic_file(path) as scratch: np.save(scratch, np.ones(512))"]
)
def test_a_full_disk_is_about_the_file_that_was_asked_for(tmp_path, write):
    code = f"""if True:
        import resource, sys
        import numpy as np
        from rwkplus.files import atomic_file, write_atomic
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
        path = sys.argv[1]
        try:
            {"with " if " as " in write else ""}{write}
        except OSError as error:
            print(error.filename, error.filename2, error.strerror, error, sep="|")
    """
    name, other, reason, text = run_python(code, tmp_path / "a.npy").split("|")
    assert (name, other) == (str(tmp_path / "a.npy"), "None")
    assert re.match("File too large|512 requested", reason)
    assert "new" not in text.removeprefix(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_an_error_about_another_file_stays_as_it_is(tmp_path):
    with pytest.raises(FileNotFoundError) as caught, atomic_file(tmp_path / "file"):
        (tmp_path / "another").read_text()
    assert caught.value.filename == str(tmp_path / "another")
    with pytest.raises(FileNotFoundError) as caught, atomic_file(tmp_path / "file"):
        pass  # and nothing is written
    assert (caught.value.filename, caught.value.filename2) == (str(tmp_path / "file"), None)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are text")
def test_names_of_files_may_be_any_bytes(tmp_path):
    name = os.fsdecode(b"caf\xe9.json")
    values, spelled = {name: [name, ("ä", 1)]}, r"caf\udce9.json"
    path = write_atomic(tmp_path / name, json_text(values))
    assert [os.fsencode(file.name) for file in tmp_path.iterdir()] == [b"caf\xe9.json"]
    assert read_json(path) == json_values(values) == {spelled: [spelled, ["ä", 1]]}
    assert write_atomic(tmp_path / "page.html", f"<p>{name} ä").read_bytes() == r"<p>caf\udce9.json ä".encode()
    with pytest.raises(DataError, match="not valid JSON"):
        read_json(write_atomic(path, "{"))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are text")
def test_tensors_keep_every_text(tmp_path):
    name = os.fsdecode(b"caf\xe9")  # a label may be such a text, and must be known again
    path = write_tensors(tmp_path / name, RECORD | {"label": name}, {"a": np.arange(3)})
    for framework in ("pt", "numpy"):
        record, tensors = read(path, framework=framework)
        assert (record["label"], tensors["a"].tolist()) == (name, [0, 1, 2])


def test_only_text_that_cannot_be_written_is_spelled_out():
    assert printable("ä 漢 \U0001f600 \\n\n") == "ä 漢 \U0001f600 \\n\n"
    assert json.loads(json_text({1: [float("nan"), None, True, np.int64(3)]})) == {"1": [None, None, True, 3]}


def test_a_folder_is_not_replaced(tmp_path):
    with pytest.raises(DataError, match="is a folder"):
        write_atomic(tmp_path, "text")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
def test_a_device_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="is a device or pipe"):
        write_atomic(tmp_path / "pipe", "text")
    assert (tmp_path / "pipe").is_fifo()


def test_tensors_survive_the_file(path):
    record, tensors = read(path)
    assert record == RECORD
    assert torch.equal(tensors["weight"], torch.tensor([[0, 3], [1, 4], [2, 5]]))
    assert [file.name for file in path.parent.iterdir()] == ["toy.safetensors"]


def test_arrays_and_tensors_make_the_same_file(path, tmp_path):
    arrays = {"weight": np.arange(6).reshape(2, 3).T}
    assert write_tensors(tmp_path / "arrays", RECORD, arrays).read_bytes() == path.read_bytes()
    np.testing.assert_array_equal(read(path, framework="numpy")[1]["weight"], arrays["weight"])


def test_arrays_need_no_torch(path):
    code = """if True:
        import sys
        sys.modules["torch"] = None
        import numpy as np
        from rwkplus.files import read_tensors, write_tensors
        write_tensors(sys.argv[1], {"format": "f"}, {"a": np.arange(3)})
        print(read_tensors(sys.argv[1], "toy", "f", "numpy")[1]["a"].tolist())
    """
    assert run_python(code, path) == "[0, 1, 2]"


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
        ("empty", "is not a toy saved by rwkplus, or is incomplete"),
        ("short", "is not a toy saved by rwkplus, or is incomplete"),
        ("text", "is not a toy saved by rwkplus, or is incomplete"),
    ],
)
def test_every_other_file_is_refused_with_the_reason(path, tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    for bad, content in bad_files(path.read_bytes()).items():
        write_atomic(bad, content)
    with pytest.raises(DataError, match=message):
        read(name)


def test_text_that_is_shown_cannot_command_what_shows_it():
    assert visible("caf\u00e9 \u05e9\u05dc\u05d5\u05dd \t\n") == "caf\u00e9 \u05e9\u05dc\u05d5\u05dd \t\n"
    for letter in "\x00\x07\x08\r\x1b\x7f\x9b\u061c\u200e\u200f\u202a\u202e\u2066\u2069\udce9":
        assert letter not in visible(f"a{letter}b")
        assert re.fullmatch(r"a\\[xu\w]+b|a\\rb", visible(f"a{letter}b"))

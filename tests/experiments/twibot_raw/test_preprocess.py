"""TwiBot-22's raw files to a graph."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from experiments import twibot_graph
from experiments.twibot_graph import make_encoder, preprocess
from rwkplus.errors import DataError, ParameterError
from rwkplus.large.csr_graph import CSRGraph
from tests.experiments.twibot_raw.raw import users, write_raw

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    return write_raw(tmp_path_factory.mktemp("twibot") / "raw")


def hashed(raw, out, **options):
    return preprocess(raw, out, encoder="hashing", **{"batch_size": 4, **options})


def same(a, b):
    assert np.array_equal(a.indptr, b.indptr)
    assert np.array_equal(a.indices, b.indices)
    assert set(a.nodes) == set(b.nodes)
    assert all(np.array_equal(a[name], b[name]) for name in a.nodes)


def test_the_graph_says_what_the_files_say(raw, tmp_path):
    graph = hashed(raw, tmp_path / "graph")
    records = json.loads((raw / "user.json").read_text())
    assert [f"u{user}" for user in graph["user_id"]] == [record["id"] for record in records]
    assert graph["y"].tolist() == [int(i % 4 == 0) for i in range(30)]
    assert graph["val_mask"].nonzero()[0].tolist() == list(range(6, 30, 4))
    texts = make_encoder("hashing")([record["description"] or "" for record in records])
    assert np.array_equal(graph["x"][:, :384], texts)
    tweets = np.log1p([(record["public_metrics"] or {}).get("tweet_count", 0) for record in records])
    learned = tweets[graph["train_mask"]]
    np.testing.assert_allclose(graph["x"][:, 386], (tweets - learned.mean()) / learned.std(), rtol=1e-5)
    assert not graph["x"][:, 387].any()  # nobody is listed
    number = {record["id"]: i for i, record in enumerate(records)}
    rows = [line.split(",") for line in (raw / "edge.csv").read_text().splitlines()[1:]]
    pairs = {(number[s], number[t]) for s, r, t in rows if r != "post" and s != t and t in number}
    assert set(map(tuple, graph.data().edge_index.T.tolist())) == pairs | {(t, s) for s, t in pairs}
    assert graph.facts["edges"]["unknown"] == 1
    assert {path.name for path in (tmp_path / "graph").iterdir()} == {
        "graph.json", "indptr.npy", "indices.npy", *(f"{name}.npy" for name in graph.nodes)
    }  # fmt: skip


def test_rows_and_columns_may_have_any_order(raw, tmp_path):
    shuffled = write_raw(tmp_path / "shuffled", order=1)
    assert (shuffled / "label.csv").read_text() != (raw / "label.csv").read_text()
    same(hashed(raw, tmp_path / "a"), hashed(shuffled, tmp_path / "b"))


def test_relations_can_be_chosen(raw, tmp_path):
    both, one = hashed(raw, tmp_path / "a"), hashed(raw, tmp_path / "b", relations=["following"])
    assert 0 < one.num_edges < both.num_edges
    with pytest.raises(DataError, match="column relation: there is no likes; there are: "):
        hashed(raw, tmp_path / "c", relations=["likes"])


def test_a_killed_run_goes_on_where_it_was(raw, tmp_path):
    command = [sys.executable, "-m", "tests.experiments.twibot_raw.raw", str(raw), str(tmp_path / "killed")]
    with subprocess.Popen(command, cwd=ROOT, env=os.environ, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.startswith("descriptions 12 of"):
                process.kill()
                break
    assert not (tmp_path / "killed").exists()
    resumed, batches = resume(raw, tmp_path / "killed")
    assert batches in (4, 5)  # of 8; it may have lived for another one
    same(resumed, hashed(raw, tmp_path / "straight"))


@pytest.mark.parametrize(("moment", "left"), [("labels", 8), ("edges", 8), ("descriptions 28", 1), ("graph", 0)])
def test_a_run_can_stop_anywhere(raw, tmp_path, moment, left):
    stopped(raw, tmp_path / "stopped", moment)
    resumed, batches = resume(raw, tmp_path / "stopped")
    assert batches == left
    same(resumed, hashed(raw, tmp_path / "straight"))


def resume(raw, out):
    """Go on, and count the batches of descriptions that were left to encode."""
    encoded, hashing = [], make_encoder("hashing")

    class Counting:
        name, width = "hashing", 384

        def __call__(self, texts):
            encoded.append(len(texts))
            return hashing(texts)

    return preprocess(raw, out, encoder=Counting(), batch_size=4), len(encoded)


def test_edges_go_on_after_the_last_block_that_was_saved(raw, tmp_path):
    from experiments.twibot_files import UserIds, read_users
    from experiments.twibot_graph import FOLLOWS, EdgeProgress, gather_edges, read_pairs

    ids = UserIds(read_users(raw / "user.json")[0])

    def gather(path, progress, save):
        gather_edges(raw / "edge.csv", path, ids, FOLLOWS, progress, save, block_size=400)
        return np.stack([np.concatenate(ends) for ends in zip(*read_pairs(path), strict=True)])

    blocks = []
    straight = gather(tmp_path / "straight.bin", EdgeProgress(), lambda: blocks.append(1))
    assert len(blocks) > 5
    progress, saved = EdgeProgress(), []

    def fail_later():
        saved.append(EdgeProgress(**{**vars(progress), "relations": dict(progress.relations)}))
        if len(saved) == 3:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        gather(tmp_path / "halved.bin", progress, fail_later)
    resumed = gather(tmp_path / "halved.bin", saved[1], lambda: None)  # the third block is there but was not saved
    assert np.array_equal(resumed, straight)


@pytest.mark.parametrize("size", [None, 0, 1000])  # of 1936 bytes
def test_edges_that_a_machine_lost_when_it_stopped_are_read_again(raw, tmp_path, size):
    stopped(raw, tmp_path / "graph", "descriptions 28")
    pairs = tmp_path / "graph.part" / "pairs.bin"
    if size is None:
        pairs.unlink()
    else:
        os.truncate(pairs, size)
    resumed, batches = resume(raw, tmp_path / "graph")
    assert batches == 1
    same(resumed, hashed(raw, tmp_path / "straight"))


def test_edges_are_on_the_disk_before_the_note_about_them(raw, tmp_path, monkeypatch):
    order, synced, save, pairs = [], os.fsync, twibot_graph._save, tmp_path / "graph.part" / "pairs.bin"

    def sync(file):
        if pairs.exists() and os.path.samestat(os.fstat(file), pairs.stat()):  # and not the note, which is synced too
            order.append("disk")
        synced(file)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(twibot_graph, "_save", lambda *state: (order.append("note"), save(*state)))
    stopped(raw, tmp_path / "graph", "descriptions 0")
    assert order == ["note", "disk", "note"]  # of users, then of edges


def test_a_disk_that_fails_for_a_moment_costs_nothing(raw, tmp_path, monkeypatch):
    for moment, left in (("edges", 8), ("descriptions 28", 1)):
        out = tmp_path / moment
        stopped(raw, out, moment)
        with monkeypatch.context() as patch:
            opened = Path.open

            def fail(path, *options, opened=opened, **more):
                if path.name == "label.csv":
                    raise OSError(5, "Input/output error")
                return opened(path, *options, **more)

            patch.setattr(Path, "open", fail)
            with pytest.raises(DataError, match=r"label\.csv cannot be read: Input/output error"):
                hashed(raw, out)
        assert resume(raw, out)[1] == left


def stopped(raw, out, moment):
    """Begin a run and stop it when it comes to a step."""

    def stop(message):
        if message.startswith(moment):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hashed(raw, out, on_step=stop)


def test_a_run_goes_on_with_smaller_batches(raw, tmp_path):
    stopped(raw, tmp_path / "graph", "descriptions 12")
    same(hashed(raw, tmp_path / "graph", batch_size=3), hashed(raw, tmp_path / "straight"))


class Own:
    """An encoder that somebody wrote."""

    name = "hashing"

    def __init__(self, width, vectors):
        self.width, self.vectors = width, vectors

    def __call__(self, texts):
        return self.vectors(len(texts))


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (lambda n: np.ones((n, 1)), r"'hashing' made \(\d, 1\) of \d texts, expected a row of its width 5"),
        (lambda n: np.ones((1, 5)), r"made \(1, 5\) of \d texts"),
        (lambda n: np.full((n, 5), np.nan), "made nan or infinity of the text ''"),
    ],
)
def test_what_an_encoder_makes_is_checked(raw, tmp_path, vectors, message):
    with pytest.raises(ParameterError, match=message):
        preprocess(raw, tmp_path / "graph", encoder=Own(5, vectors), batch_size=4)


@pytest.mark.parametrize("state", ["{}", "[]", '{"identity": {}}', '{"identity": 3, "users": 1, "encoded": 0}'])
def test_a_damaged_note_is_named(raw, tmp_path, state):
    stopped(raw, tmp_path / "graph", "descriptions 12")
    (tmp_path / "graph.part" / "state.json").write_text(state)
    with pytest.raises(DataError, match=r"state\.json is damaged.*remove .*graph\.part to start anew"):
        hashed(raw, tmp_path / "graph")


def test_a_folder_without_a_name_exists(raw, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="exists already"):
        hashed(raw, ".")


def test_work_begun_with_other_files_or_encoders_is_not_mixed(tmp_path):
    raw = write_raw(tmp_path / "raw")
    stopped(raw, tmp_path / "graph", "descriptions 4")
    with pytest.raises(DataError, match=r"graph\.part was begun with other relations: remove it"):
        hashed(raw, tmp_path / "graph", relations=["following"])
    with pytest.raises(DataError, match="was begun with other encoder: remove it"):
        preprocess(raw, tmp_path / "graph", encoder=Own(5, lambda n: np.ones((n, 5))), batch_size=4)
    begun = (raw / "label.csv").stat()
    os.utime(raw / "label.csv", ns=(begun.st_atime_ns, begun.st_mtime_ns + 1))
    with pytest.raises(DataError, match=r"begun with other label\.csv \(by size or time of change\): remove it"):
        hashed(raw, tmp_path / "graph")
    os.utime(raw / "label.csv", ns=(begun.st_atime_ns, begun.st_mtime_ns))
    assert CSRGraph.open(hashed(raw, tmp_path / "graph").folder).num_nodes == 30
    with pytest.raises(DataError, match="exists already"):
        hashed(raw, tmp_path / "graph")


FIRST, SECOND = users(30)[:2]


def edit(name, change):
    def damage(folder):
        path = folder / name
        path.write_text(change(path.read_text()))

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "split.csv").unlink(), "has no split.csv"),
        (edit("user.json", lambda text: text[:-100]), r"user\.json, line \d+: the file ends inside this object"),
        (edit("user.json", lambda text: text.replace('"description"', '"about"', 1)), "line 2: .* no field 'descr"),
        (edit("user.json", lambda text: text.replace('"tweet_count"', '"tweets"', 1)), "no field 'tweet_count'"),
        (
            edit("user.json", lambda text: text.replace('"following_count": 1,', '"following_count": "x",')),
            "from 0, got 'x'",
        ),
        (
            edit("user.json", lambda text: text.replace('"following_count": 1,', '"following_count": Infinity,')),
            "from 0, got inf",
        ),
        (
            edit("user.json", lambda text: text.replace('"public_metrics": null', '"public_metrics": 3')),
            "public_metrics must be an object or null, got 3",
        ),
        (
            edit("user.json", lambda text: text.replace('"public_metrics": null', '"public_metrics": false')),
            "line 2: public_metrics must be an object or null, got False",
        ),
        (
            edit("user.json", lambda text: text.replace('"public_metrics": null', '"public_metrics": {}')),
            "line 2: the user has no field 'followers_count'",
        ),
        (
            edit("user.json", lambda text: text.replace('"following_count": 1,', f'"following_count": {10**400},')),
            r"line \d+: public_metrics.following_count must be a number below 2\*\*63 from 0, got 10+\.\.\.0+",
        ),
        (
            edit("user.json", lambda text: text.replace('"description": null', '"description": 5', 1)),
            "line 2: description must be a text or null, got 5",
        ),
        (edit("user.json", lambda text: text.replace(FIRST, "7")), "id must be 'u' and a number, got '7'"),
        (edit("user.json", lambda text: text.replace(FIRST, SECOND)), f"holds the user {SECOND} twice"),
        (edit("user.json", lambda text: "[]"), "holds no users"),
        (
            edit("label.csv", lambda text: text.replace("label", "class")),
            r"label\.csv, line 1: there is no column 'label'",
        ),
        (
            edit("label.csv", lambda text: text.replace(f"{SECOND},human", f"{SECOND},alien")),
            "line 3, column label: 'alien'",
        ),
        (edit("label.csv", lambda text: text[: len(text) // 2].rpartition("\n")[0] + "\n"), "nothing about .* cut off"),
        (edit("label.csv", lambda text: text.replace(SECOND, FIRST)), "line 3, column id: .* is there twice"),
        (edit("split.csv", lambda text: text.replace(SECOND, "u5")), r"split\.csv, line 3, column id: 'u5' is no user"),
        (edit("split.csv", lambda text: text.replace("train", "test")), r"split\.csv, column split: no user is for tr"),
        (edit("edge.csv", lambda text: text.replace("target_id", "target")), r"edge\.csv, line 1: .* 'target_id'"),
        (edit("edge.csv", lambda text: text[:-20]), r"edge\.csv, line 123: 1 columns instead of 3"),
        (
            edit("edge.csv", lambda text: text.replace("u999\n", "")),
            r"edge\.csv, line 123, column target_id: following must",
        ),
        (
            edit("edge.csv", lambda text: text[:-1]),
            "line 123, column target_id: 'u999' is no user: the file is cut off",
        ),
    ],
)
def test_damaged_files_are_refused_by_file_line_and_column(tmp_path, damage, message):
    folder = write_raw(tmp_path / "raw")
    damage(folder)
    with pytest.raises(DataError, match=message):
        hashed(folder, tmp_path / "graph")
    assert {path.name for path in tmp_path.iterdir()} == {"raw"}  # nothing is left to go on with


def test_halves_of_emojis_and_marks_of_byte_order_are_no_obstacle(raw, tmp_path):
    marked = write_raw(tmp_path / "marked")
    for path in marked.iterdir():
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace("—".encode(), b"\\ud83d"))
    plain = write_raw(tmp_path / "plain")
    edit("user.json", lambda text: text.replace("—", "?"))(plain)
    same(hashed(marked, tmp_path / "a"), hashed(plain, tmp_path / "b"))


def test_a_batch_needs_a_description(raw, tmp_path):
    with pytest.raises(ParameterError, match="batch_size must be a whole number of at least 1, got 0"):
        hashed(raw, tmp_path / "graph", batch_size=0)


def test_the_sample_of_the_real_schema_is_read(tmp_path):
    folder = Path(os.environ.get("RWKPLUS_DATA", "")) / "TwiBot_schema"
    if not (folder / "user.json").is_file():
        pytest.skip("RWKPLUS_DATA has no TwiBot_schema")
    graph = hashed(folder, tmp_path / "graph")
    assert (graph.num_nodes, graph["x"].shape[1], int(graph["y"].sum())) == (60, 388, 10)

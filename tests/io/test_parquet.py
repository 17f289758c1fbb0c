"""Tables on disk: written whole, opened as memory maps, refused when damaged, sent to workers by path and range."""

import copy
import json
import pickle
import shutil
import subprocess
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from joblib import Parallel, delayed

from rwkplus.errors import DataError, GraphError, MissingExtraError, ParameterError, RWKPlusError
from rwkplus.files import MACHINE, atomic_folder
from rwkplus.io import parquet
from rwkplus.io.parquet import open_table, write_table
from rwkplus.io.sources import ReadOptions
from rwkplus.table import Categories, GraphTable, Numbers, Text
from tests.io.tables import graph_tables


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    edges = pd.DataFrame({
        "graph": np.repeat([f"g{i}" for i in range(50)], 6), "source": np.tile([0, 1, 2, 3, 4, 5], 50),
        "target": np.tile([1, 2, 3, 4, 5, 0], 50), "how": rng.choice(["card", "cash", None], 300),
        "amount": rng.random(300),
    })  # fmt: skip
    graphs = pd.DataFrame({"graph": [f"g{i}" for i in range(50)], "y": rng.integers(0, 2, 50)})
    return GraphTable.of(edges=edges, graphs=graphs)


@pytest.fixture
def folder(table, tmp_path):
    return write_table(table, tmp_path / "table")


def is_mapped(array):
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return not isinstance(array, np.ndarray)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=graph_tables(multigraph=True))
def test_what_is_written_is_opened(tmp_path, table):
    opened = open_table(table.write(tmp_path / "table"))
    assert opened == table
    assert opened.digest() == table.digest()
    assert pickle.loads(pickle.dumps(opened)) == table
    assert pickle.loads(pickle.dumps(table)) == table
    for i in range(len(table)):
        assert opened[i] == table[i]
        assert pickle.loads(pickle.dumps(opened[i:])) == table[i:]


def test_arrays_are_views_of_the_files(folder, table):
    opened = open_table(folder)
    for array in (opened.source, opened.edges["how"].codes, opened.edges["amount"].numbers, opened.graphs["y"].numbers):
        assert is_mapped(array)
        assert is_mapped(opened[3:9].source)
        assert not array.flags.writeable
    assert opened.edges["how"].missing.any()
    assert opened == table


def test_text_is_read_when_it_is_asked_for(folder, table):
    names = open_table(folder).graphs["name"]
    assert "texts" not in vars(names)
    assert names.take(slice(3, 5)).values().tolist() == ["g3", "g4"]
    assert "texts" not in vars(names)
    assert names.take(np.array([4, 2])).values().tolist() == ["g4", "g2"]
    assert open_table(folder)[[1, 2]] == table[[1, 2]]


@pytest.mark.parametrize(
    "ids", [["a", None, "ä"], [1, 2, None], [("a", 1), 2.5, "x"], [None, None, None], [2**70, 1, 2], [True, 1, "1"]]
)
def test_ids_of_all_kinds(tmp_path, ids):
    table = GraphTable.of([nx.path_graph(3)]).with_columns(nodes={"id": Text.of(ids)})
    found = open_table(write_table(table, tmp_path / "t")).nodes["id"].values().tolist()
    assert found == ids
    assert list(map(type, found)) == list(map(type, ids))


def test_what_cannot_be_written_is_refused_before_anything_is(tmp_path):
    table = GraphTable.of([nx.path_graph(2)])
    for column in (Text.of(["\udcff", "x"]), Text.of([object(), 1]), Categories.of(["\udcff", "x"])):
        with pytest.raises(GraphError, match="column 'odd' of the nodes cannot be written"):
            write_table(table.with_columns(nodes={"odd": column}), tmp_path / "t")
    with pytest.raises(GraphError, match="cannot be written"):
        write_table(table.with_columns(nodes={"\udcff": Categories.of("ab")}), tmp_path / "t")
    assert list(tmp_path.iterdir()) == []


def test_columns_of_any_name_and_type(tmp_path):
    nodes = {
        "graph": Categories.of("ab"),
        "graph_": Numbers(np.array([True, False])),
        "f": Numbers(np.array([1, 2], dtype=np.float32)),
        "m": Numbers(np.array([[1, 2, 3], [4, 5, 6]])),
        "one": Categories.numbered(np.array([0, -1]), ["0"], one_hot=True),
    }
    table = GraphTable.of([nx.path_graph(2)]).with_columns(nodes=nodes, edges={"source": Text.of(["x"])})
    opened = open_table(write_table(table, tmp_path / "t"))
    assert opened == table
    assert opened.nodes["one"].one_hot
    for name in ("graph_", "f", "m"):
        assert opened.nodes[name].numbers.dtype == nodes[name].numbers.dtype


def test_slices_travel_as_path_and_range(folder, table):
    opened = open_table(folder)
    sent = pickle.dumps(opened[10:40][5:20])
    assert len(sent) < 300 + len(str(folder))
    assert pickle.loads(sent) == table[15:30]
    assert opened[10:40][5:20].origin[2:] == (15, 30)
    assert copy.deepcopy(opened) == table


def test_what_was_changed_travels_as_it_is(folder, table):
    opened = open_table(folder)
    changed = [
        opened[[1, 2]], opened.without(["how"]), opened.with_columns(graphs={"n": Numbers(np.arange(50))}),
        opened.with_targets(range(50)), GraphTable.concatenate([opened, opened]), opened.with_degrees(),
    ]  # fmt: skip
    for each in changed:
        assert each.origin is None
        assert pickle.loads(pickle.dumps(each)) == each


@pytest.mark.slow
def test_workers_open_the_files_themselves(folder, table):
    opened = open_table(folder)
    found = Parallel(n_jobs=2)(delayed(_amount)(block) for block in opened.blocks(60))
    assert sum(found) == pytest.approx(table.edges["amount"].numbers.sum())


def _amount(block):
    assert block.origin is not None
    return float(block.edges["amount"].numbers.sum())


def test_a_table_that_was_written_anew_is_not_mixed_up(folder, table):
    block = pickle.dumps(open_table(folder)[:3])
    old = open_table(folder)
    write_table(table[::-1], folder)
    assert old == table  # the files that it maps are still there
    assert open_table(folder) == table[::-1]
    with pytest.raises(DataError, match="was written anew after the table was opened"):
        pickle.loads(block)
    write_table(open_table(folder)[:5], folder)
    assert open_table(folder) == table[::-1][:5]


def test_folders_are_written_whole_or_not_at_all(folder, table, tmp_path, monkeypatch):
    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(DataError, match=r"cannot write .*table: No space left on device"):
        write_table(table[:2], folder)
    assert open_table(folder) == table
    with pytest.raises(DataError, match="No space left"):
        write_table(table, tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


def test_other_files_are_not_replaced(table, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for path in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(DataError, match="give the name of a new folder"):
            write_table(table, path)
    (tmp_path / "empty").mkdir()
    assert open_table(write_table(table, tmp_path / "empty")) == table
    assert open_table(write_table(table, tmp_path / "deep" / "er")) == table


def test_new_folders_replace_nothing_and_are_there_as_a_whole(tmp_path):
    with atomic_folder(tmp_path / "a" / "new") as scratch:
        (scratch / "part").write_text("x")
        assert not (tmp_path / "a" / "new").exists()
    assert [path.name for path in (tmp_path / "a" / "new").iterdir()] == ["part"]
    with pytest.raises(DataError, match="is there already"), atomic_folder(tmp_path / "a" / "new"):
        pass
    with pytest.raises(KeyError), atomic_folder(tmp_path / "b"):
        raise KeyError
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_scratch_of_dead_processes_is_removed(table, tmp_path):
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    left = tmp_path / f"table.{int(dead.stdout)}-0-{MACHINE}.new"
    left.mkdir()
    other = tmp_path / "table.notes.new"
    other.mkdir()
    write_table(table, tmp_path / "table")
    assert not left.exists()
    assert other.exists()


def test_others_can_read_the_files(folder, table):
    frame = pa.feather.read_table(folder / "edges.arrow").to_pandas()
    assert frame.columns.tolist() == ["graph", "source", "target", "how", "amount"]
    assert frame["how"].isna().sum() == table.edges["how"].missing.sum()
    assert frame["how"].dropna().tolist() == [v for v in table.edges["how"].values() if v is not None]
    assert frame["graph"].tolist() == table.edge_graph.tolist()


@pytest.mark.parametrize("file", ["graphs.arrow", "nodes.arrow", "edges.arrow"])
def test_damaged_files_are_named(folder, file):
    path = folder / file
    content = path.read_bytes()
    for damage in (b"", content[:100], content[: len(content) // 2], content[:-1], content + b"x"):
        path.write_bytes(damage)
        with pytest.raises(DataError, match=file):
            open_table(folder)
    path.unlink()
    with pytest.raises(DataError, match=f"{file}.*No such file"):
        open_table(folder)


@pytest.mark.parametrize("file", ["graphs.arrow", "nodes.arrow", "edges.arrow", "table.json"])
def test_files_with_changed_bytes_never_end_in_anything_but_errors(folder, table, file):
    rng = np.random.default_rng(3)
    path = folder / file
    content = bytearray(path.read_bytes())
    for place in rng.integers(0, len(content), 150).tolist():
        changed = content.copy()
        changed[place] = (changed[place] + int(rng.integers(1, 256))) % 256
        path.write_bytes(changed)
        parquet._opened.cache_clear()
        try:
            opened = open_table(folder)
            assert len(opened.digest()) == 32
            opened.to_networkx()
        except RWKPlusError:
            pass


def change(folder, file, **fields):
    """Replace fields of a file by forged ones."""
    path = folder / f"{file}.arrow"
    data = pa.feather.read_table(path, memory_map=False)
    for name, values in fields.items():
        data = data.set_column(data.column_names.index(name), name, [values])
    with pa.ipc.new_file(path, data.schema) as writer:
        writer.write_batch(data.combine_chunks().to_batches()[0])
    about = json.loads((folder / "table.json").read_text())
    about["bytes"][file] = path.stat().st_size
    (folder / "table.json").write_text(json.dumps(about))


@pytest.mark.parametrize(
    ("file", "fields", "message"),
    [
        ("edges", {"source": pa.array(np.full(300, 6, np.int32))}, "its edges name nodes that are not there"),
        (
            "edges",
            {"target": pa.array(np.full(300, -1, np.int32))},
            "its edges name nodes that are not there",
        ),
        ("edges", {"source": pa.array(np.zeros(300))}, "'source' holds float64 instead of int32"),
        ("edges", {"source": pa.array(["a"] * 300)}, "'source' does not hold numbers"),
        ("edges", {"source": pa.array([None] * 300, pa.int32())}, "'source' does not hold numbers throughout"),
        ("edges", {"how": pa.array([0] * 300)}, "'how' is not what table.json says"),
        ("edges", {"amount": pa.array(["x"] * 300)}, "'amount' is not what table.json says"),
        ("edges", {"amount": pa.array(np.zeros(300, np.float32))}, "'amount' is not what table.json says"),
        ("graphs", {"first_node": pa.array(np.full(50, 10**12))}, "'first_node' do not ascend from 0 to 300"),
        ("graphs", {"first_node": pa.array([0, -(2**63), *[300] * 48])}, "'first_node' do not ascend from 0 to 300"),
        ("graphs", {"first_edge": pa.array(np.arange(50)[::-1].copy())}, "'first_edge' do not ascend"),
    ],
)
def test_forged_fields_are_refused(folder, file, fields, message):
    change(folder, file, **fields)
    with pytest.raises(DataError, match=message):
        open_table(folder)


@pytest.mark.parametrize(
    ("forged", "message"),
    [
        ({"format": "rwkplus table 9"}, "no table that this version of rwkplus reads: its format is 'rwkplus table 9'"),
        ({"directed": 1}, r"table\.json is damaged .* `\$\.directed`"),
        ({"rows": {"graphs": 50, "nodes": -1, "edges": 300}}, r"`\$\.rows\.nodes`"),
        ({"rows": {"graphs": 50, "nodes": 10**15, "edges": 300}}, "300 rows instead of"),
        ({"columns": {"graphs": [{"name": 3}]}}, r"`\$\.columns\.graphs"),
        ({"weight": "nothing"}, "the weight is no column"),
        ({"targets": ["nothing"]}, "a target is no column"),
        ({"targets": [[]]}, r"`\$\.targets"),
    ],
)
def test_forged_descriptions_are_refused(folder, forged, message):
    path = folder / "table.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | forged))
    with pytest.raises(DataError, match=message):
        open_table(folder)


def test_descriptions_that_are_no_json(folder):
    for text, message in (("[1", "not valid JSON"), ("[]", "its format is None")):
        (folder / "table.json").write_text(text)
        with pytest.raises(DataError, match=message):
            open_table(folder)


def test_folders_that_are_no_tables(tmp_path):
    with pytest.raises(DataError, match="there is none"):
        open_table(tmp_path / "missing")
    with pytest.raises(DataError, match=r"neither table\.json nor edges\.parquet"):
        open_table(tmp_path)
    (tmp_path / "edges.parquet").write_text("no Parquet")
    with pytest.raises(DataError, match=r"cannot read .*edges\.parquet"):
        open_table(tmp_path)


def test_parquet_files_of_others(table, tmp_path):
    for name, frame in table.to_frames("pyarrow")._asdict().items():
        pq.write_table(frame, tmp_path / f"{name}.parquet")
    assert open_table(tmp_path) == table
    shutil.move(tmp_path / "graphs.parquet", tmp_path / "nodes.parquet")
    with pytest.raises(DataError, match="nodes has no column 'node'"):
        open_table(tmp_path)


def test_options_of_written_tables(folder, table):
    assert open_table(folder, ReadOptions(ignore=["how"])) == table.without(["how"])
    with pytest.raises(ParameterError, match="directed=True says nothing about a written table"):
        open_table(folder, ReadOptions(directed=True))


def test_pyarrow_is_an_extra(table, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "rwkplus.io.parquet")
    with pytest.raises(MissingExtraError, match=r"pip install 'rwkplus\[arrow\]'"):
        table.write(tmp_path / "table")

import io
import json
import os
import sys
from contextlib import suppress

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.format import write_array_header_1_0, write_array_header_2_0
from torch_geometric.data import Data
from torch_geometric.utils import coalesce

from rwkplus.errors import DataError, GraphError, ShapeError
from rwkplus.large.csr_graph import ENDS, ROWS, CSRGraph, GraphFiles, new_graph


def toy():
    """A path with a direction, features and a mask."""
    edge_index = torch.tensor([[0, 1, 2, 0], [1, 2, 3, 3]])
    return Data(x=torch.rand(4, 3), y=torch.arange(4), train_mask=torch.arange(4) > 1, edge_index=edge_index)


@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=20))
def test_edges_come_back(n, pairs):
    edge_index = torch.tensor([pair for pair in pairs if max(pair) < n], dtype=torch.long).reshape(-1, 2).T
    graph = CSRGraph.of(Data(edge_index=edge_index, num_nodes=n))
    assert graph.num_edges == edge_index.size(1)
    assert torch.equal(coalesce(graph.data().edge_index), coalesce(edge_index))


def test_a_folder_holds_the_graph(tmp_path):
    data = toy()
    CSRGraph.of(data).save(tmp_path / "toy")
    graph = CSRGraph.open(tmp_path / "toy")
    assert isinstance(graph["x"], np.memmap)
    back = graph.data()
    assert torch.equal(back.edge_index, data.edge_index[:, [0, 1, 2, 3]])
    for key in ("x", "y", "train_mask"):
        assert torch.equal(back[key], data[key])
    back.x[0] = 0  # does not reach the file
    assert np.array_equal(CSRGraph.open(tmp_path / "toy")["x"], data.x.numpy())


def test_graphs_are_told_apart_by_any_of_their_arrays(tmp_path):
    graph = CSRGraph.of(toy())
    assert CSRGraph.open(graph.save(tmp_path / "g")).digest() == graph.digest()
    for name, values in graph.nodes.items():
        changed = np.array(values)
        changed[-1] = changed[0]
        assert CSRGraph(graph.indptr, graph.indices, {**graph.nodes, name: changed}).digest() != graph.digest()
    other = graph.indices[::-1].copy()
    assert CSRGraph(graph.indptr, other, graph.nodes).digest() != graph.digest()


def test_a_folder_is_complete_or_not_there(tmp_path):
    with pytest.raises(TypeError), new_graph(tmp_path / "toy") as files:
        files.array("indptr", (3,), "no type")
    assert list(tmp_path.iterdir()) == []
    CSRGraph.of(toy()).save(tmp_path / "toy")
    with pytest.raises(DataError, match="exists already"):
        CSRGraph.of(toy()).save(tmp_path / "toy")


def damaged(tmp_path, name, change):
    folder = CSRGraph.of(toy()).save(tmp_path / "toy")
    path = folder / name
    if change is None:
        path.unlink()
    else:
        path.write_bytes(change(path.read_bytes()))
    return folder


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("x.npy", lambda raw: raw[:-4], r"x\.npy is damaged or not complete \(172 bytes\)"),
        ("x.npy", lambda raw: raw[:5], r"x\.npy is damaged"),
        ("x.npy", None, r"x\.npy is missing"),
        ("graph.json", None, "no graph.json"),
        ("graph.json", lambda raw: raw[:-9], "not valid JSON"),
        ("graph.json", lambda raw: raw.replace(b"graph 1", b"graph 9"), "format"),
        ("graph.json", lambda raw: b"[1]", "says format None"),
        ("graph.json", lambda raw: raw.replace(b'"arrays"', b'"lists"'), "does not list arrays and facts"),
        ("graph.json", lambda raw: raw.replace(b'"facts": {}', b'"facts": 3'), "does not list arrays and facts"),
        ("graph.json", lambda raw: raw.replace(b'"indptr"', b'"y2"'), r"y2\.npy is missing"),
        ("y.npy", lambda raw: raw.replace(b"<i8", b"<f8"), r"y\.npy holds <f8 \[4\] but graph.json says <i8"),
        ("indices.npy", lambda raw: raw[:-4] + b"\x09\0\0\0", "indices must name nodes from 0 to 3"),
        ("indptr.npy", lambda raw: raw[:-8] + b"\x09" + 7 * b"\0", "indptr must rise from 0 to the 4 entries"),
    ],
)
def test_damaged_folders_are_refused_by_file(tmp_path, name, change, message):
    with pytest.raises(DataError, match=message):
        CSRGraph.open(damaged(tmp_path, name, change))


def npy(shape, descr, values=b"", header=write_array_header_1_0):
    """A file that says what it likes about its values."""
    file = io.BytesIO()
    header(file, {"shape": shape, "fortran_order": False, "descr": descr})
    return file.getvalue() + values


def forged(tmp_path, name, content, shape, dtype):
    """A folder whose header agrees with one file that is not as it should be."""
    folder = CSRGraph.of(toy()).save(tmp_path / "toy")
    (folder / f"{name}.npy").write_bytes(content)
    record = json.loads((folder / "graph.json").read_text())
    record["arrays"][name] = [shape, dtype]
    (folder / "graph.json").write_text(json.dumps(record))
    return folder


@pytest.mark.parametrize(
    ("name", "content", "shape", "dtype", "message"),
    [
        ("x", npy((10**11,), "<f4"), [0], "<f4", r"\(128 bytes\): <f4 \[100000000000\] takes 400000000128 bytes"),
        ("x", npy((10**11,), "<f4"), [10**11], "<f4", "takes 400000000128 bytes"),
        ("x", npy((-1, -4), "<f4", bytes(16)), [-1, -4], "<f4", "nothing that rwkplus writes"),
        ("x", npy((4,), "|O", bytes(32)), [4], "|O", "nothing that rwkplus writes"),
        ("x", npy((4,), "<f4", bytes(17)), [4], "<f4", r"\(145 bytes\): <f4 \[4\] takes 144 bytes"),
        ("x", npy((4,), "<f4", bytes(16), write_array_header_2_0), [4], "<f4", "does not begin as files of numpy"),
        ("x", b"\x93NUMPY\x01\x00\x04\x00{[(\n", [4], "<f4", "does not begin as files of numpy"),
        ("x", npy((), "<f4", bytes(4)), [], "<f4", "x has no rows but there are 4 nodes"),
        ("x", npy((3, 1), "<f4", bytes(12)), [3, 1], "<f4", "x has 3 rows but there are 4 nodes"),
        ("indices", npy((4,), "<f4", bytes(16)), [4], "<f4", r"must be one row of integers.* is float32 \[4\]"),
        ("indices", npy((4,), "|b1", bytes(4)), [4], "|b1", r"must be one row of integers.* is bool \[4\]"),
        ("indices", npy((4,), ">i4", bytes(16)), [4], ">i4", r"must be one row of integers.* is >i4 \[4\]"),
        ("indices", npy((2, 2), "<i4", bytes(16)), [2, 2], "<i4", r"must be one row of integers.* is int32 \[2, 2\]"),
        ("indptr", npy((5,), "<f8", bytes(40)), [5], "<f8", r"must be one row of integers.* is float64 \[5\]"),
        ("indptr", npy((5,), "<u8", bytes(40)), [5], "<u8", r"must be one row of integers.* is uint64 \[5\]"),
        ("indptr", npy((0,), "<i8"), [0], "<i8", "indptr must rise from 0 to the 4 entries"),
    ],
)
def test_files_that_say_what_is_not_so_are_refused_by_name(tmp_path, name, content, shape, dtype, message):
    with pytest.raises(DataError, match=rf"toy.{name}\.npy .*{message}"):
        CSRGraph.open(forged(tmp_path, name, content, shape, dtype))


@given(st.integers(0, 200), st.integers(0, 255))
def test_a_changed_byte_does_no_harm(tmp_path_factory, place, byte):
    content = bytearray(npy((4, 3), "<f4", bytes(48)))
    content[place % len(content)] = byte
    folder = forged(tmp_path_factory.mktemp("folder"), "x", bytes(content), [4, 3], "<f4")
    with suppress(DataError):
        assert CSRGraph.open(folder)["x"].shape == (4, 3)


@pytest.mark.parametrize("name", ["../toy", "/etc/toy", ""])
def test_a_folder_opens_none_but_its_own_files(tmp_path, name):
    with pytest.raises(DataError, match=r"graph\.json is damaged .* lists .*, which is no name of an array"):
        CSRGraph.open(damaged(tmp_path, "graph.json", lambda raw: raw.replace(b'"y"', json.dumps(name).encode())))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
def test_a_pipe_is_no_array(tmp_path):
    folder = damaged(tmp_path, "x.npy", None)
    os.mkfifo(folder / "x.npy")
    with pytest.raises(DataError, match=r"x\.npy is missing"):
        CSRGraph.open(folder)


def test_a_file_that_was_cut_is_not_gone_on_with(tmp_path):
    files = GraphFiles(tmp_path / "toy")
    files.array("x", (4,), np.int64)[:] = 1
    path = files.scratch / "x.npy"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(DataError, match=r"x\.npy is missing or not complete"):
        files.existing("x")
    assert path.stat().st_size == 128 + 24  # numpy would fill it with zeros


def test_the_header_is_on_disk_before_the_folder_has_its_name(tmp_path, monkeypatch):
    synced, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(os.fstat(file).st_ino), fsync(file)))
    folder = CSRGraph.of(toy()).save(tmp_path / "toy")
    assert (folder / "graph.json").stat().st_ino in synced


@pytest.mark.parametrize("ends", [ENDS[:1], ENDS[1:]])
@pytest.mark.parametrize("kind", [float, bool, np.uint64])
def test_nodes_are_numbered_by_integers(ends, kind):
    arrays = {"indptr": np.array([0, 1, 1]), "indices": np.array([1])}
    for name in ends:
        arrays[name] = arrays[name].astype(kind)
    with pytest.raises(GraphError, match=f"^{ends[0]} must be one row of integers.*, and is {np.dtype(kind)}"):
        CSRGraph(**arrays)
    with pytest.raises(GraphError, match=rf"{ends[0]} must be an array of numpy, got list\. Give np\.asarray"):
        CSRGraph(**arrays | {ends[0]: [0]})


@pytest.mark.parametrize("place", [1, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS])
def test_every_part_of_long_arrays_is_looked_at(place):
    indptr, indices = np.arange(2 * ROWS + 3), np.zeros(2 * ROWS + 2, np.int32)
    CSRGraph(indptr, indices)
    for array, wrong, message in ((indptr, -1, "indptr must rise"), (indices, -1, "indices must name nodes")):
        before, array[place] = array[place], wrong
        with pytest.raises(GraphError, match=message):
            CSRGraph(indptr, indices)
        array[place] = before


def test_arrays_that_are_no_tensors_are_named():
    graph = CSRGraph(np.array([0, 0]), np.zeros(0, np.int32), {"user": np.array([b"ann"])})
    with pytest.raises(GraphError, match=r"user is \|S3, which no tensor holds.*\.astype"):
        graph.data()


def test_arrays_must_fit_the_nodes():
    with pytest.raises(GraphError, match="x has 2 rows but there are 1 nodes"):
        CSRGraph(np.array([0, 0]), np.zeros(0, np.int32), {"x": np.zeros((2, 1))})
    with pytest.raises(DataError, match="no array 'z' for its nodes; there are: x"):
        CSRGraph(np.array([0, 0]), np.zeros(0, np.int32), {"x": np.zeros((1, 1))})["z"]
    with pytest.raises(GraphError, match="from 0 to 2 but there are 2 nodes"):
        CSRGraph.of(Data(edge_index=torch.tensor([[0], [2]]), num_nodes=2))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("edge_weight", torch.rand(3), "edge_weight belongs to edges.*del data.edge_weight"),
        ("edge_attr", torch.rand(3, 2), "edge_attr belongs to edges"),
        ("relation", ["a", "b", "c"], "relation belongs to edges"),
        ("user", ["a", "b", "c", "d"], "user is a list with an entry for each node.*del data.user"),
        ("score", np.zeros(4), "score is a ndarray"),
    ],
)
def test_what_would_be_lost_is_refused_by_name(name, value, message):
    data = toy()
    data.edge_index, data[name] = data.edge_index[:, :3], value
    with pytest.raises(GraphError, match=message):
        CSRGraph.of(data)


@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("edge_index", None, "got NoneType"),
        ("edge_index", torch.eye(4).to_sparse(), "with torch.sparse_coo"),
        ("edge_index", torch.rand(2, 4), r"\(2, E\) of node numbers, got torch.float32 \(2, 4\)"),
        ("edge_index", torch.ones(3, 4, dtype=torch.long), r"got torch.int64 \(3, 4\)"),
        ("x", torch.rand(4, 3).to_sparse_csr(), r"x is torch.float32 with torch.sparse_csr.*\.to_dense"),
        ("x", torch.rand(4, 3).bfloat16(), r"x is torch.bfloat16.*\.float"),
    ],
)
def test_tensors_that_files_cannot_hold_are_refused_by_name(name, value, message):
    data = toy()
    data[name] = value
    with pytest.raises((GraphError, ShapeError), match=message):
        CSRGraph.of(data)


def test_edge_weights_are_noticed_where_there_are_as_many_edges_as_nodes():
    data = toy()
    data.edge_weight = torch.rand(4)
    with pytest.raises(GraphError, match="edge_weight belongs to edges"):
        CSRGraph.of(data)


def test_what_belongs_to_the_whole_graph_stays_behind():
    data = toy()
    data.name, data.num_classes, data.node_label_names = "toy", 2, ("a", "b", "c", "d")
    data.node_names = ["ann", "bob", "cy", "dee"]
    assert set(CSRGraph.of(data).nodes) == {"x", "y", "train_mask"}


def test_graphs_without_edges_can_be_stored(tmp_path):
    CSRGraph(np.array([0, 0]), np.zeros(0, np.int32)).save(tmp_path / "empty")
    assert CSRGraph.open(tmp_path / "empty").num_edges == 0
    assert json.loads((tmp_path / "empty" / "graph.json").read_text())["arrays"]["indices"] == [[0], "<i4"]


@pytest.mark.parametrize("name", ["indices", "indptr", "a/b"])
def test_arrays_that_would_overwrite_files_are_refused(name):
    data = Data(x=torch.rand(3, 1), edge_index=torch.tensor([[0, 1], [1, 2]]))
    data[name] = torch.arange(3)
    with pytest.raises(GraphError, match=f"nodes cannot have an array '{name}'"):
        CSRGraph.of(data)

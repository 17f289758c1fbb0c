import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import coalesce

from rwkplus.data.csr_graph import CSRGraph, new_graph
from rwkplus.errors import DataError, GraphError, ShapeError


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
    with pytest.raises((DataError, GraphError), match=message):
        CSRGraph.open(damaged(tmp_path, name, change))


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

import io
import os
import tarfile

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import remove_self_loops, to_undirected

from rwkplus.datasets.node_sets import NODE_SETS, load_nodes, node_split, without_copies
from rwkplus.errors import DataError, ParameterError

needs_data = pytest.mark.skipif("RWKPLUS_DATA" not in os.environ, reason="RWKPLUS_DATA names no data folder")


@pytest.fixture(name="folder")
def _folder(tmp_path, monkeypatch):
    """Folders of our own for data and downloads, and no network."""

    def refuse(*args, **kwargs):
        raise OSError("no network")

    monkeypatch.setattr("torch_geometric.io.fs.cp", refuse)
    monkeypatch.setenv("RWKPLUS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("RWKPLUS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "data"


def pack(folder, name, files):
    """Write an archive, of PyG's raw files for instance."""
    folder.mkdir(parents=True)
    with tarfile.open(folder / name, "w:xz") as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def chameleon(folder):
    masks = io.BytesIO()
    np.savez(masks, **{f"{part}_mask": np.ones(3, bool) for part in ("train", "val", "test")})
    splits = {f"chameleon_split_0.6_0.2_{i}.npz": masks.getvalue() for i in range(10)}
    files = splits | {
        "out1_node_feature_label.txt": b"id\tfeature\tlabel\n0\t1,0\t2\n1\t0,1\t0\n2\t1,1\t2\n",
        "out1_graph_edges.txt": b"id\tid\n0\t1\n2\t1\n1\t0\n",
    }
    raw = {f"chameleon/geom_gcn/raw/{name}": content for name, content in files.items()}
    pack(folder / "chameleon", "chameleon_pyg_raw.tar.xz", raw)


def test_archives_are_read_by_pyg(folder, capsys):
    chameleon(folder)
    data = load_nodes("Chameleon")
    assert (data.x.tolist(), data.y.tolist()) == ([[1, 0], [0, 1], [1, 1]], [2, 0, 2])
    assert data.edge_index.t().tolist() == [[0, 1], [1, 0], [2, 1]]
    assert load_nodes("Chameleon-filtered").x.tolist() == [[1, 0], [0, 1]]  # node 2 is a copy of node 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("place", ["chameleon/geom_gcn/raw", "Chameleon/raw"])
def test_folders_of_pyg_are_read_and_left_as_they_are(folder, place):
    chameleon(folder)
    archive = folder / "chameleon" / "chameleon_pyg_raw.tar.xz"
    with tarfile.open(archive) as file:
        file.extractall(folder / "unpacked", filter="data")
    archive.unlink()
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / "unpacked" / "chameleon" / "geom_gcn" / "raw").rename(folder / place)
    before = sorted(folder.rglob("*"))
    assert load_nodes("Chameleon").y.tolist() == [2, 0, 2]
    assert sorted(folder.rglob("*")) == before
    (folder / place / "out1_graph_edges.txt").unlink()
    with pytest.raises(DataError, match=r"raw does not hold the raw files of Chameleon"):
        load_nodes("Chameleon")


# Node 3 links to what node 0 links to and nobody links to it. Nodes 4 and 5 do as well but differ in class and links;
# node 6 repeats node 0 but is linked to; nodes 7 and 8 repeat each other, and nobody links to either.
EDGES = [(0, 1), (0, 2), (1, 0), (2, 0), (3, 1), (3, 2), (4, 1), (4, 2), (5, 1), (6, 1), (6, 2), (1, 6), (7, 6), (8, 6)]
CLASSES = [0, 1, 1, 0, 1, 0, 0, 1, 1]


def test_copies_are_nodes_without_readers_that_link_like_another_of_their_class():
    data = Data(
        x=torch.arange(9.0).view(-1, 1),
        edge_index=torch.tensor(EDGES).t(),
        y=torch.tensor(CLASSES),
        train_mask=torch.ones(9, 10, dtype=torch.bool),
    )
    kept = without_copies(data)
    assert kept.x.flatten().tolist() == [0, 1, 2, 4, 5, 6, 7, 8]
    assert kept.edge_index.size(1) == len(EDGES) - 2
    assert kept.train_mask.shape == (8, 10)
    assert data.num_nodes == 9


def test_splits_share_nothing_keep_classes_and_have_a_seed():
    y = np.arange(100) % 4
    parts = node_split(y, random_state=3)
    assert [part.size for part in parts] == [60, 20, 20]
    assert sorted(np.concatenate(parts).tolist()) == list(range(100))
    assert all((np.bincount(y[part]) == part.size // 4).all() for part in parts)
    assert all((one == other).all() for one, other in zip(node_split(y, random_state=3), parts, strict=True))
    assert (node_split(y, random_state=4)[0] != parts[0]).any()
    assert (node_split(torch.from_numpy(y), random_state=3)[0] == parts[0]).all()
    with pytest.raises(ParameterError, match=r"must leave nodes to train on, got 0\.6, 0\.6"):
        node_split(y, random_state=3, shares=(0.6, 0.6))


def test_missing_sets_say_where_to_put_them(folder):
    with pytest.raises(DataError, match=r"Cora_pyg_raw.tar.xz into the folder Cora below .* RWKPLUS_DATA"):
        load_nodes("Cora")


def test_archives_that_hold_something_else_are_named(folder):
    pack(folder / "Cora", "Cora_pyg_raw.tar.xz", {"Cora/raw/readme.txt": b"nothing"})
    with pytest.raises(DataError, match=r"Cora_pyg_raw.tar.xz does not hold"):
        load_nodes("Cora")


def test_names_are_checked():
    with pytest.raises(ParameterError, match="known are Cora"):
        load_nodes("Corra")
    assert "Squirrel-filtered" in NODE_SETS


@needs_data
@pytest.mark.parametrize(
    ("name", "nodes", "edges", "features"),
    [("Cora", 2708, 10556, 1433), ("CiteSeer", 3327, 9104, 3703), ("Actor", 7600, 30019, 932)],
)
def test_published_sizes(name, nodes, edges, features):
    data = load_nodes(name)
    assert (data.num_nodes, data.num_edges, data.num_features) == (nodes, edges, features)
    assert data.train_mask.size(0) == nodes


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(
    ("name", "nodes", "left", "edges"), [("Chameleon", 2277, 890, 8854), ("Squirrel", 5201, 2223, 46998)]
)
def test_without_copies_the_wikipedia_graphs_have_the_sizes_of_platonov(name, nodes, left, edges):
    data = load_nodes(name)
    assert data.num_nodes == nodes
    data = without_copies(data)
    assert data.num_nodes == left
    assert to_undirected(remove_self_loops(data.edge_index)[0]).size(1) == 2 * edges

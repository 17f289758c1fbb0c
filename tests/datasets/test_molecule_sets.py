import gzip
import os
import shutil
import tarfile

import numpy as np
import pytest
import torch

from rwkplus.datasets.molecule_sets import load_molhiv, load_molpcba, load_zinc
from rwkplus.errors import DataError
from tests.datasets.molecule_files import CARBON, ogb_tables, write_ogb, write_table, zinc_arrays

needs_data = pytest.mark.skipif("RWKPLUS_DATA" not in os.environ, reason="RWKPLUS_DATA names no data folder")


@pytest.fixture(name="root")
def _root(tmp_path, monkeypatch):
    """Folders of our own for data and downloads, and no network."""

    def refuse(*args, **kwargs):
        raise OSError("no network")

    monkeypatch.setattr("torch_geometric.io.fs.cp", refuse)
    monkeypatch.setattr("rwkplus.datasets.molecule_sets.download_url", refuse)
    monkeypatch.setenv("RWKPLUS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("RWKPLUS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "data"


@pytest.fixture(name="hiv")
def _hiv(root):
    return write_ogb(root / "ogbg-molhiv" / "ogbg_molhiv", ogb_tables())


def test_tables_of_ogb_become_graphs(hiv):
    tables, molecules = ogb_tables(), load_molhiv()
    sizes = [size for (size,) in tables["raw/num-node-list"]]
    assert [graph.num_nodes for graph in molecules.graphs] == sizes
    assert torch.cat([graph.x for graph in molecules.graphs]).tolist() == [list(a) for a in tables["raw/node-feat"]]
    first = molecules.graphs[0]
    assert first.edge_index.t().tolist()[:2] == [[0, 1], [1, 0]]
    assert first.edge_attr[::2].tolist() == first.edge_attr[1::2].tolist()
    assert [graph.y.tolist() for graph in molecules.graphs[:2]] == [[[0]], [[1]]]
    assert (molecules.train.tolist(), molecules.test.tolist()) == ([0, 1, 2, 3], [8, 9, 10, 11])
    assert all(graph.is_undirected() for graph in molecules.graphs)


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_archives_are_read_like_folders(hiv, kind):
    expected = load_molhiv()
    shutil.make_archive(str(hiv), kind, hiv.parent, hiv.name)
    shutil.rmtree(hiv)
    found = load_molhiv()
    assert all(torch.equal(a.x, b.x) for a, b in zip(found.graphs, expected.graphs, strict=True))
    assert found.validation.tolist() == expected.validation.tolist()


def test_questions_have_gaps(root):
    folder = write_ogb(root / "elsewhere", ogb_tables(num_labels=128))
    y = torch.cat([graph.y for graph in load_molpcba(folder).graphs])
    answers = ogb_tables(num_labels=128)["raw/graph-label"]
    assert y.shape == (12, 128)
    assert y.isnan().tolist() == [[answer == "" for answer in row] for row in answers]
    assert y[:, 0].tolist() == [0, 1] * 6


@pytest.mark.parametrize(
    ("table", "row", "cells", "message"),
    [
        ("raw/node-feat", 2, (*CARBON[:-1], "x"), r"node-feat.csv.gz, line 3, column 9: expected a number, found 'x'"),
        ("raw/node-feat", 1, CARBON[:-1], r"node-feat.csv.gz, line 2: expected 9 columns, found 8"),
        ("raw/node-feat", 1, (5, 9, *CARBON[2:]), r"line 2, column 2: .* below 5, found 9"),
        ("raw/edge", 0, (0, 7), r"edge.csv.gz, line 1, column 2: the bond names atom 7 of a molecule with \d atoms"),
        ("raw/edge-feat", 0, (0.5, 0, 0), r"edge-feat.csv.gz, line 1, column 1: expected a whole number"),
        ("raw/num-node-list", 3, (-1,), r"num-node-list.csv.gz, line 4, column 1"),
        ("raw/graph-label", None, None, r"graph-label.csv.gz: expected 12 lines, found 11. Is the file complete"),
        ("raw/edge-feat", None, None, r"edge-feat.csv.gz: expected \d+ lines, found \d+"),
        ("split/scaffold/valid", 0, (12,), r"valid.csv.gz, line 1, column 1: .* below 12, found 12"),
        ("split/scaffold/valid", 0, (0,), r"molecule 0 is listed more than once"),
        (
            "raw/graph-label",
            2,
            (0.7,),
            r"graph-label.csv.gz, line 3, column 1: expected 0, 1 or an empty cell, found 0.7",
        ),
        ("raw/graph-label", 1, (5,), r"line 2, column 1: expected 0, 1 or an empty cell, found 5"),
        ("raw/graph-label", 0, ("inf",), r"line 1, column 1: expected 0, 1 or an empty cell, found inf"),
    ],
)
def test_what_is_wrong_with_a_table_is_named(hiv, table, row, cells, message):
    rows = ogb_tables()[table]
    if row is None:
        rows = rows[:-1]
    else:
        rows[row] = cells
    write_table(hiv / f"{table}.csv.gz", rows)
    with pytest.raises(DataError, match=message):
        load_molhiv()


@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_a_part_without_molecules_is_refused(hiv, part):
    write_table(hiv / f"split/scaffold/{part}.csv.gz", [])
    with pytest.raises(DataError, match=rf"split/scaffold/{part}.csv.gz lists no molecule"):
        load_molhiv()


def test_missing_and_damaged_files_are_named(hiv, root):
    path = hiv / "raw" / "edge.csv.gz"
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(DataError, match=r"edge.csv.gz cannot be read .* Is the file complete"):
        load_molhiv()
    path.unlink()
    with pytest.raises(DataError, match=r"has no raw/edge.csv.gz"):
        load_molhiv()
    (root / "ogbg-molhiv" / "broken.tar").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"broken.tar cannot be read as a folder, tar or zip file"):
        load_molhiv(root / "ogbg-molhiv" / "broken.tar")
    with pytest.raises(DataError, match="no file or folder"):
        load_molhiv(root / "nowhere")


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (load_molpcba, "Put pcba.zip into the folder ogbg-molpcba below .* RWKPLUS_DATA"),
        (load_zinc, "Put zinc12k.npz into the folder ZINC below"),
    ],
)
def test_missing_sets_say_where_to_put_them(root, load, message):
    with pytest.raises(DataError, match=message):
        load()


def test_arrays_of_zinc_become_graphs(root):
    (root / "ZINC").mkdir(parents=True)
    np.savez(root / "ZINC" / "zinc12k.npz", **zinc_arrays())
    molecules = load_zinc()
    assert (molecules.validation.tolist(), len(molecules.graphs)) == (list(range(6, 12)), 18)
    graph = molecules.graphs[0]
    assert (graph.x.dtype, graph.x.dim(), graph.edge_attr.dim(), graph.y.shape) == (torch.long, 2, 1, (1,))
    assert float(graph.y) == pytest.approx(float((graph.x == 1).float().mean()))
    assert len(load_zinc(root / "ZINC").graphs) == 18


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("val_y", None, "has no array val_y"),
        ("test_y", lambda y: y[1:], r"test_\* do not fit together"),
        ("train_x", lambda x: x + 28, "train_x holds .* expected less than 28"),
        ("train_x", lambda x: x + 0.7, r"train_x must hold integers \(n,\), found float64"),
        ("train_x", lambda x: x[:, None], r"train_x must hold integers \(n,\), found uint8 \(\d+, 1\)"),
        ("test_y", lambda y: y.astype(str), "test_y must hold numbers"),
        ("train_edge_index", lambda edges: edges[:1], r"train_edge_index must hold integers \(2, E\)"),
        ("train_edge_index", lambda edges: edges + 10, "train_edge_index names atoms"),
    ],
)
def test_what_is_wrong_with_an_array_is_named(tmp_path, name, change, message):
    arrays = zinc_arrays()
    array = arrays.pop(name)
    if change is not None:
        arrays[name] = change(array)
    np.savez(tmp_path / "zinc12k.npz", **arrays)
    with pytest.raises(DataError, match=message):
        load_zinc(tmp_path)
    (tmp_path / "zinc12k.npz").write_bytes(gzip.compress(b"nothing"))
    with pytest.raises(DataError, match="cannot be read as arrays"):
        load_zinc(tmp_path)


def test_archives_need_not_name_a_folder(hiv, tmp_path):
    with tarfile.open(tmp_path / "flat.tar", "w") as archive:
        for part in ("raw", "split"):
            archive.add(hiv / part, part)
    assert len(load_molhiv(tmp_path / "flat.tar").graphs) == 12


@needs_data
def test_zinc_has_its_published_sizes():
    molecules = load_zinc()
    assert [len(part) for part in (molecules.train, molecules.validation, molecules.test)] == [10000, 1000, 1000]
    atoms = sum(graph.num_nodes for graph in molecules.graphs) / 12000
    assert atoms == pytest.approx(23.15, abs=0.02)


@pytest.mark.slow
@needs_data
def test_molhiv_has_its_published_sizes():
    molecules = load_molhiv()
    parts = (molecules.train, molecules.validation, molecules.test)
    y = np.array([int(graph.y) for graph in molecules.graphs])
    assert [(part.size, int(y[part].sum())) for part in parts] == [(32901, 1232), (4113, 81), (4113, 130)]

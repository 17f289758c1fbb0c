"""Tables with a column of molecules, in files and frames."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rwkplus.errors import DataError, RWKPlusError, RWKPlusWarning
from rwkplus.io.csv import read_csv
from rwkplus.io.sources import ReadOptions
from rwkplus.table import Categories, GraphTable, Numbers, Text

pytest.importorskip("rdkit")

COLUMNS = {
    "name": ["ethanol", "nitrogen", "methane"],
    "SMILES": ["CCO", "N#N", "C"],
    "y": [0.5, 2.0, None],
    "batch": [1, 1, 2],
    "note": ["x", None, "x"],
}
MAKE = [pd.DataFrame, pl.DataFrame, pa.table]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "molecules.csv"
    pd.DataFrame(COLUMNS).to_csv(path, index=False)
    return path


def check(table):
    assert table.graphs["name"].values().tolist() == COLUMNS["name"]
    assert table.targets == ("y",)
    assert table.y[:2].tolist() == [0.5, 2.0]
    assert table.graphs["y"].missing.tolist() == [False, False, True]
    assert table.graphs["batch"].values().tolist() == [1, 1, 2]
    assert table.graphs["note"].values().tolist() == ["x", None, "x"]
    assert table.node_ptr.tolist() == [0, 3, 5, 6]


def test_files_and_frames_with_a_column_of_smiles(path):
    check(read_csv(path))
    for make in MAKE:
        check(GraphTable.of(make(COLUMNS)))
        assert GraphTable.of(make(COLUMNS)) == read_csv(path)


def test_columns_are_chosen(path):
    path.write_text("id,structure,toxic,active\na,CCO,0,\nb,N#N,,1\n")
    table = read_csv(path, ReadOptions(smiles="Structure", y=("toxic", "active")))
    assert table.targets == ("toxic", "active")
    assert table.graphs["name"].values().tolist() == ["a", "b"]
    with pytest.raises(DataError, match=r"has no column 'toxi'.*y='toxic'"):
        read_csv(path, ReadOptions(smiles="structure", y="toxi"))
    kinds = {name: type(column) for name, column in table.graphs.items()}
    assert kinds == {"name": Text, "toxic": Numbers, "active": Numbers}
    assert isinstance(read_csv(path, ReadOptions(smiles="structure", labels=["toxic"])).graphs["toxic"], Categories)


def test_series_of_smiles_and_of_molecules():
    from rdkit import Chem

    words = ["CCO", "N#N"]
    table = GraphTable.of(words)
    assert GraphTable.of(pd.Series(words)) == table
    assert GraphTable.of(pl.Series(words)) == table
    assert GraphTable.of(pa.chunked_array([words])) == table
    molecules = [Chem.MolFromSmiles(word) for word in words]
    assert GraphTable.of(pd.Series(molecules)) == table
    assert GraphTable.of(pd.DataFrame({"ROMol": molecules}), smiles="ROMol") == table


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("smiles\nCCO\nC1CC(\n", "line 3: RDKit cannot read 'C1CC"),
        ("smiles,y\nCCO,1\n,2\n", "line 3: column 'smiles' is empty"),
        ("smiles,y\nCCO,1\nC,n/a\n", "line 3: column 'y' must be a number, got 'n/a'"),
        ("smiles,y\nCCO,1\nC,nan\n", "line 3: column 'y' must be a number, got 'nan'"),
        ("smiles,y\nCCO,1\nC,1e300\n", "line 3: column 'y' must be a number below 3.4e38, got '1e300'"),
        ('smiles,y\nCCO,"1,15"\nN#N,2\n', "line 2: '1,15' has a decimal comma"),
    ],
)
def test_lines_of_wrong_molecules_are_named(path, text, message):
    path.write_text(text)
    with pytest.raises(RWKPlusError, match=message):
        read_csv(path)


def test_wrong_molecules_are_left_out_with_their_cells(path):
    path.write_text("name,smiles,y\na,CCO,1\nb,C1CC(,2\nc,,3\nd,C,4\ne,N,x\nf,O,5\n")
    with pytest.warns(RWKPlusWarning):
        table = read_csv(path, ReadOptions(on_error="skip"))
    assert table.graphs["name"].values().tolist() == ["a", "d", "f"]
    assert table.y.tolist() == [1, 4, 5]


def test_molecules_are_no_edges(path, tmp_path):
    for name in ("edges", "nodes"):
        (tmp_path / f"{name}.csv").write_bytes(path.read_bytes())
    with pytest.raises(DataError, match="files of nodes or graphs belong to files of edges"):
        read_csv(tmp_path)
    for option in ("directed", "multigraph", "drop_duplicates"):
        with pytest.raises(RWKPlusError, match=f"{option}=True says nothing about a table of molecules: leave it out"):
            read_csv(path, ReadOptions(**{option: True}))


def test_words_as_targets_are_classes_even_if_they_have_underscores(path):
    path.write_text("smiles;y\nCC;1_0\nCCO;1_0\n")
    assert read_csv(path).y.tolist() == ["1_0", "1_0"]
    path.write_text("smiles;y\nCCO;1,15\nN#N;-2\n")
    assert read_csv(path).y.tolist() == [1.15, -2]

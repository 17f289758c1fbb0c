import os
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

from rwkplus.errors import DataError, ParameterError
from rwkplus.io.json_lines import write_json_lines
from rwkplus.io.networkx import from_networkx
from rwkplus.io.sources import ReadOptions, read_path
from rwkplus.table import GraphTable
from tests.io.test_tu import write as write_tu

LINE = '{"nodes": [{"id": 0, "label": "C"}, {"id": 1, "label": "O"}], "edges": [{"source": 0, "target": 1}]}\n'
SMILES = "CO\nCCO\n"
FIXED = """
  RDKit

  2  1  0  0  0  0  0  0  0  0999 V2000
    0.0000    0.0000    0.0000 C   0  0  0  0  0  0  0  0  0  0  0  0
    1.5000    0.0000    0.0000 O   0  0  0  0  0  0  0  0  0  0  0  0
  1  2  1  0
M  END
$$$$
"""
CSV = "source,target,label\na,b,C\nb,c,O\n"
FILES = {".jsonl": LINE, ".smi": SMILES, ".sdf": "methanol" + FIXED, ".csv": CSV}


@pytest.fixture(name="files")
def _files(tmp_path):
    """A file of every kind that needs no other."""
    paths = {kind: tmp_path / f"graphs{kind}" for kind in FILES}
    for kind, path in paths.items():
        path.write_text(FILES[kind])
    return {**paths, "tu": write_tu(tmp_path / "T")}


@pytest.mark.parametrize("kind", [*FILES, "tu"])
def test_every_kind_is_told_by_its_name(files, kind):
    if kind in (".smi", ".sdf"):
        pytest.importorskip("rdkit")
    table = read_path(files[kind])
    labels = (table.edges if kind == ".csv" else table.nodes)["label"]
    assert set(labels.names) >= ({"6", "7", "8"} if kind == "tu" else {"C", "O"})
    assert GraphTable.of(files[kind]) == GraphTable.of(str(files[kind])) == table


def test_folders_are_told_by_what_they_hold(tmp_path):
    pytest.importorskip("pyarrow")
    table = from_networkx([nx.path_graph(3), nx.cycle_graph(4)])
    assert read_path(table.write(tmp_path / "written")) == table
    frame = pytest.importorskip("pandas").DataFrame({"source": [0, 1], "target": [1, 2]})
    (tmp_path / "parquet").mkdir()
    (tmp_path / "csv").mkdir()
    for path in (tmp_path / "edges.parquet", tmp_path / "parquet" / "edges.parquet"):
        frame.to_parquet(path)
    frame.to_csv(tmp_path / "csv" / "edges.csv", index=False)
    for path in (tmp_path / "edges.parquet", tmp_path / "parquet", tmp_path / "csv"):
        assert (len(read_path(path)), read_path(path).num_edges) == (1, 2)


def test_letter_case_does_not_matter(files):
    path = files[".jsonl"].rename(files[".jsonl"].with_suffix(".JSONL"))
    assert len(read_path(path)) == 1


def test_a_path_that_is_not_there_is_no_download(tmp_path):
    for name in ("MUTAG", "none.jsonl", "no/such/folder"):
        with pytest.raises(DataError, match=f"there is no file or folder .*{name}"):
            read_path(tmp_path / name)


def test_unknown_kinds_are_refused_with_a_list_of_known_ones(tmp_path):
    (tmp_path / "graphs.xlsx").write_text("x")
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "graphs.xlsx", tmp_path / "empty"):
        with pytest.raises(DataError, match=r"give a folder with edges\.csv, .*TU.* \.smi, \.sdf, \.parquet or \.zip"):
            read_path(path)


def test_options_of_other_kinds_are_refused(files):
    with pytest.raises(ParameterError, match="node_features='both' says nothing about JSON lines"):
        read_path(files[".jsonl"], ReadOptions(node_features="both"))
    assert list(read_path(files["tu"], ReadOptions(node_features="both")).nodes) == ["label", "x"]


@pytest.mark.parametrize("kind", [*FILES, "tu"])
def test_names_need_not_be_utf8(tmp_path, files, kind):
    if kind in (".smi", ".sdf"):
        pytest.importorskip("rdkit")
    try:
        odd = files[kind].rename(
            Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe" + os.fsencode(files[kind].suffix)))
        )
    except OSError:
        pytest.skip("this file system has only names in UTF-8")
    assert len(read_path(odd)) >= 1


def test_what_is_written_at_an_odd_name_is_read(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl"))
    table = from_networkx([nx.path_graph(3)])
    try:
        write_json_lines(table, path)
    except OSError:
        pytest.skip("this file system has only names in UTF-8")
    assert read_path(path) == table


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*FILES, "tu", "igraph", "scipy"])
def test_reading_does_not_import_torch(files, kind):
    code = {
        "igraph": "import igraph; GraphTable.of([igraph.Graph([(0, 1)])])",
        "scipy": "import scipy.sparse; GraphTable.of(scipy.sparse.eye(2))",
    }.get(kind, f"GraphTable.of({str(files.get(kind))!r})")
    if kind in (".smi", ".sdf", "igraph"):
        pytest.importorskip("igraph" if kind == "igraph" else "rdkit")
    program = f"from rwkplus.table import GraphTable; {code}; import sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])

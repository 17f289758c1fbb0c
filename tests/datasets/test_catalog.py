import zipfile

import pytest
import torch_geometric.datasets

from rwkplus.datasets import REGISTRY, load_graphs
from rwkplus.datasets.catalog import cache_folder, find
from rwkplus.errors import DataError, ParameterError
from rwkplus.io.pyg import as_batch
from rwkplus.mining import PatternMiner

FILES = {
    "A": "1, 2\n2, 1\n3, 4\n4, 3\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n2\n2\n2\n",
    "graph_labels": "1\n2\n",
}
NODE_FILES = {"node_labels": "0\n1\n0\n1\n1\n", "node_attributes": "1.5\n2\n3\n4\n5\n"}


def write(folder, name, files):
    folder.mkdir(parents=True, exist_ok=True)
    for part, text in files.items():
        (folder / f"{name}_{part}.txt").write_text(text)
    return folder


def pack(folder, name, files):
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}.zip", "w") as file:
        for part, text in files.items():
            file.writestr(f"{name}/{name}_{part}.txt", text)
    return folder / f"{name}.zip"


@pytest.fixture(name="data", autouse=True)
def _data(tmp_path, monkeypatch):
    """No network, and folders of our own for data and downloads."""

    def refuse(*args, **kwargs):
        raise OSError("no network")

    monkeypatch.setattr(torch_geometric.datasets, "TUDataset", refuse)
    monkeypatch.setenv("RWKPLUS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("RWKPLUS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "data"


def classes(graphs):
    return graphs.y.tolist()


# By name


def test_the_embedded_set_needs_no_files(monkeypatch):
    monkeypatch.delenv("RWKPLUS_DATA")
    graphs = load_graphs("functional-groups")
    assert len(graphs) == 200
    assert sorted(set(classes(graphs))) == [0, 1]
    assert as_batch(graphs).num_graphs == 200


def test_the_data_folder_holds_a_zip_per_name(data):
    pack(data / "NCI1", "NCI1", {**FILES, **NODE_FILES})
    graphs = load_graphs("NCI1")
    assert [graph.num_nodes for graph in graphs] == [2, 3]
    assert classes(graphs) == [0, 1]


@pytest.mark.parametrize("below", ["", "NCI1", "raw"])
def test_the_data_folder_holds_text_files(data, below):
    write(data / "NCI1" / below, "NCI1", {**FILES, **NODE_FILES})
    assert len(load_graphs("NCI1")) == 2


def test_a_set_of_a_collection_lies_in_the_folder_of_the_collection(data):
    pack(data / "NCI_balanced", "MCF-7_balanced", {**FILES, **NODE_FILES})
    assert len(load_graphs("MCF-7_balanced")) == 2


def test_a_name_that_is_not_registered_is_found_as_well(data):
    pack(data / "OWN", "OWN", {**FILES, **NODE_FILES})
    assert len(load_graphs("OWN")) == 2


def test_the_data_folder_comes_before_the_cache(data):
    pack(data / "DD", "DD", {**FILES, **NODE_FILES})
    write(cache_folder() / "DD" / "raw", "DD", {"A": "1, 1\n", "graph_indicator": "1\n", "node_labels": "0\n"})
    assert len(load_graphs("DD")) == 2


def test_the_cache_is_found_without_a_data_folder(monkeypatch):
    monkeypatch.delenv("RWKPLUS_DATA")
    write(cache_folder() / "DD" / "raw", "DD", {**FILES, **NODE_FILES})
    assert len(load_graphs("DD")) == 2


def test_atoms_and_bonds_of_mutag_have_their_names(data):
    nodes = "".join(f"{i}\n" for i in range(7))
    chain = "".join(f"{i}, {i + 1}\n" for i in range(1, 5))
    files = {"A": chain, "graph_indicator": "1\n" * 7, "node_labels": nodes, "edge_labels": "0\n1\n2\n3\n"}
    pack(data / "MUTAG", "MUTAG", files)
    (graph,) = load_graphs("MUTAG")
    assert graph.nodes["label"].names == ("C", "N", "O", "F", "I", "Cl", "Br")
    assert graph.edges["label"].names == (":", "-", "=", "#")


@pytest.mark.parametrize(
    ("choice", "columns"), [("labels", {"label"}), ("attributes", {"x"}), ("both", {"label", "x"})]
)
def test_node_features_are_chosen(data, choice, columns):
    pack(data / "ENZYMES", "ENZYMES", {**FILES, **NODE_FILES})
    assert set(load_graphs("ENZYMES", node_features=choice).nodes) == columns


@pytest.mark.parametrize("name", ["functional-groups", "ENZYMES"])
def test_other_node_features_are_refused(name):
    with pytest.raises(ParameterError, match=r"node_features must be one of labels.*got 'all'"):
        load_graphs(name, node_features="all")
    with pytest.raises(ParameterError, match="without_labels must be one of degree, nothing; got 'degrees'"):
        load_graphs(name, without_labels="degrees")


def test_sets_without_labels_get_one_hot_degrees(data):
    pack(data / "IMDB-BINARY", "IMDB-BINARY", FILES)
    graphs = load_graphs("IMDB-BINARY")
    assert graphs.nodes["degree"].values().tolist() == ["1", "1", "1", "2", "1"]
    assert graphs.nodes["degree"].names == ("0", "1", "2")
    assert not load_graphs("IMDB-BINARY", without_labels="nothing").nodes


# By path


def test_a_folder_or_zip_is_read(tmp_path):
    folder = write(tmp_path / "mine", "M", {**FILES, **NODE_FILES})
    zipped = pack(tmp_path, "M", FILES)
    for path in (folder, str(folder), zipped, str(zipped)):
        assert classes(load_graphs(path)) == [0, 1]


def test_a_path_without_labels_gets_degrees_too(tmp_path):
    assert load_graphs(pack(tmp_path, "M", FILES))[1].nodes["degree"].codes.tolist() == [1, 2, 1]


def test_smiles_are_read_line_by_line(tmp_path):
    pytest.importorskip("rdkit", reason="RDKit is the extra 'chem'")
    path = tmp_path / "set.smi"
    path.write_text("CCO ethanol\n\nN#N\tnitrogen\nC\n")
    graphs = load_graphs(path)
    assert [graph.num_nodes for graph in graphs] == [3, 2, 1]
    assert graphs.nodes["label"].names == ("C", "N", "O")


def test_a_smiles_file_without_molecules_is_refused(tmp_path):
    pytest.importorskip("rdkit", reason="RDKit is the extra 'chem'")
    (tmp_path / "set.smi").write_text("\n\n")
    with pytest.raises(DataError, match=r"set\.smi holds no SMILES"):
        load_graphs(tmp_path / "set.smi")


# What is not there


@pytest.mark.parametrize(
    ("typo", "name"),
    [
        ("MUTAGG", "MUTAG"),
        ("ENZYME", "ENZYMES"),
        ("functional_groups", "functional-groups"),
        ("IMDB_BINARY", "IMDB-BINARY"),
    ],
)
def test_a_typo_suggests_the_name(typo, name):
    with pytest.raises(DataError, match=f"no data set, file or folder '{typo}'. Did you mean '{name}'"):
        load_graphs(typo)


@pytest.mark.parametrize("path", ["some/folder", "no-such-folder", "molecules.smi", "set.zip"])
def test_a_path_that_does_not_exist_is_no_name_and_nothing_is_downloaded(path, monkeypatch):
    monkeypatch.setattr("rwkplus.datasets.catalog._download", lambda entry: pytest.fail("tried to download"))
    with pytest.raises(DataError, match=f"there is no data set, file or folder '{path}'"):
        load_graphs(path)


def test_a_set_for_node_classification_is_told_apart():
    with pytest.raises(DataError, match=r"single graph .* rwkplus\.datasets\.load_nodes\('Cora'\)"):
        load_graphs("Cora")


@pytest.mark.parametrize(
    ("name", "folder"), [("PROTEINS", "PROTEINS"), ("PC-3_balanced", "NCI_balanced"), ("AIDS", "AIDS")]
)
def test_without_network_the_error_tells_where_to_put_the_file(name, folder):
    with pytest.raises(DataError) as caught:
        load_graphs(name)
    for part in (f"{name}.zip", f"folder {folder} ", "RWKPLUS_DATA", "OSError"):
        assert part in str(caught.value)


def test_what_pyg_downloads_is_read_from_the_cache(monkeypatch):
    def download(root, name):
        write(cache_folder() / name / "raw", name, {**FILES, **NODE_FILES})
        assert root == str(cache_folder())

    monkeypatch.setattr(torch_geometric.datasets, "TUDataset", download)
    assert len(load_graphs("PROTEINS")) == 2
    assert find(REGISTRY["PROTEINS"]) == cache_folder() / "PROTEINS" / "raw"


def test_a_download_without_the_files_is_an_error(monkeypatch):
    monkeypatch.setattr(torch_geometric.datasets, "TUDataset", lambda root, name: None)
    with pytest.raises(DataError, match=r"PROTEINS was downloaded.*no PROTEINS_A\.txt"):
        load_graphs("PROTEINS")


def test_every_entry_is_listed_under_its_own_name_with_a_description():
    assert all(entry.name == name and entry.about for name, entry in REGISTRY.items())
    assert {"functional-groups", "MUTAG", "NCI1", "ENZYMES", "PROTEINS", "IMDB-BINARY"} <= set(REGISTRY)


def test_kinds_of_files_are_named(tmp_path):
    (tmp_path / "ethanol.SMI").write_text("CCO 98765432109876543210\n")
    assert len(load_graphs(tmp_path / "ethanol.SMI")) == 1
    (tmp_path / "graphs.txt").write_text("CCO\n")
    with pytest.raises(DataError, match=r"of in no known format: give .*\.csv, \.jsonl, \.smi, \.sdf"):
        load_graphs(tmp_path / "graphs.txt")


def test_a_folder_of_other_files_is_no_database(tmp_path):
    (tmp_path / "transactions.csv").write_text("source,target\na,b\n")
    with pytest.raises(DataError, match=r"holds no graphs that can be read: give a folder with edges\.csv"):
        load_graphs(tmp_path)


def test_what_was_fitted_and_saved_is_opened_by_another_function(tmp_path):
    path = PatternMiner(1, n_controls=0).fit(load_graphs("functional-groups")[:20]).save(tmp_path / "miner.safetensors")
    with pytest.raises(DataError, match=r"miner\.safetensors holds something .* rwkplus\.load opens it"):
        load_graphs(path)

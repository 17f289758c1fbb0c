import importlib.util
import os
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from rwkplus.errors import DataError, ParameterError
from rwkplus.io.sources import ReadOptions
from rwkplus.io.tu import read_tu

# Three graphs of 3, 1 and 2 nodes: parallel edges 1-2, a self-loop at 4, and edges in mixed order.
FILES = {
    "A": "5, 6\n1, 2\n2, 1\n4, 4\n1, 2\n2, 3\n6, 5\n",
    "graph_indicator": "1\n1\n1\n2\n3\n3\n",
    "graph_labels": "-1\n1\n-1\n",
    "node_labels": "6\n8\n6\n7\n6\n8\n",
    "node_attributes": "0.5, 1\n1, 1\n2, 1\n3, 1\n4, 1\n5, 1.5\n",
    "edge_labels": "2\n0\n0\n1\n3\n0\n2\n",
    "edge_attributes": "0.5\n1\n1\n2\n3\n4\n0.5\n",
}
BOTH = ReadOptions(node_features="both")


def write(folder, name="T", **changes):
    folder.mkdir(exist_ok=True)
    for part, text in {**FILES, **changes}.items():
        if text is not None:
            (folder / f"{name}_{part}.txt").write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


@pytest.fixture(name="tu", params=["folder", "zip", "zip of a folder", "zip made on a Mac"])
def _tu(request, tmp_path):
    """The small data set above, in each of its packagings."""
    folder = write(tmp_path / "T")
    if request.param == "folder":
        return folder
    with zipfile.ZipFile(tmp_path / "T.zip", "w") as file:
        for part in folder.iterdir():
            file.write(part, part.name if request.param == "zip" else f"T/{part.name}")
            if "Mac" in request.param:
                file.writestr(f"__MACOSX/T/._{part.name}", b"\0")
    return tmp_path / "T.zip"


def edges_of(table):
    spans = zip(table.edge_ptr[:-1], table.edge_ptr[1:], strict=True)
    return [list(zip(table.source[a:b].tolist(), table.target[a:b].tolist(), strict=True)) for a, b in spans]


# What is there comes back


def test_graphs_nodes_and_edges_come_back(tu):
    table = read_tu(tu)
    assert table.directed
    assert np.diff(table.node_ptr).tolist() == [3, 1, 2]
    assert edges_of(table) == [[(0, 1), (1, 0), (0, 1), (1, 2)], [(0, 0)], [(0, 1), (1, 0)]]


def test_labels_are_numbered_in_ascending_order(tu):
    labels = read_tu(tu).nodes["label"]
    assert labels.codes.tolist() == [0, 2, 0, 1, 0, 2]
    assert labels.names == ("6", "7", "8")


def test_labels_sort_as_numbers_and_not_as_words(tmp_path):
    table = read_tu(write(tmp_path / "T", node_labels="10\n9\n-1\n10\n9\n9\n"))
    assert table.nodes["label"].names == ("-1", "9", "10")


def test_edge_labels_follow_their_edges_to_their_graph(tu):
    labels = read_tu(tu).edges["label"]
    assert labels.codes.tolist() == [0, 0, 3, 0, 1, 2, 2]
    assert labels.names == ("0", "1", "2", "3")


def test_classes_count_from_zero(tu):
    table = read_tu(tu)
    assert table.targets == ("y",)
    assert table.y.tolist() == [0, 1, 0]
    assert table.y.dtype == np.int64


def test_edges_in_both_directions_are_undirected_and_stand_once(tmp_path):
    bare = {"edge_labels": None, "edge_attributes": None}
    table = read_tu(write(tmp_path / "T", A="5, 6\n1, 2\n2, 1\n4, 4\n1, 2\n2, 1\n6, 5\n", **bare))
    assert not table.directed
    assert edges_of(table) == [[(0, 1), (0, 1)], [(0, 0)], [(0, 1)]]


def test_other_labels_on_the_way_back_are_a_direction(tmp_path):
    edges = {"A": "1, 2\n2, 1\n", "edge_attributes": None}
    assert not read_tu(write(tmp_path / "T", **edges, edge_labels="1\n1\n")).directed
    assert read_tu(write(tmp_path / "T", **edges, edge_labels="1\n2\n")).directed


def test_node_features_choose_labels_attributes_or_both(tu):
    table = read_tu(tu, ReadOptions(node_features="attributes"))
    assert list(table.nodes) == ["x"]
    assert table.nodes["x"].numbers.tolist() == [[0.5, 1], [1, 1], [2, 1], [3, 1], [4, 1], [5, 1.5]]
    assert list(read_tu(tu, BOTH).nodes) == ["label", "x"]


def test_edge_features_choose_labels_attributes_or_both(tu):
    table = read_tu(tu, edge_features="attributes")
    assert table.edges["attr"].numbers.ravel().tolist() == [1, 1, 3, 4, 2, 0.5, 0.5]
    assert list(read_tu(tu, edge_features="both").edges) == ["label", "attr"]


def test_columns_can_be_left_out(tu):
    table = read_tu(tu, ReadOptions(ignore=("edges.label",)))
    assert not table.edges
    assert list(table.nodes) == ["label"]


def test_other_choices_are_refused(tu):
    with pytest.raises(ParameterError, match="edge_features must be one of labels, attributes, both; got 'all'"):
        read_tu(tu, edge_features="all")
    with pytest.raises(ParameterError, match="node_features must be one of labels, attributes, both; got 'all'"):
        read_tu(tu, ReadOptions(node_features="all"))
    with pytest.raises(ParameterError, match="n_jobs=2 says nothing about files in TU format"):
        read_tu(tu, ReadOptions(n_jobs=2))


def test_names_of_labels_may_be_given(tu):
    table = read_tu(tu, BOTH, node_names=("C", "N", "O"), edge_names=("-", "=", "#", ":"))
    assert table.nodes["label"].names == ("C", "N", "O")
    assert table.edges["label"].names == ("-", "=", "#", ":")


@pytest.mark.parametrize("field", ["node_names", "edge_names"])
def test_names_of_another_number_of_labels_are_refused(tu, field):
    with pytest.raises(ParameterError, match=rf"{field} has 1 names, but .*_labels\.txt has \d labels: "):
        read_tu(tu, **{field: ("C",)})


def test_a_name_for_two_labels_is_refused(tu):
    with pytest.raises(ParameterError, match="node_names has a name twice"):
        read_tu(tu, node_names=("C", "N", "C"))


# Sets with less


def test_a_set_with_only_attributes_uses_them(tmp_path):
    table = read_tu(write(tmp_path / "T", node_labels=None, edge_labels=None))
    assert (list(table.nodes), list(table.edges)) == (["x"], ["attr"])


def test_a_set_of_bare_structure_has_no_columns(tmp_path):
    bare = dict.fromkeys(["node_labels", "node_attributes", "edge_labels", "edge_attributes", "graph_labels"])
    table = read_tu(write(tmp_path / "T", **bare))
    assert not any((table.nodes, table.edges, table.graphs))
    assert table.y is None
    assert np.diff(table.node_ptr).tolist() == [3, 1, 2]


def test_graph_attributes_are_real_targets(tmp_path):
    table = read_tu(write(tmp_path / "T", graph_labels=None, graph_attributes="0.5\n-2\n3\n"))
    assert table.y.tolist() == [0.5, -2, 3]
    table = read_tu(write(tmp_path / "T", graph_labels=None, graph_attributes="0.5, 1\n-2, 1\n3, 2\n"))
    assert table.y.tolist() == [[0.5, 1], [-2, 1], [3, 2]]


def test_several_columns_of_labels_stand_side_by_side(tmp_path):
    table = read_tu(write(tmp_path / "T", node_labels="0, 5\n1, 5\n0, 5\n0, 6\n0, 5\n1, 6\n"))
    assert list(table.nodes) == ["label0", "label1"]
    assert table.nodes["label1"].values().tolist() == ["5", "5", "5", "6", "5", "6"]


@pytest.mark.filterwarnings("error")
def test_a_set_without_edges_is_read(tmp_path):
    table = read_tu(write(tmp_path / "T", A="", edge_labels="", edge_attributes=None))
    assert edges_of(table) == [[], [], []]
    assert not table.directed


def test_a_number_that_is_left_out_is_a_graph_without_nodes(tmp_path):
    table = read_tu(write(tmp_path / "T", graph_indicator="1\n1\n1\n2\n4\n4\n", graph_labels="0\n0\n1\n1\n"))
    assert np.diff(table.node_ptr).tolist() == [3, 1, 0, 2]
    assert edges_of(table)[3] == [(0, 1), (1, 0)]


def test_windows_line_ends_and_blank_lines_do_not_matter(tmp_path):
    text = FILES["A"].replace("\n", "\r\n") + "\r\n\r\n"
    assert len(read_tu(write(tmp_path / "T", A=text))) == 3


# Truncated and malformed files

MALFORMED = {
    "cut within a number pair": ({"A": FILES["A"][:-3]}, r"T_A\.txt, line 7"),
    "cut within a line": ({"A": "1, 2\n2"}, r"T_A\.txt, line 2"),
    "word": ({"A": "1, 2\n2, 1\nx, 1\n"}, r"T_A\.txt, line 3"),
    "comment": ({"A": "1, 2\n2, 1 # back\n"}, r"T_A\.txt, line 2"),
    "binary": ({"A": b"\x89PNG\x00\xff"}, r"T_A\.txt, line 1"),
    "three columns": ({"A": "1, 2, 1\n"}, r"T_A\.txt: expected 2 columns, found 3"),
    "fraction": ({"A": "1, 2\n2, 1.5\n"}, r"T_A\.txt, line 2: expected whole numbers"),
    "nan": ({"A": "1, 2\n2, nan\n"}, r"T_A\.txt, line 2: expected whole numbers"),
    "inf": ({"A": "1, inf\n"}, r"T_A\.txt, line 1: expected whole numbers"),
    "too large": ({"A": "1, 1e30\n"}, r"T_A\.txt, line 1: expected whole numbers"),
    "node zero": ({"A": "1, 2\n0, 1\n"}, r"T_A\.txt, line 2: node number out of range, there are 6 nodes"),
    "node beyond": ({"A": "1, 2\n2, 7\n"}, r"T_A\.txt, line 2: node number out of range, there are 6 nodes"),
    "edge across": ({"A": "1, 2\n3, 4\n"}, r"T_A\.txt, line 2: the edge joins two different graphs"),
    "no indicator": ({"graph_indicator": None}, r"no T_graph_indicator\.txt"),
    "empty indicator": ({"graph_indicator": ""}, r"T_graph_indicator\.txt: graph numbers must ascend from 1"),
    "descending": ({"graph_indicator": "1\n2\n1\n2\n3\n3\n"}, r"T_graph_indicator\.txt: graph numbers must ascend"),
    "from zero": ({"graph_indicator": "0\n0\n0\n1\n2\n2\n"}, r"T_graph_indicator\.txt: graph numbers must ascend"),
    "huge": ({"graph_indicator": f"1\n1\n1\n2\n3\n{10**12}\n"}, r"T_graph_indicator\.txt: graph numbers must ascend"),
    "two numbers": ({"graph_indicator": "1, 1\n" * 6}, r"T_graph_indicator\.txt: expected 1 columns, found 2"),
    "short indicator": ({"graph_indicator": "1\n1\n1\n2\n"}, r"T_A\.txt, line 1: node number out of range"),
    "graph labels": ({"graph_labels": "1\n-1\n"}, r"T_graph_labels\.txt has 2 lines, expected 3. Is the file complete"),
    "node labels": ({"node_labels": "1\n1\n"}, r"T_node_labels\.txt has 2 lines, expected 6. Is the file complete"),
    "float labels": ({"node_labels": "1\n0.5\n1\n1\n1\n1\n"}, r"T_node_labels\.txt, line 2: expected whole numbers"),
    "edge labels": ({"edge_labels": "1\n1\n"}, r"T_edge_labels\.txt has 2 lines, expected 7. Is the file complete"),
    "attributes": ({"node_labels": None, "node_attributes": "1\n"}, r"T_node_attributes\.txt has 1 lines, expected 6"),
    "ragged": ({"node_labels": None, "node_attributes": "1, 1\n1\n"}, r"T_node_attributes\.txt, line 2"),
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_files_are_named_with_their_line(tmp_path, case):
    changes, message = MALFORMED[case]
    with pytest.raises(DataError, match=message):
        read_tu(write(tmp_path / "T", **changes))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("part", FILES)
def test_every_truncation_of_every_file_is_an_error_or_whole_graphs(tmp_path, part):
    text, messages = FILES[part], []
    for length in range(len(text)):
        folder = write(tmp_path / "T", **{part: text[:length]})
        try:
            assert repr(read_tu(folder, BOTH, edge_features="both"))
        except DataError as error:
            messages.append(str(error))
    assert messages
    assert all("T_" in message for message in messages)


def test_a_folder_without_or_with_two_data_sets_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"0 files named \*_A\.txt"):
        read_tu(tmp_path / "empty")
    write(write(tmp_path / "T"), name="U")
    with pytest.raises(DataError, match=r"2 files named \*_A\.txt"):
        read_tu(tmp_path / "T")


def test_what_is_neither_folder_nor_zip_is_refused(tmp_path):
    (tmp_path / "file.txt").write_text("1, 2\n")
    for path in (tmp_path / "file.txt", tmp_path / "missing"):
        with pytest.raises(DataError, match="neither a folder nor a zip"):
            read_tu(path)


def test_a_damaged_zip_is_a_data_error(tmp_path):
    packed = Path(shutil.make_archive(str(tmp_path / "T"), "zip", write(tmp_path / "T")))
    content = packed.read_bytes()
    damaged = tmp_path / "damaged.zip"
    outcomes = set()
    for position in range(0, len(content), 7):
        damaged.write_bytes(content[:position] + bytes([content[position] ^ 0xFF]) + content[position + 1 :])
        try:
            outcomes.add(len(read_tu(damaged)))
        except DataError as error:
            outcomes.add(type(error))
    assert DataError in outcomes
    damaged.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError):
        read_tu(damaged)


@pytest.mark.parametrize("wanted", ["attributes", "both"])
def test_attributes_that_are_not_there_are_not_replaced_by_labels(wanted, tmp_path):
    with pytest.raises(ParameterError, match="no T_node_attributes"):
        read_tu(write(tmp_path, node_attributes=None), ReadOptions(node_features=wanted))


# The real sets: graphs, classes, average nodes and undirected edges

REAL = {
    "MUTAG": (188, [63, 125], 17.93, 19.79),
    "NCI1": (4110, [2053, 2057], 29.87, 32.30),
    "ENZYMES": (600, [100] * 6, 32.63, 62.14),
    "IMDB-BINARY": (1000, [500, 500], 19.77, 96.53),
    "PROTEINS": (1113, [663, 450], 39.06, 72.82),
}


def facts(table):
    sizes = (round(count / len(table), 2) for count in (table.num_nodes, table.num_edges))
    assert not table.directed
    return len(table), np.bincount(table.y).tolist(), *sizes


@pytest.mark.parametrize("name", REAL)
def test_real_sets_have_their_published_sizes(name):
    path = Path(os.environ.get("RWKPLUS_DATA", "nowhere")) / name / f"{name}.zip"
    if not path.is_file():
        pytest.skip(f"{name} is not below RWKPLUS_DATA")
    assert facts(read_tu(path)) == REAL[name]


def test_mutag_as_grakel_ships_it_has_its_published_size():
    spec = importlib.util.find_spec("grakel")
    path = Path(spec.origin).parent / "tests/data/MUTAG" if spec else Path("nowhere")
    if not path.is_dir():
        pytest.skip("grakel with its MUTAG files is not installed")
    table = read_tu(path)
    assert facts(table) == REAL["MUTAG"]
    assert len(table.nodes["label"].names) == 7

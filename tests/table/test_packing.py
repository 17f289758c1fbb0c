import json

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rwkplus.table import Categories, GraphTable, Numbers, Text
from rwkplus.table.packing import check_table, pack_table, unpack_table
from tests.strategies import colored_graphs
from tests.table.test_reader import STRANGE, changed, graph, paths


def packed(table):
    header, arrays = pack_table(table)
    return json.loads(json.dumps(header)), arrays


def people():
    own = nx.DiGraph([("ann", "bob", {"how": "card", "sum": 2.5}), ("bob", "eve", {"how": None, "sum": 1})], name="a")
    nx.set_node_attributes(own, {"ann": (0.0, 1.0), "bob": (2.0, 3.0), "eve": (4.0, 5.0)}, "place")
    return GraphTable.of([own, own], weight="sum").with_targets(["yes", None])


def same(table):
    twin = unpack_table(*packed(table))
    assert twin == table
    assert twin.digest() == table.digest()
    return twin


@given(st.lists(colored_graphs(min_nodes=0, directed=True, edge_colors=True), min_size=1, max_size=4))
def test_tables_survive_packing(graphs):
    same(GraphTable.of(graphs, labels=("color",)))


def test_names_ids_weights_and_targets_survive_packing():
    twin = same(people())
    assert twin.weight == "sum"
    assert twin.targets == ("y",)


def test_tables_on_disk_survive_packing(tmp_path):
    same(GraphTable.of(people().write(tmp_path / "people")))


def test_one_hot_labels_stay_one_hot():
    table = people().with_columns(nodes={"x": Categories.numbered(np.zeros(6, int), "01", one_hot=True)})
    assert same(table).nodes["x"].unnamed


def test_ids_of_any_kind_survive_or_are_put_into_words():
    grid = GraphTable.of([nx.grid_graph((2, 2)), nx.Graph([((0, (1, 2)), 7)])])
    same(grid)
    odd = GraphTable.of([nx.Graph([(frozenset({1}), np.int64(5)), (int, 2.5)])])
    assert unpack_table(*packed(odd)).node_ids(0) == ["frozenset({1})", 5, "<class 'int'>", 2.5]


def test_parts_are_packed_without_the_rest():
    table = people()
    assert same(table[1:]).num_nodes == 3
    assert unpack_table(*packed(table[[]])) == table[[]]


def test_whatever_is_wrong_in_the_header_is_refused_or_harmless():
    header, arrays = packed(people())
    refused = 0
    for path in list(paths(header))[1:]:
        for strange in STRANGE:
            try:
                unpack_table(changed(header, path, strange), arrays)
            except (KeyError, TypeError, ValueError):
                refused += 1
    assert refused > 100


BROKEN = {
    "no nodes": ("graphs.node_ptr", np.empty(0, np.int64)),
    "falling": ("graphs.node_ptr", np.array([0, 5, 3])),
    "not from 0": ("graphs.edge_ptr", np.array([1, 2, 4])),
    "too few edges": ("graphs.source", np.array([0])),
    "a node beyond": ("graphs.target", np.array([1, 9, 1, 2])),
    "a node before": ("graphs.target", np.array([1, -1, 1, 2])),
    "floats": ("graphs.source", np.zeros(4)),
    "a matrix": ("graphs.source", np.zeros((2, 2), int)),
    "too few labels": ("graphs.edges.how", np.zeros(1, np.int8)),
    "a label beyond": ("graphs.edges.how", np.full(4, 7, np.int8)),
    "a label before": ("graphs.edges.how", np.full(4, -2, np.int8)),
    "words": ("graphs.edges.sum", np.array(list("abcd"))),
    "wide weights": ("graphs.edges.sum", np.zeros((4, 2))),
}


@pytest.mark.parametrize(("name", "array"), BROKEN.values(), ids=BROKEN)
def test_arrays_that_do_not_fit_together_are_refused(name, array):
    header, arrays = packed(people())
    assert name in arrays
    with pytest.raises((KeyError, TypeError, ValueError)):
        unpack_table(header, {**arrays, name: array})


def test_no_array_may_be_missing():
    header, arrays = packed(people())
    for name in arrays:
        with pytest.raises(KeyError):
            unpack_table(header, {key: array for key, array in arrays.items() if key != name})


def test_good_tables_pass_the_check():
    check_table(people())
    check_table(GraphTable.of([graph("CO")])[[]])
    check_table(GraphTable(np.zeros(1, int), np.zeros(1, int), np.zeros(0, int), np.zeros(0, int)))
    with pytest.raises(ValueError, match="weights"):
        check_table(GraphTable(*[np.zeros(1, int)] * 2, *[np.zeros(0, int)] * 2, weight="sum"))
    with pytest.raises(ValueError, match="'a' does not fit its nodes"):
        check_table(GraphTable(*[np.zeros(1, int)] * 2, *[np.zeros(0, int)] * 2, nodes={"a": Text.of("x")}))
    with pytest.raises(ValueError, match="columns that are not there"):
        check_table(GraphTable(*[np.zeros(1, int)] * 2, *[np.zeros(0, int)] * 2, targets=("y",)))
    assert isinstance(people().edges["sum"], Numbers)

import enum
from datetime import date

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rwkplus.errors import GraphError, ParameterError
from rwkplus.io import read_graphs
from rwkplus.io.networkx import from_networkx, to_networkx
from rwkplus.table import Categories, GraphTable, Numbers, Text

KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]


class Color(enum.Enum):
    RED = 1


def labelled(graph, label="C"):
    nx.set_node_attributes(graph, label, "label")
    return graph


def ends(table, i=0):
    part = table[i]
    return list(zip(part.source.tolist(), part.target.tolist(), strict=True))


# Structure


@pytest.mark.parametrize("kind", KINDS)
def test_all_four_classes_are_read_and_an_edge_stands_once(kind):
    graph = kind([("a", "b"), ("a", "b"), ("b", "b"), ("c", "b")])
    table = GraphTable.of([graph])
    assert table.directed == graph.is_directed()
    assert table.num_edges == graph.number_of_edges() == (4 if graph.is_multigraph() else 3)
    assert table.node_ids(0) == ["a", "b", "c"]
    pairs = {frozenset(pair) for pair in ends(table)}
    assert pairs == {frozenset({0, 1}), frozenset({1}), frozenset({1, 2})}
    if table.directed:
        assert (2, 1) in ends(table)


def test_direction_must_be_the_same_for_all():
    pair = [nx.path_graph(2), nx.path_graph(2, create_using=nx.DiGraph)]
    with pytest.raises(GraphError, match=r"graph 1 is directed and graph 0 is not.*to_directed\(\)"):
        GraphTable.of(pair)
    with pytest.raises(GraphError, match=r"graph 1 is undirected and graph 0 is not"):
        GraphTable.of(pair[::-1])


@pytest.mark.parametrize("name", [float("nan"), (1, 2), type(None), frozenset({1}), np.int64(7), "é", Color.RED, None])
def test_nodes_may_be_anything_hashable(name):
    if name is None:
        name = ("none",)
    graph = nx.Graph([(name, name), (name, np.int64(3)), ((4, 5), name)])
    table = GraphTable.of([labelled(graph)])
    assert all(one is other for one, other in zip(table.node_ids(0), graph, strict=True))
    assert [set(pair) for pair in ends(table)] == [{0}, {0, 1}, {0, 2}]


def test_nodes_keep_the_order_of_the_graph():
    graph = nx.Graph()
    graph.add_node("z", label="last")
    graph.add_node(("any", "hashable"), label="first")
    assert GraphTable.of([graph]).nodes["label"].values().tolist() == ["last", "first"]


def test_ids_are_kept_only_where_they_say_more_than_numbers():
    assert "id" not in GraphTable.of([nx.path_graph(3), nx.path_graph(2)]).nodes
    mixed = GraphTable.of([nx.path_graph(2), nx.Graph([("ann", "eve")])])
    assert [mixed.node_ids(i) for i in (0, 1)] == [[0, 1], ["ann", "eve"]]
    turned = nx.Graph([(1, 0)])
    assert GraphTable.of([turned]).node_ids(0) == [1, 0]


def test_graphs_without_nodes_or_edges_fit_beside_the_others():
    bond = labelled(nx.Graph([(0, 1, {"label": "-", "weight": 2})]))
    table = GraphTable.of([nx.Graph(), bond, labelled(nx.empty_graph(1)), nx.Graph()])
    assert table.node_ptr.tolist() == [0, 0, 2, 3, 3]
    assert table.edge_ptr.tolist() == [0, 0, 1, 1, 1]


@settings(max_examples=40)
@given(st.data())
def test_the_adjacency_matrix_is_that_of_networkx(data):
    kind = data.draw(st.sampled_from(KINDS))
    n = data.draw(st.integers(1, 6))
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(1, 5))
    graph = kind()
    graph.add_nodes_from(range(n))
    for u, v, weight in data.draw(st.lists(pairs, min_size=1, max_size=10)):
        graph.add_edge(u, v, weight=weight)
    table = GraphTable.of([graph], weight="weight")
    dense, weights = np.zeros((n, n)), table.edges["weight"].numbers
    np.add.at(dense, (table.source, table.target), weights)
    if not table.directed:
        off = table.source != table.target
        np.add.at(dense, (table.target[off], table.source[off]), weights[off])
    assert np.array_equal(dense, nx.to_numpy_array(graph))


def test_a_graph_of_a_hundred_thousand_nodes_passes():
    assert GraphTable.of([labelled(nx.empty_graph(100_000))]).num_nodes == 100_000


def test_the_graph_is_left_alone():
    graph = labelled(nx.Graph([(0, 1, {"weight": 2})]))
    before = (dict(graph.nodes(data=True)), list(graph.edges(data=True)), dict(graph.graph))
    GraphTable.of([graph], weight="weight").to_networkx()[0].nodes[0]["label"] = "X"
    assert (dict(graph.nodes(data=True)), list(graph.edges(data=True)), dict(graph.graph)) == before


# Every attribute is a column


def test_every_attribute_is_a_column_by_its_type():
    graph = nx.Graph([("a", "b", {"how": "card", "sum": 2.5, "weight": 1}), ("b", "c", {"how": "cash", "sum": 1})])
    nx.set_node_attributes(graph, {"a": "shop", "b": "person", "c": "person"}, "kind")
    nx.set_node_attributes(graph, {"a": (0, 1), "b": (2, 3), "c": (4, 5)}, "place")
    nx.set_node_attributes(graph, True, "known")
    table = GraphTable.of([graph])
    kinds = {name: type(column) for side in (table.nodes, table.edges) for name, column in side.items()}
    assert kinds == {
        "id": Text, "kind": Categories, "place": Numbers, "known": Categories,
        "how": Categories, "sum": Numbers, "weight": Numbers,
    }  # fmt: skip
    assert table.edges["how"].values().tolist() == ["card", "cash"]
    assert table.nodes["place"].numbers.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_a_weight_is_an_attribute_unless_it_is_said_to_be_a_weight():
    graph = nx.Graph([(0, 1, {"weight": 2, "strength": 3})])
    assert GraphTable.of([graph]).weight is None
    assert GraphTable.of([graph], weight="strength").weight == "strength"


def test_a_weight_must_be_there_and_be_one_number():
    graph = nx.Graph([(0, 1, {"how": "card", "pair": (1, 2)})])
    with pytest.raises(GraphError, match="no edge column 'weight'"):
        GraphTable.of([graph], weight="weight")
    for name in ("how", "pair"):
        with pytest.raises(GraphError, match=f"the weight '{name}' must be one number"):
            GraphTable.of([graph], weight=name)


def test_all_graphs_share_one_set_of_names():
    table = GraphTable.of([labelled(nx.path_graph(2), "N"), labelled(nx.path_graph(2), "C")])
    assert table.nodes["label"].names == ("C", "N")
    assert table.nodes["label"].codes.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("nothing", ["absent", None, float("nan")])
def test_labels_that_some_lack_are_missing(nothing):
    graph = labelled(nx.path_graph(3))
    graph.nodes[1]["label"] = nothing
    if nothing == "absent":
        del graph.nodes[1]["label"]
    assert GraphTable.of([graph]).nodes["label"].values().tolist() == ["C", None, "C"]


def test_numbers_that_some_lack_are_missing():
    graph = nx.path_graph(3)
    graph.edges[0, 1]["sum"] = 1
    assert GraphTable.of([graph]).edges["sum"].missing.tolist() == [False, True]


@pytest.mark.parametrize("key", [0, None, (1, 2), 1.5])
@pytest.mark.parametrize("kind", ["node", "edge"])
def test_attributes_have_names_that_are_words(kind, key):
    graph = labelled(nx.path_graph(3))
    (graph.nodes[2] if kind == "node" else graph.edges[1, 2])[key] = 1
    with pytest.raises(GraphError, match=rf"graph 1: an attribute of {kind}s is called .*must be text"):
        GraphTable.of([labelled(nx.path_graph(4)), graph])


def test_an_attribute_that_is_called_id_is_refused_with_a_remedy():
    graph = nx.Graph([("a", "b")])
    nx.set_node_attributes(graph, 1, "id")
    with pytest.raises(GraphError, match=r"attribute 'id'.*ignore=\('nodes\.id',\)"):
        GraphTable.of([graph])
    assert GraphTable.of([graph], ignore=("nodes.id",)).node_ids(0) == ["a", "b"]


@pytest.mark.parametrize("value", [date(2024, 1, 1), object(), {"a": 1}, b"raw"])
def test_what_is_neither_is_refused_by_name(value):
    graph = nx.path_graph(2)
    graph.edges[0, 1]["when"] = value
    with pytest.raises(GraphError, match=r"column 'when' of the edges .*ignore=\('when',\)"):
        GraphTable.of([graph])
    assert not GraphTable.of([graph], ignore=("when",)).edges


def test_labels_that_cannot_be_hashed_are_refused():
    with pytest.raises(GraphError, match="hashable"):
        GraphTable.of([labelled(nx.path_graph(2), ["a", "list"])])


def test_columns_are_what_the_user_says():
    graph = labelled(nx.Graph([(0, 1, {"type": 3, "label": 4}), (1, 2, {"type": 5, "label": 6})]), 7)
    table = GraphTable.of([graph], labels=("type",), attributes=("edges.label",))
    assert table.edges["type"].names == ("3", "5")
    assert table.edges["label"].numbers.tolist() == [4, 6]
    assert table.nodes["label"].names == ("7",)


def test_columns_are_left_out_by_name_or_by_side():
    graph = labelled(nx.Graph([(0, 1, {"label": "-", "sum": 1})]))
    assert not GraphTable.of([graph], ignore=("label",)).nodes
    assert list(GraphTable.of([graph], ignore=("edges.label",)).edges) == ["sum"]
    assert list(GraphTable.of([graph], ignore=("edges.label",)).nodes) == ["label"]


@pytest.mark.parametrize("ignore", ["weights", "label", None])
def test_a_single_name_to_ignore_is_not_taken_for_its_letters(ignore):
    with pytest.raises(ParameterError, match="ignore must be a sequence of field names"):
        GraphTable.of([nx.path_graph(2)], ignore=ignore)


def test_slips_of_the_pen_are_told():
    graph = nx.Graph([(0, 1, {"transaction_type": "a"})])
    with pytest.raises(ParameterError, match="no 'transaction_tipe' to ignore, but 'transaction_type'"):
        GraphTable.of([graph], ignore=("transaction_tipe",))
    assert not GraphTable.of([graph], ignore=("edges.transaction_type",)).edges


# Graphs


@pytest.mark.parametrize(("name", "word"), [("monday", "monday"), (3, "3"), (np.int64(3), "3"), ((1, 2), "(1, 2)")])
def test_names_of_graphs_are_kept(name, word):
    assert GraphTable.of([nx.Graph([(0, 1)], name=name)]).graph_id(0) == word


@pytest.mark.parametrize("name", [None, "", float("nan")])
def test_graphs_have_names_only_if_all_have(name):
    graphs = [nx.Graph([(0, 1)], name="a"), nx.Graph([(0, 1)], name=name)]
    assert "name" not in GraphTable.of(graphs).graphs


@pytest.mark.parametrize("name", [np.zeros(2), [1], {"a": 1}, object()])
def test_names_must_be_words_or_numbers(name):
    with pytest.raises(GraphError, match=f"graph 1: its name is a {type(name).__name__}"):
        GraphTable.of([nx.Graph([(0, 1)], name="a"), nx.Graph([(0, 1)], name=name)])


def test_targets_are_taken_from_the_graphs():
    graphs = [nx.Graph([(0, 1)], y=1, kind="a"), nx.Graph([(0, 1)], y=None, kind="b")]
    assert np.array_equal(GraphTable.of(graphs).y, [1, np.nan], equal_nan=True)
    assert GraphTable.of(graphs, y="kind").y.tolist() == ["a", "b"]


@pytest.mark.parametrize("item", [3, None, "graph", [1]])
def test_what_is_no_networkx_graph_is_named(item):
    with pytest.raises(GraphError, match=f"graph 1 is a {type(item).__name__}"):
        GraphTable.of([nx.path_graph(2), item])


@pytest.mark.parametrize("graphs", [[], (), iter([]), 3, object()])
def test_there_must_be_graphs(graphs):
    with pytest.raises(GraphError, match=r"empty|expected a list"):
        GraphTable.of(graphs)


def test_a_single_graph_belongs_into_a_list():
    for graph in (nx.path_graph(2), nx.MultiDiGraph([(0, 1)])):
        with pytest.raises(GraphError, match=r"put it into a list, \[graph\]"):
            GraphTable.of(graph)


@pytest.mark.parametrize("option", [{"directed": True}, {"source": "from"}, {"atom": ("element", "charge")}])
def test_options_that_say_nothing_here_are_refused(option):
    with pytest.raises(ParameterError, match=rf"{next(iter(option))}=.*says nothing about graphs of networkx"):
        GraphTable.of([nx.path_graph(2)], **option)


def test_unknown_options_are_refused():
    with pytest.raises(ParameterError, match=r"no option 'lables'. Did you mean 'labels'"):
        GraphTable.of([nx.path_graph(2)], lables=("a",))


# Tables


def test_tables_pass_as_they_are_and_options_that_say_nothing_are_refused():
    table = GraphTable.of([labelled(nx.path_graph(2)), labelled(nx.path_graph(3))])
    assert read_graphs(table) == read_graphs(list(table)) == read_graphs(iter(table)) == table
    assert not read_graphs(table, ignore=("label",)).nodes
    for form in (table, list(table)):
        with pytest.raises(ParameterError, match="weight='label' says nothing about tables"):
            read_graphs(form, weight="label")
    with pytest.raises(GraphError, match="graph 1 is a Graph, graph 0 a GraphTable"):
        read_graphs([table, nx.path_graph(2)])


def test_nothing_is_no_graph():
    with pytest.raises(GraphError, match="expected a list of graphs, got NoneType"):
        read_graphs()


def test_names_of_graphs_are_not_read_as_molecules():
    with pytest.raises(GraphError, match=r"got a dict. Give its values, list\(graphs.values\(\)\)"):
        read_graphs({"C": nx.path_graph(2), "O": nx.path_graph(3)})


# And back

values = {
    "label": st.sampled_from(["C", "O", "N"]),
    "size": st.integers(-3, 3),
    "place": st.tuples(st.floats(-1, 1), st.floats(-1, 1)).map(list),
    "ring": st.sampled_from(["yes", "no", "1"]),
}


@st.composite
def databases(draw):
    """Graphs of one class with columns that all nodes and edges have, or that some lack."""
    kind = draw(st.sampled_from(KINDS))
    columns = draw(st.lists(st.sampled_from(sorted(values)), unique=True))
    graphs = []
    for i in range(draw(st.integers(1, 3))):
        graph = kind(name=f"g{i}", y=draw(st.integers(0, 2)))
        ids = draw(st.lists(st.one_of(st.integers(0, 3), st.text("ab", max_size=2), st.just((1, 2))), unique=True))
        graph.add_nodes_from(ids)
        for _ in range(draw(st.integers(0, 4 if ids else 0))):
            graph.add_edge(draw(st.sampled_from(ids)), draw(st.sampled_from(ids)))
        fields = [*graph.nodes.values(), *(own for _, _, own in graph.edges(data=True))]
        for own in fields:
            for name in columns:
                if draw(st.integers(0, 5)):
                    own[name] = draw(values[name])
        graphs.append(graph)
    return graphs


def plain(graph):
    """What must survive: simple graphs may come back as such."""
    edges = [(frozenset((u, v)) if not graph.is_directed() else (u, v), own) for u, v, own in graph.edges(data=True)]
    edges.sort(key=lambda edge: repr((edge[0], sorted(edge[1].items()))))  # whatever order attributes were set in
    return graph.is_directed(), graph.graph, list(graph.nodes(data=True)), edges


@given(databases())
def test_graphs_survive_a_table(graphs):
    for one, other in zip(GraphTable.of(graphs).to_networkx(), graphs, strict=True):
        assert plain(one) == plain(other)


@given(databases())
def test_tables_survive_networkx(graphs):
    table = from_networkx(graphs)
    again = from_networkx(to_networkx(table))
    assert again == table or _turned(again) == _turned(table)


def _turned(table):
    """Undirected edges have no first end: networkx lists them as it met their nodes."""
    return sorted(
        (g, min(u, v), max(u, v), *(repr(column.values()[row]) for column in table.edges.values()))
        for row, (g, u, v) in enumerate(zip(table.edge_graph, table.source, table.target, strict=True))
    )


def test_nodes_whose_ids_do_not_tell_them_apart_are_called_by_number():
    table = GraphTable.of([nx.path_graph(3)])
    for ids in (["a", "a", "b"], [None, "a", "b"], [[1], [2], [3]]):
        (graph,) = table.with_columns(nodes={"id": Text.of(ids)}).to_networkx()
        assert sorted(graph.edges) == [(0, 1), (1, 2)]

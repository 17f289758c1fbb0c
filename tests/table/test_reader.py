import json
import warnings
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from rwkplus.errors import GraphError, ParameterError, RWKPlusWarning
from rwkplus.table import GraphTable, Reader
from rwkplus.table.arrays import check_nodes
from rwkplus.table.checks import with_equal_nodes
from rwkplus.table.intervals import AttributeClasses
from rwkplus.table.reader import directed_edges
from tests.strategies import colored_graphs, real_graphs


def graph(labels="", edges=None, kind=nx.Graph, **columns):
    """A path whose nodes have these labels, with more columns of nodes (lists) and of edges (dicts of lists)."""
    own = nx.path_graph(len(labels) or len(next(iter(columns.values()), ())), create_using=kind)
    for name, values in {"label": labels, **columns}.items():
        nx.set_node_attributes(own, dict(zip(own, values, strict=False)), name)
    for name, values in (edges or {}).items():
        nx.set_edge_attributes(own, dict(zip(own.edges, values, strict=False)), name)
    return own


def table(*graphs, **options):
    return GraphTable.of(list(graphs), **options)


def read(fitted, later, unknown_label="new", **options):
    return Reader.fit(fitted).read(later, unknown_label, **options)


def pyg(rows, names=None, **fields):
    data = Data(x=torch.as_tensor(rows), edge_index=torch.tensor([[0, 1], [1, 0]]), **fields)
    if names:
        data.node_label_names = names
    return data


# Every edge as walks take it

databases = st.booleans().flatmap(
    lambda directed: st.lists(
        colored_graphs(min_nodes=0, directed=directed, edge_colors=True, edge_weights=True), min_size=1, max_size=3
    )
)


@given(databases)
def test_directed_edges_are_those_of_networkx(graphs):
    whole = GraphTable.of(graphs)
    ptr, rows, source, target = directed_edges(whole)
    start = whole.node_ptr
    for i, own in enumerate(graphs):
        span = slice(ptr[i], ptr[i + 1])
        weight = whole.edges["weight"].numbers[rows[span]] if span.start < span.stop else ()
        ends = zip(source[span] - start[i], target[span] - start[i], weight, strict=True)
        assert sorted(ends) == sorted(nx.to_directed(own).edges(data="weight"))


@given(databases)
def test_arrays_have_the_adjacency_of_networkx(graphs):
    whole = GraphTable.of(graphs, weight="weight" if any(own.edges for own in graphs) else None, labels=("color",))
    arrays = Reader.fit(whole).read(whole)
    weight = np.ones(arrays.source.size) if arrays.weight is None else arrays.weight
    dense = np.zeros((arrays.num_nodes, arrays.num_nodes))
    np.add.at(dense, (arrays.source, arrays.target), weight)
    expected = nx.to_numpy_array(nx.disjoint_union_all(graphs)) if whole.num_nodes else dense
    assert np.array_equal(dense, expected)


def test_undirected_edges_appear_twice_and_loops_once():
    own = nx.Graph([("a", "b"), ("b", "b"), ("b", "c")])
    arrays = read(table(own), table(own))
    assert list(zip(arrays.source, arrays.target, strict=True)) == [(0, 1), (1, 0), (1, 1), (1, 2), (2, 1)]


@pytest.mark.parametrize(("kind", "count"), [(nx.Graph, 2), (nx.DiGraph, 1), (nx.MultiGraph, 4), (nx.MultiDiGraph, 2)])
def test_parallel_edges_are_all_walked(kind, count):
    own = kind([(0, 1), (0, 1)])
    assert read(table(own), table(own)).source.size == count


# Labels and attributes


def test_labels_are_read_as_numbers_and_as_one_hot_rows():
    own = table(graph("CNC", {"label": ["-", "="]}))
    arrays = read(own, own)
    assert arrays.label.tolist() == [0, 1, 0]
    assert arrays.edge_label.tolist() == [0, 0, 1, 1]
    assert (arrays.num_labels, arrays.num_edge_labels) == (2, 2)
    assert arrays.x.shape == (3, 0)
    features = read(own, own, labels=False)
    assert features.x.tolist() == [[1, 0], [0, 1], [1, 0]]
    assert features.edge_attr.tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]
    assert features.label.size == 0
    assert features.edge_label is None
    assert features.x.dtype == features.edge_attr.dtype == np.float64


def test_labels_and_attributes_stand_side_by_side():
    own = table(graph("CO", mass=[12, 16], place=[(0, 1), (2, 3)]))
    reader = Reader.fit(own)
    assert reader.read(own, labels=False).x.tolist() == [[1, 0, 12, 0, 1], [0, 1, 16, 2, 3]]
    assert not reader.discrete
    assert reader.attributes == ["mass", "place"]
    assert reader.nodes.width == 5


def test_several_columns_of_labels_are_one():
    own = table(graph("CC", charge=["+", "-"], ring=[True, False]))
    assert set(Reader.fit(own).nodes.names) == {"C, +, ring", "C, -, not ring"}


def test_rows_of_zeros_match_nothing():
    own = GraphTable.of([pyg(torch.tensor([[0.0, 0.0], [0.0, 1.0]]))])
    assert read(own, own).label.tolist() == [-1, 1]
    assert read(own, own, labels=False).x.tolist() == [[0, 0], [0, 1]]


def test_nodes_that_nothing_describes_are_all_alike():
    own = table(nx.path_graph(3))
    assert not Reader.fit(own).nodes.exists
    assert read(own, own).label.tolist() == [0, 0, 0]
    assert read(own, own, labels=False).x.tolist() == [[1], [1], [1]]
    assert with_equal_nodes(own).nodes["label"].values().tolist() == ["0"] * 3
    labelled = table(graph("CO"))
    assert with_equal_nodes(labelled) is labelled


def test_weights_scale_walks_and_do_not_describe_edges():
    own = table(graph("CO", {"sum": [2.5]}), weight="sum")
    arrays = read(own, own)
    assert arrays.weight.tolist() == [2.5, 2.5]
    assert arrays.edge_label is None


# Later graphs are read as the fitted ones


def test_labels_are_known_by_name_whatever_numbers_they_have():
    assert read(table(graph("CNO")), table(graph("ON"))).label.tolist() == [2, 1]


def test_the_order_of_columns_does_not_matter():
    first, later = graph("CO", charge=["+", "-"], mass=[1, 2], size=[3, 4]), nx.path_graph(2)
    for name, values in (("size", [3, 4]), ("charge", ["+", "-"]), ("mass", [1, 2]), ("label", "CO")):
        nx.set_node_attributes(later, dict(enumerate(values)), name)
    for labels in (True, False):
        one, other = (read(table(first), table(own), labels=labels) for own in (first, later))
        assert np.array_equal(one.label, other.label)
        assert np.array_equal(one.x, other.x)


def test_a_single_column_of_labels_may_be_called_otherwise():
    later = nx.path_graph(2)
    nx.set_node_attributes(later, {0: "O", 1: "C"}, "element")
    assert read(table(graph("CO")), table(later)).label.tolist() == [1, 0]


def test_one_hot_rows_without_names_are_known_by_position():
    fitted = GraphTable.of([pyg(torch.eye(2))])
    assert read(fitted, GraphTable.of([pyg(torch.eye(2).flip(0))])).label.tolist() == [1, 0]
    assert read(table(graph("CO")), GraphTable.of([pyg(torch.eye(2).flip(0))])).label.tolist() == [1, 0]
    with pytest.raises(GraphError, match="have 3 columns of labels, those of the fitted graphs had 2"):
        read(fitted, GraphTable.of([pyg(torch.eye(3)[:2])]))


def test_one_hot_rows_with_names_are_known_by_name():
    fitted = GraphTable.of([pyg(torch.eye(2), ("C", "O"))])
    later = GraphTable.of([pyg(torch.eye(3)[1:], ("O", "N", "C"))])
    assert read(fitted, later).label.tolist() == [2, 0]
    assert read(fitted, table(graph("OC"))).label.tolist() == [1, 0]


def test_attributes_that_are_one_hot_by_accident_are_attributes():
    fitted = GraphTable.of([pyg(torch.tensor([[0.5, 2.0], [1.0, 1.0]]))])
    assert read(fitted, GraphTable.of([pyg(torch.eye(2))]), labels=False).x.tolist() == [[1, 0], [0, 1]]


def test_labels_that_are_all_written_as_numbers_are_labels():
    fitted = table(graph(kind_of=["1", "a"]))
    later = table(graph(kind_of=[1, 1]))
    assert read(fitted, later).label.tolist() == [0, 0]


def test_integers_are_labels_however_few_of_them_come_later():
    def codes(*rows):
        return GraphTable.of([pyg(torch.tensor(rows))])

    assert read(codes([0], [2]), codes([0], [2])).label.tolist() == [0, 1]
    several = codes([0, 5], [1, 0])
    assert read(several, several).label.tolist() == [0, 1]
    assert read(several, codes([1, 0], [0, 5])).label.tolist() == [1, 0]
    assert read(several, codes([1, 0], [0, 1]), "ignore").label.tolist() == [1, -1]  # one-hot by accident
    assert read(several, codes([1, 0], [1, 0])).label.tolist() == [1, 1]


def test_one_hot_integers_are_one_hot_even_if_one_label_comes_alone():
    fitted = GraphTable.of([pyg(torch.eye(3).long()[:2]), pyg(torch.eye(3).long()[1:])])
    assert fitted.nodes["x"].one_hot
    assert read(fitted, GraphTable.of([pyg(torch.eye(3).long()[[2, 2]])])).label.tolist() == [2, 2]


def many(prefix, count):
    return graph("C" * count, iban=[f"{prefix}{k}" for k in range(count)])


def test_ids_stay_ids_where_there_are_too_few_to_tell():
    fitted, later = table(many("a", 30)), table(many("b", 3))
    assert read(fitted, later).label.tolist() == [0, 0, 0]
    assert Reader.fit(fitted).nodes.texts == ("iban",)


def test_labels_stay_labels_where_nearly_all_happen_to_differ():
    cities = [f"city {k}" for k in range(30)]
    fitted, later = table(graph(city=cities * 2)), table(graph(city=cities))
    assert read(fitted, later).label.tolist() == read(fitted, fitted).label.tolist()[:30]


# Labels that fitting did not see


def test_new_labels_come_behind_the_fitted_ones():
    arrays = read(table(graph("CO")), table(graph("OXYX")))
    assert arrays.label.tolist() == [1, 2, 3, 2]
    assert arrays.num_labels == 4
    alone = read(table(graph("CO")), table(graph("Y")))
    assert alone.label_code[2] == arrays.label_code[3]


def test_new_labels_can_be_blanked_or_refused():
    fitted, later = table(graph("CO")), table(graph("OX"), graph("YC"))
    assert read(fitted, later, "ignore").label.tolist() == [1, -1, -1, 0]
    with pytest.raises(GraphError, match=r"graph 0: node 1 has the label 'X', which no fitted graph had.*'ignore'"):
        read(fitted, later, "error")
    assert read(fitted, fitted, "error").label.tolist() == [0, 1]


def test_new_labels_of_edges_are_refused_with_both_ends():
    fitted, later = (table(graph("CC", {"label": [label]})) for label in "-=")
    with pytest.raises(GraphError, match=r"graph 0: edge 0-1 has the label '='"):
        read(fitted, later, "error")


def test_new_labels_do_not_move_the_attributes():
    fitted, later = table(graph("CO", mass=[1, 2])), table(graph("CO", mass=[1, 2]), graph("CN", mass=[3, 4]))
    assert read(fitted, later, labels=False).x.tolist() == [[1, 0, 1, 0], [0, 1, 2, 0], [1, 0, 3, 0], [0, 0, 4, 1]]
    assert read(fitted, later, "ignore", labels=False).with_width(3, 0).x[-1].tolist() == [0, 0, 4]


def test_numbers_that_are_names_are_known_by_name():
    few, many = (GraphTable.of([pyg(torch.eye(n)[:2], tuple(map(str, range(n))))]) for n in (2, 5))
    assert read(many, few).label.tolist() == read(few, many).label.tolist() == [0, 1]
    assert many.to_pyg()[0].node_label_names == ("0", "1", "2", "3", "4")


def test_labels_can_be_read_column_by_column():
    own = table(graph("CNO", {"label": "-="}, charge=["+", "-", "+"]))
    reader = Reader.fit(own, by_column=("nodes",))
    assert reader.nodes.vocabularies == (("C", "N", "O"), ("+", "-"))
    assert reader.nodes.categories == [3, 2]
    assert reader.read(own, labels=False).x.tolist() == [[0, 0], [1, 1], [2, 0]]
    assert reader.read(own, labels=False).edge_attr.tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]
    later = table(graph("XO", charge=["-", "+"], edges={"label": "-"}))
    assert reader.read(later, "ignore", labels=False).x.tolist() == [[-1, 1], [2, 0]]
    with pytest.raises(GraphError, match=r"graph 0: node 0 has the label 'X' in 'label', which no fitted graph had"):
        reader.read(later, "error", labels=False)
    assert again(reader) == reader
    both = Reader.fit(own, by_column=("nodes", "edges"))
    assert both.read(own, labels=False).edge_attr.tolist() == [[0], [0], [1], [1]]
    assert both.read(table(graph("C", charge=["+"])), labels=False).edge_attr.shape == (0, 1)


def test_small_whole_numbers_keep_their_numbers_by_column():
    own = table(graph(kind_of=["6", "8", "7"], other=["1", "x", "2"]))
    reader = Reader.fit(own, by_column=("nodes",))
    assert reader.nodes.categories == [9, 3]
    assert reader.read(own, labels=False).x.tolist() == [[6, 0], [8, 2], [7, 1]]


def test_a_name_that_no_fitted_node_had_is_new():
    fitted = GraphTable.of([pyg(torch.eye(3)[:2], ("C", "O", "N"))])
    later = GraphTable.of([pyg(torch.eye(3)[1:], ("C", "O", "N"))])
    assert read(fitted, later, "ignore").label.tolist() == [1, -1]


def test_graphs_of_strangers_only_are_warned_of():
    reader = Reader.fit(table(graph("CO")))
    with pytest.warns(RWKPlusWarning, match="no label of the nodes occurs"):
        reader.read(table(graph("XY")), "ignore")
    with pytest.warns(RWKPlusWarning, match="no label of the nodes occurs"):
        reader.warn_of_unknown(table(graph("XY")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reader.warn_of_unknown(table(graph("XC")))
        reader.read(table(graph("XC")), "ignore")


# Graphs that do not fit

WRONG = {
    "a column more": (graph("CO"), graph("CO", ring=[True, False]), r"column 'ring'.*had 'label'.*ignore=\('ring',\)"),
    "a column less": (graph("CO", ring=[True, False]), graph("CO"), r"no column 'ring'.*fit with ignore=\('ring',\)"),
    "no labels": (graph("CO"), nx.path_graph(2), r"the nodes have no labels, those of the fitted graphs had: C, O"),
    "labels now": (nx.path_graph(2), graph("CO"), r"the nodes have a column 'label'"),
    "numbers now": (graph(a=["x", "y"]), graph(a=[0.5, 1]), r"'a' of the nodes holds other numbers.* held labels"),
    "words now": (graph(a=[0.5, 1]), graph(a=["x", "y"]), r"'a' of the nodes holds labels.* held numbers"),
    "wider now": (graph(a=[1, 2]), graph(a=[(1, 2), (3, 4)]), r"'a' holds 2 numbers, the fitted graphs had 1"),
    "edge labels now": (graph("CO"), graph("CO", {"label": "-"}), r"the edges have a column 'label'"),
    "no edge labels": (graph("CO", {"label": "-"}), graph("CO"), r"the edges have no labels.*had: -"),
}


@pytest.mark.parametrize(("fitted", "later", "message"), WRONG.values(), ids=WRONG)
def test_graphs_with_other_columns_are_refused_with_a_remedy(fitted, later, message):
    with pytest.raises(GraphError, match=message):
        read(table(fitted), table(later))


@pytest.mark.parametrize("weighted_first", [True, False])
def test_weights_on_one_side_only_are_refused(weighted_first):
    pair = [table(graph("CO", {"sum": [2]}), weight="sum"), table(graph("CO"))]
    with pytest.raises(GraphError, match=r"weights.*ones are neutral"):
        read(*(pair if weighted_first else pair[::-1]))


@pytest.mark.parametrize("value", [None, float("nan"), "absent"])
def test_missing_labels_are_refused_with_their_place(value):
    own = graph("CCC")
    own.nodes[1]["label"] = value
    if value == "absent":
        del own.nodes[1]["label"]
    whole = table(graph("CC"), own)
    with pytest.raises(
        GraphError, match=r"graph 1: node 1 has no 'label', as 1 of 5 nodes.*ignore=\('nodes\.label',\)"
    ):
        Reader.fit(whole)
    with pytest.raises(GraphError, match=r"graph 1: node 1 has no 'label'"):
        read(table(graph("CC")), whole)
    assert Reader.fit(whole, ("nodes.label",)).read(whole).label.tolist() == [0] * 5


def test_missing_labels_of_edges_are_refused_with_both_ends():
    own = nx.relabel_nodes(graph("CCC", {"label": "-"}), {0: "ann", 1: "bob", 2: "eve"})
    own.graph["name"] = "monday"
    with pytest.raises(GraphError, match=r"graph 'monday': edge 'bob'-'eve' has no 'label', as 1 of 2 edges"):
        Reader.fit(table(own))


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), -float("inf")])
def test_attributes_that_are_no_numbers_are_refused_with_their_place(value):
    fitted, later = table(graph(mass=[1.0, 2.0])), table(graph(mass=[1.0]), graph(mass=[1.0, value]))
    with pytest.raises(GraphError, match=r"graph 1: node 1: 'mass' contains nan, inf.* 1 of 3 nodes.*Impute"):
        read(fitted, later)
    with pytest.raises(GraphError, match="'mass' contains nan"):
        Reader.fit_labels(later, (), n_classes=2)


@pytest.mark.parametrize("value", [None, float("inf")])
def test_weights_that_are_no_numbers_are_refused_with_their_place(value):
    own = table(graph("CCC", {"sum": [1.0, value]}), weight="sum")
    with pytest.raises(GraphError, match="graph 0: edge 1-2: 'sum' contains nan"):
        read(own, own)


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("columns", [{}, {"label": "-=-"}, {"sum": [1, 2, 3]}, {"label": "-=-", "sum": [1, 2, 3]}])
def test_graphs_without_edges_fit_beside_all_others(columns, labels):
    fitted = table(graph("CONC", columns))
    whole, lonely = read(fitted, fitted, labels=labels), read(fitted, table(graph("C")), labels=labels)
    assert lonely.source.size == 0
    assert lonely.num_edge_labels == whole.num_edge_labels
    for field in ("edge_attr", "edge_label"):
        mine, theirs = getattr(lonely, field), getattr(whole, field)
        assert (mine is None) == (theirs is None)
        assert mine is None or mine.shape == (0, *theirs.shape[1:])


@pytest.mark.parametrize("labels", [True, False])
def test_graphs_without_nodes_are_read_but_not_judged(labels):
    fitted = table(graph("CO", {"sum": [2]}, mass=[1, 2]), nx.Graph())
    nothing = read(fitted, table(nx.Graph()), labels=labels)
    assert nothing.num_nodes == 0
    assert nothing.x.shape == (0, 0 if labels else 3)
    with pytest.raises(GraphError, match="graph 1 has no nodes"):
        check_nodes(fitted)
    with pytest.raises(GraphError, match="graph 1 has no nodes"):
        Reader.fit_labels(fitted, (), n_classes=2)


# What is left out


def test_what_was_left_out_is_left_out_later_too():
    reader = Reader.fit(table(graph("CO", {"label": "-"}, mass=[1, 2])), ("mass", "edges.label"))
    arrays = reader.read(table(graph("OC", {"label": "="}, mass=[None, 5])))
    assert arrays.label.tolist() == [1, 0]
    assert arrays.edge_label is None
    assert reader.read(table(graph("OC"))).label.tolist() == [1, 0]


def test_slips_of_the_pen_are_told():
    own = table(graph("CO", transaction_type="ab"))
    with pytest.raises(ParameterError, match=r"no 'transaction_tipe' to ignore, but 'transaction_type'"):
        Reader.fit(own, ("transaction_tipe",))
    assert Reader.fit(own, ("nodes.transaction_type",)).nodes.labels == ("label",)
    with pytest.raises(ParameterError, match="must be a sequence"):
        Reader.fit(own, "label")


# For those who compare labels only


def test_attributes_are_cut_into_classes_beside_labels():
    own = table(graph("CCOO", {"sum": [1, 1, 9]}, mass=[1, 9, 1, 9]))
    reader = Reader.fit_labels(own, (), n_classes=2)
    assert reader.discrete
    assert set(reader.nodes.names) == {"C, mass < 5", "C, mass >= 5", "O, mass < 5", "O, mass >= 5"}
    assert reader.edges.names == ("sum < 5", "sum >= 5")
    arrays = reader.read(own)
    assert len(set(arrays.label.tolist())) == 4
    assert arrays.edge_label.tolist() == [0, 0, 0, 0, 1, 1]
    far = reader.read(table(graph("C", mass=[1000])))
    assert far.label.tolist() == [4]


def test_weights_are_refused_where_they_are_not_read():
    own = table(graph("CO", {"sum": [2]}), weight="sum")
    with pytest.raises(GraphError, match=r"column 'sum' of the edges.*ignore=\('sum',\)"):
        Reader.fit_labels(own, (), n_classes=2)
    assert not Reader.fit_labels(own, ("sum",), n_classes=2).weighted


def test_edges_that_fitting_never_saw_are_far_out():
    whole = table(graph("CO", {"sum": [2]}), graph("C"))
    reader = Reader.fit_labels(whole[1:], (), n_classes=2)
    assert reader.read(whole[1:]).edge_label.size == 0
    assert reader.read(whole).edge_label.tolist() == [1, 1]


def test_places_are_labels_where_these_are_wanted():
    own = table(nx.star_graph(4))
    reader = Reader.fit_labels(own, (), n_classes=2, structural=True)
    label = reader.read(own).label
    assert len(set(label[1:].tolist())) == 1
    assert label[0] != label[1]
    assert reader.labelled(own).nodes["label"].names == ("s0", "s1")


def test_labelled_graphs_carry_what_the_reader_sees():
    own = table(nx.Graph([("ann", "bob", {"sum": 1}), ("bob", "eve", {"sum": 9})], name="a"))
    seen = Reader.fit_labels(own, (), n_classes=2).labelled(own)
    assert list(seen.nodes) == ["id", "label"]
    assert seen.nodes["label"].values().tolist() == ["0"] * 3
    assert seen.edges["label"].values().tolist() == ["sum < 5", "sum >= 5"]
    assert seen.node_ids(0) == ["ann", "bob", "eve"]
    vectors = table(graph(place=[(0, 1), (2, 0)]))
    assert Reader.fit(vectors).labelled(vectors).nodes["label"].values().tolist() == ["x1", "x0"]


# As JSON

any_graphs = st.one_of(
    databases,
    st.lists(real_graphs(min_nodes=1, directed=False, edge_colors=True), min_size=1, max_size=3),
)


def again(reader):
    return Reader.from_dict(json.loads(json.dumps(reader.to_dict())))


@settings(max_examples=15)
@given(any_graphs, st.sampled_from(["plain", "labels", "structural"]))
def test_a_reader_survives_json(graphs, how):
    colored = any("color" in fields for graph in graphs for fields in graph.nodes.values())
    own = GraphTable.of(graphs, labels=("color",) if colored else ())
    own = own[np.flatnonzero(np.diff(own.node_ptr))]
    assume(len(own))
    if how == "plain":
        reader = Reader.fit(own)
    else:
        reader = Reader.fit_labels(own, ("x",), n_classes=2, structural=how == "structural")
    assert again(reader) == reader
    assert np.array_equal(again(reader).read(own).label, reader.read(own).label)


def readers():
    own = table(graph("CCO", {"sum": [1, 9], "label": "-="}, mass=[1, 2, 9], place=[(0, 1), (2, 0), (0, 0)]))
    yield Reader.fit(own)
    yield Reader.fit_labels(own, ("label",), n_classes=4)
    yield Reader.fit_labels(own, (), n_classes=2, structural=True)


def paths(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from paths(part, (*path, key))


def changed(values, path, new):
    values = json.loads(json.dumps(values))
    place = values
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = new
    return values


STRANGE = [None, -1, 0.5, "word", [], [[]], {}, {"a": 1}, True, float("nan"), float("inf"), 10**400, [1, "a"], [None]]


@pytest.mark.parametrize("number", range(3), ids=["features", "classes", "structural"])
def test_whatever_is_wrong_in_json_is_refused_or_harmless(number):
    reader = list(readers())[number]
    values = reader.to_dict()
    refused = 0
    for path in list(paths(values))[1:]:
        for strange in STRANGE:
            try:
                Reader.from_dict(changed(values, path, strange))
            except (KeyError, TypeError, ValueError):
                refused += 1
    assert refused > 100


@pytest.mark.parametrize("strange", [None, 3, "reader", [], ["nodes", "edges", "weighted", "ignore"], {}, {"nodes": 1}])
def test_what_is_no_reader_is_refused(strange):
    with pytest.raises((KeyError, TypeError, ValueError)):
        Reader.from_dict(strange)


def test_no_field_may_be_missing_or_more():
    values = next(readers()).to_dict()
    for key in values:
        with pytest.raises((KeyError, ValueError)):
            Reader.from_dict({name: value for name, value in values.items() if name != key})
    for key in values["nodes"]:
        less = {name: value for name, value in values["nodes"].items() if name != key}
        with pytest.raises(ValueError, match="missing required field"):
            Reader.from_dict({**values, "nodes": less})
        with pytest.raises(ValueError, match="unknown field"):
            Reader.from_dict({**values, "nodes": {**values["nodes"], "more": 1}})
    with pytest.raises(ValueError, match="how its graphs are read"):
        Reader.from_dict({**values, "more": 1})


def test_readers_are_equal_where_all_they_learned_is():
    one, other = (Reader.fit_labels(table(graph(mass=[1, k])), (), n_classes=2) for k in (9, 8))
    assert one == again(one) != other
    assert isinstance(one.nodes.classes[0], AttributeClasses)
    assert replace(one, weighted=True) != one

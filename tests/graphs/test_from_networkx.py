import enum
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rwkplus.errors import GraphError, ParameterError
from rwkplus.graphs import as_batch, from_networkx


class Element(enum.Enum):
    C = 6
    O = 8  # noqa: E741


def labeled(graph, label="C"):
    nx.set_node_attributes(graph, label, "label")
    return graph


def edges_of(data):
    return sorted(map(tuple, data.edge_index.t().tolist()))


def test_undirected_edges_appear_twice_and_self_loops_once():
    graph = labeled(nx.Graph([("a", "b"), ("b", "b"), ("b", "c")]))
    (data,) = from_networkx([graph])
    assert edges_of(data) == [(0, 1), (1, 0), (1, 1), (1, 2), (2, 1)]


@pytest.mark.parametrize("name", [float("nan"), (1, 2), None.__class__, frozenset({1}), np.int64(7), "é"])
def test_nodes_may_be_anything_hashable(name):
    graph = nx.Graph([(name, name), (name, np.int64(3)), ((4, 5), name)])
    assert edges_of(from_networkx([labeled(graph)])[0]) == [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0)]


def test_directed_edges_appear_as_they_stand():
    graph = labeled(nx.DiGraph([(0, 1), (1, 1), (2, 1), (1, 2)]))
    assert edges_of(from_networkx([graph])[0]) == [(0, 1), (1, 1), (1, 2), (2, 1)]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(nx.MultiGraph, [(0, 1), (0, 1), (1, 0), (1, 0), (1, 1)]), (nx.MultiDiGraph, [(0, 1), (0, 1), (1, 1)])],
)
def test_parallel_edges_are_all_kept(kind, expected):
    assert edges_of(from_networkx([labeled(kind([(0, 1), (0, 1), (1, 1)]))])[0]) == expected


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_the_adjacency_matrix_is_that_of_networkx(data):
    kind = data.draw(st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]))
    n = data.draw(st.integers(1, 6))
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(1, 5))
    graph = kind()
    graph.add_nodes_from(range(n), label="C")
    for u, v, weight in data.draw(st.lists(ends, max_size=10)):
        graph.add_edge(u, v, weight=weight)
    batch = as_batch([graph], ignore=() if graph.number_of_edges() else ("weight",))
    dense = torch.zeros(n, n)
    if graph.number_of_edges():
        dense.index_put_(tuple(batch.edge_index), batch.edge_weight, accumulate=True)
    # A self-loop of a multigraph counts once here as well.
    assert np.array_equal(dense.numpy(), nx.to_numpy_array(graph))


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (("O", "C", "O"), ("C", "O")),
        ((10, 9, 10), ("9", "10")),
        ((np.int64(10), np.int64(9), 10), ("9", "10")),
        (((1, "a"), (0, "b"), (1, "a")), ("(0, 'b')", "(1, 'a')")),
        ((Element.O, Element.C, Element.O), ("Element.C", "Element.O")),
        ((frozenset(), None.__class__, frozenset()), None),
        ((True, False, True), ("False", "True")),
        ((1, "1", 1), ("1", "'1'")),
        ((Fraction(1, 2), 0.25, Fraction(1, 2)), ("1/2", "0.25")),
    ],
)
def test_labels_of_any_hashable_kind_become_one_hot_columns_with_names(labels, names):
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    (data,) = from_networkx([graph])
    assert data.x.shape == (3, 2)
    assert data.x.sum(1).tolist() == [1, 1, 1]
    assert data.x[0].equal(data.x[2])
    assert not data.x[0].equal(data.x[1])
    if names is not None:
        assert sorted(data.node_label_names) == sorted(names)


def test_all_graphs_share_one_vocabulary():
    first, second = from_networkx([labeled(nx.path_graph(2), "C"), labeled(nx.path_graph(2), "N")])
    assert first.node_label_names == second.node_label_names == ("C", "N")
    assert first.x.tolist() == [[1, 0], [1, 0]]
    assert second.x.tolist() == [[0, 1], [0, 1]]


def test_nodes_keep_the_order_of_the_graph():
    graph = nx.Graph()
    graph.add_node("z", label="last")
    graph.add_node(("any", "hashable"), label="first")
    graph.add_edge("z", ("any", "hashable"))
    (data,) = from_networkx([graph])
    assert data.x.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    "value", [(0.5, 2), [0.5, 2], np.array([0.5, 2]), torch.tensor([0.5, 2]), np.array([0.5, 2], dtype=np.float32)]
)
def test_continuous_attributes_become_rows(value):
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: value, 1: [1, 1]}, "x")
    assert from_networkx([graph])[0].x.tolist() == [[0.5, 2], [1, 1]]


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.int8(3), Fraction(3)])
def test_a_single_number_is_a_row_of_one(value):
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: value, 1: 0}, "x")
    assert from_networkx([graph])[0].x.tolist() == [[3], [0]]


def test_labels_and_attributes_stand_side_by_side():
    graph = labeled(nx.path_graph(2))
    nx.set_node_attributes(graph, {0: 0.5, 1: 0.25}, "x")
    (data,) = from_networkx([graph])
    assert data.x.tolist() == [[1, 0.5], [1, 0.25]]
    assert "node_label_names" not in data


def test_edge_labels_attributes_and_weights_follow_their_edges_in_both_directions():
    graph = labeled(nx.Graph())
    graph.add_edge(0, 1, label="-", attr=(1, 2), weight=0.5)
    graph.add_edge(1, 2, label="=", attr=(3, 4), weight=2)
    nx.set_node_attributes(graph, "C", "label")
    (data,) = from_networkx([graph])
    rows = {tuple(e): row for e, row in zip(data.edge_index.t().tolist(), data.edge_attr.tolist(), strict=True)}
    weights = dict(zip(rows, data.edge_weight.tolist(), strict=True))
    assert rows[0, 1] == rows[1, 0] == [1, 0, 1, 2]
    assert rows[1, 2] == rows[2, 1] == [0, 1, 3, 4]
    assert weights == {(0, 1): 0.5, (1, 0): 0.5, (1, 2): 2, (2, 1): 2}


def test_edge_labels_alone_have_names():
    graph = labeled(nx.path_graph(3))
    nx.set_edge_attributes(graph, {(0, 1): "=", (1, 2): "-"}, "label")
    assert from_networkx([graph])[0].edge_label_names == ("-", "=")


def test_attributes_may_have_other_names():
    graph = nx.Graph([(0, 1, {"bond": "-", "strength": 3})])
    nx.set_node_attributes(graph, "C", "element")
    (data,) = from_networkx([graph], node_label="element", edge_label="bond", edge_weight="strength")
    assert data.node_label_names == ("C",)
    assert data.edge_label_names == ("-",)
    assert data.edge_weight.tolist() == [3, 3]


def test_graphs_without_nodes_or_edges_fit_beside_the_others():
    bond = labeled(nx.Graph([(0, 1, {"label": "-", "weight": 2})]))
    single = labeled(nx.empty_graph(1))
    batch = as_batch([nx.Graph(), bond, single, nx.DiGraph()])
    assert batch.ptr.tolist() == [0, 0, 2, 3, 3]
    assert batch.edge_attr.shape == (2, 1)
    assert batch.edge_weight.tolist() == [2, 2]


def test_graphs_without_any_attribute_have_no_x():
    assert "x" not in from_networkx([nx.path_graph(2)])[0]
    with pytest.raises(GraphError, match=r"graph 0 has no node features x.*one_hot_degree"):
        as_batch([nx.path_graph(2)])


def test_a_graph_of_a_hundred_thousand_nodes_passes():
    graph = nx.empty_graph(100_000)
    graph.add_node(100_000)
    batch = as_batch([labeled(graph)])
    assert batch.x.shape == (100_001, 1)


def test_the_graph_is_left_alone():
    graph = labeled(nx.Graph([(0, 1, {"weight": 2})]))
    before = (dict(graph.nodes(data=True)), list(graph.edges(data=True)))
    as_batch([graph]).edge_weight.fill_(9)
    assert (dict(graph.nodes(data=True)), list(graph.edges(data=True))) == before


# Used or refused by name


def test_unknown_node_attributes_are_refused_by_name():
    graph = labeled(nx.path_graph(3))
    graph.nodes[2]["charge"] = -1
    with pytest.raises(
        GraphError, match=r"graph 1: node 2 has the attribute 'charge'.*node_label=.*ignore=\('charge',\)"
    ):
        as_batch([labeled(nx.path_graph(2)), graph])
    assert as_batch([graph], ignore=("charge",)).x.shape == (3, 1)


def test_unknown_edge_attributes_are_refused_by_name():
    graph = labeled(nx.Graph([("a", "b", {"stereo": "Z"})]))
    with pytest.raises(GraphError, match=r"graph 0: edge 'a'-'b' has the attribute 'stereo'.*ignore=\('stereo',\)"):
        as_batch([graph])
    assert as_batch([graph], ignore=("stereo",)).edge_index.shape == (2, 2)


@pytest.mark.parametrize("missing", ["absent", "none"])
def test_a_label_that_only_some_nodes_have_is_refused(missing):
    graph = labeled(nx.path_graph(2))
    if missing == "none":
        graph.nodes[1]["label"] = None
    else:
        del graph.nodes[1]["label"]
    with pytest.raises(GraphError, match=r"graph 1: node 1 has no 'label' although others have"):
        as_batch([labeled(nx.path_graph(2)), graph])


@pytest.mark.parametrize("name", ["label", "attr", "weight"])
def test_a_value_that_only_some_edges_have_is_refused(name):
    graph = labeled(nx.path_graph(3))
    graph.edges[0, 1][name] = 1
    with pytest.raises(GraphError, match=rf"graph 0: edge 1-2 has no '{name}' although others have.*ignore="):
        as_batch([graph])


@pytest.mark.parametrize("value", ["a", b"ab", {"a": 1}, ["a"], [1, 2], object(), 1j, 10**400, [[1]], lambda: 1])
def test_attributes_that_are_not_the_expected_numbers_are_refused(value):
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: 1.0, 1: value}, "x")
    with pytest.raises(GraphError, match=r"graph 0: node attribute 'x' must be 1 number\(s\) everywhere"):
        as_batch([graph])


def test_several_numbers_as_a_weight_are_sent_to_edge_attr():
    graph = labeled(nx.path_graph(2))
    graph.edges[0, 1]["weight"] = (1, 2)
    with pytest.raises(GraphError, match=r"graph 0: edge_weight must hold one number per edge.*edge_attr"):
        as_batch([graph])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_attributes_that_are_not_finite_are_refused(value):
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: 1.0, 1: value}, "x")
    with pytest.raises(GraphError, match="graph 0: x contains nan, inf or"):
        as_batch([graph])


def test_labels_that_cannot_be_hashed_are_refused():
    with pytest.raises(GraphError, match="hashable"):
        as_batch([labeled(nx.path_graph(2), ["a", "list"])])


@pytest.mark.parametrize("item", [3, None, "graph"])
def test_what_is_no_networkx_graph_is_named(item):
    with pytest.raises(GraphError, match=f"graph 1 is a {type(item).__name__}"):
        from_networkx([nx.path_graph(2), item])


def test_names_of_graphs_and_nodes_are_kept():
    ann, numbered = nx.Graph([("ann", "eve")], name="monday"), nx.path_graph(2)
    data = from_networkx([ann, numbered])
    assert [graph.node_names for graph in data] == [["ann", "eve"], [0, 1]]
    assert "name" not in data[0]  # all have names, or none
    assert from_networkx([ann])[0].name == "monday"
    assert "node_names" not in from_networkx([numbered])[0]


@pytest.mark.parametrize("ignore", ["weights", "label", None])
def test_a_single_name_to_ignore_is_not_taken_for_its_letters(ignore):
    with pytest.raises(ParameterError, match="ignore must be a sequence of field names"):
        from_networkx([nx.path_graph(2)], ignore=ignore)

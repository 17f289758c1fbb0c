import copy
import pickle
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from rwkplus.errors import GraphError, ParameterError
from rwkplus.kernels import RandomWalkFeatures, RandomWalkKernel
from rwkplus.table import Categories, GraphTable, Numbers, Text
from rwkplus.table.arrays import classes_of
from rwkplus.table.packing import check_table
from tests.io.tables import renamed
from tests.strategies import colored_graphs, random_graphs

databases = st.booleans().flatmap(
    lambda directed: st.lists(
        colored_graphs(min_nodes=0, max_nodes=4, directed=directed, edge_colors=True, edge_weights=True),
        min_size=1,
        max_size=4,
    )
)


def named(n, name, **columns):
    """A path of ``n`` nodes with one value per node in every column."""
    graph = nx.path_graph(n, create_using=nx.Graph)
    graph.graph["name"] = name
    for column, values in columns.items():
        nx.set_node_attributes(graph, dict(enumerate(values)), column)
    nx.set_edge_attributes(graph, {edge: "-=#"[edge[0] % 3] for edge in graph.edges}, "bond")
    nx.set_edge_attributes(graph, {edge: edge[0] / 2 for edge in graph.edges}, "amount")
    return graph


@pytest.fixture(name="table")
def _table():
    labels = {"a": "CCO", "b": "N", "c": "OCCO", "d": "CC"}
    graphs = [named(len(own), name, label=own) for name, own in labels.items()]
    return GraphTable.of(graphs).with_targets(["good", "bad", "good", None])


def same(one, other):
    return nx.utils.graphs_equal(one, other)


def assert_same(tables, graphs):
    assert len(tables) == len(graphs)
    assert all(map(same, tables.to_networkx(), graphs))
    check_table(tables)


# Some of the graphs

INDICES = [
    0,
    -1,
    np.int64(2),
    slice(1, 3),
    slice(None),
    slice(2, 1),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(-3, None),
    [3, 0],
    [1, 1, 1],
    (0, 2),
    ([2, 0], ...),
    [],
    [-1, 0],
    np.array([2, 1]),
    np.array([], dtype=int),
    np.array([True, False, False, True]),
    [True, False, True, False],
    [False] * 4,
    range(1, 3),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_some_graphs_of_a_table_are_those_of_the_list(table, index):
    graphs = np.empty(4, dtype=object)
    graphs[:] = table.to_networkx()
    plain = isinstance(index, tuple) and index[-1] is not ...
    rows = list(index) if plain or isinstance(index, range) else index
    chosen = graphs[np.array(rows, dtype=int) if isinstance(rows, list) and not rows else rows]
    assert_same(table[index], [chosen] if isinstance(chosen, nx.Graph) else chosen.tolist())


@given(databases, st.data())
def test_any_choice_of_graphs_is_that_of_the_list(graphs, data):
    table = GraphTable.of(graphs)
    chosen = data.draw(st.lists(st.integers(-len(graphs), len(graphs) - 1), max_size=5))
    wholes = table.to_networkx()
    assert_same(table[chosen], [wholes[i] for i in chosen])
    assert table[chosen] == table[np.array(chosen, dtype=int)]


def test_choices_can_be_made_twice(table):
    assert table[[3, 2, 0]][[0, 2]] == table[[3, 0]]
    assert table[1:][1:] == table[2:]


@pytest.mark.parametrize("index", [4, -5, [0, 4], np.array([True, False])])
def test_graphs_that_are_not_there_cannot_be_chosen(table, index):
    with pytest.raises(IndexError):
        table[index]


def test_a_table_is_a_sequence_of_one_graph_tables(table):
    assert [part.graph_id(0) for part in table] == ["a", "b", "c", "d"]
    assert [part.graph_id(0) for part in reversed(table)] == ["d", "c", "b", "a"]
    assert table[2] in table
    assert table.index(table[2]) == 2
    assert GraphTable.concatenate(list(table)) == table


def test_pandas_can_choose(table):
    pd = pytest.importorskip("pandas")
    assert table[pd.Series([True, False, True, False])] == table[[0, 2]]
    assert table[pd.Index([1, 3])] == table[[1, 3]]


@given(databases, st.integers(1, 9))
def test_blocks_cover_every_graph_once_and_keep_to_the_limit(graphs, max_nodes):
    table = GraphTable.of(graphs)
    blocks = list(table.blocks(max_nodes))
    assert GraphTable.concatenate(blocks) == table
    assert all(block.num_nodes <= max_nodes or len(block) == 1 for block in blocks)


def test_rows_know_their_graphs(table):
    assert table.node_graph.tolist() == [0, 0, 0, 1, 2, 2, 2, 2, 3, 3]
    assert table.edge_graph.tolist() == [0, 0, 2, 2, 2, 3]
    assert (len(table), table.shape, table.num_nodes, table.num_edges) == (4, (4,), 10, 6)


# Nobody changes a table


def test_nothing_in_a_table_can_be_changed(table):
    with pytest.raises(AttributeError):
        table.directed = True
    with pytest.raises(TypeError):
        table.nodes["label"] = None
    for array in (table.node_ptr, table.edge_ptr, table.source, table.target, table.nodes["label"].codes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_table_has_no_hash(table):
    with pytest.raises(TypeError, match="unhashable"):
        hash(table)


@pytest.mark.parametrize(
    "again", [lambda t: pickle.loads(pickle.dumps(t)), copy.copy, copy.deepcopy, lambda t: clone(t, safe=False)]
)
def test_copies_are_equal_and_cannot_be_changed_either(table, again):
    twin = again(table)
    assert twin == table
    assert twin.digest() == table.digest()
    with pytest.raises(ValueError, match="read-only"):
        twin.source[0] = 1
    with pytest.raises(TypeError):
        twin.nodes["label"] = None


def test_a_pickled_part_does_not_drag_the_rest_along():
    table = GraphTable.of([named(2000, "a", label="C" * 2000), named(2, "b", label="CC")])
    assert len(pickle.dumps(table[1])) < 3000


# Equality and fingerprints


def renumbered(table):
    """The same table with other numbers for its labels, and labels that no node has."""
    label = table.nodes["label"]
    return table.with_columns(nodes={"label": renamed(label, [*label.names[::-1], "unused"])})


def test_numbers_of_labels_do_not_matter(table):
    assert renumbered(table) == table
    assert renumbered(table).digest() == table.digest()


CHANGES = {
    "another label": lambda t: t.with_columns(nodes={"label": Categories.of("CCONOCCOCN")}),
    "a label less": lambda t: t.with_columns(nodes={"label": Categories.of([None, *"CONOCCOCC"])}),
    "another amount": lambda t: t.with_columns(edges={"amount": Numbers(np.arange(6.0))}),
    "another name": lambda t: t.with_columns(graphs={"name": Text.of("abce")}),
    "names that are numbers": lambda t: t.with_columns(graphs={"name": Text.of(range(4))}),
    "another order": lambda t: t[[1, 0, 2, 3]],
    "a graph less": lambda t: t[:3],
    "no targets": lambda t: GraphTable(t.node_ptr, t.edge_ptr, t.source, t.target, t.graphs, t.nodes, t.edges),
    "a weight": lambda t: GraphTable(
        t.node_ptr, t.edge_ptr, t.source, t.target, t.graphs, t.nodes, t.edges, weight="amount", targets=("y",)
    ),
    "directed": lambda t: GraphTable(
        t.node_ptr, t.edge_ptr, t.source, t.target, t.graphs, t.nodes, t.edges, directed=True, targets=("y",)
    ),
    "a column less": lambda t: t.without(["amount"]),
    "a column more": lambda t: t.with_degrees(),
    "turned": lambda t: GraphTable(
        t.node_ptr, t.edge_ptr, t.target, t.source, t.graphs, t.nodes, t.edges, targets=("y",)
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_tables_that_differ_in_anything_are_unequal_with_other_fingerprints(table, change):
    assert change(table) != table
    assert change(table).digest() != table.digest()


@given(databases, databases)
def test_fingerprints_are_equal_exactly_where_tables_are(one, other):
    tables = [GraphTable.of(graphs) for graphs in (one, other)]
    assert (tables[0] == tables[1]) == (tables[0].digest() == tables[1].digest())


def test_graphs_without_columns_have_fingerprints_of_their_own():
    two = GraphTable.of([nx.empty_graph(2), nx.empty_graph(1)])
    loop = nx.empty_graph(2)
    loop.add_edge(0, 0)
    assert two != GraphTable.of([loop])
    assert two.digest() != GraphTable.of([loop]).digest()


def test_a_table_equals_no_other_thing(table):
    assert table != 3
    assert table != list(table)


CODE = """
import networkx as nx
from rwkplus.table import GraphTable
graph = nx.Graph([("ann", "bob", {"how": "card", "sum": 2.5}), ("bob", "eve", {"how": "cash", "sum": 1})], name="a")
nx.set_node_attributes(graph, {"ann": "x", "bob": "é", "eve": "z"}, "kind")
print(GraphTable.of([graph, nx.path_graph(2)]).with_targets(["yes", None]).digest())
"""


@pytest.mark.slow
def test_fingerprints_are_the_same_in_every_process():
    runs = {
        subprocess.run(
            [sys.executable, "-c", CODE],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


# In words


def test_a_table_says_what_is_in_it(table):
    assert repr(table) == "\n".join(
        [
            "GraphTable: 4 undirected graphs, 10 nodes, 6 edges",
            "  graphs name: names",
            "         y: 2 labels (bad, good), target, 1 missing",
            "  nodes  label: 3 labels (C, N, O)",
            "  edges  bond: 3 labels (#, -, =)",
            "         amount: numbers, 0 to 1",
        ]
    )


def test_ids_text_weights_and_long_lists_are_told():
    graph = nx.DiGraph([(f"v{k}", "v0", {"how": f"{k % 8}a", "sum": 3}) for k in range(25)])
    nx.set_node_attributes(graph, {v: f"iban {v}" for v in graph}, "iban")
    nx.set_node_attributes(graph, dict.fromkeys(graph, (0.0, 1.0)), "place")
    assert repr(GraphTable.of([graph], weight="sum")).splitlines() == [
        "GraphTable: 1 directed graph, 25 nodes, 25 edges",
        "  nodes  id: ids",
        "         iban: text, taken for ids and not compared",
        "         place: 2 numbers",
        "  edges  how: 8 labels (0a, 1a, 2a, 3a, 4a, 5a, ...)",
        "         sum: numbers, all 3, weight",
    ]


def test_any_choice_can_be_shown(table):
    for part in (table[[]], table[1], table.with_targets([True, False, True, False]), table.with_targets("abca")):
        assert repr(part).startswith("GraphTable: ")
        assert "<table>" in part._repr_html_()


def test_labels_are_no_markup_in_notebooks():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, "<script>alert(1)</script>", "a<b")
    html = GraphTable.of([graph])._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "a&lt;b" in html


# Columns


def test_columns_can_be_added_and_replaced_but_must_fit(table):
    more = table.with_columns(nodes={"mass": Numbers(np.arange(10))}, graphs={"name": Text.of("wxyz")})
    assert set(more.nodes) == {"label", "mass"}
    assert more.graph_id(3) == "z"
    with pytest.raises(GraphError, match="column 'mass' of the nodes has 3 rows, but there are 10"):
        table.with_columns(nodes={"mass": Numbers(np.arange(3))})


@pytest.mark.parametrize(
    ("columns", "nodes", "edges"),
    [
        ([], ["label", "mass"], ["label", "sum", "time"]),
        (["mass"], ["label"], ["label", "sum", "time"]),
        (["label"], ["mass"], ["sum", "time"]),
        (["edges.label"], ["label", "mass"], ["sum", "time"]),
        (["nodes.label"], ["mass"], ["label", "sum", "time"]),
        (["x"], [], ["label", "sum", "time"]),
        (["edge_attr"], ["label", "mass"], ["sum"]),
        (["edge_weight"], ["label", "mass"], ["label", "time"]),
        (["sum"], ["label", "mass"], ["label", "time"]),
        (["edges.sum"], ["label", "mass"], ["label", "time"]),
        (["x", "edge_attr", "edge_weight"], [], []),
        (["nothing"], ["label", "mass"], ["label", "sum", "time"]),
    ],
)
def test_columns_can_be_left_out_by_name_by_side_or_all_of_a_kind(columns, nodes, edges):
    graph = nx.Graph([("a", "b", {"label": "-", "sum": 2.0, "time": 1})])
    nx.set_node_attributes(graph, {"a": "C", "b": "O"}, "label")
    nx.set_node_attributes(graph, {"a": 12, "b": 16}, "mass")
    table = GraphTable.of([graph], weight="sum").without(columns)
    assert list(table.nodes) == ["id", *nodes]
    assert list(table.edges) == edges
    assert table.weight == ("sum" if "sum" in edges else None)


def test_what_describes_nodes_goes_even_if_it_is_called_like_the_weight():
    graph = nx.Graph([(0, 1, {"weight": 2.0})])
    nx.set_node_attributes(graph, 3.0, "weight")
    table = GraphTable.of([graph], weight="weight")
    assert not table.without(["x"]).nodes
    assert table.without(["x"]).weight == "weight"


def test_a_column_called_x_is_only_that_column():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, 1.0, "x")
    nx.set_node_attributes(graph, "C", "label")
    assert list(GraphTable.of([graph]).without(["x"]).nodes) == ["label"]


@given(databases)
def test_degrees_are_those_of_networkx_where_a_loop_counts_once(graphs):
    table = GraphTable.of(graphs).with_degrees()
    ways = [len(graph[v]) for graph in graphs for v in graph]
    assert table.nodes["degree"].values().tolist() == list(map(str, ways))


def test_large_degrees_share_a_label():
    star = GraphTable.of([nx.star_graph(4)])
    assert star.with_degrees(2).nodes["degree"].values().tolist() == ["2+", "1", "1", "1", "1"]
    assert star.with_degrees().nodes["degree"].names == ("0", "1", "2", "3", "4")
    with pytest.raises(ParameterError, match="max_degree"):
        star.with_degrees(0)


def test_graphs_are_called_by_name_or_number(table):
    assert (table.graph_id(2), table.describe_graph(2)) == ("c", "graph 'c'")
    nameless = GraphTable.of([nx.path_graph(2)] * 3)
    assert (nameless.graph_id(2), nameless.describe_graph(2)) == (2, "graph 2")
    assert (nameless[2:].graph_id(0), nameless.with_names()[2:].graph_id(0)) == (0, 2)
    assert nameless.with_names()[2:].describe_graph(0) == "graph 2"
    assert table.with_names() is table


def test_nodes_are_called_by_id_or_number(table):
    assert table.node_ids(2) == [0, 1, 2, 3]
    people = GraphTable.of([nx.path_graph(1), nx.Graph([("ann", (1, 2))])])
    assert people.node_ids(1) == people[1].node_ids(0) == ["ann", (1, 2)]


# Targets


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([1, 0], [1, 0]),
        ([0.5, None], [0.5, np.nan]),
        ([1, None], [1.0, np.nan]),
        (["a", None], ["a", None]),
        (["a", float("nan")], ["a", None]),
        (np.array(["a", "b"]), ["a", "b"]),
        (np.array(["a", np.nan], dtype=object), ["a", None]),
        ([True, False], [1, 0]),
        (np.array([True, False]), [1, 0]),
        (np.array([[1, 0], [0, 1]]), [[1, 0], [0, 1]]),
        ((value for value in "ab"), ["a", "b"]),
    ],
)
def test_targets_are_numbers_or_classes_and_may_be_missing(y, expected):
    table = GraphTable.of([nx.path_graph(2)] * 2).with_targets(y)
    assert repr(table.y.tolist()) == repr(expected)
    assert table.targets == ("y",)
    assert repr(table[1:].y.tolist()) == repr(expected[1:])


def test_there_must_be_a_target_for_every_graph(table):
    with pytest.raises(GraphError, match="'y' of the graphs has 2 rows, but there are 4"):
        table.with_targets([1, 2])


def test_several_targets_stand_side_by_side():
    graphs = [nx.Graph([(0, 1)], toxic=1, soluble=0.5, kind="a"), nx.Graph([(0, 1)], soluble=2.0, kind="b")]
    y = GraphTable.of(graphs, y=("toxic", "soluble")).y
    assert np.array_equal(y, [[1, 0.5], [np.nan, 2]], equal_nan=True)
    assert GraphTable.of(graphs, y=("kind", "soluble")).y.tolist() == [["a", 0.5], ["b", 2.0]]
    assert GraphTable.of(graphs, y="nothing").y is None


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([1, 0], [1, 0]),
        (["a", None], ["a", None]),
        ([1, None], [1, None]),
        ([0.5, 1], None),
        ([0.5, None], None),
        ([[1, 0], [0, 1]], None),
    ],
)
def test_classes_are_whole_numbers_or_names(y, classes):
    assert classes_of(GraphTable.of([nx.path_graph(2)] * 2).with_targets(y)) == classes


def test_graphs_without_targets_have_no_classes():
    assert classes_of(GraphTable.of([nx.path_graph(2)])) is None


# Tables below one another


@given(databases, st.data())
def test_tables_below_one_another_are_the_list_of_their_graphs(graphs, data):
    cut = data.draw(st.integers(0, len(graphs)))
    table = GraphTable.of(graphs)
    assert GraphTable.concatenate([table[:cut], table[cut:]]) == table


def test_labels_of_several_tables_are_one_set():
    one, other = (GraphTable.of([named(2, name, label=labels)]) for name, labels in (("a", "CO"), ("b", "NC")))
    both = GraphTable.concatenate([one, other])
    assert both.nodes["label"].names == ("C", "N", "O")
    assert both == GraphTable.of([named(2, "a", label="CO"), named(2, "b", label="NC")])


OTHERS = {
    "a column less": (lambda t: t.without(["bond"]), "'bond'"),
    "a column more": (lambda t: t.with_degrees(), "'degree'"),
    "of another kind": (lambda t: t.with_columns(edges={"bond": Numbers(np.zeros(6))}), "'bond'"),
    "of another width": (lambda t: t.with_columns(edges={"amount": Numbers(np.zeros((6, 2)))}), "'amount'"),
    "directed": (CHANGES["directed"], "directed"),
    "weighted": (CHANGES["a weight"], "weights"),
}


@pytest.mark.parametrize(("change", "named"), OTHERS.values(), ids=OTHERS)
def test_tables_that_differ_in_their_columns_do_not_go_together(table, change, named):
    for pair in ([table, change(table)], [change(table), table]):
        with pytest.raises(GraphError, match=named):
            GraphTable.concatenate(pair)


def test_one_table_is_itself_and_none_is_refused(table):
    assert GraphTable.concatenate([table]) is table
    with pytest.raises(GraphError, match="no tables"):
        GraphTable.concatenate([])


# scikit-learn


@pytest.fixture(name="classified", scope="module")
def _classified():
    graphs = random_graphs(12)
    table = GraphTable.of(graphs, labels=("color",), ignore=("x",))
    return table.with_targets(np.arange(12) % 2)


def test_scikit_learn_splits_tables(classified):
    train, test = train_test_split(classified, test_size=0.25, random_state=0)
    assert isinstance(train, GraphTable)
    assert (len(train), len(test)) == (9, 3)


def test_cross_validation_takes_tables_and_gives_what_lists_give(classified):
    model = make_pipeline(RandomWalkFeatures(steps=2), RidgeClassifier())
    scores = cross_val_score(model, classified, classified.y, cv=3)
    assert scores.tolist() == cross_val_score(model, classified.to_networkx(), classified.y, cv=3).tolist()


def test_precomputed_kernels_and_searches_over_processes_take_tables(classified):
    model = make_pipeline(RandomWalkKernel(), SVC(kernel="precomputed"))
    search = GridSearchCV(model, {"randomwalkkernel__steps": [1, 2]}, cv=2, n_jobs=2).fit(classified, classified.y)
    assert search.predict(classified[:3]).shape == (3,)


def test_names_and_labels_cannot_command_a_terminal_or_a_notebook():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, "<b>\x1b[2J", "\u202ekind")
    table = GraphTable.of([graph])
    for text in (repr(table), table._repr_html_()):
        assert not {"\x1b", "\u202e"} & set(text)
        assert r"\u202ekind" in text
    assert "&lt;b&gt;" in table._repr_html_()

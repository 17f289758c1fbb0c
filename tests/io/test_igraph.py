import networkx as nx
import pytest
from hypothesis import given

from rwkplus.errors import GraphError
from rwkplus.io.networkx import from_igraph, from_networkx
from rwkplus.io.sources import ReadOptions
from rwkplus.table import GraphTable
from tests.io.tables import to_igraph
from tests.strategies import colored_graphs, real_graphs

igraph = pytest.importorskip("igraph")


@pytest.mark.parametrize("strategy", [colored_graphs, real_graphs])
def test_the_same_graphs_make_the_same_table(strategy):
    @given(strategy(edge_colors=True, edge_weights=True))
    def check(graph):
        table = from_networkx([graph])
        there = to_igraph(table)
        assert from_igraph(there) == table
        assert GraphTable.of(there) == table

    check()


def test_names_ids_and_targets_come_back():
    water = nx.Graph([("o", "h1"), ("o", "h2")], name="water", y=1)
    nx.set_node_attributes(water, {"o": "O", "h1": "H", "h2": "H"}, "label")
    table = from_networkx([water, nx.Graph([("a", "b")], name="other", y=0)])
    graphs = to_igraph(table)
    assert graphs[0].vs["name"] == ["o", "h1", "h2"]
    back = from_igraph(graphs)
    assert back == table
    assert back.y.tolist() == [1, 0]


def test_attributes_that_only_some_graphs_have_are_missing_in_others():
    one = igraph.Graph([(0, 1)], vertex_attrs={"label": ["C", "O"]}, edge_attrs={"amount": [2.5]})
    table = from_igraph([one, igraph.Graph([(0, 1)])])
    assert table.nodes["label"].values().tolist() == ["C", "O", None, None]
    assert table.edges["amount"].missing.tolist() == [False, True]


def test_a_weight_is_one_if_the_user_says_so():
    graph = igraph.Graph([(0, 1)], edge_attrs={"weight": [2.5]})
    assert from_igraph([graph]).weight is None
    assert from_igraph([graph], ReadOptions(weight="weight")).weight == "weight"


def test_directed_and_parallel_edges_are_kept():
    table = from_igraph([igraph.Graph([(1, 0), (1, 0)], directed=True)])
    assert table.directed
    assert table.source.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([igraph.Graph([(0, 1)]), igraph.Graph([(0, 1)], directed=True)], "graph 1 is directed and graph 0 is not"),
        ([igraph.Graph([(0, 1)]), nx.path_graph(2)], "graph 1 is not an igraph graph"),
        ([igraph.Graph([(0, 1)], vertex_attrs={"when": [{}, {}]})], "column 'when' of the nodes"),
    ],
)
def test_what_does_not_fit_is_refused(graphs, message):
    with pytest.raises(GraphError, match=message):
        from_igraph(graphs)


def test_attributes_can_be_left_out():
    graph = igraph.Graph([(0, 1)], vertex_attrs={"label": ["C", "O"], "when": [{}, {}]})
    assert list(from_igraph([graph], ReadOptions(ignore=("when",))).nodes) == ["label"]


def test_ids_of_files_in_gml_are_ids():
    graph = igraph.Graph([(0, 1)], vertex_attrs={"id": [7, 9]})
    assert from_igraph([graph]).node_ids(0) == [7, 9]
    graph.vs["name"] = ["a", "b"]
    with pytest.raises(GraphError, match=r"nodes have an attribute 'id'.*ignore=\('nodes.id',\)"):
        from_igraph([graph])
    assert from_igraph([graph], ReadOptions(ignore=("nodes.id",))).node_ids(0) == ["a", "b"]

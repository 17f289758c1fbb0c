import networkx as nx
import pytest

from rwkplus.table import GraphTable, Reader
from rwkplus.viz.graphs import graphs_to_draw


def seen(*edges, kind=nx.MultiDiGraph):
    """A graph as people look at it."""
    graph = kind()
    graph.add_nodes_from([("a", {"label": "shop"}), ("b", {"label": "customer"})])
    graph.add_edges_from((u, v, {} if label is None else {"label": label}) for u, v, label in edges)
    table = GraphTable.of([graph])
    return graphs_to_draw(Reader.fit(table).labelled(table))[0]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["card"], "card"),
        (["cash", "card"], "card, cash"),
        (["cash", "card", "cash"], "card, cash (2)"),
        ([None], None),
        ([None, None], "2 edges"),
    ],
)
def test_several_edges_are_one_with_all_their_labels(labels, words):
    graph = seen(*(("a", "b", label) for label in labels))
    assert list(graph.edges(data="label")) == [("a", "b", words)]
    assert graph.is_directed()
    assert dict(graph.nodes(data="label")) == {"a": "shop", "b": "customer"}
    assert dict(graph.nodes(data="name")) == {"a": "a", "b": "b"}


def test_edges_both_ways_are_undirected_if_they_are_alike():
    assert not seen(("a", "b", "card"), ("a", "b", "cash"), kind=nx.MultiGraph).is_directed()
    assert not seen(("a", "b", "card"), ("b", "a", "card")).is_directed()
    assert seen(("a", "b", "card"), ("b", "a", "card"), ("b", "a", "card")).is_directed()
    assert seen(("a", "b", "card"), ("b", "a", "cash")).is_directed()


def test_edges_met_from_either_end_are_one():
    graph = seen(("a", "b", "card"), ("b", "a", "cash"), kind=nx.MultiGraph)
    assert list(graph.edges(data="label")) == [("a", "b", "card, cash")]

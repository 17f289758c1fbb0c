import networkx as nx
import pytest

from rwkplus.graphs import as_batch
from rwkplus.graphs.labelled import labelled_graphs, named


def seen(*edges, kind=nx.MultiDiGraph):
    """A graph as people look at it."""
    graph = kind()
    graph.add_nodes_from([("a", {"label": "shop"}), ("b", {"label": "customer"})])
    graph.add_edges_from((u, v, {} if label is None else {"label": label}) for u, v, label in edges)
    return labelled_graphs(named(as_batch([graph])))[0]


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
    assert list(graph.edges(data="label")) == [(0, 1, words)]
    assert graph.is_directed()
    assert dict(graph.nodes(data="label")) == {0: "shop", 1: "customer"}


def test_edges_both_ways_are_undirected_if_they_are_alike():
    assert not seen(("a", "b", "card"), ("a", "b", "cash"), kind=nx.MultiGraph).is_directed()
    assert not seen(("a", "b", "card"), ("b", "a", "card")).is_directed()
    assert seen(("a", "b", "card"), ("b", "a", "card"), ("b", "a", "card")).is_directed()

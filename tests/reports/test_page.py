import networkx as nx

from rwkplus.reports.page import LARGEST_DRAWING, how_many_drawn, surroundings


def test_small_graphs_are_drawn_whole():
    graph = nx.path_graph(LARGEST_DRAWING)
    assert surroundings(graph, [3]) is graph
    assert how_many_drawn(graph, graph) == "60"


def test_of_large_graphs_the_nearest_nodes_are_drawn():
    graph = nx.path_graph(200)
    drawn = surroundings(graph, [100])
    assert sorted(drawn) == list(range(70, 130)) or sorted(drawn) == list(range(71, 131))
    assert how_many_drawn(graph, drawn) == "200, 60 of them drawn"
    assert len(surroundings(graph)) == LARGEST_DRAWING

import networkx as nx

from rwkplus.reports.page import AROUND, LARGEST_DRAWING, how_many_drawn, surroundings


def test_small_graphs_are_drawn_whole():
    graph = nx.path_graph(LARGEST_DRAWING)
    assert surroundings(graph, [3]) is graph
    assert how_many_drawn(graph, graph) == "60"


def test_of_large_graphs_the_nearest_nodes_are_drawn():
    graph = nx.path_graph(200)
    drawn = surroundings(graph, [100])
    assert sorted(drawn) in (list(range(85, 115)), list(range(86, 116)))
    assert how_many_drawn(graph, drawn) == "200, 30 of them drawn"
    assert len(surroundings(graph)) == AROUND

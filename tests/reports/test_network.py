import networkx as nx

from rwkplus.reports.network import _drawn


def test_of_a_large_graph_the_best_matching_node_and_its_surroundings_are_drawn():
    ring = nx.cycle_graph(90, create_using=nx.Graph(name="ring"))
    nx.set_node_attributes(ring, {v: "b" if v == 45 else "a" for v in ring}, "label")
    picture = _drawn(ring, {v: 1.0 if v == 45 else 0.0 for v in ring}, {"a": "#000", "b": "#111"})
    assert picture.count("<circle") == 60
    assert "<title>b</title>" in picture

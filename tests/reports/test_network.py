import networkx as nx

from rwkplus.reports.network import _drawn


def test_of_a_large_graph_the_best_matching_node_and_its_surroundings_are_drawn():
    ring = nx.cycle_graph(90, create_using=nx.Graph(name="ring"))
    nx.set_node_attributes(ring, {v: "b" if v == 45 else "a" for v in ring}, "label")
    colors = {"a": "#3567c4", "b": "#cc3b33"}
    figure = _drawn(ring, {v: 1.0 if v == 45 else 0.0 for v in ring}, colors, "ring")
    assert figure.picture.count("</title></circle>") == 30
    assert ' data-k="0"><title>b</title></circle>' in figure.picture
    assert figure.chips[0] == (0, "b 45: 1.00")

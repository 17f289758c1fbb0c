import networkx as nx
import pytest
import torch

from rwkplus.data.testbeds import bipartite_graphs, copies, ring, tailed_triangle, triangle_chains
from rwkplus.descriptive.views import ViewedGraphs
from rwkplus.errors import GraphError, ParameterError
from rwkplus.io.pyg import as_batch
from rwkplus.models.kcn import KCN
from rwkplus.table import GraphTable


def seen(graphs, *views, **options):
    return ViewedGraphs.of(as_batch(graphs), views, generator=torch.Generator().manual_seed(0), **options)


def scores(graphs):
    model = KCN(3, 3, graphs.widths, steps=3, generator=torch.Generator().manual_seed(1)).double()
    return model(graphs.x.double(), graphs.edge_index, graphs.batch, graphs.edge_weight, graphs.num_graphs)


@pytest.mark.parametrize("views", [("labels",), ("labels", "identity"), ("gat",)])
def test_merging_identical_graphs_changes_no_mean(views):
    graphs = [*triangle_chains(4), *triangle_chains(2), ring("RGP"), ring("RGP")]
    whole = seen(graphs, *views)
    merged = whole.merged()
    assert merged.num_graphs == 5
    assert merged.count.tolist() == [2, 2, 1, 1, 2]
    torch.testing.assert_close(merged.count.double() @ scores(merged), scores(whole).sum(0))


def test_complete_bipartite_graphs_differ_only_in_their_sides():
    merged = seen(bipartite_graphs(100), "labels").merged()
    assert merged.num_graphs == 9
    assert merged.count.sum() == 100
    assert seen(copies(ring()), "labels", "gat").merged().num_graphs == 1


def test_graphs_that_differ_in_a_color_an_edge_or_a_weight_stay_apart():
    square, diagonal, recolored = (nx.cycle_graph(4) for _ in range(3))
    for graph in (square, diagonal, recolored):
        nx.set_node_attributes(graph, "red", "label")
        nx.set_edge_attributes(graph, 1.0, "weight")
    diagonal.add_edge(0, 2, weight=1.0)
    recolored.nodes[3]["label"] = "blue"
    weighted = square.copy()
    weighted.edges[0, 1]["weight"] = 2.0
    graphs = GraphTable.of([square, diagonal, recolored, weighted, square], weight="weight")
    assert seen(graphs, "labels").merged().num_graphs == 4


def test_views_stand_side_by_side():
    graphs = seen([tailed_triangle()], "labels", "identity", "random-walk", dim=5)
    assert graphs.widths == (3, 4, 5)
    assert graphs.x.shape == (4, 12)
    assert torch.equal(graphs.x[:, 3:7], torch.eye(4))


def test_what_cannot_be_seen_is_refused():
    with pytest.raises(ParameterError, match="views"):
        seen([ring()], "degree")
    bonds = ring()
    nx.set_edge_attributes(bonds, "single", "label")
    with pytest.raises(GraphError, match="edge colors"):
        seen([bonds], "labels")

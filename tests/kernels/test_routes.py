import networkx as nx
import torch
from torch_geometric.data import Data

from rwkplus.kernels import RandomWalkKernel, random_walk


def complete(size, color="C"):
    graph = nx.complete_graph(size)
    nx.set_node_attributes(graph, color, "label")
    return graph


def test_short_walks_on_many_small_graphs_are_written_out():
    graphs = [complete(3, color) for color in "CNO" * 100]
    assert RandomWalkKernel(steps=2).fit(graphs).route_ == "explicit"


def test_walks_too_long_to_write_out_go_through_the_recurrence():
    assert RandomWalkKernel(steps=40).fit([complete(8), complete(7)]).route_ == "blocks"


def test_graphs_too_large_for_pairs_are_written_out():
    nodes = torch.arange(20_000)
    path = Data(x=torch.ones(20_000, 1), edge_index=torch.stack([nodes[:-1], nodes[1:]]))
    assert RandomWalkKernel(steps=3).fit([path]).route_ == "explicit"


def test_pairs_that_would_be_refused_are_not_chosen(monkeypatch):
    monkeypatch.setattr(random_walk, "MAX_PAIR_CELLS", 15)
    assert RandomWalkKernel(steps=20).fit([complete(4)]).route_ == "explicit"
    monkeypatch.setattr(random_walk, "MAX_PAIR_CELLS", 16)
    assert RandomWalkKernel(steps=20).fit([complete(4)]).route_ == "blocks"

from itertools import combinations_with_replacement

import networkx as nx
import pytest
import torch
from hypothesis import given
from torch_geometric.data import Batch

from rwkplus.errors import GraphError
from rwkplus.ops.egonet_kinds import row_hashes
from rwkplus.ops.walk_kinds import edges_between_kinds, first_of_walk_kinds, walk_kinds
from tests.strategies import colored_graphs, data_list


def unfolding(graph, v, steps):
    """All that walks of so many edges from a node meet, as nested tuples."""
    ahead = sorted(unfolding(graph, u, steps - 1) for u in graph[v]) if steps else []
    return (graph.nodes[v]["color"], *ahead)


@given(colored_graphs(max_nodes=6))
def test_nodes_are_of_one_kind_if_their_walks_meet_the_same(graph):
    (data,) = data_list([graph])
    kinds = walk_kinds(row_hashes(data.x), data.edge_index, 3)
    assert kinds.shape == (len(graph), 4)
    for step in range(4):
        expected = [unfolding(graph, v, step) for v in graph]
        found = kinds[:, step].tolist()
        assert [[a == b for a in found] for b in found] == [[a == b for a in expected] for b in expected]


def test_sums_over_neighbors_do_not_collide():
    """Stars whose leaves have any multiset of colors, numbered from 0 as degrees are."""
    leaves = list(combinations_with_replacement(range(8), 4))
    for encode in (lambda color: color, lambda color: row_hashes(torch.eye(8)[color])):
        color = encode(torch.tensor([[0, *multiset] for multiset in leaves]).flatten())
        center = torch.arange(len(leaves)).repeat_interleave(4) * 5
        edges = torch.stack([center, center + torch.arange(1, 5).repeat(len(leaves))])
        assert walk_kinds(color, edges, 1)[::5, 1].unique().numel() == len(leaves)


def test_kinds_mean_the_same_in_every_graph_and_batch():
    graphs = [nx.path_graph(4), nx.star_graph(3), nx.path_graph(5)]
    for graph in graphs:
        nx.set_node_attributes(graph, 0, "color")
        graph.graph.update(edge_colors=False, edge_weights=False, real=False)
    graphs = data_list(graphs)
    batch = Batch.from_data_list(graphs)
    alone = torch.cat([walk_kinds(row_hashes(g.x), g.edge_index, 2) for g in graphs])
    together = walk_kinds(row_hashes(batch.x), batch.edge_index, 2)
    assert torch.equal(alone, together)
    assert together[0, 2] == together[8, 2]  # ends of both paths
    assert together[2, 2] != together[10, 2]  # next to a node next to an end, and in the middle


def test_edges_to_nodes_that_are_not_there_are_refused_and_any_integers_taken():
    color = torch.tensor([0, 1, 1])
    with pytest.raises(GraphError, match="names nodes from 0 to 3 but there are 3"):
        walk_kinds(color, torch.tensor([[0], [3]]), 1)
    edges = torch.tensor([[0, 1], [1, 2]])
    assert torch.equal(walk_kinds(color.int(), edges.int(), 2), walk_kinds(color, edges, 2))


def test_first_nodes_stand_for_their_kinds():
    which, first = first_of_walk_kinds(torch.tensor([7, 7, -2, 7, 5]))
    assert which.tolist() == [0, 0, 1, 0, 2]
    assert first.tolist() == [0, 2, 4]
    edges = torch.tensor([[4, 0, 1, 2, 0], [0, 1, 2, 3, 4]])
    ptr, col = edges_between_kinds(edges, first, before=torch.tensor([3, 4, 5, 6, 7]))
    assert ptr.tolist() == [0, 2, 3, 4]
    assert col.tolist() == [4, 7, 6, 3]

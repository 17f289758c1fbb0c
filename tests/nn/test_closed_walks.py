import copy

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from rwkplus.errors import ParameterError
from rwkplus.nn import ClosedWalks
from tests.strategies import colored_graphs, data_list


@given(st.lists(colored_graphs(min_nodes=1), min_size=1, max_size=3), st.integers(1, 5))
def test_chances_are_those_of_the_random_walk_matrix(graphs, steps):
    expected = []
    for graph in graphs:
        adjacency = nx.to_numpy_array(graph, weight=None)
        ahead = adjacency / np.maximum(adjacency.sum(1, keepdims=True), 1)
        expected.append(np.stack([np.linalg.matrix_power(ahead, i).diagonal() for i in range(1, steps + 1)], 1))
    transform, items = ClosedWalks(steps), data_list(graphs)
    alone = torch.cat([transform(item).closed_walks for item in items])
    np.testing.assert_allclose(alone, np.concatenate(expected), atol=1e-6)
    torch.testing.assert_close(transform(Batch.from_data_list(items)).closed_walks, alone)


def test_parallel_edges_count_and_weights_do_not():
    # From node 0 two edges lead to 1 and one to 2; both return at once.
    edges = torch.tensor([[0, 0, 0, 1, 2], [1, 1, 2, 0, 0]])
    data = Data(edge_index=edges, num_nodes=3, edge_weight=torch.full((5,), 0.01))
    torch.testing.assert_close(ClosedWalks(2)(data).closed_walks[:, 1], torch.tensor([1, 2 / 3, 1 / 3]))


def test_graphs_without_nodes_or_edges():
    empty = torch.empty(2, 0, dtype=torch.long)
    assert ClosedWalks(3)(Data(edge_index=empty, num_nodes=2)).closed_walks.tolist() == [[0, 0, 0]] * 2
    assert ClosedWalks(3)(Data(edge_index=empty, num_nodes=0)).closed_walks.shape == (0, 3)


def test_walks_have_an_edge():
    with pytest.raises(ParameterError, match="steps must be a whole number of at least 1"):
        ClosedWalks(0)


def test_what_is_known_is_used_while_edges_and_steps_are_the_same():
    graph, transform = path(4), ClosedWalks(3)
    known = transform(graph)
    assert transform.of(known) is known.closed_walks
    batch = Batch.from_data_list([known, transform(path(3))])
    assert transform.of(batch) is batch.closed_walks
    changed = copy.copy(known)
    changed.edge_index = graph.edge_index[:, 2:]
    for steps, data in ((3, changed), (2, known), (3, graph)):
        fresh = Data(edge_index=data.edge_index, num_nodes=4)
        torch.testing.assert_close(ClosedWalks(steps).of(data), ClosedWalks(steps)(fresh).closed_walks)


def path(nodes):
    ends = torch.arange(nodes - 1)
    edges = torch.stack([ends, ends + 1])
    return Data(edge_index=torch.cat([edges, edges.flip(0)], 1), num_nodes=nodes)

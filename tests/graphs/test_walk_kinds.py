import pytest
import torch
from torch_geometric.data import Batch, Data

from rwkplus.errors import GraphError, ParameterError
from rwkplus.graphs import WalkKinds
from tests.strategies import data_list, random_graphs

GRAPHS = data_list(random_graphs(4))


def test_a_batch_has_the_kinds_of_its_graphs():
    alone = Batch.from_data_list([WalkKinds(3)(graph) for graph in GRAPHS])
    assert alone.walk_kinds.shape == (alone.num_nodes, 4)
    assert torch.equal(WalkKinds(3)(Batch.from_data_list(GRAPHS)).walk_kinds, alone.walk_kinds)


def test_graphs_without_features_and_walks_without_edges_are_refused():
    with pytest.raises(GraphError, match="one_hot_degree"):
        WalkKinds(2)(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2))
    with pytest.raises(ParameterError, match="steps must be a whole number of at least 1"):
        WalkKinds(0)

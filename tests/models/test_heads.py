import pytest
import torch
from torch_geometric.data import Batch, Data

from rwkplus.errors import GraphError, ParameterError, ShapeError
from rwkplus.models import GNN, IGAD, RWNN, KerGNN
from rwkplus.models.gnn import GIN
from rwkplus.models.registry import graphs_of
from tests.strategies import data_list, random_graphs

GRAPHS = data_list(random_graphs(3, real=True))


@pytest.mark.parametrize("network", [GNN, GIN, IGAD, RWNN, KerGNN])
def test_a_single_graph_needs_no_batch(network):
    model = network(2, 3).double().eval()
    for graph in GRAPHS:
        torch.testing.assert_close(model(graph), model(Batch.from_data_list([graph])))


@pytest.mark.parametrize("network", [GNN, GIN, IGAD, RWNN, KerGNN])
def test_a_graph_with_batch_and_nothing_else_is_a_batch(network):
    """As loaders and pipelines of others make them."""
    model, batch = network(2, 3).double().eval(), Batch.from_data_list(GRAPHS)
    plain = Data(x=batch.x, edge_index=batch.edge_index, batch=batch.batch)
    torch.testing.assert_close(model(plain), model(batch))


def test_graphs_without_nodes_are_counted():
    empty = Data(x=torch.ones(0, 2), edge_index=torch.empty(2, 0, dtype=torch.long))
    assert graphs_of(Batch.from_data_list([GRAPHS[0], empty]))[1] == 2
    assert graphs_of(empty)[1] == 1


@pytest.mark.parametrize("network", [GNN, GIN, IGAD, RWNN, KerGNN])
@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (None, GraphError, "no node features x"),
        (torch.ones(4, 5), ShapeError, r"x is \(4, 5\) but \w+ takes \(N, 3\)"),
        (torch.ones(4, 3, dtype=torch.long), ParameterError, "x is torch.int64"),
        (torch.ones(4, 3, device="meta"), ParameterError, "x is on meta"),
    ],
)
def test_features_that_do_not_fit_are_named(network, x, error, message):
    graph = Data(x=x, edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=4)
    with pytest.raises(error, match=message):
        network(3, 2).eval()(graph)


@pytest.mark.parametrize("network", [GNN, IGAD, RWNN, KerGNN])
def test_edges_to_nodes_that_are_not_there_are_named(network):
    graph = Data(x=torch.ones(4, 3), edge_index=torch.tensor([[0, 1], [1, 7]]))
    with pytest.raises(GraphError, match="from 0 to 7"):
        network(3, 2).eval()(graph)

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import erdos_renyi_graph

from rwkplus.errors import ParameterError
from rwkplus.large.csr_graph import CSRGraph
from rwkplus.models.gnn import GNN
from rwkplus.training.layerwise import layerwise_outputs

CONVS = ("RWKPlusConv", "GCNConv", "GINConv")


def graph_of(n, probability, seed):
    """Directed, with loops and edges that are there twice, and isolated nodes."""
    torch.manual_seed(seed)
    edge_index = erdos_renyi_graph(n, probability, directed=True)
    if n > 1:
        edge_index = torch.cat([edge_index, edge_index[:, :3], torch.tensor([[0, 1, 0, 0], [0, 1, 1, 0]])], 1)
    return CSRGraph.of(Data(x=torch.rand(n, 3), edge_index=edge_index))


@given(
    st.integers(1, 30),
    st.sampled_from([0.0, 0.1, 0.5]),
    st.integers(0, 99),
    st.sampled_from(CONVS),
    st.integers(1, 40),
    st.booleans(),
    st.sampled_from([(True, True), (True, False), (False, False)]),
)
def test_outputs_equal_those_of_the_whole_graph_at_once(n, probability, seed, conv, block, option, edges):
    graph, (normalize, loops) = graph_of(n, probability, seed), edges
    options = {"steps": 3, "combine": "sum" if option else "last", "residual": option}
    options |= {"normalize": normalize, "add_self_loops": loops, "feed_forward": option}
    model = GNN(3, 2, conv=conv, level="node", hidden_channels=5, **options)
    for norm in model.norms.modules():
        if isinstance(norm, torch.nn.BatchNorm1d):
            norm.running_mean.normal_()
    expected = model.eval()(graph.data())
    torch.testing.assert_close(layerwise_outputs(model, graph, block=block), expected, rtol=1e-4, atol=1e-5)


def test_training_mode_is_given_back():
    model = GNN(3, 2, level="node", hidden_channels=4).train()
    graph = graph_of(5, 0.3, 0)
    layerwise_outputs(model, graph)
    assert model.training
    assert model.norms[0].num_batches_tracked == 0


def test_other_networks_are_refused():
    graph = graph_of(5, 0.3, 0)
    for other in (GNN(3, 2, hidden_channels=4), torch.nn.Linear(3, 2)):
        with pytest.raises(ParameterError, match="a GNN with level='node'"):
            layerwise_outputs(other, graph)
    with pytest.raises(ParameterError, match="must be a CSRGraph, got Data"):
        layerwise_outputs(GNN(3, 2, level="node"), graph.data())
    model = GNN(3, 2, level="node", hidden_channels=4)
    model.convs[0].improved = True
    with pytest.raises(ParameterError, match="not improved"):
        layerwise_outputs(model, graph)
    model.convs[0] = torch.nn.Identity()
    with pytest.raises(ParameterError, match="does not know Identity"):
        layerwise_outputs(model, graph)


def test_features_of_another_precision():
    graph = graph_of(20, 0.2, 0)
    model = GNN(3, 2, level="node")
    expected = layerwise_outputs(model, graph)
    data = graph.data()
    data.x = data.x.double()
    torch.testing.assert_close(layerwise_outputs(model, CSRGraph.of(data)), expected)

import math

import pytest
import torch

from experiments.testbeds import ring, tailed_triangle
from rwkplus.datasets.generators import triangle_chains
from rwkplus.descriptive.rwk_cn import Objective, similarity
from rwkplus.descriptive.views import ViewedGraphs
from rwkplus.functional.objectives import diversity_penalty
from rwkplus.io.pyg import as_batch
from rwkplus.nn.kernel_conv import KernelLayer

SCORES = torch.tensor([[[1.0, 2.0], [3.0, 8.0]], [[2.0, 1.0], [2.0, 1.0]]])  # two views, graphs, hidden graphs
COUNT = torch.tensor([3.0, 1.0])


def seen(graphs):
    return ViewedGraphs.of(as_batch(graphs), ("labels",), generator=torch.Generator(), dtype=torch.float64)


def model(graphs, num_hidden):
    drawn = KernelLayer(
        graphs.widths,
        num_hidden,
        hidden_nodes=3,
        generator=torch.Generator().manual_seed(0),
        combine="last",
    )
    return drawn.double()


def test_similarities_are_averaged_before_or_after_the_logarithm():
    log = math.log
    assert similarity(SCORES, COUNT, "raw", "graph").tolist() == [1.5 + 2, 3.5 + 1]
    database = similarity(SCORES, COUNT, "log", "database")
    torch.testing.assert_close(database, torch.tensor([log(1.5) + log(2), log(3.5) + log(1)]))
    graph = similarity(SCORES, COUNT, "log", "graph")
    torch.testing.assert_close(graph, torch.tensor([log(3) / 4 + log(2), (3 * log(2) + log(8)) / 4]))


def test_asinh_is_the_logarithm_of_large_kernels_and_has_a_slope_below_zero():
    large = 1e4 * SCORES
    log = similarity(2 * large, COUNT, "log", "graph")
    torch.testing.assert_close(similarity(large, COUNT, "asinh", "graph"), log)
    for average in ("graph", "database"):
        negative = torch.full((1, 1, 1), -3.0, requires_grad=True)
        similarity(negative, torch.ones(1), "asinh", average).sum().backward()
        assert negative.grad.item() == pytest.approx(1 / 10**0.5)


def test_a_hidden_graph_without_edges_has_a_finite_loss():
    assert torch.isfinite(similarity(torch.zeros(1, 2, 2), COUNT, "log", "graph")).all()


@pytest.mark.parametrize("average", ["database", "graph"])
@pytest.mark.parametrize("loss", ["log", "raw"])
def test_merged_graphs_give_the_same_loss(loss, average):
    graphs = seen([tailed_triangle(), ring("RGB"), tailed_triangle(), tailed_triangle()])
    objective = Objective(loss, average)
    network = model(graphs, 4)
    torch.testing.assert_close(objective(network, graphs.merged(), 2), objective(network, graphs, 2))


def test_penalties_are_added_with_their_weights():
    graphs = seen(triangle_chains(3))
    network = model(graphs, 6)
    plain = Objective(sparsity=0)(network, graphs, 2)
    adj, x = network.hidden.adj, network.hidden.x
    sparse = Objective(sparsity=0.5, feature_sparsity=2)(network, graphs, 2)
    l1 = 0.5 * adj.triu(1).sum((1, 2)) + 2 * x.abs().sum((1, 2))
    torch.testing.assert_close(sparse - plain, l1.view(2, 3).sum(1))
    diverse = Objective(sparsity=0, diversity=3)(network, graphs, 2)
    overlap = torch.stack([diversity_penalty(x[s], adj[s], steps=3) for s in (slice(0, 3), slice(3, 6))])
    torch.testing.assert_close(diverse - plain, 3 * overlap)
    logs = Objective(sparsity=0, diversity=3, diversity_loss="log")(network, graphs, 2)
    torch.testing.assert_close(logs - plain, 3 * overlap.log())

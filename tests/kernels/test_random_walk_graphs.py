"""RandomWalkKernel at the borders: odd graphs, large ones, and what it refuses."""

import resource
import sys

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from rwkplus.errors import GraphError, NumericError, ParameterError, RWKPlusError
from rwkplus.kernels import RandomWalkKernel
from tests.kernels.choices import ROUTES, WALK_KERNELS, WALKS, labelled
from tests.strategies import data_list, random_graphs

# Odd graphs


ODD = {
    "empty": Data(x=torch.empty(0, 2), edge_index=torch.empty(2, 0, dtype=torch.long)),
    "single": Data(x=torch.tensor([[1.0, 0.0]]), edge_index=torch.empty(2, 0, dtype=torch.long)),
    "isolated": Data(x=torch.eye(2), edge_index=torch.empty(2, 0, dtype=torch.long)),
    "loop": Data(x=torch.tensor([[1.0, 0.0]]), edge_index=torch.zeros(2, 1, dtype=torch.long)),
    "blank": Data(x=torch.zeros(2, 2), edge_index=torch.tensor([[0, 1], [1, 0]])),
    "parallel": Data(x=torch.eye(2), edge_index=torch.tensor([[0, 0], [1, 1]])),
    "edge": Data(x=torch.tensor([[1.0, 0.0]] * 2), edge_index=torch.tensor([[0, 1], [1, 0]])),
}


@WALKS
@ROUTES
@WALK_KERNELS
def test_odd_graphs_have_the_walks_they_have(kernel, route, walks):
    gram = RandomWalkKernel(kernel, 2, route=route, walks=walks).fit_transform(list(ODD.values()))
    table = {(a, b): gram[i, j] for i, a in enumerate(ODD) for j, b in enumerate(ODD)}
    assert not any(table[a, b] for a in ODD for b in ("empty", "single", "isolated", "blank"))
    assert table["loop", "loop"] == 2  # one walk of each length
    assert table["loop", "edge"] == (2 if walks == "closed" else 4)  # closed: there and back, from either end
    assert table["parallel", "parallel"] == (0 if walks == "closed" else 4)  # either edge on either side


@pytest.mark.parametrize("name", list(ODD))
@pytest.mark.parametrize("kernel", ["rwk+", "rwk-", "node-centric"])
def test_an_odd_graph_may_be_the_only_one(kernel, name):
    for how in ({}, {"normalize": True}, {"combine": "geometric", "decay": 0.1}, {"include_zero_step": True}):
        fitted = RandomWalkKernel(kernel, 2, **how).fit([ODD[name]])
        assert np.isfinite(fitted.transform(list(ODD.values()))).all()
        assert fitted.diagonal().shape == (1,)


def test_node_centric_colors_of_odd_graphs_are_their_nodes():
    gram = RandomWalkKernel("node-centric", 2, combine="last").fit_transform(list(ODD.values()))
    # Nodes without walks differ from each other by label only; unlabelled nodes match nothing.
    assert np.diag(gram).tolist() == [0, 1, 2, 1, 0, 2, 2]


def test_a_graph_of_100_000_nodes_meets_small_ones_without_anything_of_that_size_squared():
    size = 100_000
    nodes = torch.arange(size)
    ends = torch.stack([nodes[:-1], nodes[1:]])
    path = Data(x=torch.ones(size, 1), edge_index=torch.cat([ends, ends.flip(0)], 1))
    small = [nx.cycle_graph(3 + i % 4) for i in range(20)]
    for graph in small:
        nx.set_node_attributes(graph, 1.0, "x")
    kernel = RandomWalkKernel(steps=3, route="blocks").fit(small)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gram = kernel.transform([path])
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    # A ring of n nodes has n 2^i walks of i edges; the path has 2 (size - 1), then 4 size - 6, then 8 size - 16.
    per_node = 2 * 2 * (size - 1) + 4 * (4 * size - 6) + 8 * (8 * size - 16)
    assert gram.tolist() == [[len(graph) * per_node for graph in small]]
    assert grown < 300 * (1024**2 if sys.platform == "darwin" else 1024)


@ROUTES
def test_walks_too_many_for_float64_raise(route):
    complete = labelled(nx.complete_graph(10), "C" * 10)
    kernel = RandomWalkKernel(steps=170, route=route)
    with pytest.raises(NumericError, match="steps"):
        kernel.fit_transform([complete])
    with pytest.raises(NumericError, match="steps"):
        kernel.diagonal()


# Errors


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", "rwk"),
        ("kernel", None),
        ("steps", 0),
        ("steps", 1.0),
        ("steps", True),
        ("combine", "median"),
        ("combine", [1.0]),
        ("walks", "self-avoiding"),
        ("assignment", "greedy"),
        ("route", "fast"),
        ("unknown_label", "drop"),
        ("ignore", "edge_attr"),
        ("ignore", None),
        ("n_jobs", 0),
        ("n_jobs", 1.5),
    ],
)
def test_impossible_arguments_are_refused_by_name(name, value):
    for method in ("fit", "fit_transform"):
        with pytest.raises(ParameterError, match=name) as caught:
            getattr(RandomWalkKernel().set_params(**{name: value}), method)(data_list(random_graphs(2)))
        assert isinstance(caught.value, RWKPlusError)


@pytest.mark.parametrize("decay", [0, -0.1, float("nan"), "small"])
def test_an_impossible_decay_is_refused(decay):
    with pytest.raises(ParameterError, match="decay"):
        RandomWalkKernel(combine="geometric", decay=decay).fit(data_list(random_graphs(2)))


@pytest.mark.parametrize(
    ("how", "fields", "error", "message"),
    [
        ({"route": "blocks"}, {}, ParameterError, "route"),
        ({"walks": "closed"}, {}, ParameterError, "walks"),
        ({}, {"edge_weights": True}, ParameterError, "edge_weight"),
        ({}, {"real": True}, GraphError, "needs labels"),
    ],
)
def test_the_node_centric_kernel_says_what_it_cannot_do(how, fields, error, message):
    with pytest.raises(error, match=message):
        RandomWalkKernel("node-centric", **how).fit(data_list(random_graphs(2, **fields)))


def test_continuous_colors_have_no_explicit_route():
    with pytest.raises(GraphError, match="route"):
        RandomWalkKernel(route="explicit").fit(data_list(random_graphs(2, real=True)))


@pytest.mark.parametrize(
    ("fitted", "later", "message"),
    [
        ({}, {"edge_weights": True}, "had no edge weights, these have"),
        ({"edge_weights": True}, {}, "had edge weights, these have none"),
        ({}, {"edge_colors": True}, "edge_attr"),
        ({"edge_colors": True}, {}, "the edges have no labels"),
        ({}, {"real": True}, "holds other numbers, that of the fitted graphs held labels"),
    ],
)
def test_graphs_of_another_kind_than_the_fitted_ones_are_refused(fitted, later, message):
    kernel = RandomWalkKernel(steps=2).fit(data_list(random_graphs(2, **fitted)))
    with pytest.raises(GraphError, match=message):
        kernel.transform(data_list(random_graphs(2, **later)))

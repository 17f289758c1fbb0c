from copy import deepcopy
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch

from rwkplus.datasets import functional_groups
from rwkplus.errors import ParameterError
from rwkplus.nn import EgoNets
from rwkplus.reports import network_report
from rwkplus.reports.network import EXAMPLES
from rwkplus.training import Settings, train
from rwkplus.training.matches import hidden_graphs, match_hidden_graphs

GRAPHS = functional_groups(24).to_pyg()
SETTINGS = Settings(epochs=2, batch_size=12, threads=1)


@pytest.fixture(scope="module")
def trained():
    params = {"num_hidden": 3, "hidden_nodes": 4, "steps": 2}
    return train("kergnn", GRAPHS, model_params=params, settings=SETTINGS, ignore=("edge_attr",))


def test_scores_are_those_of_the_layer_node_by_node(trained):
    found = match_hidden_graphs(trained, GRAPHS)
    assert [score.shape for score in found.scores] == [(graph.num_nodes, 3) for graph in GRAPHS]
    model = trained.model
    data = trained.inputs.read([GRAPHS[5]]).graphs()[0]
    with torch.inference_mode():
        alone = model.convs[0](model.encoder(data.x).relu(), data.edge_index)
    np.testing.assert_allclose(found.scores[5], alone.numpy(), rtol=1e-4, atol=1e-6)
    assert isinstance(model.pre_transform, EgoNets)


def test_hidden_graphs_carry_the_label_they_respond_to(trained):
    found = match_hidden_graphs(trained, GRAPHS[:2])
    model = trained.model
    assert len(found.hidden) == 3
    with torch.inference_mode():
        similarity = model.encoder(torch.eye(3)).relu() @ model.convs[0].hidden.x[1].T
    names = trained.inputs.reader.nodes.names
    labels = [label for _, label in found.hidden[1].nodes(data="label")]
    assert labels == [names[int(best)] for best in similarity.argmax(0)]
    weights = [weight for *_, weight in found.hidden[1].edges(data="weight")]
    assert len(weights) == 6
    assert max(weights) == pytest.approx(1)


def test_hidden_graphs_alone_and_drawn(trained):
    pytest.importorskip("matplotlib").use("agg")
    found = match_hidden_graphs(trained, GRAPHS)
    alone = hidden_graphs(trained)
    assert [list(graph.edges(data=True)) for graph in alone] == [list(graph.edges(data=True)) for graph in found.hidden]
    assert len(found.plot().axes_) == 3


def test_strength_runs_from_zero_to_one_over_all_graphs(trained):
    found = match_hidden_graphs(trained, GRAPHS)
    every = [value for i in range(len(GRAPHS)) for value in found.strength(i, 2).values()]
    assert min(every) == 0
    assert max(every) == pytest.approx(1)
    first = found.strongest(2, 1)[0]
    assert max(found.strength(first, 2).values()) == pytest.approx(1)


def test_the_page_draws_every_hidden_graph_and_the_best_matches(trained):
    page = network_report(trained, GRAPHS, "molecules <24>")
    assert page.count("<section ") == 3
    assert page.count("<figure>") == 3 * (1 + EXAMPLES)
    assert "molecules &lt;24&gt;" in page
    assert "http" not in page


def test_pages_show_networkx_graphs_and_the_names_of_graphs(trained):
    graphs = [_as_networkx(graph) for graph in GRAPHS[:4]]
    assert network_report(trained, graphs, "molecules") == network_report(trained, GRAPHS[:4], "molecules")
    named = [graph.clone() for graph in GRAPHS[:3]]
    for i, graph in enumerate(named):
        graph.name = f"<mol {i}>"
    assert "<figcaption>graph &lt;mol 1&gt;, predicted" in network_report(trained, named, "molecules")


def _as_networkx(graph):
    given = nx.Graph()
    given.add_nodes_from((v, {"label": graph.node_label_names[int(row.argmax())]}) for v, row in enumerate(graph.x))
    given.add_edges_from(graph.edge_index.t().tolist(), label="-")
    return given


def test_graphs_are_cast_to_the_type_of_the_network(trained):
    expected = match_hidden_graphs(trained, GRAPHS[:3])
    double = replace(trained, model=deepcopy(trained.model).double())
    for score, other in zip(expected.scores, match_hidden_graphs(double, GRAPHS[:3]).scores, strict=True):
        np.testing.assert_allclose(other, score, rtol=1e-4, atol=1e-6)


def test_many_graphs_are_explained_part_by_part(trained, monkeypatch):
    expected = match_hidden_graphs(trained, GRAPHS)
    monkeypatch.setattr("rwkplus.training.dataset.EVALUATION_SIZE", 5)
    for score, other in zip(expected.scores, match_hidden_graphs(trained, GRAPHS).scores, strict=True):
        np.testing.assert_allclose(other, score, rtol=1e-4, atol=1e-6)


def test_networks_without_egonets_cannot_tell_nodes():
    trained = train("gin", GRAPHS, settings=SETTINGS, ignore=("edge_attr",))
    with pytest.raises(ParameterError, match="KernelConv"):
        match_hidden_graphs(trained, [nx.path_graph(3)])

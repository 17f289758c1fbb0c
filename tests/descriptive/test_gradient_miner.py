import json

import networkx as nx
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.base import clone

from rwkplus.datasets import functional_groups
from rwkplus.datasets.generators import triangle_chains
from rwkplus.descriptive import GradientMiner
from rwkplus.errors import DataError, GraphError, ParameterError, RWKPlusWarning
from rwkplus.mining import Pattern, PatternMiner
from rwkplus.saving import load

GRAPHS = triangle_chains(12)
QUICK = {"n_restarts": 4, "epochs": 60, "model_params": {"kicks": 4}}


@pytest.fixture(scope="module")
def miner():
    return GradientMiner(2, 3, **QUICK).fit(GRAPHS, ["even", "odd"] * 6)


def test_its_patterns_are_those_of_the_other_miner_with_exact_support(miner):
    assert all(isinstance(pattern, Pattern) for pattern in miner.patterns_)
    found = {tuple(sorted(pattern.labels)): pattern for pattern in miner.patterns_}
    assert set(found) == {("blue", "red", "red"), ("green", "purple", "purple")}
    exact = PatternMiner(2, 3, n_controls=0).fit(GRAPHS)
    for pattern in exact.patterns_:
        mine = found[tuple(sorted(pattern.labels))]
        assert (mine.support, len(mine.occurrences)) == (pattern.support, len(pattern.occurrences))
        assert mine.edge_coverage == pytest.approx(pattern.edge_coverage)
    assert miner.score(GRAPHS) == pytest.approx(miner.explained_[-1])
    assert miner.transform(GRAPHS).shape == (12, 2)


def test_scores_are_shares_of_walks_and_fall(miner):
    scores = [pattern.score for pattern in miner.patterns_]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score < miner.restarts_.max() for score in scores)
    assert {pattern.criterion for pattern in miner.patterns_} == {"explained"}


def test_classes_are_contrasted(miner):
    assert [part.name for part in miner.patterns_[0].contrast] == ["even", "odd"]


def test_the_network_of_the_paper_gives_patterns_too():
    settings = {"n_restarts": 6, "epochs": 120, "model_params": {"lr": 0.05, "diversity": 100.0}}
    steps = []
    miner = GradientMiner(2, 3, objective="similarity", **settings).fit(GRAPHS, callback=steps.append)
    assert steps[-1][:3] == ("epochs", 120, 120)
    assert miner.training_[-1] == miner.restarts_.min()
    assert miner.patterns_
    assert miner.patterns_[0].support > 0
    assert miner.edge_weights_.shape == (2, 3, 3)
    assert miner.color_weights_.shape == (2, 3, 4)


@pytest.mark.parametrize("objective", ["explained", "similarity"])
def test_it_survives_the_file(tmp_path, objective):
    params = {"kicks": 1, "closed": (3, 4)} if objective == "explained" else {"views": ("labels", "gat"), "lr": 0.05}
    settings = {"objective": objective, "n_restarts": 3, "epochs": 40, "random_state": None, "model_params": params}
    miner = GradientMiner(2, 3, **settings).fit(GRAPHS)
    again = load(miner.save(tmp_path / "miner.safetensors"))
    assert isinstance(again, GradientMiner)
    assert again.patterns_ == miner.patterns_
    for name in GradientMiner.stored_arrays:
        np.testing.assert_array_equal(getattr(again, name), getattr(miner, name))
    np.testing.assert_array_equal(again.transform(GRAPHS), miner.transform(GRAPHS))
    repeated = clone(again).fit(GRAPHS)  # its seed was drawn, and is kept
    np.testing.assert_array_equal(repeated.edge_weights_, miner.edge_weights_)


@pytest.mark.parametrize(
    ("name", "value"),
    [("objective", "best"), ("n_patterns", 3), ("n_restarts", 0), ("model_params", {"heat": 1}), ("model_params", 5)],
)
def test_an_edited_file_is_refused(miner, tmp_path, name, value):
    path = miner.save(tmp_path / "miner.safetensors")
    with safe_open(path, "numpy") as file:
        header = json.loads(file.metadata()["rwkplus"])
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    header["parameters"][name] = value
    save_file(tensors, path, {"rwkplus": json.dumps(header)})
    with pytest.raises(DataError, match=r"miner\.safetensors"):
        load(path)


def test_hidden_graphs_without_edges_are_no_patterns():
    settings = {"objective": "similarity", "n_restarts": 2, "epochs": 40, "model_params": {"sparsity": 1000.0}}
    with pytest.warns(RWKPlusWarning, match="there are no patterns"):
        miner = GradientMiner(1, 3, **settings).fit(GRAPHS)
    assert miner.patterns_ == []
    with pytest.raises(GraphError, match="no patterns"):
        miner.transform(GRAPHS)


def test_graphs_without_edges_are_refused():
    labelled = nx.Graph()
    labelled.add_nodes_from([(0, {"label": "a"}), (1, {"label": "b"})])
    with pytest.raises(GraphError, match="no graph has an edge"):
        GradientMiner(**QUICK).fit([labelled] * 3)


def test_patterns_that_occur_nowhere_say_so():
    graphs = [nx.path_graph(3) for _ in range(4)]
    for graph in graphs:
        nx.set_node_attributes(graph, "a", "label")
    with pytest.warns(RWKPlusWarning, match="1 of 1 patterns occur in no graph"):
        miner = GradientMiner(1, 5, objective="similarity", n_restarts=2, epochs=200).fit(graphs)
    assert miner.patterns_[0].support == 0
    assert miner.patterns_[0].graphs == ()
    assert miner.score(graphs) == 0.0


def test_edge_labels_are_refused_with_the_remedy():
    with pytest.raises(GraphError, match=r"hidden graphs do not learn.*ignore=\('edges\.label',\)"):
        GradientMiner(**QUICK).fit(functional_groups(10))
    miner = GradientMiner(1, 3, n_restarts=4, epochs=60, ignore=("edges.label",)).fit(functional_groups(10))
    assert miner.transform(functional_groups(4)).shape[0] == 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_patterns": 0},
        {"pattern_size": 1},
        {"objective": "best"},
        {"epochs": -1},
        {"n_jobs": 0},
        {"model_params": {"diversity": 1.0}},
        {"model_params": 3},
        {"objective": "similarity", "model_params": {"views": ("identity",)}},
    ],
)
def test_impossible_settings_are_named(wrong):
    name = "views" if "views" in str(wrong) else list(wrong)[-1]
    with pytest.raises(ParameterError, match=name):
        GradientMiner(**wrong).fit(GRAPHS)

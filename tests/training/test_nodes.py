import copy
import inspect

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, roc_auc_score
from torch import nn
from torch.nn.functional import cross_entropy
from torch_geometric import EdgeIndex
from torch_geometric.data import Data

from rwkplus.errors import DataError, GraphError, ParameterError, ShapeError
from rwkplus.saving import load
from rwkplus.training import GraphClassifier, NodeClassifier, Settings, TrainedNetwork, train_nodes
from rwkplus.training.estimators import estimator_of
from rwkplus.training.targets import Classes
from tests.training.toy import SMALL, rings

QUICK = {"model_params": {"hidden_channels": 8, "layers": 1}, "epochs": 15, "lr": 0.03, "accelerator": "cpu"}


def communities(size=30, classes=2, seed=0):
    """A graph whose classes are dense inside, with features that tell little, and two nodes without edges."""
    draw = torch.Generator().manual_seed(seed)
    y = torch.arange(size * classes) % classes
    near = torch.where(y[:, None] == y[None], 0.3, 0.02)
    adj = torch.rand(near.shape, generator=draw) < near
    adj = (adj | adj.T).fill_diagonal_(False)
    adj[:2] = adj[:, :2] = False
    x = nn.functional.one_hot(y, classes) + 2 * torch.randn(y.numel(), classes, generator=draw)
    part = torch.randperm(y.numel(), generator=draw) % 3
    masks = {f"{name}_mask": part == i for i, name in enumerate(("train", "val", "test"))}
    return Data(x=x, edge_index=adj.nonzero().T, y=y, **masks)


def classifier(**choices):
    return NodeClassifier(**QUICK | choices)


@pytest.fixture(scope="module")
def fitted():
    return classifier(epochs=40).fit(communities())


def test_arguments_are_stored_and_survive_clone():
    estimator = classifier(class_weight="balanced")
    params = estimator.get_params(deep=False)
    names = [name for name in inspect.signature(NodeClassifier.__init__).parameters if name != "self"]
    assert sorted(params) == sorted(names)
    before = copy.deepcopy(params)
    assert estimator.fit(communities()) is estimator
    assert estimator.get_params(deep=False) == before
    with pytest.raises(NotFittedError):
        clone(estimator).predict(communities())


@pytest.mark.parametrize("conv", ["RWKPlusConv", "GCNConv", "GINConv"])
def test_edges_help_every_convolution(conv):
    data = communities()
    blind = data.clone()
    blind.edge_index = blind.edge_index[:, :0]
    estimator = classifier(model_params={"conv": conv, "hidden_channels": 8}, epochs=30)
    assert estimator.fit(data).score(data) >= 0.85 > estimator.fit(blind).score(blind)


def test_scores_are_those_of_scikit_learn(fitted):
    data = communities()
    test = data.test_mask.numpy()
    y, guess, chance = data.y.numpy()[test], fitted.predict(data)[test], fitted.predict_proba(data)[test]
    scores = fitted.scores(data)
    assert fitted.score(data) == scores["accuracy"] == pytest.approx(accuracy_score(y, guess))
    assert scores["f1"] == pytest.approx(f1_score(y, guess, average="macro"))
    assert scores["positive_f1"] == pytest.approx(f1_score(y, guess))
    assert scores["roc_auc"] == pytest.approx(roc_auc_score(y, chance[:, 1]))
    assert scores["ap"] == pytest.approx(average_precision_score(y, chance[:, 1]))
    about_first = classifier(positive=0).fit(data)
    assert about_first.scores(data)["positive_f1"] == pytest.approx(f1_score(y, guess, pos_label=0))
    assert "positive_f1" not in classifier(epochs=1).fit(communities(classes=3)).scores(communities(classes=3))


def test_masks_and_numbers_name_the_same_nodes(fitted):
    data = communities()
    bare = Data(x=data.x, edge_index=data.edge_index)
    numbers = {"train": data.train_mask.nonzero().flatten(), "validation": data.val_mask.numpy().nonzero()[0].tolist()}
    again = classifier(epochs=40).fit(bare, data.y, **numbers)
    assert (again.predict_proba(data) == fitted.predict_proba(data)).all()
    assert fitted.score(bare, data.y.tolist(), nodes=data.test_mask) == fitted.score(data)


def test_the_epoch_is_the_best_on_validation_nodes(fitted):
    best = max(fitted.history_, key=lambda row: (row["val_score"], -row["val_loss"]))
    assert fitted.best_epoch_ == best["epoch"]
    assert fitted.scores(communities(), nodes=communities().val_mask)["accuracy"] == pytest.approx(best["val_score"])
    chosen = classifier(metric="roc_auc", epochs=20).fit(communities())
    assert chosen.history_[chosen.best_epoch_]["val_score"] == max(row["val_score"] for row in chosen.history_)


def test_labels_of_other_nodes_are_not_looked_at(fitted):
    hidden = communities()
    hidden.y[hidden.test_mask] = -1
    again = classifier(epochs=40).fit(hidden)
    assert (again.predict_proba(hidden) == fitted.predict_proba(hidden)).all()
    with pytest.raises(ParameterError, match="has the label -1, which marks unknown"):
        again.score(hidden)


def test_files_hold_the_network(fitted, tmp_path):
    path = fitted.save(tmp_path / "nodes.safetensors")
    again = NodeClassifier.load(path)
    data = communities(seed=3)
    assert (again.predict_proba(data) == fitted.predict_proba(data)).all()
    assert again.get_params()["lr"] == QUICK["lr"]
    assert again.classes_.tolist() == [0, 1]
    assert isinstance(load(path), NodeClassifier)
    assert again.get_params() == fitted.get_params()
    graphs = GraphClassifier("gin", model_params=SMALL, epochs=1, accelerator="cpu").fit(rings())
    with pytest.raises(DataError, match="holds a GraphClassifier, not a NodeClassifier"):
        NodeClassifier.load(graphs.save(tmp_path / "graphs.safetensors"))


def test_names_are_classes_too(tmp_path):
    data = communities()
    names = np.array(["cat", "dog"])[data.y.numpy()]
    estimator = classifier(class_weight={"cat": 1.0, "dog": 5.0}).fit(data, names)
    again = NodeClassifier.load(estimator.save(tmp_path / "m.safetensors"))
    assert set(again.predict(data)) <= {"cat", "dog"}
    assert again.class_weight == {"cat": 1.0, "dog": 5.0}
    assert again.trained_.target == Classes(("cat", "dog"), (1.0, 5.0))


def test_names_may_be_missing_where_nobody_looks(fitted):
    data = communities()
    names = np.array(["even", "odd"], object)[data.y]
    for unknown in (None, np.nan):
        names[data.test_mask.numpy()] = unknown
        again = classifier(epochs=40).fit(data, names)
        assert (again.predict_proba(data) == fitted.predict_proba(data)).all()
        with pytest.raises(ParameterError, match=f"has the label {unknown}, which marks unknown"):
            again.score(data, names)
    names[:] = [0, "odd"] * 30
    with pytest.raises(ParameterError, match="numbers or names, all of one kind"):
        classifier().fit(data, names)


def test_what_is_no_graph_is_refused_with_labels_too(fitted):
    with pytest.raises(GraphError, match="one graph as PyG's Data, got int"):
        classifier().fit(3, [0, 1, 1])
    with pytest.raises(GraphError, match="got NoneType"):
        fitted.score(None, [0, 1, 1])


def test_weights_of_classes_are_those_of_torch_and_move_the_border():
    outputs, y = torch.randn(7, 3), torch.tensor([0, 1, 2, 1, 0, 0, 2])
    total, count = Classes((0, 1, 2), (1.0, 0.5, 3.0)).loss(outputs, y)
    torch.testing.assert_close(total / count, cross_entropy(outputs, y, torch.tensor([1.0, 0.5, 3.0])))
    data = communities()
    few, many = (classifier(class_weight={0: 1, 1: weight}).fit(data).predict(data).sum() for weight in (0.02, 50))
    assert few < many


def test_a_seed_decides_everything():
    same = [classifier(random_state=5).fit(communities()).predict_proba(communities()) for _ in range(2)]
    assert (same[0] == same[1]).all()
    assert (classifier(random_state=6).fit(communities()).predict_proba(communities()) != same[0]).any()


def test_nothing_is_cached_beyond_a_graph(fitted):
    first, second = communities(seed=1), communities(seed=2)
    fitted.predict(first)
    fresh = copy.deepcopy(fitted).predict_proba(second)
    assert (fitted.predict_proba(second) == fresh).all()
    assert (fitted.predict_proba(first) != fresh).any()


@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_sparse_features_are_the_same_features(fitted):
    data = communities()
    dense = fitted.predict_proba(data)
    data.x = data.x.to_sparse_csr()
    np.testing.assert_allclose(fitted.predict_proba(data), dense, rtol=1e-4, atol=1e-6)
    data.x = communities().x.double()
    np.testing.assert_allclose(fitted.predict_proba(data), dense, rtol=1e-6)


def changed(**fields):
    data = communities()
    for field, value in fields.items():
        data[field] = value
    return data


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (changed(train_mask=None), ParameterError, "no data.train_mask"),
        (changed(val_mask=None), ParameterError, "no data.val_mask"),
        (changed(train_mask=torch.ones(60, 10, dtype=torch.bool)), ShapeError, "holds 10 splits"),
        (changed(train_mask=torch.ones(59, dtype=torch.bool)), ShapeError, "the graph has 60 nodes"),
        (changed(train_mask=torch.zeros(60, dtype=torch.bool)), ParameterError, "names no node"),
        (changed(train_mask=torch.tensor([3, 60])), ParameterError, "from 3 to 60 but the nodes are 0 to 59"),
        (changed(train_mask=torch.rand(60)), ParameterError, r"mask \(N,\) of bool or node numbers"),
        (changed(val_mask=communities().train_mask), ParameterError, "are used for both training and validation"),
        (changed(y=None), GraphError, "no labels"),
        (changed(y=torch.zeros(59)), ShapeError, "one label for each of the 60 nodes"),
        (changed(y=torch.full((60,), torch.nan)), ParameterError, "has the label nan"),
        (changed(y=torch.ones(60, dtype=torch.long)), ParameterError, "nothing to distinguish"),
        (changed(x=None, num_nodes=60), GraphError, "no node features"),
        (changed(x=torch.rand(60)), ShapeError, r"tensor \(N, D\), got \(60,\)"),
        (changed(x=torch.full((60, 2), torch.inf)), GraphError, "nan or infinite"),
        (changed(x=torch.ones(60, 2, dtype=torch.long)), ParameterError, "x are torch.int64"),
        (changed(x=torch.ones(60, 2, device="meta")), ParameterError, "x on meta, edge_index on cpu"),
        (changed(edge_index=torch.tensor([[0], [60]])), GraphError, "from 0 to 60 but there are 60 nodes"),
        (changed(edge_index=torch.rand(2, 4)), ShapeError, "tensor .2, E. of node numbers"),
        (changed(edge_attr=torch.ones(4)), GraphError, "edge_attr, which GNN does not read"),
        (changed(edge_weight=torch.ones(4)), ShapeError, r"one number for each of the \d+ edges, got \(4,\)"),
        (changed(edge_weight=[1.0]), ShapeError, "edge_weight must be a tensor, got list"),
        ([communities()], GraphError, "one graph as PyG's Data, got list"),
    ],
)
def test_bad_input_is_named(data, error, message):
    with pytest.raises(error, match=message):
        classifier(epochs=1).fit(data)


def test_impossible_arguments_are_named(fitted):
    with pytest.raises(ParameterError, match="class_weight"):
        classifier(class_weight="heavy").fit(communities())
    with pytest.raises(ParameterError, match="metric must be one of accuracy"):
        classifier(metric="mae").fit(communities())
    with pytest.raises(ParameterError, match="need level='node', got 'graph'"):
        classifier(model_params={"level": "graph"}).fit(communities())
    with pytest.raises(ParameterError, match="gives 1 outputs for 60 nodes"):
        classifier(model=Pooled, model_params={}).fit(communities())
    with pytest.raises(ShapeError, match="x has 3 features, in training there were 2"):
        fitted.predict(changed(x=torch.rand(60, 3)))


class Unnamed(nn.Linear):
    def forward(self, data):
        return super().forward(data.x)


class Pooled(nn.Linear):
    def forward(self, data):
        return super().forward(data.x).sum(0, keepdim=True)


def test_any_network_can_be_trained(tmp_path):
    trained = train_nodes(Unnamed, communities(), settings=Settings(epochs=3, accelerator="cpu"))
    assert isinstance(trained, TrainedNetwork)
    assert trained.predict(communities()).shape == (60,)
    with pytest.raises(ParameterError, match="register"):
        estimator_of(trained).save(tmp_path / "m.safetensors")


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.int64])
def test_masks_of_numbers_are_refused(fitted, dtype):
    """They would be read as the nodes 0 and 1."""
    data = communities()
    with pytest.raises(ParameterError, match=r"[Cc]all .*\.bool\(\) on a mask"):
        fitted.score(data, nodes=data.test_mask.to(dtype))
    data.train_mask = data.train_mask.to(dtype)
    with pytest.raises(ParameterError, match=r"data\.train_mask .*\.bool\(\) on a mask"):
        classifier(epochs=1).fit(data)


@pytest.mark.parametrize("field", ["edge_weight", "edge_attr"])
def test_edges_must_have_numbers(field):
    data = communities()
    data[field] = torch.ones(data.num_edges) if field == "edge_weight" else torch.ones(data.num_edges, 2)
    data[field][3] = torch.nan
    params = {"hidden_channels": 8, "layers": 1} | ({"edge_channels": 2} if field == "edge_attr" else {})
    with pytest.raises(GraphError, match=f"{field} hold nan"):
        classifier(model_params=params).fit(data)


@pytest.mark.parametrize("model", ["gin", "kergnn"])
def test_networks_for_whole_graphs_are_refused(model):
    with pytest.raises(ParameterError, match="1 outputs for 60 nodes: it is made for whole graphs"):
        classifier(model=model, model_params={}).fit(communities())


class WritesIntoGraph(nn.Module):
    """A network that changes what it gets."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.first, self.last = nn.Linear(in_channels, 8), nn.Linear(8, out_channels)

    def forward(self, data):
        data.x = self.first(data.x).relu()
        return self.last(data.x)


def test_networks_may_write_into_the_graph():
    classifier(model=WritesIntoGraph, model_params={}).fit(communities())


def test_a_loaded_estimator_has_the_given_parameters(fitted, tmp_path):
    loaded = NodeClassifier.load(fitted.save(tmp_path / "nodes.safetensors"))
    assert loaded.model_params == fitted.model_params


@pytest.mark.parametrize("conv", ["RWKPlusConv", "GCNConv"])
@pytest.mark.parametrize("columns", [(), (1,)])
def test_weights_of_edges_may_be_integers(conv, columns):
    plain = communities()
    data = changed(edge_weight=torch.ones(plain.num_edges, *columns, dtype=torch.long))
    estimator = classifier(model_params={"conv": conv, "hidden_channels": 8}, epochs=2)
    expected = estimator.fit(plain).predict_proba(plain)
    np.testing.assert_allclose(estimator.fit(data).predict_proba(data), expected, rtol=1e-4)


@pytest.mark.parametrize("conv", ["RWKPlusConv", "GCNConv", "GINConv"])
def test_edges_may_be_an_edge_index(conv):
    plain = communities()
    data = changed(edge_index=EdgeIndex(plain.edge_index, sparse_size=(60, 60)))
    estimator = classifier(model_params={"conv": conv, "hidden_channels": 8}, epochs=2)
    expected = estimator.fit(plain).predict_proba(plain)
    assert np.array_equal(estimator.fit(data).predict_proba(data), expected)

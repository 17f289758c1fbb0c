import copy
import inspect
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from torch_geometric.data import Data

import rwkplus
from rwkplus.errors import DataError, GraphError, ParameterError
from rwkplus.table import GraphTable
from rwkplus.training import GraphClassifier, GraphRegressor
from tests.training.toy import SMALL, rings, surplus

QUICK = {"model": "gin", "model_params": SMALL, "epochs": 15, "batch_size": 8, "lr": 0.03, "accelerator": "cpu"}


def classifier(**choices):
    return GraphClassifier(**QUICK | choices)


def regressor(**choices):
    return GraphRegressor(**QUICK | choices)


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(rings(40))


@pytest.mark.parametrize("estimator", [classifier(), regressor()])
def test_arguments_are_stored_and_survive_clone(estimator):
    params = estimator.get_params(deep=False)
    names = [name for name in inspect.signature(type(estimator).__init__).parameters if name != "self"]
    assert sorted(params) == sorted(names)
    before = copy.deepcopy(params)
    assert estimator.fit(rings()) is estimator
    assert estimator.get_params(deep=False) == before
    again = clone(estimator)
    assert not [name for name in vars(again) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        again.predict(rings())


def test_predictions_do_not_depend_on_company_or_order(fitted):
    graphs = rings(12, seed=5)
    together = fitted.predict_proba(graphs)
    np.testing.assert_allclose(fitted.predict_proba(graphs[::-1]), together[::-1], rtol=1e-5)
    alone = np.concatenate([fitted.predict_proba([graph]) for graph in graphs])
    np.testing.assert_allclose(alone, together, rtol=1e-5)
    assert (fitted.predict(graphs) == fitted.classes_[together.argmax(1)]).all()


def test_scores_are_those_of_scikit_learn(fitted):
    graphs = rings(20, seed=5)
    y = [int(graph.y) for graph in graphs]
    assert fitted.score(graphs) == fitted.score(graphs, y) == pytest.approx((fitted.predict(graphs) == y).mean())
    numbers = regressor().fit(graphs, surplus(graphs))
    truth, guess = np.array(surplus(graphs)), numbers.predict(graphs)
    expected = 1 - ((truth - guess) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()
    assert numbers.score(graphs, truth) == pytest.approx(expected, rel=1e-4)


def test_scikit_learn_can_search_and_validate():
    graphs, y = rings(30), ["red" if i % 2 else "blue" for i in range(30)]
    search = GridSearchCV(classifier(epochs=2), {"model_params": [SMALL, SMALL | {"layers": 2}]}, cv=2).fit(graphs, y)
    assert set(search.predict(graphs)) <= {"red", "blue"}
    assert cross_val_score(regressor(epochs=2), graphs, surplus(graphs), cv=2).shape == (2,)


def test_fit_forgets_and_does_not_keep_the_graphs(fitted):
    once = classifier(epochs=3).fit(rings(20))
    twice = classifier(epochs=3).fit(rings(40, seed=7)).fit(rings(20))
    assert (once.predict_proba(rings(9)) == twice.predict_proba(rings(9))).all()
    graphs = rings(20)
    kept = classifier(epochs=3).fit(graphs)
    for graph in graphs:
        graph.x.zero_()
    assert (kept.predict_proba(rings(9)) == once.predict_proba(rings(9))).all()


def test_a_seed_may_be_left_to_chance():
    first, second = (classifier(random_state=None, epochs=1).fit(rings()).predict_proba(rings()) for _ in range(2))
    assert (first != second).any()
    classifier(random_state=np.random.RandomState(0), epochs=1).fit(rings())


def test_several_questions_with_gaps():
    y = np.array([[i % 2, np.nan if i % 3 else 1 - i % 2] for i in range(40)], float)
    estimator = classifier(epochs=30).fit(rings(40), y)
    assert estimator.predict_proba(rings(5)).shape == (5, 2)
    assert estimator.score(rings(40), y) > 0.9
    assert set(np.unique(estimator.predict(rings(40)))) <= {0, 1}


def test_save_and_load_in_one_line(fitted, tmp_path):
    graphs, path = rings(15, seed=3), fitted.save(tmp_path / "model.safetensors")
    loaded = GraphClassifier.load(path)
    assert (loaded.predict_proba(graphs) == fitted.predict_proba(graphs)).all()
    assert (rwkplus.saving.load(path).predict(graphs) == fitted.predict(graphs)).all()
    assert loaded.get_params() == fitted.get_params()
    assert (loaded.best_epoch_, loaded.n_features_in_, loaded.seed_) == (fitted.best_epoch_, 2, 0)
    assert loaded.classes_.tolist() == [0, 1]
    with pytest.raises(DataError, match="holds a GraphClassifier, not a GraphRegressor"):
        GraphRegressor.load(path)
    numbers = regressor(epochs=2).fit(graphs, surplus(graphs))
    again = GraphRegressor.load(numbers.save(tmp_path / "numbers.safetensors"))
    assert (again.predict(graphs) == numbers.predict(graphs)).all()
    with pytest.raises(ParameterError, match="no probabilities"):
        again.trained_.predict_proba(graphs)


def test_rare_classes_and_absolute_errors_can_be_asked_for(tmp_path):
    graphs = rings(40)
    rare = classifier(balance="logits", epochs=2).fit(graphs[:12], [1] + [0] * 11)
    assert rare.trained_.target.prior is not None
    assert GraphClassifier.load(rare.save(tmp_path / "rare.safetensors")).balance == "logits"
    first = classifier(positive=0, metric="positive_f1", epochs=2).fit(graphs)
    assert GraphClassifier.load(first.save(tmp_path / "first.safetensors")).positive == 0
    medians = regressor(loss="absolute", epochs=2).fit(graphs, surplus(graphs))
    assert medians.trained_.target.error == "absolute"
    assert GraphRegressor.load(medians.save(tmp_path / "medians.safetensors")).loss == "absolute"
    with pytest.raises(ParameterError, match="balance must be one of"):
        classifier(balance="weights").fit(graphs)


def test_choices_that_mean_nothing_are_refused():
    graphs, answers = rings(), np.array([[i % 2, 1 - i % 2] for i in range(24)])
    with pytest.raises(ParameterError, match="loss='absolute' is for numbers, but these labels are for classification"):
        classifier(loss="absolute").fit(graphs)
    with pytest.raises(ParameterError, match="balance='logits' is for classes, but these labels are for regression"):
        regressor(balance="logits").fit(graphs, surplus(graphs))
    with pytest.raises(ParameterError, match="positive=1 is for classes, but these labels are for regression"):
        regressor(positive=1).fit(graphs, surplus(graphs))
    with pytest.raises(ParameterError, match="balance='logits' is for classes, but these labels are for multitask"):
        classifier(balance="logits").fit(graphs, answers)


def test_estimators_can_be_pickled_for_workers(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict_proba(rings(5)) == fitted.predict_proba(rings(5))).all()


def test_graphs_that_do_not_fit_the_network_are_refused(fitted):
    with pytest.raises(GraphError, match="3 columns of labels, those of the fitted graphs had 2"):
        fitted.predict([Data(x=torch.eye(3), edge_index=torch.empty(2, 0, dtype=torch.long))])
    with pytest.raises(GraphError, match="the edges have a column 'edge_attr', those of the fitted graphs had none"):
        fitted.predict(rings(2, edge_attr=True))
    strange = Data(x=torch.eye(3), edge_index=torch.empty(2, 0, dtype=torch.long), node_label_names=("a", "red", "b"))
    assert fitted.predict([strange]).shape == (1,)
    with pytest.raises(GraphError, match="no fitted graph had"):
        fitted.set_params(unknown_label="error").predict([strange])
    fitted.set_params(unknown_label="ignore")


def test_labels_as_pandas_keeps_them():
    names = np.array(["blue", "red"] * 10, dtype=object)
    assert classifier(epochs=1).fit(rings(20), names).classes_.tolist() == ["blue", "red"]
    numbers = np.array(surplus(rings(20)), dtype=object)
    assert regressor(epochs=1).fit(rings(20), numbers).predict(rings(3)).shape == (3,)
    numbers[3] = None  # is nan
    assert regressor(epochs=1).fit(rings(20), numbers).predict(rings(3)).shape == (3,)
    with pytest.raises(ParameterError, match="graph 3 has no label"):
        classifier(epochs=1).fit(rings(20), numbers)


@pytest.mark.parametrize(
    ("label", "message"), [(None, "graph 3 has no label"), (np.nan, "graph 3 has no label"), (3, "are mixed")]
)
@pytest.mark.parametrize("form", [list, lambda names: np.array(names, dtype=object)])
def test_missing_and_mixed_names_are_not_taken_for_classes(label, message, form):
    names = ["blue", "red"] * 10
    names[3] = label
    with pytest.raises(ParameterError, match=message):
        classifier(epochs=1).fit(rings(20), form(names))


@pytest.mark.parametrize("model", ["gin", "kergnn"])
def test_no_graphs_have_no_predictions(model):
    graphs = GraphTable.of(rings(20))
    trained = GraphClassifier(model, epochs=1).fit(graphs)
    nothing = graphs[np.zeros(20, bool)]
    assert trained.predict(nothing).shape == (0,)
    assert trained.predict_proba(nothing).shape == (0, 2)
    with pytest.raises(GraphError, match="there are no graphs"):
        trained.score(nothing, [])


def test_labels_that_cannot_be_saved_are_refused():
    for labels in (np.array(["2020", "2021"] * 10, dtype="datetime64[Y]"), [b"blue", b"red"] * 10):
        with pytest.raises(ParameterError, match="y must hold numbers or names, got"):
            classifier(epochs=1).fit(rings(20), labels)


def test_a_column_of_labels_is_one_label_per_graph(fitted):
    graphs = rings(40)
    again = classifier().fit(graphs, [graph.y for graph in graphs])
    assert (again.predict(graphs) == fitted.predict(graphs)).all()
    assert again.score(graphs) == fitted.score(graphs)


def test_scikit_learn_reads_the_columns_of_several_questions():
    y = np.array([[i % 2, 1 - i % 2, i % 3 == 0] for i in range(30)], int)
    estimator = classifier(epochs=3)
    assert estimator.fit(rings(30), y).classes_.tolist() == [0, 1, 2]
    assert np.isfinite(cross_val_score(estimator, rings(30), y, cv=2, scoring="roc_auc", error_score="raise")).all()


def test_files_know_what_to_do_with_unknown_labels(tmp_path):
    strict = classifier(epochs=1, unknown_label="error").fit(rings(20))
    loaded = GraphClassifier.load(strict.save(tmp_path / "strict.safetensors"))
    assert loaded.unknown_label == "error"
    assert loaded.best_epoch_ == strict.best_epoch_ == 0


def test_numbers_of_numpy_can_be_saved(tmp_path):
    sizes = {"hidden_channels": np.int64(4), "layers": np.int32(1)}
    estimator = classifier(epochs=np.int64(1), lr=np.float32(0.01), model_params=sizes).fit(rings(20))
    loaded = GraphClassifier.load(estimator.save(tmp_path / "model.safetensors"))
    assert loaded.epochs == 1
    assert (loaded.predict_proba(rings(5)) == estimator.predict_proba(rings(5))).all()


@pytest.mark.parametrize("make", [classifier, regressor])
def test_weighted_scores_are_refused(make):
    estimator = make(epochs=1).fit(rings(20))
    with pytest.raises(ParameterError, match="does not support sample_weight"):
        estimator.score(rings(20), sample_weight=np.ones(20))


def test_a_loaded_estimator_can_be_fitted_to_other_edges(tmp_path):
    graphs = rings(edge_attr=True)
    path = GraphClassifier("gnn", epochs=1, accelerator="cpu").fit(graphs).save(tmp_path / "gnn.safetensors")
    loaded = GraphClassifier.load(path)
    assert loaded.model_params is None
    for graph in graphs:
        graph.edge_attr = graph.edge_attr.repeat(1, 2) * torch.tensor([1.0, 0.5])
    loaded.fit(graphs)


def test_what_to_do_with_unknown_labels_is_checked_before_training():
    with pytest.raises(ParameterError, match="unknown_label"):
        classifier(unknown_label="new", epochs=10**9).fit(rings())

from dataclasses import replace
from typing import ClassVar

import networkx as nx
import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.data import Data

from rwkplus.errors import GraphError, MissingExtraError, NumericError, ParameterError, RWKPlusError, RWKPlusWarning
from rwkplus.models.gnn import GIN
from rwkplus.training import GraphDataset, Place, Settings, cross_validate, train
from rwkplus.training.dataset import outputs_of
from rwkplus.training.estimators import Job, estimator_of
from rwkplus.training.loop import Batches, isolated
from rwkplus.training.targets import all_scores
from tests.training.toy import QUICK, SMALL, rings, surplus


def weights(model):
    return torch.cat([value.double().flatten() for value in model.state_dict().values()])


def fitted(graphs=None, y=None, *, settings=QUICK, params=SMALL, **choices):
    return train("gin", rings() if graphs is None else graphs, y, model_params=params, settings=settings, **choices)


def test_a_network_learns_the_more_frequent_color():
    result = fitted(rings(60), settings=replace(QUICK, epochs=40))
    assert result.scores(rings(40, seed=9))["accuracy"] > 0.9
    assert [row["epoch"] for row in result.history] == list(range(40))


def test_a_network_learns_numbers():
    graphs = rings(60)
    result = fitted(graphs, surplus(graphs), settings=replace(QUICK, epochs=60, lr=0.03))
    later = rings(30, seed=9)
    assert result.scores(later, surplus(later))["r2"] > 0.9


def test_a_network_learns_questions_with_gaps():
    graphs = rings(60)
    y = np.array([[i % 2, 1 - i % 2] for i in range(60)], float)
    y[::3, 0] = np.nan
    y[1::3, 1] = np.nan
    result = fitted(graphs, y, settings=replace(QUICK, epochs=40))
    later = rings(30, seed=9)
    assert result.scores(later, [[i % 2, 1 - i % 2] for i in range(30)])["roc_auc"] > 0.95
    assert result.predict(later).shape == (30, 2)


def test_the_same_seed_gives_the_same_network_whatever_ran_before():
    params = SMALL | {"dropout": 0.5}
    first = fitted(params=params)
    torch.rand(7)
    again, other = fitted(params=params), fitted(params=params, settings=replace(QUICK, random_state=1))
    assert torch.equal(weights(first.model), weights(again.model))
    assert first.history == again.history
    assert not torch.equal(weights(first.model), weights(other.model))


def test_the_callers_generators_threads_and_graphs_are_left_alone():
    graphs, originals = rings(), rings()
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    fitted(graphs, settings=replace(QUICK, threads=2, epochs=1))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads
    for graph, original in zip(graphs, originals, strict=True):
        assert graph.keys() == original.keys()
        assert torch.equal(graph.x, original.x)


def test_the_weights_of_the_best_epoch_are_kept():
    data = GraphDataset(rings(40))
    job = Job.split(data, "gin", SMALL, np.arange(40), replace(QUICK, epochs=12, validation=0.3))
    result = job.run()
    best = max(result.history, key=lambda row: (row["val_score"], -row["val_loss"]))
    assert result.best_epoch == best["epoch"]
    assert result.validation["accuracy"] == pytest.approx(best["val_score"])
    assert result.validation["loss"] == pytest.approx(best["val_loss"], rel=1e-5)
    model, target = result.model, result.target
    outputs = outputs_of(model, data.store(model), job.validation)
    assert all_scores(target, outputs, target.encode(data.y[job.validation])) == result.validation


def test_without_validation_the_last_epoch_is_kept():
    result = fitted(settings=replace(QUICK, validation=0))
    assert result.best_epoch == QUICK.epochs - 1
    assert result.validation == {}
    assert set(result.history[0]) == {"epoch", "train_loss"}


def test_patience_stops_early():
    result = fitted(settings=replace(QUICK, epochs=100, lr=1e-9, patience=3, halve_lr_every=0))
    assert len(result.history) == result.best_epoch + 4 < 100


def test_the_learning_rate_halves():
    settings = Settings(lr=0.8, halve_lr_every=10)
    assert [settings.lr_at(epoch) for epoch in (0, 9, 10, 19, 20, 35)] == [0.8, 0.8, 0.4, 0.4, 0.2, 0.1]
    assert replace(settings, halve_lr_every=0).lr_at(99) == 0.8


def test_the_learning_rate_falls_along_a_cosine():
    settings = Settings(epochs=4, lr=0.8, lr_schedule="cosine")
    rates = [settings.lr_at(epoch) for epoch in range(5)]
    assert rates == pytest.approx([0.8, 0.4 + 0.4 * 2**-0.5, 0.4, 0.4 - 0.4 * 2**-0.5, 0.0])
    with pytest.raises(ParameterError, match="lr_schedule must be one of halve, cosine; got 'linear'"):
        Settings(lr_schedule="linear")


def test_validation_that_cannot_judge_is_noticed():
    graphs = rings()
    y = np.full((24, 1), np.nan)
    y[:4, 0] = [0, 1, 0, 1]
    held = Job.split(GraphDataset(graphs, y), "gin", SMALL, np.arange(24), QUICK).validation
    y[held] = np.nan
    with pytest.raises(ParameterError, match=r"no graph of the validation part has a known label.*validation=0"):
        train("gin", graphs, y, model_params=SMALL, settings=QUICK)
    train("gin", graphs, y, model_params=SMALL, settings=replace(QUICK, validation=0))
    y[held] = 1  # one answer is no ranking
    with pytest.warns(RWKPlusWarning, match="roc_auc was not defined.*so the first one was kept"):
        assert train("gin", graphs, y, model_params=SMALL, settings=QUICK).best_epoch == 0


@pytest.mark.parametrize("accelerator", ["abacus", "tpu"])
def test_hardware_that_is_not_there_is_named(accelerator):
    with pytest.raises(ParameterError, match=f"accelerator='{accelerator}' with devices=1 is not possible here"):
        fitted(settings=replace(QUICK, accelerator=accelerator))


def test_the_loop_takes_the_steps_that_anybody_would_write_down():
    """A slow twin of the loop: zero the gradients, go back, step."""
    settings = replace(QUICK, epochs=5, halve_lr_every=2, weight_decay=0.1)
    data = GraphDataset(rings(30))
    params = SMALL | {"norm": None}
    job = Job.split(data, "gin", params, np.arange(30), settings)
    result = job.run()
    with isolated(settings.random_state):
        model, target = GIN(2, 2, **params), data.target(job.train)
    store, y = data.store(model), target.encode(data.y)
    batches = Batches(store, job.train, settings.batch_size, y[job.train], settings.random_state)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.1)
    for epoch, row in enumerate(result.history):
        batches.epoch, optimizer.param_groups[0]["lr"] = epoch, settings.lr / 2 ** (epoch // 2)
        losses = []
        for batch in batches:
            optimizer.zero_grad()
            losses.append(torch.nn.functional.cross_entropy(model.train()(batch), batch.y))
            losses[-1].backward()
            optimizer.step()
        assert float(torch.stack(losses).detach().mean()) == pytest.approx(row["train_loss"], rel=1e-5)
        judged = outputs_of(model, store, job.validation)
        loss = torch.nn.functional.cross_entropy(judged, y[job.validation])
        assert float(loss) == pytest.approx(row["val_loss"], rel=1e-4)


class CountsCalls:
    def __init__(self, calls):
        self.calls = calls

    def __call__(self, graph):
        self.calls.append(graph)
        graph = graph.clone()
        graph.doubled = 2 * graph.x
        return graph


class Doubled(nn.Module):
    calls: ClassVar[list] = []

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.linear = nn.Linear(in_channels, out_channels)
        self.pre_transform = CountsCalls(self.calls)

    def forward(self, batch):
        assert torch.equal(batch.doubled, 2 * batch.x)
        return torch.zeros(batch.num_graphs, 2).index_add(0, batch.batch, self.linear(batch.doubled))


def test_the_transform_of_a_network_runs_once_per_graph():
    Doubled.calls.clear()
    result = train(Doubled, rings(), settings=QUICK)
    assert len(Doubled.calls) == 24
    assert result.predict(rings(3)).shape == (3,)
    assert len(Doubled.calls) == 27


def test_graphs_without_edges_and_of_one_node_are_fine():
    lonely = [Data(x=torch.eye(2)[[i % 2]], edge_index=torch.empty(2, 0, dtype=torch.long)) for i in range(20)]
    result = fitted(lonely, [i % 2 for i in range(20)], settings=replace(QUICK, epochs=20))
    assert result.predict(lonely).tolist() == [i % 2 for i in range(20)]


def test_networkx_graphs_without_attributes_get_degrees():
    graphs = [nx.cycle_graph(5) if i % 2 else nx.star_graph(4) for i in range(20)]
    result = fitted(graphs, ["ring" if i % 2 else "star" for i in range(20)], settings=replace(QUICK, epochs=20))
    assert result.predict([nx.cycle_graph(7), nx.star_graph(6)]).tolist() == ["ring", "star"]


@pytest.mark.parametrize(("graphs", "batch_size"), [(rings(2), 8), (rings(9), 1)])
def test_batch_norm_needs_batches_of_two_graphs(graphs, batch_size):
    settings = replace(QUICK, batch_size=batch_size)
    with pytest.raises(ParameterError, match="batches of a single graph"):
        fitted(graphs, settings=settings)
    fitted(graphs, settings=settings, params=SMALL | {"norm": None})


def test_only_what_can_be_named_can_be_saved(tmp_path):
    with pytest.raises(ParameterError, match="register"):
        train(Doubled, rings(), settings=QUICK, place=Place(tmp_path))
    with pytest.raises(ParameterError, match="register"):
        estimator_of(train(Doubled, rings(), settings=QUICK)).save(tmp_path / "model.safetensors")


def without_label(graphs):
    del graphs[3].y
    return graphs


@pytest.mark.parametrize(
    ("graphs", "y", "message"),
    [
        (without_label(rings()), None, "graph 3 has no label y"),
        (rings(), [1] * 24, "all labels are of class 1"),
        (rings(), [1, 2], "one label per graph"),
        (rings(), [[1, 2]] + [[1]] * 23, "as many labels for every graph"),
        (rings(), [None] + ["a"] * 23, "graph 0 has no label"),
        (rings(edge_attr=True), None, "edge_attr, which GIN does not read"),
        ([], None, "empty"),
    ],
)
def test_bad_input_is_named(graphs, y, message):
    with pytest.raises(RWKPlusError, match=message):
        fitted(graphs, y)


def test_a_database_that_was_read_has_its_labels():
    data = GraphDataset(rings())
    assert fitted(data).history == fitted().history
    with pytest.raises(ParameterError, match="of its own"):
        fitted(data, [1] * 24)


def test_weights_of_edges_are_refused_too():
    graphs = rings()
    for graph in graphs:
        graph.edge_weight = torch.ones(graph.num_edges)
    with pytest.raises(GraphError, match="edge_weight, which GIN does not read"):
        fitted(graphs)
    fitted(graphs, ignore=("edge_weight",))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1"),
        ({"epochs": 2.5}, "epochs"),
        ({"batch_size": True}, "batch_size"),
        ({"lr": 0}, "lr must be a number of more than 0"),
        ({"lr": float("nan")}, "lr"),
        ({"lr": float("inf")}, "lr"),
        ({"lr": 10**400}, "lr"),
        ({"weight_decay": -1}, "weight_decay"),
        ({"validation": 1}, "less than 1"),
        ({"validation": -0.1}, "validation"),
        ({"patience": 0}, "patience"),
        ({"patience": 3, "validation": 0}, "needs validation graphs"),
        ({"random_state": 2**32}, "less than"),
        ({"threads": 0}, "threads must be a whole number of at least 1"),
        ({"threads": 100_000}, "threads must be at most .* got 100000"),
        ({"metric": "mae"}, "metric must be one of accuracy"),
    ],
)
def test_impossible_settings_are_named(change, message):
    with pytest.raises(ParameterError, match=message):
        fitted(settings=replace(QUICK, **change))


def test_unknown_settings_are_named():
    assert Settings(**QUICK.to_dict()) == QUICK


def test_tensorboard_is_an_extra(monkeypatch, tmp_path):
    monkeypatch.setattr("rwkplus.training.run_folder.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"rwkplus\[tensorboard\]"):
        fitted(place=Place(tmp_path, tensorboard=True))


WILD = replace(QUICK, lr=1e30)


@pytest.mark.parametrize("validation", [0.0, 0.25])
def test_a_network_that_diverged_is_an_error(validation):
    with pytest.raises(NumericError, match="the training diverged"):
        fitted(settings=replace(WILD, validation=validation))


def test_a_fold_in_which_all_candidates_diverge_is_an_error():
    with pytest.raises(NumericError, match="fold 0: no epoch ended"):
        cross_validate("gin", rings(), model_params=[SMALL, SMALL | {"layers": 2}], folds=2, settings=WILD)

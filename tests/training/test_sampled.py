"""Training on parts of a graph."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from rwkplus.errors import DataError, ParameterError, ShapeError
from rwkplus.large import CSRGraph
from rwkplus.saving import load
from rwkplus.training import NodeClassifier, layerwise_outputs
from rwkplus.training.estimators import estimator_of
from rwkplus.training.large_graphs import Cutting, stored_clusters, train_sampled
from rwkplus.training.run_folder import Checkpoints
from rwkplus.training.targets import Classes
from tests.training.sampled_run import CUTS, SETTINGS, recorded_runs, ring_of_two_kinds

ROOT = Path(__file__).parents[2]
SMALL = {"hidden_channels": 8}
ALL_CUTS = CUTS | {"full": Cutting("full")}


def changed(**nodes):
    graph = ring_of_two_kinds()
    return CSRGraph(graph.indptr, graph.indices, {**graph.nodes, **nodes})


@pytest.mark.slow
def test_two_processes_have_the_gradients_of_one(tmp_path):
    """Batches are shared unevenly and some have nothing to learn from: nothing hangs, and no node counts more."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [sys.executable, *launcher, "-m", "tests.training.sampled_run", str(tmp_path)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    alone = recorded_runs()
    for rank in (0, 1):
        shared = torch.load(tmp_path / f"{rank}.pt", weights_only=True)
        assert shared["world"] == 2
        for name, expected in alone.items():
            torch.testing.assert_close(shared[name], expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("cut", ALL_CUTS)
@pytest.mark.parametrize("conv", ["RWKPlusConv", "GCNConv", "GINConv"])
def test_networks_learn_from_parts(cut, conv):
    graph = ring_of_two_kinds()
    settings = replace(SETTINGS, epochs=15)
    result = train_sampled(graph, SMALL | {"conv": conv}, settings=settings, cutting=ALL_CUTS[cut])
    assert len(result.history) == 15
    assert result.history[-1]["train_loss"] < result.history[0]["train_loss"]
    assert result.test["roc_auc"] > 0.8
    assert result.run["validation_seconds"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("cut", ALL_CUTS)
def test_there_may_be_more_than_two_classes(cut, tmp_path):
    y = np.arange(46) % 3
    graph = changed(y=y, x=np.eye(3)[y] + 0.1 * ring_of_two_kinds()["x"])
    settings = replace(SETTINGS, epochs=40)
    result = train_sampled(graph, SMALL, settings=settings, cutting=ALL_CUTS[cut], class_weights=(1, 1, 2))
    assert result.test["accuracy"] > 0.8
    assert result.validation["accuracy"] == max(row["val_score"] for row in result.history)
    assert not any("positive" in name for name in result.test)
    again = load(estimator_of(result).save(tmp_path / "model.safetensors")).trained_
    assert again.target == Classes((0, 1, 2), (1, 1, 2))


def test_nodes_outside_all_parts_need_no_class():
    graph = ring_of_two_kinds()
    test = graph["test_mask"] & (np.arange(46) < 44)
    unknown = changed(y=np.where(np.arange(46) < 44, graph["y"], -1), test_mask=test)
    known = train_sampled(changed(test_mask=test), SMALL, settings=SETTINGS, cutting=CUTS["clusters"])
    assert train_sampled(unknown, SMALL, settings=SETTINGS, cutting=CUTS["clusters"]).test == known.test


def test_a_resumed_run_ends_with_the_same_numbers(tmp_path):
    graph = ring_of_two_kinds()

    def run(epochs, folder):
        checkpoints = Checkpoints(tmp_path / folder / "run.safetensors", {"name": "toy"}, seconds=0)
        settings = replace(SETTINGS, epochs=epochs)
        return train_sampled(graph, SMALL, settings=settings, cutting=CUTS["clusters"], checkpoints=checkpoints)

    straight = run(4, "straight")
    run(2, "halved")
    resumed = run(4, "halved")
    assert resumed.history == straight.history
    assert (resumed.validation, resumed.test) == (straight.validation, straight.test)


def test_clusters_are_kept_beside_the_graph(tmp_path):
    graph = CSRGraph.open(ring_of_two_kinds().save(tmp_path / "ring"))
    found = stored_clusters(graph, 5)
    assert [path.name for path in graph.folder.glob("clusters*")] == ["clusters-5.npy"]
    np.save(graph.folder / "clusters-5.npy", np.roll(found, 1))
    assert np.array_equal(stored_clusters(graph, 5), np.roll(found, 1))


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-20]),
        lambda path: path.write_bytes(b""),
        lambda path: np.save(path, np.zeros(3, np.int32)),
        lambda path: np.save(path, np.full(46, 5, np.int32)),
        lambda path: np.save(path, np.full(46, "a")),
    ],
)
def test_damaged_clusters_are_made_anew(tmp_path, damage):
    graph = CSRGraph.open(ring_of_two_kinds().save(tmp_path / "graph"))
    expected, path = stored_clusters(graph, 5), graph.folder / "clusters-5.npy"
    damage(path)
    assert np.array_equal(stored_clusters(graph, 5), expected)
    assert np.array_equal(np.load(path), expected)


def test_clusters_need_no_folder_to_write_into(tmp_path):
    graph = ring_of_two_kinds()
    (tmp_path / "file").write_text("")
    elsewhere = replace(graph, folder=tmp_path / "file")  # below which nothing can be written, whoever asks
    assert np.array_equal(stored_clusters(elsewhere, 5), stored_clusters(graph, 5))


def test_a_network_can_be_saved_and_used_on_the_whole_graph(tmp_path):
    graph = ring_of_two_kinds()
    result = train_sampled(graph, SMALL, settings=SETTINGS, cutting=CUTS["clusters"], class_weights=(1.0, 5.0))
    path = estimator_of(result).save(tmp_path / "model.safetensors")
    again = load(path).trained_
    assert torch.equal(layerwise_outputs(again.model, graph), layerwise_outputs(result.model, graph))
    assert again.target == Classes((0, 1), (1.0, 5.0))
    assert (again.validation, again.test) == (result.validation, result.test)
    assert again.scores(graph.data()) == pytest.approx(result.test, rel=1e-5)
    assert again.scores(graph) == result.test
    assert (again.predict(graph) == load(path).predict(graph.data())).all()
    assert NodeClassifier.load(path).class_weight == {0: 1.0, 1: 5.0}


def test_networks_for_whole_graphs_are_refused():
    with pytest.raises(ParameterError, match="classes of nodes need level='node'"):
        train_sampled(ring_of_two_kinds(), {"level": "graph"}, settings=SETTINGS)


def test_masks_and_classes_must_be_there():
    graph = ring_of_two_kinds()
    without = {name: values for name, values in graph.nodes.items() if name != "val_mask"}
    with pytest.raises(DataError, match="no array 'val_mask'"):
        train_sampled(CSRGraph(graph.indptr, graph.indices, without), SMALL, settings=SETTINGS)
    with pytest.raises(DataError, match="train_mask of the graph must choose nodes of two classes or more"):
        train_sampled(changed(y=np.zeros_like(graph["y"])), SMALL, settings=SETTINGS)
    with pytest.raises(DataError, match="y of the graph must number classes from 0"):
        train_sampled(changed(y=1 + graph["y"]), SMALL, settings=SETTINGS)
    with pytest.raises(DataError, match="test_mask of the graph has nodes of class 2, and train_mask has none"):
        train_sampled(changed(y=np.where(np.arange(46) == 45, 2, graph["y"])), SMALL, settings=SETTINGS)
    with pytest.raises(ParameterError, match="class_weights must be 2 numbers, one for each class; got 3"):
        train_sampled(graph, SMALL, settings=SETTINGS, class_weights=(1, 2, 3))
    with pytest.raises(ParameterError, match="cut must be one of clusters, neighbors, full"):
        Cutting("metis")


@pytest.mark.parametrize("kind", [np.float16, np.float32])
@pytest.mark.parametrize("label", [np.int32, np.float64, bool])
def test_features_and_labels_may_be_of_any_type(kind, label):
    graph = ring_of_two_kinds()
    graph = changed(x=graph["x"].astype(kind), y=graph["y"].astype(label))
    assert train_sampled(graph, SMALL, settings=SETTINGS, cutting=CUTS["clusters"]).test["loss"] > 0


def test_graphs_and_parameters_that_cannot_be_meant_are_refused():
    graph = ring_of_two_kinds()
    with pytest.raises(ParameterError, match=r"must be a CSRGraph, got Data: give CSRGraph\.of"):
        train_sampled(graph.data(), SMALL, settings=SETTINGS)
    with pytest.raises(ParameterError, match="GNN has no parameter 'heads'"):
        train_sampled(graph, {"heads": 2}, settings=SETTINGS)
    with pytest.raises(DataError, match="train_mask and val_mask of the graph have 31 nodes in common"):
        train_sampled(changed(val_mask=graph["train_mask"]), SMALL, settings=SETTINGS)
    with pytest.raises(DataError, match="y of the graph must number classes from 0"):
        train_sampled(changed(y=graph["y"][:, None]), SMALL, settings=SETTINGS)
    with pytest.raises(ShapeError, match="val_mask of the graph holds 3 splits, one per column"):
        train_sampled(changed(val_mask=np.stack([graph["val_mask"]] * 3, 1)), SMALL, settings=SETTINGS)
    with pytest.raises(ParameterError, match=r"val_mask of the graph names node 0 more than once.*\.bool\(\)"):
        train_sampled(changed(val_mask=graph["val_mask"].astype(int)), SMALL, settings=SETTINGS)
    for x in (graph["x"][:, 0], graph["x"].astype(int)):
        with pytest.raises(DataError, match=r"x of the graph must be \(N, D\) of floats"):
            train_sampled(changed(x=x), SMALL, settings=SETTINGS)
    with pytest.raises(DataError, match="of integers, as there are categories"):
        train_sampled(graph, {"categories": [2, 2, 2]}, settings=SETTINGS)

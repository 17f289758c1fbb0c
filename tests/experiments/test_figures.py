import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from experiments.mining_figures import databases_figure, distances_figure, learned_figure
from experiments.mining_rows import WITH
from experiments.overview import accuracy_figure, time_figure
from experiments.records import save_result
from experiments.scalability import WAYS, scalability_figure
from experiments.tables import write_tables
from rwkplus.errors import MissingExtraError


def words(svg):
    """All that is written in a picture."""
    return {element.text for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("text")}


def scalability(folder, slowest=40.0):
    times = dict.fromkeys((*WAYS, "GIN"), 1.0)
    rows = [{"varied": "steps", "size": t, "graphs": 9, "edges": 20} | times | {"RWK+": t} for t in (1, slowest)]
    config = {"dataset": "NCI1", "batch_size": 64, "turns": 3, "naive_batches": 3, "command": "c"}
    save_result("scalability", config, {"rows": rows}, folder)


def distances(folder):
    def row(method, steps, tried=False):
        values = {name: {WITH: [2.0, 4.0]} for name in ("faithful", "untrained")}
        named = {"testbed": "square", "row": f"{method}, {steps} steps", "tried": tried}
        return named | values | {"settings": {"steps": steps}, "paper": {WITH: [3.0, 0.5]}}

    rows = [row(method, steps) for method in ("RWNN", "RWK+CN") for steps in (2, 4)]
    save_result("mining_tasks/task-2-1", {}, {"rows": [*rows, row("RWNN", 6, tried=True)]}, folder)


def test_the_cost_of_networks_is_drawn_with_its_sizes_and_ways(tmp_path):
    scalability(tmp_path)
    assert {"steps", "seconds per epoch", "1", "40", "RWK+ naive", "GIN"} <= words(scalability_figure(tmp_path))


def test_edit_distances_are_drawn_beside_the_paper_without_further_settings(tmp_path):
    distances(tmp_path)
    shown = words(distances_figure(tmp_path))
    assert {"square", "2", "4", "RWNN, paper", "RWNN", "RWK+CN", "untrained"} <= shown
    assert "6" not in shown


def test_learned_graphs_are_drawn_beside_the_true_one_with_their_distances(tmp_path):
    def row(name, distance):
        shown = {"weights": (1 - np.eye(4)).tolist(), "labels": ["red", "red", "green", "blue"]}
        return {"testbed": "tailed triangle", "row": name, "losses": [2.0, 1.0], "drawn": shown} | {
            "faithful": {WITH: [9.0, distance]}
        }

    rows = [row("RWK+CN, 6 steps", 1.5), row("RWNN, 6 steps", 2.5)]
    assert learned_figure("task-2-1", tmp_path) is None
    save_result("mining_tasks/task-2-1", {}, {"rows": rows}, tmp_path)
    shown = words(learned_figure("task-2-1", tmp_path))
    assert {"tailed triangle: true graph", "RWK+CN, 6 steps", "GED with labels 1.50", "GED with labels 2.50"} <= shown


def test_databases_are_drawn_with_what_should_be_found(tmp_path):
    assert databases_figure(tmp_path) is None
    save_result("mining_tasks/task-1-1", {}, {"rows": []}, tmp_path)
    assert {"bipartite", "butterfly", "star", "chain", "P1", "P2"} <= words(databases_figure(tmp_path))


def test_the_same_results_give_the_same_picture_and_others_another(tmp_path):
    scalability(tmp_path)
    first = scalability_figure(tmp_path)
    assert scalability_figure(tmp_path) == first
    scalability(tmp_path, slowest=41.0)
    assert scalability_figure(tmp_path) != first


def test_pages_show_the_figures_that_are_written_beside_them(tmp_path):
    assert [figure(tmp_path) for figure in (scalability_figure, distances_figure)] == [None, None]
    scalability(tmp_path)
    page, figure = write_tables(tmp_path / "docs", tmp_path)
    assert f"({figure.name})" in page.read_text()


def test_the_extra_that_draws_is_named(tmp_path, monkeypatch):
    scalability(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"rwkplus\[bench\]"):
        scalability_figure(tmp_path)


def test_accuracy_is_drawn_beside_the_best_baseline(tmp_path):
    scores = {"node-centric, optimal assignment": 0.8, "RWK+": 0.7, "Weisfeiler-Leman (GraKeL)": 0.75}
    accuracy = {name: [[value] * 3, [value + 0.01] * 3] for name, value in scores.items()}
    accuracy |= {"guard: size": [[0.5] * 3], "guard: majority": [[0.4] * 3]}
    save_result("kernel_quality/MUTAG", {}, {"accuracy": accuracy}, tmp_path)
    assert {"MUTAG", "RWK+", "node-centric walks", "accuracy in %"} <= words(accuracy_figure(tmp_path))
    assert accuracy_figure(tmp_path / "empty") is None


def test_times_are_drawn_with_their_numbers(tmp_path):
    rows = [
        {"library": "rwkplus", "seconds": 0.125},
        {"library": "GraKeL", "seconds": 25.0},
        {"library": "x", "seconds": ""},
    ]
    save_result("benchmarks/gram_mutag", {}, {"rows": rows}, tmp_path)
    shown = words(time_figure(tmp_path))
    assert {"rwkplus", "GraKeL", "Gram matrix of MUTAG (seconds), logarithmic", " 0.125", " 25"} <= shown
    assert "x" not in shown
    assert time_figure(tmp_path / "empty") is None

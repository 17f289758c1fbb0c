import sys
from xml.etree import ElementTree

import pytest

from experiments.mining_rows import WITH
from experiments.mining_tasks import edit_distance_figure
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
        values = {name: {WITH: [2.0, 4.0]} for name in ("faithful", "untrained", "ours")}
        named = {"testbed": "square", "row": f"{method}, {steps} steps", "tried": tried}
        return named | values | {"settings": {"steps": steps}, "paper": {WITH: [3.0, 0.5]}}

    rows = [row(method, steps) for method in ("RWNN", "RWK+CN") for steps in (2, 4)]
    save_result("mining_tasks/task-2-1", {}, {"rows": [*rows, row("RWNN", 6, tried=True)]}, folder)


def test_the_cost_of_networks_is_drawn_with_its_sizes_and_ways(tmp_path):
    scalability(tmp_path)
    assert {"steps", "seconds per epoch", "1", "40", "RWK+ naive", "GIN"} <= words(scalability_figure(tmp_path))


def test_edit_distances_are_drawn_beside_the_paper_without_further_settings(tmp_path):
    distances(tmp_path)
    shown = words(edit_distance_figure(tmp_path))
    assert {"square", "2", "4", "RWNN, paper", "RWNN", "RWK+CN", "guard: untrained"} <= shown
    assert "6" not in shown


def test_the_same_results_give_the_same_picture_and_others_another(tmp_path):
    scalability(tmp_path)
    first = scalability_figure(tmp_path)
    assert scalability_figure(tmp_path) == first
    scalability(tmp_path, slowest=41.0)
    assert scalability_figure(tmp_path) != first


def test_pages_show_the_figures_that_are_written_beside_them(tmp_path):
    assert [figure(tmp_path) for figure in (scalability_figure, edit_distance_figure)] == [None, None]
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

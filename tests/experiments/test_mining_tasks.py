import networkx as nx
import numpy as np
import pytest

from experiments.mining_rows import TASKS, WITHOUT
from experiments.mining_tasks import differs, measure, mining_task_page, our_miner, run_task, task_table
from experiments.records import RESULTS, save_result
from experiments.testbeds import bipartite_graphs, chain_patterns, prism

FULL, PATH = 1 - np.eye(3), np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def test_every_row_of_the_paper_is_there():
    rows = {task: [row for bed in make() for row in bed.rows] for task, make in TASKS.items()}
    assert {task: len(found) for task, found in rows.items()} == {
        "task-1-1": 6,
        "task-1-2": 3 * 9,
        "task-2-1": 2 * 6,
        "task-2-2": 2 * 5 + 4,
    }
    assert all(row.paper for found in rows.values() for row in found)


def test_found_patterns_count_by_labels_and_strictly():
    bed = TASKS["task-1-2"]()[0]
    p1, p2 = (["red", "red", "blue"], ["purple", "green", "purple"])
    measures = measure(bed, [[(0.6 * FULL, p1), (PATH, p2)], [(FULL, p2), (FULL, p2)]])
    assert measures == {
        "P1, labels only": [1, 0],
        "P2, labels only": [1, 1],
        "both, labels only": [1, 0],
        "P1, strict": [1, 0],
        "P2, strict": [0, 1],
        "both, strict": [0, 0],
    }


def test_distances_are_of_scaled_weights():
    bed = TASKS["task-2-2"]()[0]
    weights = 0.2 + 0.1 * nx.to_numpy_array(prism())
    assert measure(bed, [[(weights, ["red"] * 6)]]) == {WITHOUT: [pytest.approx(0)]}


def test_our_miner_is_measured_beside_the_networks_and_the_controls(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked, told = [], []

    def ours(graphs, n_patterns, pattern_size, *, restarts, seed):
        asked.append((len(graphs), n_patterns, pattern_size, restarts, seed))
        return [list(chain_patterns())] * restarts

    record = run_task("task-1-2", restarts=2, num_graphs=3, epochs=2, quick=True, ours=ours, on_step=told.append)
    assert asked == [(3, k, 3, 2, 0) for k in (2, 3, 4)]
    assert len(told) == 9
    rows = record["values"]["rows"]
    assert all(row["ours"]["both, strict"] == [1, 1] for row in rows)
    assert all({"untrained", "copying", "losses"} <= row.keys() for row in rows)
    assert (tmp_path / RESULTS / "mining_tasks" / "quick" / "task-1-2.json").exists()
    assert mining_task_page(tmp_path / RESULTS) is None  # a quick run never replaces a full one
    assert "| k=2, RWK+CN, diversity | P1, labels only | 72 |" in task_table(record)


def test_our_miner_answers_for_every_restart():
    mined = our_miner(bipartite_graphs(5), 1, 4, restarts=2, seed=0, epochs=2, kicks=0)
    assert [[len(graph) for graph in patterns] for patterns in mined] == [[4], [4]]


def test_copying_is_perfect_where_all_graphs_are_the_target(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record = run_task("task-2-1", restarts=2, num_graphs=3, epochs=2, quick=True)
    assert all(row["copying"]["GED with labels"] == [0, 0] for row in record["values"]["rows"])
    assert all("ours" not in row for row in record["values"]["rows"])


def test_the_page_shows_paper_error_and_test(tmp_path):
    row = {"testbed": "T", "tried": False, "k": 1, "settings": {}, "against": ["a"], "losses": [2.0, 1.0, 3.0]}
    first = row | {"row": "a", "paper": {WITHOUT: [4.0, 0.5]}, "faithful": {WITHOUT: [4.0, 4.5, 3.8]}}
    second = row | {"row": "b", "paper": {WITHOUT: [9.0, 0.5]}, "faithful": {WITHOUT: [3.0, 3.7, 2.8]}}
    config = {"restarts": 3, "seed": 0, "database_seed": 0, "command": "c"}
    save_result("mining_tasks/task-2-2", config, {"rows": [first, second, second | {"tried": True}]}, tmp_path)
    page = mining_task_page(tmp_path)
    assert "| a | GED without labels | 4.00 ± 0.07 | 4.10 ± 0.21 |  | 4.50 |  |" in page
    assert "| b | GED without labels | 9.00 ± 0.07 | 3.17 ± 0.27 | ≠ | 3.70 | 0.005 (a) |" in page
    assert "Further settings tried on T" in page


def test_two_standard_errors_decide():
    assert not differs([1.0] * 50, 100, None)
    assert differs([1.0] * 50, 80, None)
    assert not differs([0.0] * 40 + [1.0] * 10, 30, None)
    assert differs([5.0, 5.2, 4.8, 5.0], 4.0, 0.5)
    assert not differs([5.0, 5.2, 4.8, 5.0], 5.1, 0.5)

import networkx as nx
import numpy as np
import pytest

from experiments.mining_claims import claims, differs, p_value, rows_by_name, shows
from experiments.mining_page import mining_task_page, task_table
from experiments.mining_rows import TASKS, WITH, WITHOUT
from experiments.mining_tasks import drawn, measure, run_task
from experiments.records import RESULTS, read_result, save_result
from experiments.testbeds import prism, tailed_triangle

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


def test_every_row_is_measured_beside_the_controls(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = []
    record = run_task("task-1-2", restarts=2, num_graphs=3, epochs=2, quick=True, on_step=told.append)
    assert len(told) == 9
    rows = record["values"]["rows"]
    assert all({"untrained", "copying", "losses"} <= row.keys() for row in rows)
    assert (tmp_path / RESULTS / "mining_tasks" / "quick" / "task-1-2.json").exists()
    assert mining_task_page(tmp_path / RESULTS) is None  # a quick run never replaces a full one
    assert "| k=2, RWK+CN, diversity | 72 / 66 / 44 |" in task_table(record)


def test_what_is_drawn_has_the_places_of_the_target():
    bed = TASKS["task-2-1"]()[0]
    order = [3, 1, 0, 2]
    weights = nx.to_numpy_array(tailed_triangle())[np.ix_(order, order)]
    labels = [label for _, label in tailed_triangle().nodes(data="label")]
    shown = drawn(bed, (weights, [labels[v] for v in order]))
    assert shown == {"weights": nx.to_numpy_array(tailed_triangle()).tolist(), "labels": labels}


def test_copying_is_perfect_where_all_graphs_are_the_target(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record = run_task("task-2-1", restarts=2, num_graphs=3, epochs=2, quick=True)
    assert all(row["copying"]["GED with labels"] == [0, 0] for row in record["values"]["rows"])
    assert all(len(row["drawn"]["labels"]) == 4 for row in record["values"]["rows"])


def cubic(name, paper, found, tried=False, **more):
    """A row of table 3."""
    row = {"testbed": "3-regular, T", "row": name, "tried": tried, "k": 1, "settings": {"loss": "raw"}, "against": []}
    row |= {} if tried else {"untrained": {WITHOUT: [5.0, 5.0, 5.0]}}
    return row | {"paper": {WITHOUT: paper}, "faithful": {WITHOUT: found}, "losses": [2.0, 1.0, 3.0]} | more


@pytest.fixture
def table_3(tmp_path):
    rows = [
        cubic("RWNN, none", [4.0, 0.5], [4.0, 4.5, 3.8]),
        cubic("RWK+CN, identity", [9.0, 0.5], [3.0, 3.7, 2.8], against=["RWNN, none"]),
        cubic("RWK+CN, SC", [4.1, 0.5], [4.1, 4.4, 3.8]),
        cubic("RWK+CN, SC; other", [4.1, 0.5], [4.1, 4.4, 3.8], tried=True),
    ]
    config = {"restarts": 3, "seed": 1000, "command": "c"}
    save_result("mining_tasks/task-2-2", config, {"rows": rows}, tmp_path)
    return tmp_path


def test_the_page_shows_paper_error_and_test(table_3):
    page = mining_task_page(table_3)
    assert "| RWNN, none | 4.00 ± 0.07 | 4.10 ± 0.21 | 4.50 |  |" in page
    assert "| RWK+CN, identity | 9.00 ± 0.07 | 3.17 ± 0.27 ≠ | 3.70 | 0.005 (RWNN, none) |" in page
    assert "| *untrained* |  | 5.00 ± 0.00 |" in page
    assert "(loss raw, features softmax, sparsity 0.1, lr 0.01, epochs 200)" in page
    assert "Another reading on 3-regular, T" in page


def test_the_page_begins_with_the_claims_and_counts_what_differs(table_3):
    page = mining_task_page(table_3)
    assert "| identity colors | 3-regular, T | table 3 | 4.00 → 9.00 | 4.10 → 3.17 | 0.005 | present |" in page
    assert "| structural colors | 3-regular, T | table 3 | 4.00 → 4.10 | 4.10 → 4.10 | 1 | absent |" in page
    assert "Of 3 comparisons with the paper, **1 differ**" in page
    assert "The paper tells neither" not in page


def test_readings_of_one_testbed_are_counted_once_with_the_one_that_fits_best(table_3):
    record = read_result("mining_tasks/task-2-2", table_3)
    far = [row | {"testbed": "3-regular, U", "paper": {WITHOUT: (50.0, 0.5)}} for row in record["values"]["rows"]]
    save_result("mining_tasks/task-2-2", record["config"], {"rows": record["values"]["rows"] + far}, table_3)
    page = mining_task_page(table_3)
    assert "Of 6 comparisons with the paper, **4 differ**" in page
    assert "By testbed: 3-regular, T 1 of 3; 3-regular, U 3 of 3." in page
    assert "With those that differ least here, T, **1 of 3** comparisons differ" in page


def test_every_claim_names_rows_and_measures_that_there_are():
    results = {
        task: {
            "values": {
                "rows": [
                    {"testbed": bed.name, "row": row.name, "tried": False, "paper": row.paper, "faithful": row.paper}
                    for bed in make()
                    for row in bed.rows
                ]
            }
        }
        for task, make in TASKS.items()
    }
    for claim in claims(results):
        rows = rows_by_name(results[claim.task], claim.testbed)
        for better, worse, measured in claim.contrasts:
            assert {measured} <= rows[better]["paper"].keys() & rows[worse]["paper"].keys()
    assert sum(len(row["paper"]) for record in results.values() for row in record["values"]["rows"]) == 117


def test_differences_are_paired():
    assert shows([1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0], "P1") == (True, 2 / 2**6)
    assert not shows([0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], "P1")[0]
    assert shows([1.0, 2.0, 3.0], [1.5, 2.6, 3.4], WITH)[0]  # a distance is better if it is less
    assert p_value([1, 0], [1, 0], "P1") == p_value([1.0, 2.0], [1.0, 2.0], WITH) == 1


def test_two_standard_errors_decide():
    assert not differs([1.0] * 50, 100, None)
    assert differs([1.0] * 50, 80, None)
    assert not differs([0.0] * 40 + [1.0] * 10, 30, None)
    assert differs([5.0, 5.2, 4.8, 5.0], 4.0, 0.5)
    assert not differs([5.0, 5.2, 4.8, 5.0], 5.1, 0.5)

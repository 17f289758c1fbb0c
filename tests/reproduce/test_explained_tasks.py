import numpy as np

from rwkplus.descriptive.gradient import ExplainedPatterns
from rwkplus.reproduce import explained_tasks
from rwkplus.result_files import read_result

SHORT = {"epochs": 4, "kicks": 0}


def test_every_cell_is_written_with_seeds_that_design_did_not_use(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(explained_tasks, "TASK_1", explained_tasks.TASK_1 | SHORT)
    monkeypatch.setattr(explained_tasks, "TASK_2", explained_tasks.TASK_2 | SHORT)
    monkeypatch.setattr(explained_tasks, "SIZES", (2,))
    told = []
    results = explained_tasks.run_explained_tasks(quick=True, on_step=told.append)
    assert [len(rows) for rows in results.values()] == [1, 3, 15]
    assert len(told) == 19
    for task, rows in results.items():
        record = read_result(f"mining_explained/quick/{task}")
        assert record["values"]["rows"] == rows
        assert min(record["config"]["seeds"]) >= 1000
    copied = [row["copying, with labels"] for row in results["task-2"]]
    assert copied == [0.0] * 15
    assert all(row["untrained, without labels"] > 1 for row in results["task-2"])


def test_the_best_of_ten_is_chosen_by_the_objective():
    explained, hit = np.zeros(20), np.zeros(20, bool)
    explained[[3, 15]], hit[[3, 4]] = 0.9, True
    none = np.zeros(0)
    found = ExplainedPatterns(none, none, (), explained, none, none, none, none, none)
    assert explained_tasks._best_of_groups(found, hit).tolist() == [True, False]

import numpy as np

from experiments import mining_explained
from experiments.records import read_result
from rwkplus.descriptive.gradient import ExplainedPatterns

SHORT = {"epochs": 4, "kicks": 0}


def test_every_cell_is_written_with_seeds_that_design_did_not_use(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mining_explained, "TASK_1", mining_explained.TASK_1 | SHORT)
    monkeypatch.setattr(mining_explained, "TASK_2", mining_explained.TASK_2 | SHORT)
    monkeypatch.setattr(mining_explained, "SIZES", (2,))
    told = []
    results = mining_explained.run_explained_tasks(quick=True, on_step=told.append)
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
    assert mining_explained._best_of_groups(found, hit).tolist() == [True, False]

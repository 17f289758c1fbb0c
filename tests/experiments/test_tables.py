import json

import pytest

from experiments.kernels import METHODS, quality_table
from experiments.pages import existing, joined_commands, ran, table
from experiments.records import exists, read_result, save_result
from experiments.tables import write_tables
from rwkplus.errors import DataError


@pytest.fixture
def folder(tmp_path):
    accuracy = {method: [[0.8, 0.9], [0.7, 0.8]] for method in METHODS} | {"guard: majority": [[0.5, 0.5], [0.5, 0.5]]}
    accuracy["RWK+"] = [[0.6, 0.6], [0.6, 0.6]]
    config = {"folds": 2, "inner_folds": 2, "seeds": [0, 1], "steps": [1, 2], "costs": [1.0], "command": "c"}
    save_result("kernel_quality/MUTAG", config, {"accuracy": accuracy}, tmp_path)
    rows = [{"library": "ours", "seconds": 0.5}, {"library": "theirs", "seconds": 1234.5}]
    save_result("benchmarks/one", {"title": "T", "about": "A.", "command": "c"}, {"rows": rows}, tmp_path)
    return tmp_path


def test_a_result_file_knows_when_and_with_what_it_was_made(folder):
    record = read_result("kernel_quality/MUTAG", folder)
    assert {"date", "cpu", "versions"} <= record["environment"].keys()
    assert record["config"]["seeds"] == [0, 1]


def test_the_table_shows_means_over_seeds_and_paired_differences(folder):
    table = quality_table(["MUTAG"], folder)
    assert "| RWK+ | 60.0 ± 0.0 |" in table
    assert "| Weisfeiler-Leman (GraKeL) | 80.0 ± 5.0 |" in table
    assert "| RWK+ minus Weisfeiler-Leman | -20.0 (p = " in table
    assert "| guard: majority | 50.0 ± 0.0 |" in table


def test_pages_are_written_only_from_results_that_exist(folder, tmp_path):
    written = write_tables(tmp_path / "docs", folder)
    assert [path.name for path in written if path.suffix == ".md"] == ["kernels.md", "speed.md"]
    assert "| theirs | 1,234 |" in written[1].read_text()
    assert write_tables(tmp_path / "empty", tmp_path / "nothing") == []


def test_missing_and_broken_result_files_are_named(tmp_path):
    with pytest.raises(DataError, match=r"absent\.json"):
        read_result("absent", tmp_path)
    (tmp_path / "broken.json").write_text(json.dumps({})[:1])
    with pytest.raises(DataError, match=r"broken\.json"):
        read_result("broken", tmp_path)


def test_the_planted_page_has_a_row_per_shape_and_a_column_per_distortion(tmp_path):
    rows = [
        {"patterns": 1, "shape": "tree", "size": 4, "distortion": d, "share": share, "seconds each": 0.5}
        for d, share in ((0.0, 1.0), (0.1, 0.9))
    ]
    config = {
        "databases": 10,
        "first_seed": 7,
        "alarm_databases": 50,
        "graphs": 100,
        "labels": 4,
        "background nodes": [10, 20],
        "command": "c",
    }
    save_result("planted", config, {"rows": rows, "false alarms": 1}, tmp_path)
    (page,) = write_tables(tmp_path / "docs", tmp_path)
    assert "| 1 tree | 4 | 100% | 90% | 0.5 |" in page.read_text()
    assert "1 of 50" in page.read_text()


def test_the_page_of_our_gradient_miner_lists_the_tasks_in_order(tmp_path):
    for task in ("task-2", "task-1-1"):
        config = {"seeds": [1000], "restarts per seed": 5, "settings": {"steps": 3}, "command": "c"}
        save_result(f"mining_explained/{task}", config, {"rows": [{"testbed": task, "found": 100.0}]}, tmp_path)
    (page,) = write_tables(tmp_path / "docs", tmp_path)
    text = page.read_text()
    assert text.index("| task-1-1 | 100 |") < text.index("| task-2 | 100 |")
    assert "5 restarts each; steps 3." in text


def test_the_classification_page_puts_paper_ours_and_guards_side_by_side(tmp_path):
    folds = [{"accuracy": share, "epoch": 1, "params": {}, "s": 1.0} for share in (0.8, 0.9)]
    scores = {"RWK-": folds, "RWK+": folds[::-1], "guards": {"majority": [0.5], "size": [0.6], "histogram": [0.7]}}
    settings = {"epochs": 3, "lr": 0.01, "halve_lr_every": 50, "batch_size": 64}
    save_result("classification/MUTAG", {"command": "c", "settings": settings}, {"scores": scores}, tmp_path)
    (page,) = write_tables(tmp_path / "docs", tmp_path)
    row = next(line for line in page.read_text().splitlines() if line.startswith("| MUTAG"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == ["MUTAG", "81.9", "83.0", "", "", "85.0 ± 5.0", "85.0 ± 5.0", "", "", "1", "50.0", "60.0", "70.0"]
    assert "reaches the paper" not in page.read_text()

    low = [fold | {"accuracy": fold["accuracy"] - 0.05} for fold in folds]
    scores |= {"RWK- with StepNorm": folds, "RWK+ with StepNorm": low}
    for name in ("MUTAG", "ENZYMES", "ENZYMES-attributes"):
        save_result(f"classification/{name}", {"command": "c", "settings": settings}, {"scores": scores}, tmp_path)
    (page,) = write_tables(tmp_path / "docs", tmp_path)
    text = page.read_text()
    assert "Over 2 data sets" in text
    assert "RWK+ with StepNorm reaches the paper's value on 1, without on 2." in text
    assert "With StepNorm, as in the paper, RWK+ is ahead on 0 of 2, by -5.00 on average" in text
    assert "Without StepNorm, it is ahead on 0 of 2, by +0.00 on average" in text


def test_a_table_has_a_header_a_rule_and_its_rows():
    assert table(["a", "b"], [[1, "x"], [2.5, ""]]) == "| a | b |\n| --- | --- |\n| 1 | x |\n| 2.5 |  |\n"
    assert table(iter("ab"), []) == "| a | b |\n| --- | --- |\n"


def test_names_without_a_result_file_are_left_out(folder):
    assert existing(["NCI1", "MUTAG"], "kernel_quality", folder) == ["MUTAG"]
    assert exists("benchmarks/one", folder)
    assert not exists("benchmarks/two", folder)


@pytest.mark.parametrize(
    ("commands", "joined"),
    [
        (["run", "run"], ["run"]),
        (["run a", "run b"], ["run a", "run b"]),
        (["run --dataset A -n 3", "run --dataset B -n 3"], ["run --dataset A --dataset B -n 3"]),
        (
            ["run --dataset A", "run --dataset B -n 3", "run --dataset C"],
            ["run --dataset A --dataset C", "run --dataset B -n 3"],
        ),
        (["run --dataset A", "run --dataset A"], ["run --dataset A"]),
        (["run --dataset A", "run"], ["run --dataset A", "run"]),
        (["run --dataset A", "walk --dataset A"], ["run --dataset A", "walk --dataset A"]),
    ],
)
def test_commands_are_joined_only_where_nothing_but_the_data_set_differs(commands, joined):
    assert joined_commands(commands) == joined


def test_runs_on_one_machine_are_told_once():
    def record(command, date, cpu="C"):
        return {
            "config": {"command": command},
            "environment": {"date": date, "cpu": cpu, "cores": 2, "versions": {"torch": "1", "numpy": "2"}},
        }

    machine = "C, 2 cores; torch 1, numpy 2"
    assert ran(record("a", "2026-01-02")) == f"Command: `a`. Ran on 2026-01-02, commit not recorded; {machine}.\n"
    both = ran(record("a", "2026-01-02"), record("b", "2026-01-01"))
    assert both == f"Commands: `a`, `b`. Ran on 2026-01-01 to 2026-01-02, commit not recorded; {machine}.\n"
    assert "; and on 2026-01-02, commit not recorded; D, 2 cores" in ran(
        record("a", "2026-01-02"), record("a", "2026-01-02", "D")
    )

import ast
import inspect
import re
import shutil
from importlib import import_module
from pathlib import Path

import pytest
import typer

from experiments import nodes_released
from experiments.__main__ import COMMANDS, program
from experiments.cross_validated import verdict
from experiments.paper import FORMULAS, OTHERS, paper_page
from experiments.records import read_result, save_result

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results"
ROOMS = ("nn", "models", "training", "descriptive", "kernels")


def rows_of(page):
    """Cells of every row, without backticks around tests and commands."""
    lines = [line for line in page.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def named(cell):
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", cell)


@pytest.fixture(scope="module")
def page():
    return paper_page(RESULTS)


def test_the_table_is_that_of_the_results(page):
    assert (ROOT / "docs" / "paper.md").read_text() == page


def test_tests_name_the_code_or_the_experiment_beside_them(page):
    for what, code, test, command, *_ in rows_of(page):
        if test:
            text = test + (ROOT / "tests" / test.strip("`")).read_text()
            names = [re.split(r"\W", expression)[-1] for expression in re.findall(r"[\w.]+", " ".join(named(code)))]
            names += [COMMANDS[command.strip("`").split()[0]]] if command else []
            assert not names or any(name in text for name in names if len(name) > 3), what


def test_commands_have_these_options(page):
    for command in {row[3].strip("`") for row in rows_of(page)} - {""}:
        name, *words = command.split()
        group = typer.main.get_command(program([name]))
        known = {option for parameter in group.commands[name].params for option in parameter.opts}
        known |= {option for parameter in group.commands[name].params for option in parameter.secondary_opts}
        assert {word for word in words if word.startswith("--")} <= known, command
        assert name in COMMANDS


def test_code_is_where_the_table_says():
    for expression in named(" ".join(row.code for row in (*FORMULAS, *OTHERS))):
        if re.fullmatch(r"[a-z_]+(\.\w+)+", expression):
            top = "" if expression.split(".")[0] in ("tests", "rwkplus", "experiments") else "rwkplus."
            module, _, name = f"{top}{expression}".rpartition(".")
            assert hasattr(import_module(module), name), expression
        elif re.match(r"\w[\w.]*\(", expression):
            call = ast.parse(expression, mode="eval").body
            name = ast.unparse(call.func).rpartition(".")[2]
            places = [import_module(f"rwkplus.{room}") for room in ROOMS]
            function = next(getattr(place, name) for place in places if hasattr(place, name))
            assert {word.arg for word in call.keywords} <= inspect.signature(function).parameters.keys(), expression


def test_rows_of_the_released_settings_appear_with_their_file(tmp_path):
    shutil.copytree(RESULTS, tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "nodes" / "released", ignore_errors=True)
    before = paper_page(tmp_path)
    assert "as in the released scripts, " not in before
    assert "| `node-classification-released` |  |  | not run yet |" in before
    config = {"command": "c", "settings": {"epochs": 1, "lr": 1, "halve_lr_every": 1}}
    rows = [
        {
            "method": method,
            "seed": seed,
            "accuracy": 0.7 + 0.01 * (seed % 2),
            "validation": 0.7 + 0.05 * i + seed % 3 * i / 1000,
        }
        for i, method in enumerate(nodes_released.METHODS)
        for seed in range(10)
    ]
    save_result("nodes/released/CiteSeer", config, {"rows": [*rows, rows[0] | {"seed": 10}]}, tmp_path)
    after = paper_page(tmp_path)
    assert "| Table 8, CiteSeer, as in the released scripts, 10 splits: RWK+Conv |" in after
    assert "| 76.7 ± 0.2 | 70.5 ± 0.5; 70.0 on the scripts' own split | missed |" in after
    assert "settings of the released scripts, next row |" in after
    assert re.search(
        r"\| on validation nodes: CiteSeer \+10.2 \(p = [0-9.e-]+\) \| beyond chance: CiteSeer \+10.2 \|", after
    )
    assert "the three columns have: CiteSeer 70.0, 70.0, 70.0." in nodes_released.released_section(tmp_path)
    assert "| CiteSeer | 10 | 73.4 | 76.7 | 70.5 ± 0.5 |" in nodes_released.released_section(tmp_path)


def test_a_run_that_has_no_complete_split_yet_is_not_told(tmp_path):
    rows = [{"method": nodes_released.PLAIN, "seed": 0, "accuracy": 0.7, "validation": 0.7}]
    save_result("nodes/released/Cora", {"command": "c"}, {"rows": rows}, tmp_path)
    assert nodes_released.released_section(tmp_path) is None


def test_full_screens_have_a_row_once_they_were_run(tmp_path, page):
    assert "no data: neither P388 nor another full screen" in page
    shutil.copytree(RESULTS, tmp_path, dirs_exist_ok=True)
    record = read_result("anomaly/PC-3", RESULTS)
    save_result("anomaly/full/P388", record["config"] | {"screen": "P388"}, record["values"], tmp_path)
    full = paper_page(tmp_path)
    assert "| Table 5, P388, full screen: iGAD + RWK+ |" in full
    assert "| `anomaly --full --dataset P388` | 84.0 ± 1.4 | 62.0 ± 2.2 | missed |" in full


def test_every_table_of_the_second_part_has_rows(page):
    assert [n for n in range(5, 12) if f"| Table {n}, " not in page] == []


@pytest.mark.parametrize(
    ("ours", "smaller", "said"),
    [
        ([76.0, 77.0], False, "matched"),
        ([80.0, 80.1], False, "beaten"),
        ([70.0, 70.1], False, "missed"),
        ([80.0, 80.1], True, "missed"),
        ([70.0], True, "beaten"),
    ],
)
def test_verdicts_weigh_both_deviations(ours, smaller, said):
    assert verdict(ours, 76.7, 0.2, 3, smaller=smaller) == said


def test_a_wide_deviation_of_the_paper_makes_a_match():
    assert verdict([70.0, 70.1], 76.7, 6.4, 5) == "missed"
    assert verdict([72.0, 72.1], 76.7, 6.4, 5) == "matched"


def test_no_table_without_results(tmp_path):
    assert paper_page(tmp_path) is None

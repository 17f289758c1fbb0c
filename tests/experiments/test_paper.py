import re
from pathlib import Path

import pytest

from experiments.__main__ import COMMANDS
from experiments.paper import FORMULAS, OTHERS, paper_page, verdict

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def page():
    return paper_page(ROOT / "experiments" / "results")


def test_the_table_is_that_of_the_results(page):
    assert (ROOT / "docs" / "paper.md").read_text() == page


def test_tests_commands_and_code_exist(page):
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")][2:]
    named = {row[2].strip("`") for row in rows if row[2].strip()}
    assert [name for name in named if not (ROOT / "tests" / name).is_file()] == []
    commands = {row[3].strip("`").split()[0] for row in rows if row[3].strip()}
    assert commands - COMMANDS.keys() == set()
    code = " ".join(row.code for row in (*FORMULAS, *OTHERS))
    rooms = {room.name for room in (ROOT / "rwkplus").iterdir()}
    assert set(re.findall(r"`(\w+)\.\w", code)) <= rooms | {"tests", "rwkplus", "experiments"}


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

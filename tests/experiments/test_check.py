import os

import pytest

from experiments import check
from experiments.check import CHECKS, Found, check_table
from experiments.tables import PAGES
from rwkplus.cli.run_record import environment
from rwkplus.errors import DataError

data = pytest.mark.skipif("RWKPLUS_DATA" not in os.environ, reason="needs the data sets in RWKPLUS_DATA")


def test_numbers_agree_to_six_digits_or_within_twice_the_noise():
    assert Found("", 0.5, 0.5000001).verdict == "same"
    assert [Found("", 0.5, now, 0.1).verdict for now in (0.69, 0.31, 0.71)] == ["within noise"] * 2 + ["differs"]
    assert Found("", 30, 29).verdict == "differs"


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "differs"),
        ({"runs": [{"commit": "a", "dirty": True}]}, "within noise"),
        ({"runs": [{"commit": "a", "dirty": False}, {"commit": None}]}, "within noise"),
        ({"environment": environment() | {"cpu": "another"}}, "within noise"),
        ({"environment": environment() | {"versions": {}}}, "within noise"),
    ],
)
def test_networks_repeat_exactly_where_code_and_machine_are_those_of_the_file(change, verdict):
    record = {"environment": environment(), "runs": [{"commit": "a", "dirty": False}], **change}
    then = [0.4, 0.5, 0.6]
    assert check._means("r", record, then, then).verdict == "same"
    assert check._means("r", record, then, [0.45, 0.55, 0.65]).verdict == verdict
    assert check._means("r", record, then, [0.52, 0.62, 0.72]).verdict == "differs"  # 2 standard errors are 0.115


def test_rows_that_differ_or_fail_are_told_and_refused(monkeypatch, capsys):
    def missing(folder):
        raise DataError("no file")

    monkeypatch.setattr(
        check, "CHECKS", {"a": lambda _: Found("r", 1, 1), "b": lambda _: Found("r", 1, 2), "c": missing}
    )
    check.check(page=["a"])
    assert "| a | r | 1 | 1 | same |" in capsys.readouterr().out
    with pytest.raises(DataError, match="of 3 rows, 2 differ or did not run: b, c"):
        check.check(page=None)
    shown = capsys.readouterr().out
    assert "| b | r | 1 | 2 | differs |" in shown
    assert "not run: no file" in shown


def test_every_page_has_a_row_but_the_bots():
    pages = {name.removesuffix(".md") for name in PAGES if name.endswith(".md") and "/" not in name}
    assert pages - CHECKS.keys() == {"twibot"}


@data
@pytest.mark.parametrize("page", ["data_sets", "detection"])
def test_quick_rows_still_give_what_the_files_hold(page, pytestconfig, monkeypatch):
    monkeypatch.chdir(pytestconfig.rootpath)
    found = CHECKS[page](check.RESULTS)
    assert found.verdict == "same", check_table({page: found})

"""Kernels, features, patterns and detectors say what they said when ``digests.json`` was recorded."""

import json
import math

import pytest

from tests.digests.record import CASES, FILE, facts

pytestmark = pytest.mark.slow

RECORDED = json.loads(FILE.read_text())
RTOL, ATOL = 1e-6, 1e-7


def same(recorded, found):
    """Whether two facts agree: real numbers closely, all else exactly."""
    if isinstance(recorded, list) and isinstance(found, list):
        return len(recorded) == len(found) and all(map(same, recorded, found))
    if isinstance(recorded, float) and isinstance(found, float):
        return math.isclose(recorded, found, rel_tol=RTOL, abs_tol=ATOL)
    return type(recorded) is type(found) and recorded == found


def differences(recorded, found):
    """One line for every fact that is not what it was."""
    for name in recorded | found:
        if name not in found:
            yield f"{name}: was {recorded[name]}, is gone"
        elif name not in recorded:
            yield f"{name}: was not there, is {found[name]}"
        elif not same(recorded[name], found[name]):
            yield f"{name}: was {recorded[name]}, is {found[name]}"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_are_those_recorded(case):
    if not case.at_hand:
        pytest.skip(f"{case.name} is not below RWKPLUS_DATA")
    recorded = RECORDED["facts"][str(case)]
    changed = list(differences(recorded, facts(case)))
    if changed:
        title = f"{case}: {len(changed)} of {len(recorded)} facts differ since commit {RECORDED['commit'][:7]}:"
        pytest.fail("\n".join([title, *changed]), pytrace=False)


def test_every_registered_set_is_recorded():
    assert set(RECORDED["facts"]) == {str(case) for case in CASES}


@pytest.mark.parametrize(
    ("recorded", "found", "agree"),
    [
        ([2, 1.0], [2, 1.0 + 1e-8], True),
        ([2, 1.0], [2, 1.0001], False),
        ([2, 1.0], [3, 1.0], False),
        ([2, 1.0], [2, 1.0, 1.0], False),
        ("int64 2x2 ab", "int64 2x2 ac", False),
        (["C", [0, 1, None]], ["C", [0, 1, None]], True),
        (["C", [0, 1, None]], ["C", [0, 1, "-"]], False),
        (math.inf, math.inf, True),
        (0.0, math.nan, False),
    ],
)
def test_facts_agree_or_not(recorded, found, agree):
    assert same(recorded, found) is agree


def test_differences_name_the_fact():
    changed = list(differences({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 3, "d": 4}))
    assert changed == ["b: was 2, is 3", "c: was 3, is gone", "d: was not there, is 4"]

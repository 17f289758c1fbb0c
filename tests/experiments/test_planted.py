from functools import partial

import pytest

from experiments import planted
from experiments.records import RESULTS
from experiments.testbeds import planted_database, random_pattern

SMALL = partial(planted_database, num_graphs=12, background=(5, 8))


def test_a_small_run_recovers_patterns_and_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(planted, "_cells", lambda: iter([(True, 1, 5, 0.1)]))
    monkeypatch.setattr(planted, "_false_alarm", lambda seed: False)
    (row,) = planted.run_planted(2)
    assert row["recovered"] == 2
    assert (tmp_path / RESULTS / "planted.json").exists()


@pytest.mark.filterwarnings("ignore:no pattern occurs more often than by chance")
@pytest.mark.parametrize("hidden", [False, True])
def test_an_alarm_is_a_pattern_that_beats_chance(monkeypatch, hidden):
    """Patterns that are there are found as well: a count that is always 0 would say nothing."""

    def database(patterns, rng):
        assert not patterns
        return SMALL([random_pattern(4, rng)] if hidden else [], rng)

    monkeypatch.setattr(planted, "planted_database", database)
    monkeypatch.setattr(planted, "ALARM_DATABASES", 1)
    assert planted.count_false_alarms() == hidden

import pytest
from typer.testing import CliRunner

from experiments import mining_tasks
from experiments.__main__ import program
from experiments.mining_rows import TASKS


@pytest.fixture
def asked(monkeypatch):
    """What the commands ask the library for, which answers with an empty record."""
    calls = []

    def run_task(task, **options):
        calls.append((task, options))
        return {"values": {"rows": []}}

    monkeypatch.setattr(mining_tasks, "run_task", run_task)
    return calls


@pytest.mark.parametrize("task", TASKS)
def test_every_task_is_a_command(asked, task):
    result = CliRunner().invoke(program([task]), [task, "--restarts", "7"])
    assert result.exit_code == 0, result.output
    name, options = asked[0]
    assert name == task
    assert (options["restarts"], options["num_graphs"], options["quick"]) == (7, 100, False)


def test_a_quick_run_is_small(asked):
    assert CliRunner().invoke(program(["task-1-2"]), ["task-1-2", "--quick"]).exit_code == 0
    _, options = asked[0]
    assert (options["restarts"], options["num_graphs"], options["quick"]) == (5, 20, True)

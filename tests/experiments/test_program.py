import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from experiments.__main__ import COMMANDS, program

ROOT = Path(__file__).parents[2]


def run(*arguments, cwd=ROOT):
    command = [sys.executable, "-m", "experiments", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env=None)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_experiment_and_option_says_what_it_does(name):
    app = program([name])
    assert "Usage:" in CliRunner().invoke(app, [name, "--help"]).output
    command = get_command(app).commands[name]
    assert (command.help or "").strip()
    assert [option.name for option in command.params if not (option.help or "").strip()] == []


def test_help_lists_all_experiments():
    shown = CliRunner().invoke(program(), ["--help"]).output
    assert [name for name in COMMANDS if name not in shown] == []


def test_tables_without_results_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    done = run("tables", cwd=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "run an experiment first" in done.stderr


def test_pages_are_those_of_the_committed_results(tmp_path):
    """Whoever changes a page changes the code that writes it, and the other way round."""
    pages = ROOT / "docs" / "results"
    if not pages.exists():
        pytest.skip("there are no pages beside the code")
    done = run("tables", "--docs", str(tmp_path))
    assert done.returncode == 0, done.stderr
    written = {path.name: path.read_text() for path in tmp_path.iterdir() if path.suffix == ".md"}
    assert written == {path.name: path.read_text() for path in pages.glob("*.md")}

"""Run the program as a user does, in this process."""

import sys

import pytest
from typer.testing import CliRunner

from rwkplus.cli.main import app, run


def invoke(*arguments):
    """Run a command that must succeed; return what it prints."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def rwkplus(monkeypatch, capsys):
    """Run the program; return exit code, stdout and stderr."""

    def run_program(*arguments):
        monkeypatch.setattr(sys, "argv", ["rwkplus", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run()
        return ended.value.code, *capsys.readouterr()

    return run_program

"""The command ``rwkplus``, its exit codes and its errors."""

import io
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from rwkplus import __version__
from rwkplus.cli.commands import classify, datasets, detect, explain, kernel, mine, predict, train, tune
from rwkplus.cli.console import RUNNING, err, print_error
from rwkplus.errors import RWKPlusError, RWKPlusWarning


class Command(TyperCommand):
    """A command that tells errors of the library in its own words."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        """Run the command; exit with 2 where the input is wrong."""
        RUNNING.set(self.params)
        try:
            return super().invoke(ctx)
        except RWKPlusError as error:
            print_error(error)
            raise typer.Exit(2) from error


app = typer.Typer(
    help="Random walk kernels on graphs: matrices, features, patterns, anomalies, networks.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for command in (
    datasets.datasets, kernel.kernel, classify.classify, mine.mine, detect.detect, train.train, tune.tune,
    predict.predict, explain.explain,
):  # fmt: skip
    app.command(cls=Command)(command)


INTERRUPTED = 130


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rwkplus {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options of the whole program."""


def run(program: typer.Typer = app) -> None:
    """Run a command. Exit codes: 0 done, 1 unexpected failure, 2 wrong input, 130 interrupted."""
    warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files may be no text
    try:
        program()
    except RWKPlusError as error:  # of another program than this one
        print_error(error)
        sys.exit(2)
    except SystemExit as end:  # typer has caught Ctrl-C
        if end.code == INTERRUPTED:
            err.print("interrupted")
        raise
    except OSError as error:  # a full disk, a folder that was taken away
        print_error(f"{error.filename}: {error.strerror}." if error.filename else error)
        sys.exit(1)


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Warnings of this library concern the user, those of others do not."""
    if issubclass(category, RWKPlusWarning):
        print_error(message, "warning")

"""The command ``rwkplus``, its exit codes and its errors."""

import os
import sys
from typing import Annotated

import typer

from rwkplus import __version__
from rwkplus.cli import classify, datasets, detect, explain, kernel, mine, predict, reproduce, train, tune, twibot
from rwkplus.cli.console import err
from rwkplus.errors import RWKPlusError

app = typer.Typer(
    help="Random walk kernels on graphs: matrices, features, patterns, networks, the paper's experiments.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.command()(datasets.datasets)
app.command()(kernel.kernel)
app.command()(classify.classify)
app.command()(mine.mine)
app.command()(detect.detect)
app.command()(train.train)
app.command()(tune.tune)
app.command()(predict.predict)
app.command()(explain.explain)
app.command()(twibot.twibot)
app.add_typer(reproduce.app, name="reproduce")


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


def run() -> None:
    """Run a command. Exit codes: 0 done, 1 unexpected failure, 2 wrong input, 130 interrupted."""
    try:
        app()
    except RWKPlusError as error:
        err.print(f"[bold red]error:[/] {error}", highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        err.print("interrupted")
        sys.exit(130)
    except BrokenPipeError:  # the reader of a pipe went away, as in `rwkplus datasets | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)

"""The command ``rwkplus``, its exit codes and its errors."""

import io
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from rwkplus import __version__
from rwkplus.cli.commands import (
    classify,
    convert,
    datasets,
    describe,
    detect,
    explain,
    kernel,
    mine,
    predict,
    train,
    tune,
    view,
)
from rwkplus.cli.console import RUNNING, err, print_error
from rwkplus.errors import RWKPlusError, RWKPlusWarning, is_interrupt


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
    help="Graph kernels, subgraph mining, outlier detection and kernel networks, with results you can read.",
    epilog="Start with `rwkplus describe FILE`, which shows what is in your data. After --install-completion, your "
    "shell completes commands, options and data set names.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
EXAMPLES = {
    describe.describe: "payment-cases",
    convert.convert: "functional-groups molecules.jsonl",
    datasets.datasets: "--json",
    kernel.kernel: "functional-groups --steps 3 --normalize --out gram.npz",
    classify.classify: "functional-groups --kernel rwk+ --steps 1,2 --folds 5",
    mine.mine: "planted-molecules --patterns 3 --out mined",
    detect.detect: "planted-anomalies --out detected",
    train.train: "functional-groups --model kergnn --ignore edges.label --epochs 20 --folds 0 --out run",
    tune.tune: "functional-groups --model gnn --trials 2 --folds 2 --epochs 2 --ignore edge_attr --out search",
    predict.predict: "run functional-groups --out predictions.csv",
    explain.explain: "run functional-groups --out network.html",
    view.view: "detected --no-browser",
}
"""Commands in the order of ``--help``, each with what may follow it; a test runs one after the other."""
for command, arguments in EXAMPLES.items():
    app.command(cls=Command, epilog=f"Example: rwkplus {command.__name__} {arguments}")(command)


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
        code = program(standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except Exception as error:
        code = INTERRUPTED if is_interrupt(error) else _tell(error)
    if code == INTERRUPTED:
        err.print("interrupted")
    sys.exit(code if isinstance(code, int) else 0)


def _tell(error: Exception) -> int:
    """Say what went wrong, in a line, and return the exit code; what nobody expected is raised again."""
    if isinstance(error, RWKPlusError):  # of another program than this one
        print_error(error)
        return 2
    if isinstance(error, OSError):  # a full disk, a folder that was taken away
        print_error(f"{error.filename}: {error.strerror}." if error.filename else error)
        return 1
    if not hasattr(error, "format_message"):  # of the parser, whose classes have moved from release to release
        raise error
    return _tell_usage(error)


def _tell_usage(error: Any) -> int:  # noqa: ANN401
    """Say in a line what is wrong with the arguments, and where to read about them."""
    if type(error).__name__ == "NoArgsIsHelpError":  # nothing was asked for: the help was shown
        return 2
    words = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
    path = getattr(error.ctx, "command_path", "rwkplus")
    print_error(f"{words}{'' if words.endswith('?') else '.'} See {path} --help.")
    return 2


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Warnings of this library concern the user, those of others do not."""
    if issubclass(category, RWKPlusWarning):
        print_error(message, "warning")

"""Where commands write: results to stdout, progress and errors to stderr."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from rwkplus.cli.reading import CHOICES
from rwkplus.errors import ParameterError
from rwkplus.files import json_text

CONFIG_FILE = "config.yaml"
REMEDY = re.compile(
    r"\b(ignore|kernel|method|node_features|positive|route|unknown_label|walks|labels|attributes|weight|source|target"
    r"|graph|node|smiles|y)=(?:\('([^']+)',\)|'([^']+)'|(\.\.\.))"
)
"""A choice as Python spells it, which is an option here."""
NAMES = {
    "directed=True": "--directed", "multigraph=True": "--multigraph", "drop_duplicates=True": "--drop-duplicates",
    "on_error='skip'": "--skip-bad", "n_controls=0": "--controls 0", "n_jobs": "--jobs", "n_patterns": "--patterns",
    "pattern_size": "--size", "the contamination": "--contamination",
}  # fmt: skip
"""What options are called in Python."""
NAME, SIZE_OF_NETWORK = re.compile(rf"\b({'|'.join(NAMES)})(?!\w)"), re.compile(r"\b(give the network) (\w+=\d+)")
# Without markup: names of files, SMILES and extras have square brackets.
out = Console(markup=False, highlight=False, emoji=False)
err = Console(markup=False, highlight=False, emoji=False, stderr=True)


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Show a bar on stderr where that is a terminal; the block gets a function that advances it."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(title, total=total)

        def advance(message: str | None = None) -> None:
            bar.update(task, advance=1, description=message or title)

        yield advance


def print_json(facts: Mapping[str, Any]) -> None:
    """Write facts for programs."""
    sys.stdout.write(json_text(facts) + "\n")


def print_error(message: object, kind: str = "error") -> None:
    """Tell what went wrong."""
    style = "bold red" if kind == "error" else "bold yellow"
    err.print(Text.assemble((f"{kind}: ", style), with_options(str(message))), soft_wrap=True)


def with_options(message: str) -> str:
    """Say in a message of the library what its user can type: ``--ignore age`` for ``ignore=('age',)``."""
    message = REMEDY.sub(lambda found: f"{_option(found[1])} {found[2] or found[3] or 'NAME'}", message)
    return SIZE_OF_NETWORK.sub(r"\1 --param \2", NAME.sub(lambda found: NAMES[found[1]], message))


def _option(name: str) -> str:
    """What an argument of Python is called here."""
    return CHOICES[name][1] if name in CHOICES else f"--{name.replace('_', '-')}"


def bold_names(values: Mapping[str, object]) -> Text:
    """Names and values in a row."""
    text = Text()
    for name, value in values.items():
        text.append("  " if text else "").append(name, "bold").append(f" {value}")
    return text


def title_of(dataset: str) -> str:
    """What a page calls a database: as it was given, but the folder where the user is by its name."""
    return dataset if Path(dataset).name.strip(".") else Path(dataset).resolve().name


def is_unused(folder: Path) -> bool:
    """Whether a folder holds at most the configuration of a run that came to nothing."""
    return folder.is_dir() and {item.name for item in folder.iterdir()} <= {CONFIG_FILE}


def check_output(path: Path, remedy: str | None, *, folder: bool = False) -> None:
    """Find out before the work whether its result can be written.

    Args:
        path: What ``--out`` names.
        remedy: What to do about something that exists already, or None if that may be written over.
        folder: Whether it is to be a folder.
    """
    if path.exists() and remedy is not None and not is_unused(path):
        raise ParameterError(f"--out {path} exists already; {remedy}.")
    if path.exists() and path.is_dir() != folder:
        raise ParameterError(f"--out {path} is {'no folder but a file' if folder else 'no file but a folder'}.")
    if not folder and not path.parent.exists():
        raise ParameterError(f"--out {path}: there is no folder {path.parent}.")
    place = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if place != path and not place.is_dir():
        raise ParameterError(f"--out {path}: {place} is no folder.")
    if not os.access(place, os.W_OK):
        raise ParameterError(f"--out {path}: {place} cannot be written to.")

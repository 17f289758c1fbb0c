"""Where commands write: results to stdout, progress and errors to stderr, in the words of the command line."""

import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from rwkplus.cli.options import CHOICES
from rwkplus.errors import ParameterError, RWKPlusError, RWKPlusWarning
from rwkplus.files import json_text, visible

CONFIG_FILE = "config.yaml"
OPTIONS = {name: option for name, (_, option, _) in CHOICES.items()} | {
    "model_params": "--param",
    "n_controls": "--controls",
    "n_jobs": "--jobs",
    "n_patterns": "--patterns",
    "pattern_size": "--size",
    "random_state": "--seed",
}
"""Options that are not called like the argument of Python that they stand for."""
RUNNING: ContextVar[Sequence[Any]] = ContextVar("options of the running command", default=())


class SafeConsole(Console):
    """A console on which text from files cannot move the cursor, change colors or turn the direction of writing."""

    def render_str(self, text: str, **kwargs: Any) -> Text:  # noqa: ANN401
        """Text as it will be shown, so that columns of tables are wide enough."""
        return super().render_str(visible(text), **kwargs)

    def render(self, *args: Any, **kwargs: Any) -> Iterable[Segment]:  # noqa: ANN401
        """Render with what a terminal obeys spelled out in the text; what the console itself sends stays."""
        for segment in super().render(*args, **kwargs):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


# Without markup: names of files, SMILES and extras have square brackets.
out = SafeConsole(markup=False, highlight=False, emoji=False)
err = SafeConsole(markup=False, highlight=False, emoji=False, stderr=True)


def print_json(facts: Mapping[str, Any]) -> None:
    """Write facts for programs."""
    write(json_text(facts) + "\n")


def write(text: str) -> None:
    """Write text for programs: as it is, but what a terminal would obey is spelled out there."""
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)


def print_error(message: object, kind: str = "error") -> None:
    """Tell what went wrong, and what can be done about it at the command line."""
    style = "bold red" if kind == "error" else "bold yellow"
    err.print(Text.assemble((f"{kind}: ", style), told(message)), soft_wrap=True)


def told(message: object) -> str:
    """An error or warning in the words of the running command; what it has no option for is left out."""
    if not isinstance(message, RWKPlusError | RWKPlusWarning):
        return str(message)
    text = message.render(as_option)
    name, _, rest = text.partition(" ")
    if isinstance(message, ParameterError) and (option := as_option(name, True)):  # about the argument it begins with
        return f"{option.partition(' ')[0]} {rest}"
    return text


def as_option(name: str, value: object) -> str | None:
    """Spell an argument of the library as the running command does: ``--ignore age`` for ``ignore=("age",)``."""
    option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
    found = next((param for param in RUNNING.get() if option in param.opts), None)
    if found is None or value is False:
        return None
    if getattr(found, "is_flag", False):
        return option
    if value is ...:
        return f"{option} NAME"
    if isinstance(value, Mapping):
        return " ".join(f"{option} {shlex.quote(f'{key}={part}')}" for key, part in value.items())
    parts = value if isinstance(value, list | tuple) else [value]
    return " ".join(f"{option} {shlex.quote(str(part))}" for part in parts)


def bold_names(values: Mapping[str, object]) -> Text:
    """Names and values in a row.

    >>> bold_names({"graphs": 200, "steps": 2}).plain
    'graphs 200  steps 2'
    """
    text = Text()
    for name, value in values.items():
        text.append("  " if text else "").append(name, "bold").append(f" {value}")
    return text


def title_of(dataset: str) -> str:
    """What a page calls a database: as it was given, but the folder where the user is by its name.

    >>> title_of("data/payments.csv")
    'data/payments.csv'
    """
    return dataset if Path(dataset).name.strip(".") else Path(dataset).resolve().name


def is_unused(folder: Path) -> bool:
    """Whether a folder holds at most the configuration of a run that came to nothing."""
    return folder.is_dir() and {item.name for item in folder.iterdir()} <= {CONFIG_FILE}


def check_output(path: Path, remedy: str | None, *, folder: bool = False, option: str = "--out") -> None:
    """Find out before the work whether its result can be written.

    Args:
        path: What ``option`` names.
        remedy: What to do about something that exists already, or None if that may be written over.
        folder: Whether it is to be a folder.
        option: How the user named it.
    """
    if path.exists() and remedy is not None and not is_unused(path):
        raise ParameterError(f"{option} {path} already exists; {remedy}.")
    if path.exists() and path.is_dir() != folder:
        raise ParameterError(f"{option} {path} is {'a file, not a folder' if folder else 'a folder, not a file'}.")
    if not folder and not path.parent.exists():
        raise ParameterError(f"{option} {path}: there is no folder {path.parent}; create it first.")
    place = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if place != path and not place.is_dir():
        raise ParameterError(f"{option} {path}: {place} is not a folder.")
    if not os.access(place, os.W_OK):
        raise ParameterError(f"{option} {path}: no permission to write to {place}.")

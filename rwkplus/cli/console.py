"""Where commands write: results to stdout, progress and errors to stderr."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

out = Console()
err = Console(stderr=True)


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Show a bar on stderr where that is a terminal; the block gets a function that advances it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(title, total=total)

        def advance(message: str | None = None) -> None:
            bar.update(task, advance=1, description=message or title)

        yield advance


def print_json(facts: Mapping[str, Any]) -> None:
    """Write facts for programs."""
    sys.stdout.write(json.dumps(facts, indent=1) + "\n")

"""The bar that commands of experiments show."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from rwkplus.cli.console import err
from rwkplus.progress import progress_bars
from rwkplus.types import Progress


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Show a bar on stderr where that is a terminal; the block gets a function that advances it."""
    with progress_bars(err) as show:
        steps = count(1)

        def _advance(_message: str | None = None) -> None:
            show(Progress(title, next(steps), total))

        yield _advance

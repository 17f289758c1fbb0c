"""Progress of long work as bars, in terminals and notebooks."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.text import Text

from rwkplus.types import Callback, Progress


class _TimeLeft(TimeRemainingColumn):
    """The time left, where the end of the work is known."""

    def render(self, task: Task) -> Text:
        return Text() if task.time_remaining is None else super().render(task).append(" left")


@contextmanager
def progress_bars(console: Console | None = None) -> Iterator[Callback]:
    """Give what ``callback=`` takes: a bar for every phase of the work, which vanishes when the block ends.

    Bars are shown in notebooks (with ipywidgets) and on stderr where that is a terminal; elsewhere nothing is written.

    Args:
        console: Where to show them instead, a console of rich.

    Example:
        >>> from rwkplus import PatternMiner, load_graphs
        >>> with progress_bars() as show:
        ...     miner = PatternMiner(1, n_controls=0).fit(load_graphs("functional-groups"), callback=show)
        >>> len(miner.patterns_)
        1
    """
    console = console or Console(stderr=True)
    bar = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn()
    times = TimeElapsedColumn(), _TimeLeft(compact=True)
    seen = console.is_jupyter or console.is_terminal
    with Bars(*bar, *times, console=console, transient=True, disable=not seen) as bars:
        tasks = {}

        def _show(now: Progress) -> None:
            if now.phase not in tasks:
                tasks[now.phase] = bars.add_task(now.phase, total=now.total)
            values = " ".join(f"{name} {value:.3g}" for name, value in now.values.items())
            told = f"{now.phase} {values}".strip()
            bars.update(tasks[now.phase], completed=now.done, total=now.total, description=told)

        yield _show

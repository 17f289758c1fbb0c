import io
import itertools
import re

from rich.console import Console

from rwkplus.datasets import load_graphs
from rwkplus.mining import PatternMiner
from rwkplus.progress import progress_bars
from rwkplus.types import Progress


def test_every_phase_has_a_bar():
    written = io.StringIO()
    with progress_bars(Console(file=written, force_terminal=True, width=100)) as show:
        for done in range(3):
            show(Progress("epochs", done, 2, {"loss": 0.25}))
        show(Progress("controls", 1))
    told = written.getvalue()
    assert "epochs loss 0.25" in told
    assert "2/2" in told
    assert "controls" in told


def test_the_time_left_is_told_where_the_end_is_known():
    written, clock = io.StringIO(), itertools.count(step=10)
    console = Console(file=written, force_terminal=True, color_system=None, width=100)
    console.get_time = lambda: float(next(clock))
    with progress_bars(console) as show:
        for done in range(5):
            show(Progress("epochs", done, 100))
    assert re.search(r"\d\d:\d\d left", written.getvalue())


def test_no_time_left_is_told_where_it_is_not():
    written = io.StringIO()
    with progress_bars(Console(file=written, force_terminal=True, width=100)) as show:
        for done in range(5):
            show(Progress("patterns", done))
    assert "left" not in written.getvalue()


def test_nothing_is_written_into_files_and_pipes(capsys):
    written = io.StringIO()
    for console in (None, Console(file=written)):
        with progress_bars(console) as show:
            show(Progress("epochs", 1, 2))
    assert (written.getvalue(), *capsys.readouterr()) == ("", "", "")


def test_estimators_call_it():
    written = io.StringIO()
    with progress_bars(Console(file=written, force_terminal=True, width=100)) as show:
        PatternMiner(1, criterion="blocks", n_controls=0).fit(load_graphs("functional-groups"), callback=show)
    assert "patterns" in written.getvalue()

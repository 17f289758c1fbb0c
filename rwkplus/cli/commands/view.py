"""``rwkplus view``."""

import json
import re
import sys
import webbrowser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rwkplus.cli.console import err, out, print_error, print_json, title_of
from rwkplus.cli.options import Json, Reading, reads_graphs
from rwkplus.errors import DataError, ParameterError, RWKPlusError, RWKPlusWarning
from rwkplus.files import read_text

if TYPE_CHECKING:
    from rwkplus.reports.gallery import Gallery, Score

REPORT, PATTERNS, SCORES = "report.html", "patterns.json", "scores.jsonl"
"""Files of a finished report."""
TO_GRAPHS = '<nav class="pager"><a href="/graphs">all graphs</a></nav>'


@reads_graphs
def view(
    what: Annotated[
        str,
        typer.Argument(
            help="Folder written by `rwkplus mine` or `rwkplus detect`, or any name, file or folder of graphs."
        ),
    ],
    graphs: Annotated[
        str | None, typer.Option("--graphs", help="The graphs of the report, if they have been moved.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port of the server; 0 for any free port.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
    token: Annotated[bool, typer.Option("--token/--no-token", help="Require the token in the printed address.")] = True,
    as_json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Browse a report or graphs: filter thousands of graphs by label, size, pattern and score.

    Runs a server that only this machine can reach; press Ctrl-C to stop it.
    """
    from rwkplus.cli.server import Server, new_token

    answer = pages(what, graphs, reading)
    with Server(answer, port, token=new_token() if token else None) as server:
        if as_json:
            print_json({"url": server.url})
            sys.stdout.flush()
        else:
            out.print(f"Open {server.url}\nPress Ctrl-C to stop.", soft_wrap=True)
        if browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            err.print("stopped")


def pages(what: str, graphs: str | None, reading: Reading) -> Callable[[str, Mapping[str, str]], str | None]:
    """What a server is to answer."""
    folder = Path(what)
    is_report = folder.is_dir() and any((folder / name).is_file() for name in (REPORT, PATTERNS, SCORES))
    if graphs is not None and not is_report:
        raise ParameterError(f"--graphs names the graphs of a report, but {what} is not a report: leave out --graphs.")
    report = read_text(folder / REPORT) if is_report and (folder / REPORT).is_file() else None
    gallery = _of_report(folder, graphs, reading, report is not None) if is_report else _of_graphs(what, reading)

    def answer(path: str, asked: Mapping[str, str]) -> str | None:
        number = re.fullmatch(r"/graph/([0-9]{1,12})", path)
        if path == "/" and report is not None:
            return report if gallery is None else report.replace("<body>", f"<body>{TO_GRAPHS}", 1)
        if gallery is None:
            return None
        if number is not None:
            return gallery.graph(int(number[1])) if int(number[1]) < len(gallery.table) else None
        return gallery.page(asked) if path in ("/", "/graphs") else None

    return answer


def _of_graphs(what: str, reading: Reading) -> "Gallery":
    from rwkplus.reports.gallery import Gallery

    return Gallery(reading.load(what), title_of(what))


def _of_report(folder: Path, graphs: str | None, reading: Reading, shown: bool) -> "Gallery | None":
    """The graphs of a report, if they can be read; without a page, they must be."""
    from rwkplus.mining import load_patterns
    from rwkplus.reports.gallery import Gallery

    try:
        name, how = (graphs, reading) if graphs is not None else Reading.kept(folder)
        table = how.load(name)
    except RWKPlusError as error:
        if not shown or graphs is not None:
            raise
        print_error(
            RWKPlusWarning(
                f"only the report can be shown, without its graphs: {error}", "Name the graphs with --graphs."
            ),
            "warning",
        )
        return None
    patterns = load_patterns(folder / PATTERNS) if (folder / PATTERNS).is_file() else []
    scores = _scores(folder / SCORES) if (folder / SCORES).is_file() else []
    return Gallery(table, title_of(name), patterns, scores, {"report": "/"} if shown else {})


def _scores(path: Path) -> "list[Score]":
    from rwkplus.reports.gallery import Score

    try:
        rows = [json.loads(line) for line in read_text(path).splitlines()]
        return [Score(float(row["score"]), bool(row["anomaly"]), row.get("nodes", ())) for row in rows]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is damaged or was changed by hand: {error}.") from error

"""``rwkplus convert``."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from rwkplus.cli.console import as_option, check_output, out, print_error, print_json
from rwkplus.cli.options import Dataset, Json, Reading, reads_graphs
from rwkplus.errors import ParameterError
from rwkplus.types import GraphForm


@reads_graphs
def convert(
    dataset: Dataset,
    out_path: Annotated[Path, typer.Argument(metavar="OUT", help="File ending in .jsonl, or folder, to write.")],
    form: Annotated[
        GraphForm | None,
        typer.Option("--to", help="Output format. \\[default: jsonl if OUT ends in .jsonl, otherwise arrow]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file or folder.")] = False,
    as_json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Convert graphs to another file format.

    [bold]arrow[/] keeps everything and is opened without reading it into memory. [bold]csv[/] and [bold]parquet[/]
    are folders with three tables, and [bold]jsonl[/] is a file with one graph per line. The result is read back, and
    a warning lists anything that the format could not keep.
    """
    from rwkplus.io import write_graphs

    lines = out_path.suffix.lower() == ".jsonl"
    form = form or ("jsonl" if lines else "arrow")
    if lines != (form == "jsonl"):
        raise ParameterError(
            f"{out_path}: --to jsonl writes a file ending in .jsonl; all other formats write a folder."
        )
    check_output(out_path, None if force else "use --force to replace it", folder=not lines, option="OUT")
    graphs = reading.load(dataset)
    written = write_graphs(graphs, out_path, form)
    options = [option for name, value in written.options.items() if (option := as_option(name, value))]
    for lost in written.lost:
        print_error(f"{form} cannot keep everything: {lost}.", "warning")
    if as_json:
        facts = {"dataset": dataset, "graphs": len(graphs), "file": str(written.path), "form": form}
        print_json(facts | {"options": options, "lost": written.lost})
        return
    out.print(f"Wrote {len(graphs)} graphs to {written.path}.", soft_wrap=True)
    out.print("Read them with: rwkplus describe", shlex.quote(str(written.path)), *options, soft_wrap=True)

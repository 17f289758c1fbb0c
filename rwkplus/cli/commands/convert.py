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
        typer.Option("--to", help="Form of the files. \\[default: jsonl for .jsonl, else arrow, which opens fastest]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    as_json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Write graphs in another form.

    A folder of [bold]arrow[/] files keeps everything and opens without being read into memory; [bold]csv[/] and
    [bold]parquet[/] are folders of three tables, [bold]jsonl[/] is a file with a graph per line. What was written is
    read again, and what it cannot keep is told.
    """
    from rwkplus.io import write_graphs

    lines = out_path.suffix.lower() == ".jsonl"
    form = form or ("jsonl" if lines else "arrow")
    if lines != (form == "jsonl"):
        raise ParameterError(f"{out_path}: a file ends in .jsonl, and --to jsonl writes one; all else is a folder.")
    check_output(out_path, None if force else "--force replaces it", folder=not lines, option="OUT")
    graphs = reading.load(dataset)
    written = write_graphs(graphs, out_path, form)
    options = [option for name, value in written.options.items() if (option := as_option(name, value))]
    for lost in written.lost:
        print_error(f"{form} cannot keep all of it: {lost}.", "warning")
    if as_json:
        facts = {"dataset": dataset, "graphs": len(graphs), "file": str(written.path), "form": form}
        print_json(facts | {"options": options, "lost": written.lost})
        return
    out.print(f"{len(graphs)} graphs are in {written.path}.", soft_wrap=True)
    out.print("Read them with: rwkplus describe", shlex.quote(str(written.path)), *options, soft_wrap=True)

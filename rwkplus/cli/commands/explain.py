"""``rwkplus explain``."""

from pathlib import Path
from typing import Annotated

import typer

from rwkplus.cli.commands.predict import trained_network
from rwkplus.cli.console import check_output, out, print_json, title_of
from rwkplus.cli.options import Dataset, Json, Reading, reads_graphs
from rwkplus.errors import ParameterError


@reads_graphs
def explain(
    model: Annotated[
        Path,
        typer.Argument(help="Model file, or a folder written by `rwkplus train --folds 0`, or the folder of one fold."),
    ],
    dataset: Dataset,
    out_file: Annotated[Path, typer.Option("--out", help="HTML file to write, such as network.html.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Draw the hidden graphs of a trained KerGNN, and the nodes that match them."""
    from rwkplus.reports import write_network_report

    if out_file.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"--out {out_file}: the file name must end in .html.")
    check_output(out_file, None if force else "use --force to replace it")
    trained = trained_network(model)
    graphs = reading.load(dataset, ignore=trained.inputs.ignore)
    path = write_network_report(out_file, trained, graphs, title_of(dataset))
    if as_json:
        print_json({"dataset": dataset, "graphs": len(graphs), "page": str(path)})
    else:
        out.print(f"The report is {path}.", soft_wrap=True)

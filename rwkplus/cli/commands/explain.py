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
    model: Annotated[Path, typer.Argument(help="Model file, or folder of `rwkplus train --folds 0` or of one fold.")],
    dataset: Dataset,
    out_file: Annotated[Path, typer.Option("--out", help="The page to write, such as network.html.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a page that exists.")] = False,
    as_json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Show which hidden graphs a KerGNN has learned, and which nodes of given graphs match them."""
    from rwkplus.reports import write_network_report

    if out_file.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"--out {out_file}: the page must end in .html.")
    check_output(out_file, None if force else "--force replaces it")
    trained = trained_network(model)
    graphs = reading.load(dataset, ignore=trained.inputs.ignore)
    path = write_network_report(out_file, trained, graphs, title_of(dataset))
    if as_json:
        print_json({"dataset": dataset, "graphs": len(graphs), "page": str(path)})
    else:
        out.print(f"The page is {path}.", soft_wrap=True)

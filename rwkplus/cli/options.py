"""Arguments that several commands share."""

from typing import Annotated

import typer

Dataset = Annotated[
    str,
    typer.Argument(
        help="Registered name (see `rwkplus datasets`), folder of TU or CSV files, .zip, .smi, .jsonl or .csv file."
    ),
]
NodeFeaturesOption = Annotated[
    str, typer.Option("--node-features", help="Columns of a TU set as x: labels, attributes or both.")
]
Ignore = Annotated[
    list[str] | None, typer.Option("--ignore", help="Field to leave out, such as edge_attr; may be repeated.")
]
DIRECTED = typer.Option("--directed", help="Lines of a .csv file are directed edges, each one of its own.")
MULTIGRAPH = typer.Option(
    "--multigraph", help="Lines of a .csv file are edges of their own: two nodes may have several."
)
Directed = Annotated[bool, DIRECTED]
Multigraph = Annotated[bool, MULTIGRAPH]


def _jobs(number: int) -> int:
    if number == 0:
        raise typer.BadParameter("0 jobs do nothing: give a number of processes, or -1 for all cores.")
    return number


Jobs = Annotated[int, typer.Option("--jobs", help="Parallel jobs; -1 for all cores.", callback=_jobs)]
Json = Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything random.", min=0)]

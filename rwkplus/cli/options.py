"""Arguments that several commands share."""

from typing import Annotated

import typer

Dataset = Annotated[
    str,
    typer.Argument(
        help="Registered name (see `rwkplus datasets`), or a file or folder: CSV, Parquet, .jsonl, .smi, .sdf, TU."
    ),
]


def _jobs(number: int) -> int:
    if number == 0:
        raise typer.BadParameter("0 jobs do nothing: give a number of processes, or -1 for all cores.")
    return number


Jobs = Annotated[int, typer.Option("--jobs", help="Parallel jobs; -1 for all cores.", callback=_jobs)]
Json = Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything random.", min=0)]

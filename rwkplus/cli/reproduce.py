"""``rwkplus reproduce``: experiments and the tables made from their results."""

from pathlib import Path
from typing import Annotated

import typer

from rwkplus.cli.console import out, progress
from rwkplus.cli.options import Jobs

app = typer.Typer(help="Run experiments; every table in docs/results comes from here.", no_args_is_help=True)


@app.command()
def kernels(
    dataset: Annotated[
        list[str] | None, typer.Option(help="Data set; may be repeated.  [default: five TU sets]")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Repetitions of the cross-validation, seeded 0, 1, ...", min=1)] = 3,
    jobs: Jobs = 1,
) -> None:
    """Walk kernels with an SVM beside Weisfeiler-Leman and guards; writes results/kernel_quality/."""
    from rwkplus.reproduce.kernel_quality import DATASETS, METHODS, run_kernel_quality
    from rwkplus.reproduce.tables import quality_table

    names = tuple(dataset or DATASETS)
    with progress("kernels", total=len(names) * len(METHODS)) as advance:
        for name in names:
            run_kernel_quality(name, range(seeds), jobs=jobs, on_step=advance)
    out.print(quality_table(names), markup=False)


@app.command()
def tables(
    docs: Annotated[Path, typer.Option(help="Folder to write.")] = Path("docs/results"),
) -> None:
    """Rewrite docs/results from the files in results/."""
    from rwkplus.reproduce.tables import write_tables

    for path in write_tables(docs):
        out.print(str(path))

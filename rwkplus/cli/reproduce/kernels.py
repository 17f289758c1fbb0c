"""Experiments on kernels with support vector machines."""

from typing import Annotated

import typer

from rwkplus.cli.console import out, progress
from rwkplus.cli.options import Jobs


def kernels(
    dataset: Annotated[
        list[str] | None, typer.Option(help="Data set; may be repeated. \\[default: five TU sets]")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Repetitions of the cross-validation, seeded 0, 1, ...", min=1)] = 3,
    inner_folds: Annotated[int, typer.Option(help="Folds inside each training part.", min=2)] = 5,
    jobs: Jobs = 1,
) -> None:
    """Walk kernels with an SVM beside Weisfeiler-Leman and guards; writes results/kernel_quality/."""
    from rwkplus.reproduce.kernel_quality import DATASETS, METHODS, run_kernel_quality
    from rwkplus.reproduce.kernel_quality_tables import quality_table

    names = tuple(dataset or DATASETS)
    with progress("kernels", total=len(names) * len(METHODS)) as advance:
        for name in names:
            run_kernel_quality(name, range(seeds), inner_folds=inner_folds, jobs=jobs, on_step=advance)
    out.print(quality_table(names))

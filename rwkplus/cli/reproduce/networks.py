"""Experiments on networks for whole graphs."""

from typing import Annotated

import typer

from rwkplus.cli.console import out, progress
from rwkplus.cli.options import Jobs


def classification(
    dataset: Annotated[
        list[str] | None, typer.Option(help="Data set; may be repeated.  [default: the paper's ten]")
    ] = None,
    epochs: Annotated[int, typer.Option(help="Epochs of every training run.", min=1)] = 200,
    seed: Annotated[int, typer.Option(help="Seed of folds and initial weights.")] = 0,
    jobs: Jobs = 1,
) -> None:
    """KerGNN with RWK- and RWK+, a GIN and guards (Sec. 5.1); writes results/classification/."""
    from rwkplus.reproduce.classification import METHODS, PAPER, run_classification
    from rwkplus.reproduce.classification_tables import classification_table

    names = list(dataset or PAPER)
    with progress("classification", total=len(names) * len(METHODS)) as advance:
        for name in names:
            run_classification(name, epochs=epochs, seed=seed, jobs=jobs, on_step=advance)
    out.print(classification_table(names), markup=False)

"""Experiments on networks for whole graphs."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from rwkplus.cli.console import out, progress
from rwkplus.cli.options import Jobs
from rwkplus.errors import ParameterError


def classification(
    dataset: Annotated[
        list[str] | None, typer.Option(help="Data set; may be repeated. \\[default: the paper's ten]")
    ] = None,
    epochs: Annotated[int, typer.Option(help="Epochs of every training run.", min=1)] = 200,
    seed: Annotated[int, typer.Option(help="Seed of folds and initial weights.")] = 0,
    jobs: Jobs = 1,
) -> None:
    """KerGNN with RWK- and RWK+, a GIN and guards (Sec. 5.1); writes results/classification/.

    If it is killed, the same command goes on from what it left in runs/.
    """
    from rwkplus.reproduce.classification import METHODS, PAPER, run_classification
    from rwkplus.reproduce.classification_tables import classification_table

    names = list(dataset or PAPER)
    with progress("classification", total=len(names) * len(METHODS)) as advance:
        for name in names:
            run_classification(name, epochs=epochs, seed=seed, jobs=jobs, on_step=advance)
    out.print(classification_table(names), soft_wrap=True)


def counting(
    epochs: Annotated[int, typer.Option(help="Epochs of every training run.", min=1)] = 500,
    seeds: Annotated[int, typer.Option(help="Initializations, seeded 0, 1, ...", min=1)] = 3,
    method: Annotated[
        list[str] | None, typer.Option(help="Row of the table; may be repeated. \\[default: all]")
    ] = None,
) -> None:
    """Counts of four small subgraphs by KerGNN and closed walks (Sec. 5.1); writes results/counting.json."""
    from rwkplus.data.counting import TARGETS
    from rwkplus.reproduce.counting import METHODS, run_counting
    from rwkplus.reproduce.counting_tables import counting_table

    methods = _rows(method, METHODS)
    with progress("counting", total=len(methods) * len(TARGETS)) as advance:
        run_counting(epochs=epochs, seeds=seeds, methods=methods, on_step=advance)
    out.print(counting_table(), soft_wrap=True)


def scalability(
    dataset: Annotated[str, typer.Option(help="Data set.")] = "NCI1",
    turns: Annotated[int, typer.Option(help="Repetitions; medians are shown.", min=1)] = 3,
) -> None:
    """Seconds per epoch against hidden graphs, steps and graphs (Sec. 5.1); writes results/scalability.json."""
    from rwkplus.reproduce.scalability import run_scalability
    from rwkplus.reproduce.scalability_tables import scalability_table

    with progress("scalability") as advance:
        run_scalability(dataset, turns=turns, on_step=advance)
    out.print(scalability_table(), soft_wrap=True)


def anomaly(
    dataset: Annotated[list[str] | None, typer.Option(help="Screen; may be repeated. \\[default: all nine]")] = None,
    epochs: Annotated[int, typer.Option(help="Epochs of every training run.", min=1)] = 200,
    patience: Annotated[
        int, typer.Option(help="Epochs without a better validation score after which a run stops; 0 for none.", min=0)
    ] = 50,
    seed: Annotated[int, typer.Option(help="Seed of the draw of actives, folds and initial weights.")] = 0,
    method: Annotated[
        list[str] | None, typer.Option(help="Row of the table; may be repeated. \\[default: all]")
    ] = None,
    jobs: Jobs = 1,
) -> None:
    """Anomalous graphs by iGAD with RWK and RWK+, and guards (Sec. 5.1.1); writes results/anomaly/.

    If it is killed, the same command goes on from what it left in runs/.
    """
    from rwkplus.reproduce.anomaly import METHODS, PAPER, run_anomaly
    from rwkplus.reproduce.anomaly_tables import anomaly_table

    names, methods = list(dataset or PAPER), _rows(method, METHODS)
    choices: dict[str, Any] = {"epochs": epochs, "patience": patience or None, "seed": seed, "methods": methods}
    with progress("anomaly", total=len(names) * len(methods)) as advance:
        for name in names:
            run_anomaly(name, **choices, jobs=jobs, on_step=advance)
    out.print(anomaly_table(names), soft_wrap=True)


def _rows(given: list[str] | None, known: Iterable[str]) -> list[str]:
    """The rows that are wanted, or an error that names one that is not there."""
    names = list(known)
    if unknown := [name for name in given or () if name not in names]:
        raise ParameterError(f"there is no row {unknown[0]!r}; known are {'; '.join(names)}.")
    return given or names

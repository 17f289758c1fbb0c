"""Experiments on anomaly detection without labels."""

from typing import Annotated

import typer

from rwkplus.cli.console import out, progress


def detection(
    dataset: Annotated[
        list[str] | None, typer.Option(help="Data set; may be repeated. \\[default: seven TU sets]")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Draws of training graphs per class, seeded 0, 1, ...", min=1)] = 5,
) -> None:
    """One class as the anomaly of another: walk kernels, Weisfeiler-Leman, guards; writes results/detection/."""
    from rwkplus.reproduce.detection import DATASETS, KERNELS, run_class_anomalies
    from rwkplus.reproduce.detection_tables import class_table

    names = list(dataset or DATASETS)
    with progress("detection", total=len(names) * (len(KERNELS) + 1)) as advance:
        for name in names:
            run_class_anomalies(name, range(seeds), on_step=advance)
    out.print(class_table(names), soft_wrap=True)


def planted_anomalies(
    databases: Annotated[int, typer.Option(help="Databases of each kind, at seeds not used for design.", min=1)] = 10,
    graphs: Annotated[int, typer.Option(help="Graphs per database.", min=60)] = 1000,
) -> None:
    """Planted anomalies: found, and explained by the right part; writes results/detection/planted.json."""
    from rwkplus.reproduce.detection_tables import planted_table
    from rwkplus.reproduce.planted_detection import run_planted_anomalies

    with progress("planted anomalies") as advance:
        rows = run_planted_anomalies(databases, graphs, on_step=advance)
    out.print(planted_table(rows), soft_wrap=True)

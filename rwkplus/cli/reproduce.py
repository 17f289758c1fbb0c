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
    inner_folds: Annotated[int, typer.Option(help="Folds inside each training part.", min=2)] = 5,
    jobs: Jobs = 1,
) -> None:
    """Walk kernels with an SVM beside Weisfeiler-Leman and guards; writes results/kernel_quality/."""
    from rwkplus.reproduce.kernel_quality import DATASETS, METHODS, run_kernel_quality
    from rwkplus.reproduce.tables import quality_table

    names = tuple(dataset or DATASETS)
    with progress("kernels", total=len(names) * len(METHODS)) as advance:
        for name in names:
            run_kernel_quality(name, range(seeds), inner_folds=inner_folds, jobs=jobs, on_step=advance)
    out.print(quality_table(names), markup=False)


@app.command()
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


Restarts = Annotated[int, typer.Option(help="Initializations per row.", min=2)]
Quick = Annotated[bool, typer.Option("--quick", help="First testbed, 5 initializations, 20 graphs; a file of its own.")]
FaithfulOnly = Annotated[bool, typer.Option("--faithful-only", help="Leave our miner out.")]


@app.command("task-1-1")
def task_1_1(restarts: Restarts = 50, quick: Quick = False, faithful_only: FaithfulOnly = False) -> None:
    """Bipartite cores (table 1); writes results/mining_tasks/."""
    _task("task-1-1", restarts, quick, faithful_only)


@app.command("task-1-2")
def task_1_2(restarts: Restarts = 50, quick: Quick = False, faithful_only: FaithfulOnly = False) -> None:
    """Triangle chains (table 2); writes results/mining_tasks/."""
    _task("task-1-2", restarts, quick, faithful_only)


@app.command("task-2-1")
def task_2_1(restarts: Restarts = 50, quick: Quick = False, faithful_only: FaithfulOnly = False) -> None:
    """Tailed triangles and rings by edit distance; writes results/mining_tasks/."""
    _task("task-2-1", restarts, quick, faithful_only)


@app.command("task-2-2")
def task_2_2(restarts: Restarts = 50, quick: Quick = False, faithful_only: FaithfulOnly = False) -> None:
    """Structural colors by edit distance (tables 3 and 4); writes results/mining_tasks/."""
    _task("task-2-2", restarts, quick, faithful_only)


def _task(task: str, restarts: int, quick: bool, faithful_only: bool) -> None:
    from rwkplus.reproduce.mining_tables import task_table
    from rwkplus.reproduce.mining_tasks import chosen_testbeds, every_row, our_miner, run_task

    rows = sum(len(every_row(bed, quick)) for bed in chosen_testbeds(task, quick))
    with progress(task, total=rows) as advance:
        record = run_task(
            task,
            restarts=5 if quick else restarts,
            num_graphs=20 if quick else 100,
            quick=quick,
            ours=None if faithful_only else our_miner(),
            on_step=advance,
        )
    out.print(task_table(record), markup=False, soft_wrap=True)


@app.command()
def explained(quick: Annotated[bool, typer.Option("--quick", help="Few restarts; a file of its own.")] = False) -> None:
    """Our gradient miner on the paper's tasks, at seeds not used for design; writes results/mining_explained/."""
    from rwkplus.reproduce.explained_tasks import run_explained_tasks

    with progress("explained") as advance:
        run_explained_tasks(quick, on_step=advance)


@app.command()
def planted(
    databases: Annotated[int, typer.Option(help="Databases per cell, at seeds not used for design.", min=1)] = 30,
) -> None:
    """Planted patterns of unknown size: exact recovery and false alarms; writes results/planted.json."""
    from rwkplus.reproduce.planted import run_planted
    from rwkplus.reproduce.tables import planted_table

    with progress("planted") as advance:
        run_planted(databases, on_step=advance)
    out.print(planted_table(), markup=False)


@app.command()
def tables(
    docs: Annotated[Path, typer.Option(help="Folder to write.")] = Path("docs/results"),
) -> None:
    """Rewrite docs/results from the files in results/."""
    from rwkplus.reproduce.tables import write_tables

    for path in write_tables(docs):
        out.print(str(path))

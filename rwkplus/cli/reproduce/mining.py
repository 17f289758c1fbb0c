"""Experiments on pattern mining."""

from typing import Annotated

import typer

from rwkplus.cli.console import out, progress

Restarts = Annotated[int, typer.Option(help="Initializations per row.", min=2)]
Quick = Annotated[bool, typer.Option("--quick", help="First testbed, 5 initializations, 20 graphs; a file of its own.")]
FaithfulOnly = Annotated[bool, typer.Option("--faithful-only", help="Leave our miner out.")]


def task_1_1(restarts: Restarts = 50, quick: Quick = False, faithful_only: FaithfulOnly = False) -> None:
    """Bipartite cores (table 1); writes results/mining_tasks/."""
    _task("task-1-1", restarts, quick, faithful_only)


def task_1_2(restarts: Restarts = 50, quick: Quick = False, faithful_only: FaithfulOnly = False) -> None:
    """Triangle chains (table 2); writes results/mining_tasks/."""
    _task("task-1-2", restarts, quick, faithful_only)


def task_2_1(restarts: Restarts = 50, quick: Quick = False, faithful_only: FaithfulOnly = False) -> None:
    """Tailed triangles and rings by edit distance; writes results/mining_tasks/."""
    _task("task-2-1", restarts, quick, faithful_only)


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
            ours=None if faithful_only else our_miner,
            on_step=advance,
        )
    out.print(task_table(record), soft_wrap=True)


def explained(quick: Annotated[bool, typer.Option("--quick", help="Few restarts; a file of its own.")] = False) -> None:
    """Our gradient miner on the paper's tasks, at seeds not used for design; writes results/mining_explained/."""
    from rwkplus.reproduce.explained_tasks import run_explained_tasks

    with progress("explained") as advance:
        run_explained_tasks(quick, on_step=advance)


def planted(
    databases: Annotated[int, typer.Option(help="Databases per cell, at seeds not used for design.", min=1)] = 30,
) -> None:
    """Planted patterns of unknown size: exact recovery and false alarms; writes results/planted.json."""
    from rwkplus.reproduce.planted import run_planted
    from rwkplus.reproduce.planted_tables import planted_table

    with progress("planted") as advance:
        run_planted(databases, on_step=advance)
    out.print(planted_table())

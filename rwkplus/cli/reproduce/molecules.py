"""Experiments on molecules with graph convolutions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rwkplus.cli.console import out, progress

Seeds = Annotated[int, typer.Option(help="Runs of every row.", min=1)]
FirstSeed = Annotated[int, typer.Option(help="Seed of the first run; then one more each.", min=0)]
Lr = Annotated[float | None, typer.Option(help="Learning rate at first.  [default: as chosen on validation data]")]
Epochs = Annotated[int, typer.Option(help="Epochs of every run.", min=1)]
Rows = Annotated[list[str] | None, typer.Option("--rows", help="Row of the table; may be repeated.  [default: all]")]
Layers = Annotated[int | None, typer.Option(help="Convolutions.  [default: as in the paper]", min=1)]
Hidden = Annotated[int, typer.Option(help="Width of all layers.", min=1)]
Threads = Annotated[int, typer.Option(help="Threads of torch.", min=1)]
Data = Annotated[Path | None, typer.Option(help="Where the data lie.  [default: below RWKPLUS_DATA]")]
Runs = Annotated[Path, typer.Option(help="Folder for networks and checkpoints, to go on from.")]


def zinc(
    seeds: Seeds = 3,
    first_seed: FirstSeed = 0,
    epochs: Epochs = 100,
    rows: Rows = None,
    layers: Layers = None,
    hidden: Hidden = 128,
    lr: Lr = None,
    threads: Threads = 1,
    data: Data = None,
    runs: Runs = Path("runs"),
) -> None:
    """Solubility of molecules (Sec. 5.2): GCN, GIN, RWK+Conv, with and without bonds; writes results/molecules/."""
    plan = {"epochs": epochs, "layers": layers, "hidden": hidden, "lr": lr, "threads": threads}
    _run("zinc", range(first_seed, first_seed + seeds), rows, {**plan, "data": data, "runs": runs})


def molhiv(
    seeds: Seeds = 3,
    first_seed: FirstSeed = 0,
    epochs: Epochs = 100,
    rows: Rows = None,
    layers: Layers = None,
    hidden: Hidden = 128,
    lr: Lr = None,
    threads: Threads = 1,
    data: Data = None,
    runs: Runs = Path("runs"),
) -> None:
    """Inhibitors of HIV (Sec. 5.2), rows as for zinc; writes results/molecules/."""
    plan = {"epochs": epochs, "layers": layers, "hidden": hidden, "lr": lr, "threads": threads}
    _run("molhiv", range(first_seed, first_seed + seeds), rows, {**plan, "data": data, "runs": runs})


def molpcba(
    seeds: Seeds = 3,
    first_seed: FirstSeed = 0,
    epochs: Epochs = 100,
    rows: Rows = None,
    layers: Layers = None,
    hidden: Hidden = 128,
    lr: Lr = None,
    threads: Threads = 1,
    data: Data = None,
    runs: Runs = Path("runs"),
) -> None:
    """128 bioassays of molecules (Sec. 5.2), rows as for zinc; writes results/molecules/."""
    plan = {"epochs": epochs, "layers": layers, "hidden": hidden, "lr": lr, "threads": threads}
    _run("molpcba", range(first_seed, first_seed + seeds), rows, {**plan, "data": data, "runs": runs})


def _run(name: str, seeds: Sequence[int], rows: list[str] | None, options: Mapping[str, Any]) -> None:
    from rwkplus.reproduce.molecule_sets import EXPERIMENTS, ROWS, Plan, run_molecules
    from rwkplus.reproduce.molecule_sets_tables import molecule_table

    chosen = rows or list(ROWS)
    with progress(name, total=len(seeds) * len(chosen) + 1) as advance:
        run_molecules(Plan(EXPERIMENTS[name], **options), seeds=seeds, rows=chosen, on_step=advance)
    out.print(molecule_table(name), markup=False)

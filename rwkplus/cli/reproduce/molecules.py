"""Experiments on molecules with graph convolutions."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from rwkplus.cli.console import out, progress

Seeds = Annotated[int, typer.Option(help="Runs of every row.", min=1)]
FirstSeed = Annotated[int, typer.Option(help="Seed of the first run; then one more each.", min=0)]
Lr = Annotated[float | None, typer.Option(help="Learning rate at first. \\[default: as chosen on validation data]")]
Epochs = Annotated[int, typer.Option(help="Epochs of every run.", min=1)]
Rows = Annotated[list[str] | None, typer.Option("--rows", help="Row of the table; may be repeated. \\[default: all]")]
Layers = Annotated[int | None, typer.Option(help="Convolutions. \\[default: as in the paper]", min=1)]
Hidden = Annotated[int, typer.Option(help="Width of all layers.", min=1)]
FeedForward = Annotated[
    bool | None, typer.Option(help="A linear layer after each convolution. \\[default: for zinc]", show_default=False)
]
Threads = Annotated[int, typer.Option(help="Threads of torch.", min=1)]
Data = Annotated[Path | None, typer.Option(help="Where the data lie. \\[default: below RWKPLUS_DATA]")]
Runs = Annotated[Path, typer.Option(help="Folder for networks and checkpoints, to go on from.")]


def _experiment(name: str, about: str) -> Callable[..., None]:
    """A command for each data set, all with the same options."""

    def command(
        seeds: Seeds = 3,
        first_seed: FirstSeed = 0,
        epochs: Epochs = 100,
        rows: Rows = None,
        layers: Layers = None,
        hidden: Hidden = 128,
        feed_forward: FeedForward = None,
        lr: Lr = None,
        threads: Threads = 1,
        data: Data = None,
        runs: Runs = Path("runs"),
    ) -> None:
        from rwkplus.reproduce.molecule_sets import EXPERIMENTS, ROWS, Plan, run_molecules
        from rwkplus.reproduce.molecule_sets_tables import molecule_table

        chosen = rows or list(ROWS)
        plan = Plan(EXPERIMENTS[name], epochs, layers, hidden, feed_forward, lr, threads, data, runs)
        with progress(name, total=seeds * len(chosen) + 1) as advance:
            run_molecules(plan, seeds=range(first_seed, first_seed + seeds), rows=chosen, on_step=advance)
        out.print(molecule_table(name, plan.variant))

    command.__name__, command.__doc__ = name, f"{about}; writes results/molecules/."
    return command


zinc = _experiment("zinc", "Solubility of molecules (Sec. 5.2): GCN, GIN, RWK+Conv, with and without bonds")
molhiv = _experiment("molhiv", "Inhibitors of HIV (Sec. 5.2), rows as for zinc")
molpcba = _experiment("molpcba", "128 bioassays of molecules (Sec. 5.2), rows as for zinc")

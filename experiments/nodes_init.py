"""How RWKPlusConv should begin: initializations compared on validation nodes of splits that no experiment uses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import torch
import typer
from torch_geometric.nn.inits import glorot

from experiments.nodes import Row, prepared, walk_length
from experiments.pages import ran, table
from experiments.progress import progress
from experiments.records import RESULTS, add_row, exists, finished, read_result
from rwkplus.cli.console import out
from rwkplus.datasets.node_sets import node_split
from rwkplus.models.gnn import GNN
from rwkplus.nn.rwk_plus_conv import RWKPlusConv
from rwkplus.training.loop import Settings
from rwkplus.training.nodes import train_nodes

RESULT = "nodes/initialization"
DATASETS = ("Cora", "CiteSeer", "Actor")
FIRST_SEED = 1000
SETTINGS = Settings(epochs=100, lr=3e-3, halve_lr_every=50, weight_decay=5e-4, accelerator="cpu", threads=1)
DROPOUT = 0.5


Kind = Literal["plain", "balanced", "identity"]


@torch.no_grad()
def begin(conv: RWKPlusConv, color_gain: float, adj_gain: float, kind: Kind) -> None:
    """Draw hidden colors and adjacency from Glorot's distribution, scaled; balance rows of the latter, or add ones."""
    glorot(conv.hidden_x.weight)
    glorot(conv.hidden_adj)
    conv.hidden_x.weight.mul_(color_gain)
    conv.hidden_adj.mul_(adj_gain)
    if kind == "balanced":
        conv.hidden_adj.sub_(conv.hidden_adj.mean(-1, keepdim=True))
    if kind == "identity":
        conv.hidden_adj.add_(adj_gain * torch.eye(conv.out_channels))


INITIALIZATIONS: Mapping[str, tuple[float, float, Kind]] = {
    "Glorot": (1, 1, "plain"),
    "adjacency x 4": (1, 4, "plain"),
    "both x 4": (4, 4, "plain"),
    "adjacency x 4, balanced": (1, 4, "balanced"),
    "both x 4, balanced": (4, 4, "balanced"),
    "adjacency x 4, with identity": (1, 4, "identity"),
}


class BegunGNN(GNN):
    """The backbone with a named initialization of its convolutions."""

    def __init__(self, in_channels: int, out_channels: int, *, steps: int, initialization: str) -> None:
        super().__init__(in_channels, out_channels, level="node", steps=steps, dropout=DROPOUT)
        for conv in self.convs:
            assert isinstance(conv, RWKPlusConv)  # the default of the backbone
            begin(conv, *INITIALIZATIONS[initialization])


def run_initializations(
    *,
    datasets: Sequence[str] = DATASETS,
    seeds: int = 2,
    epochs: int = SETTINGS.epochs,
    on_step: Callable[[str], None] | None = None,
) -> list[Row]:
    """Validation accuracy of every initialization on every set and split; test nodes stay unseen.

    The result file is written after every row; an interrupted run goes on where it stopped.
    """
    config = {
        "command": f"python -m experiments rwk-plus-conv-init --epochs {epochs}",
        "settings": SETTINGS.to_dict() | {"epochs": epochs},
        "dropout": DROPOUT,
        "first_seed": FIRST_SEED,
    }
    rows: list[Row] = finished(RESULT, config).get("rows", [])
    graphs = {name: prepared(name) for name in datasets}
    for seed, dataset, initialization in product(range(FIRST_SEED, FIRST_SEED + seeds), datasets, INITIALIZATIONS):
        if on_step is not None:
            on_step(f"{dataset}: {initialization}, seed {seed}")
        key = {"dataset": dataset, "initialization": initialization, "seed": seed}
        if any(key.items() <= row.items() for row in rows):
            continue
        data = graphs[dataset]
        train, validation, _ = node_split(data.y.numpy(), seed)
        trained = train_nodes(
            BegunGNN,
            data,
            train=train,
            validation=validation,
            model_params={"steps": walk_length(dataset), "initialization": initialization},
            settings=replace(SETTINGS, epochs=epochs, random_state=seed),
        )
        row = key | {"validation": trained.validation["accuracy"], "epoch": trained.best_epoch}
        rows = add_row(RESULT, config, row, tuple(key))["rows"]
    return rows


def initialization_table(rows: Sequence[Row]) -> str:
    """Mean validation accuracy of each initialization by data set."""
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    lines = []
    for name in INITIALIZATIONS:
        own = [row for row in rows if row["initialization"] == name]
        means = [100 * np.mean([row["validation"] for row in own if row["dataset"] == set_]) for set_ in datasets]
        lines.append([name, *(f"{mean:.1f}" for mean in (*means, np.mean(means)))])
    return table(["initialization", *datasets, "mean"], lines)


def initialization_section(folder: Path = RESULTS) -> str | None:
    """What the page of :mod:`experiments.nodes` says about initializations."""
    if not exists(RESULT, folder):
        return None
    record = read_result(RESULT, folder)
    rows, config = record["values"]["rows"], record["config"]
    seeds = sorted({row["seed"] for row in rows})
    parts = [
        "## How RWKPlusConv begins\n",
        "The initialization was chosen by accuracy on validation nodes, in percent, of splits with seeds "
        f"{', '.join(map(str, seeds))}, which no experiment uses; {config['settings']['epochs']} epochs, learning rate "
        f"{config['settings']['lr']}, dropout {config['dropout']}. Hidden colors and hidden adjacency are drawn from "
        "Glorot's distribution, scaled; *balanced* subtracts the mean from every row of the adjacency.\n",
        initialization_table(rows),
        ran(record),
    ]
    return "\n".join(parts)


def rwk_plus_conv_init(
    seeds: Annotated[int, typer.Option(help="Splits, other than those of experiments.", min=1)] = 2,
    epochs: Annotated[int, typer.Option(help="Epochs of every training run.", min=1)] = 100,
) -> None:
    """Initializations of RWKPlusConv on validation nodes; writes nodes/initialization.json."""
    with progress("initializations", total=seeds * len(DATASETS) * len(INITIALIZATIONS)) as advance:
        rows = run_initializations(seeds=seeds, epochs=epochs, on_step=advance)
    out.print(initialization_table(rows))

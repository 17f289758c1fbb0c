"""Node classification as in the authors' released scripts, and what the biases of RWKPlusConv do there."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.model_selection import train_test_split

from experiments.cross_validated import corrected_paired_test
from experiments.nodes import PAPER, SETTINGS, TEST_SHARE, Row, Split, complete_seeds, prepared, walk_length
from experiments.pages import mean_and_deviation, ran, table
from experiments.progress import progress
from experiments.records import RESULTS, add_row, exists, finished, read_result
from rwkplus.cli.console import out
from rwkplus.datasets.splits import Index
from rwkplus.models.gnn import GNN
from rwkplus.nn.rwk_plus_conv import RWKPlusConv
from rwkplus.training.nodes import train_nodes

DATASETS = ("CiteSeer", "Cora")
RELEASED = replace(SETTINGS, lr=1e-3, halve_lr_every=10)
SHARE = 0.2
"""Of all nodes, for test and for validation."""


class UnbiasedGNN(GNN):
    """The backbone with convolutions as Algorithm 1 has them: without biases."""

    def __init__(self, in_channels: int, out_channels: int, **options: Any) -> None:  # noqa: ANN401
        super().__init__(in_channels, out_channels, **options)
        for conv in self.convs:
            conv.register_parameter("bias", None)
            if isinstance(conv, RWKPlusConv):
                conv.hidden_x.register_parameter("bias", None)


PLAIN, BIASED, PEER = "RWKPlusConv, no biases", "RWKPlusConv", "GCNConv"
METHODS: Mapping[str, tuple[type[GNN], str]] = {
    PLAIN: (UnbiasedGNN, "RWKPlusConv"),
    PEER: (UnbiasedGNN, "GCNConv"),
    BIASED: (GNN, "RWKPlusConv"),
}


def released_split(y: Index, seed: int) -> Split:
    """Training, validation and test nodes as the scripts draw them; theirs is that of seed 0."""
    rest, test = train_test_split(np.arange(y.size), test_size=SHARE, stratify=y, random_state=seed)
    train, validation = train_test_split(rest, test_size=SHARE / (1 - SHARE), stratify=y[rest], random_state=seed)
    return train, validation, test


def run_released(
    dataset: str, *, splits: int = 10, epochs: int = SETTINGS.epochs, on_step: Callable[[str], None] | None = None
) -> list[Row]:
    """Train every method on every split; write and return a row for each; an interrupted run goes on."""
    data, steps, name = prepared(dataset, unit_mean_square=False), walk_length(dataset), f"nodes/released/{dataset}"
    config = {
        "command": f"python -m experiments node-classification-released --dataset {dataset} --epochs {epochs}",
        "dataset": dataset,
        "settings": RELEASED.to_dict() | {"epochs": epochs},
        "steps": steps,
    }
    rows: list[Row] = finished(name, config).get("rows", [])
    for seed, (method, (network, conv)) in product(range(splits), METHODS.items()):
        if on_step is not None:
            on_step(f"{dataset}: {method}, split {seed}")
        if any((row["method"], row["seed"]) == (method, seed) for row in rows):
            continue
        train, validation, test = released_split(data.y.numpy(), seed)
        trained = train_nodes(
            network,
            data,
            train=train,
            validation=validation,
            model_params={"conv": conv, "steps": steps},
            settings=replace(RELEASED, epochs=epochs, random_state=seed),
        )
        row = {
            "method": method,
            "seed": seed,
            "accuracy": trained.scores(data, nodes=test)["accuracy"],
            "validation": trained.validation["accuracy"],
            "epoch": trained.best_epoch,
            "seconds": trained.seconds,
        }
        rows = add_row(name, config, row, ("method", "seed"))["rows"]
    return rows


def with_splits(folder: Path = RESULTS) -> list[str]:
    """Data sets of which at least one split is complete."""
    return [name for name in DATASETS if of_method(name, PLAIN, "accuracy", folder)]


def of_method(name: str, method: str, score: str, folder: Path = RESULTS) -> list[float]:
    """Scores in percent of the splits that every method has; none where it was not run."""
    file = f"nodes/released/{name}"
    rows = read_result(file, folder)["values"]["rows"] if exists(file, folder) else []
    complete = sorted(complete_seeds(rows, METHODS), key=lambda row: row["seed"])
    return [100 * row[score] for row in complete if row["method"] == method]


def gain_of_biases(name: str, folder: Path = RESULTS) -> tuple[float, float]:
    """What biases add to the accuracy on validation nodes, in percent, and p; NaN of a single split."""
    biased, plain = (of_method(name, method, "validation", folder) for method in (BIASED, PLAIN))
    return float(np.mean(np.subtract(biased, plain))), _p(biased, plain)


def _p(first: Sequence[float], second: Sequence[float]) -> float:
    return corrected_paired_test(first, second, TEST_SHARE) if len(first) > 1 else math.nan


def released_section(folder: Path = RESULTS) -> str | None:
    """What the page of :mod:`experiments.nodes` says about these settings."""
    names = with_splits(folder)
    if not names:
        return None
    records = [read_result(f"nodes/released/{name}", folder) for name in names]
    settings = records[0]["config"]["settings"]
    return (
        "## As in the released scripts\n\n"
        f"{settings['epochs']} epochs of Adam at a learning rate of {settings['lr']}, halved every "
        f"{settings['halve_lr_every']} epochs; no dropout, rows of features that sum to one, convolutions without "
        "biases, which Algorithm 1 does not have. The scripts draw one split and begin three times; here every seed "
        "draws a split as they do, the first one theirs, and initial weights. The backbone is that above. "
        f"*{BIASED}* is the layer with its biases, as it is by default; both begin with the same weights. p compares "
        "the first two columns, and for biases their validation nodes, corrected for overlapping training sets.\n\n"
        f"{released_table(names, folder)}\n{_on_their_split(names, folder)}\n\n{ran(*records)}"
    )


def _on_their_split(names: Sequence[str], folder: Path) -> str:
    """Accuracy on the first split, that of the scripts, one run each."""
    told = [", ".join(f"{of_method(name, method, 'accuracy', folder)[0]:.1f}" for method in METHODS) for name in names]
    values = "; ".join(f"{name} {value}" for name, value in zip(names, told, strict=True))
    return f"On the split of the scripts alone, one run each, the three columns have: {values}."


def released_table(names: Sequence[str], folder: Path = RESULTS) -> str:
    """One row per data set."""
    lines = []
    for name in names:
        test = {method: of_method(name, method, "accuracy", folder) for method in METHODS}
        paper = [f"{value:.1f}" for value in PAPER[name]]
        means = [mean_and_deviation(values) for values in test.values()]
        gain, p = gain_of_biases(name, folder)
        lines.append(
            [name, len(test[PLAIN]), *paper, *means, f"{_p(test[PLAIN], test[PEER]):.2g}", f"{gain:+.1f} (p = {p:.2g})"]
        )
    head = ["data set", "splits", "GCN (paper)", "RWK+Conv (paper)", *METHODS, "p", "biases, on validation nodes"]
    return table(head, lines)


def node_classification_released(
    dataset: Annotated[
        list[str] | None, typer.Option(help="Data set; may be repeated. \\[default: CiteSeer and Cora]")
    ] = None,
    splits: Annotated[int, typer.Option(help="Splits with initial weights of their own.", min=1)] = 10,
    epochs: Annotated[int, typer.Option(help="Epochs of every training run.", min=1)] = 200,
) -> None:
    """RWKPlusConv and GCNConv with the settings of the released scripts (Sec. 5.2); writes nodes/released/."""
    names = list(dataset or DATASETS)
    with progress("node classification", total=len(names) * splits * len(METHODS)) as advance:
        for name in names:
            run_released(name, splits=splits, epochs=epochs, on_step=advance)
    out.print(released_table(names))

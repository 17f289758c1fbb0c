"""ZINC, ogbg-molhiv and ogbg-molpcba: one backbone for every graph convolution, without bonds and with them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from rwkplus.data.molecule_sets import MOLECULE_SETS, MoleculeSet
from rwkplus.errors import ParameterError
from rwkplus.evaluate.molecule_guards import molecule_guards
from rwkplus.reproduce.results import add_entries, change_result, finished, run_folder
from rwkplus.result_files import RESULTS, environment
from rwkplus.training import GraphDataset, Place, Settings
from rwkplus.training.cross_validation import tested
from rwkplus.training.loop import Row
from rwkplus.training.results import Job
from rwkplus.training.targets import Loss

Scores = dict[str, Any]
OnStep = Callable[[str], None]

WALKS = {"conv": "RWKPlusConv", "combine": "sum", "normalize": False, "initial_scale": 0.25}
"""Chosen on validation molecules of ZINC, in runs of 12 epochs."""
ROWS: dict[str, dict[str, Any]] = {
    "GCN": {"conv": "GCNConv"},
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


@dataclass(frozen=True)
class Experiment:
    """How one set of molecules is learned and judged.

    Args:
        name: Name of the command.
        layers: Number of convolutions.
        metric: Score that chooses the epoch and is reported.
        loss: Of :class:`rwkplus.training.GraphDataset`.
        paper: What the paper reports, in its units.
        backbone: Parameters of the backbone, the same for every layer.
        lr: Learning rate at first; it falls along a cosine.
    """

    name: str
    layers: int
    metric: str
    paper: Mapping[str, float]
    loss: Loss = "squared"
    backbone: Mapping[str, Any] = field(default_factory=dict)
    lr: float = 1e-3


OGB = {"dropout": 0.5, "pool": "mean"}
"""As in OGB's reference networks."""
MIXED = {"feed_forward": True}
"""Chosen on validation molecules of ZINC for RWK+Conv, and the same for all."""
EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment("zinc", 6, "mae", {"GCN": 0.3258, "GIN": 0.2429, "RWK+Conv": 0.2082}, "absolute", MIXED, lr=3e-3),
        Experiment("molhiv", 2, "roc_auc", {"GCN": 0.7606, "GIN": 0.7778, "RWK+Conv": 0.7861}, backbone=OGB),
        Experiment("molpcba", 6, "ap", {"GCN": 0.2020, "GIN": 0.2266, "RWK+Conv": 0.2490}, backbone=OGB),
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
            "command": f"rwkplus reproduce {self.experiment.name} --epochs {self.epochs} --layers {layers} "
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
        result = tested(data, job.run(Place(folder, resume=True), epochs.append), seed, molecules.test)
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

"""Honest scores of a network: test graphs that are looked at once, at the end."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean, pstdev
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs

from rwkplus.datasets.splits import Index
from rwkplus.errors import NumericError, ParameterError
from rwkplus.table import Graphs
from rwkplus.training.dataset import GraphDataset, Model, new_network
from rwkplus.training.inputs import Features, outputs_of
from rwkplus.training.loop import Settings, derived_seed
from rwkplus.training.results import Job, TrainedNetwork
from rwkplus.training.run_folder import Place
from rwkplus.training.targets import Metric, Task, all_scores, metric_for
from rwkplus.types import Callback, Progress

Params = Mapping[str, Any]


@dataclass(frozen=True)
class FoldResult:
    """One fold: scores on its test graphs of the network that its validation graphs chose."""

    fold: int
    params: dict[str, Any]
    best_epoch: int
    validation: dict[str, float]
    test: dict[str, float]
    seconds: float


@dataclass(frozen=True)
class CrossValidation:
    """Scores over all folds.

    Example:
        >>> scores = [(0, {"accuracy": 0.7}, {"accuracy": 0.6}), (1, {"accuracy": 0.9}, {"accuracy": 0.8})]
        >>> folds = [FoldResult(i, {}, 0, validation, test, 1.0) for i, validation, test in scores]
        >>> accuracy = Metric("accuracy", True, lambda *_: None)
        >>> scores = CrossValidation(folds, accuracy)
        >>> scores.best().fold, round(scores.mean("accuracy"), 2), round(scores.std("accuracy"), 2)
        (1, 0.7, 0.1)
    """

    folds: list[FoldResult]
    chosen_by: Metric

    def best(self) -> FoldResult:
        """The fold with the best validation score; no test graph has a say."""
        return max(self.folds, key=lambda fold: _rank(self.chosen_by, fold.validation))

    def mean(self, metric: str) -> float:
        """Mean test score."""
        return mean(fold.test[metric] for fold in self.folds)

    def std(self, metric: str) -> float:
        """Standard deviation of the test scores over folds."""
        return pstdev(fold.test[metric] for fold in self.folds)

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "mean": {name: self.mean(name) for name in self.folds[0].test},
            "std": {name: self.std(name) for name in self.folds[0].test},
            "folds": [asdict(fold) for fold in self.folds],
        }


def cross_validate(
    model: Model,
    X: Graphs | GraphDataset,
    y: object = None,
    *,
    model_params: Params | Sequence[Params] | None = None,
    folds: int = 5,
    settings: Settings | None = None,
    task: Task = "auto",
    features: Features = "auto",
    ignore: Sequence[str] = (),
    place: Place | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> CrossValidation:
    """Score a network by cross-validation with seeded, stratified folds.

    From the training part of every fold, ``settings.validation`` is split off to choose the best epoch and, where
    several ``model_params`` are given, among them. The test part is looked at once, with what was chosen.

    Args:
        model: Registered name or class of the network.
        X: Graphs in any form, or a :class:`GraphDataset`.
        y: One label per graph; those that the graphs carry by default.
        model_params: Keyword arguments of the network, or several candidates.
        folds: Number of folds.
        settings: Epochs, learning rate, validation and so on.
        task: What the labels mean.
        features: Node features where graphs have none.
        ignore: Columns to leave out on purpose.
        place: Where to keep the networks of all folds, and to resume from.
        n_jobs: Folds at a time, in processes of their own.
        callback: Called after every fold and, if these run one at a time, after every epoch.

    Example:
        >>> from rwkplus.datasets import load_graphs
        >>> graphs = load_graphs("functional-groups")[:40]
        >>> scores = cross_validate("gin", graphs, folds=2, settings=Settings(epochs=2), ignore=("edge_attr",))
        >>> len(scores.folds), sorted(scores.to_dict())
        (2, ['folds', 'mean', 'std'])
    """
    settings = settings or Settings()
    candidates = _candidates(model_params, settings)
    data = GraphDataset.of(X, y, task=task, features=features, ignore=ignore)
    prepare(data, model, candidates, settings)
    metric = metric_for(data.whole, settings.metric)

    def _run(number: int, train: Index, test: Index, watch: Callback | None) -> FoldResult:
        results, diverged = [], NumericError()
        for i, params in enumerate(candidates):
            job = Job.split(data, model, params, train, fold_settings(settings, number))
            try:
                results.append(job.run(candidate_place(place, number, i if len(candidates) > 1 else None), watch))
            except NumericError as error:  # the others may do better
                diverged = error
        if not results:
            raise NumericError(f"fold {number}: {diverged}") from diverged
        return tested(data, max(results, key=lambda result: _rank(metric, result.validation)), number, test)

    return run_folds(data, folds, settings, _run, n_jobs=n_jobs, callback=callback)


def _candidates(model_params: Params | Sequence[Params] | None, settings: Settings) -> Sequence[Params]:
    candidates = [model_params or {}] if model_params is None or isinstance(model_params, Mapping) else model_params
    if len(candidates) > 1 and settings.validation == 0:
        raise ParameterError("choosing among several model_params needs validation graphs: give validation above 0.")
    return candidates


def prepare(data: GraphDataset, model: Model, candidates: Sequence[Params], settings: Settings) -> None:
    """Find mistakes before the first fold, and apply each network's transform once for all folds."""
    metric_for(data.whole, settings.metric)
    for params in candidates:
        data.store(new_network(data, model, params))


def run_folds(
    data: GraphDataset,
    folds: int,
    settings: Settings,
    run: Callable[[int, Index, Index, Any], FoldResult],
    *,
    n_jobs: int | None,
    callback: Callback | None,
) -> CrossValidation:
    """Run every fold, one at a time or in parallel; ``run`` gets the callback only in this very process."""
    parallel = effective_n_jobs(n_jobs) > 1
    if parallel and settings.devices * settings.num_nodes > 1:
        raise ParameterError("n_jobs runs folds in parallel, devices shares each fold: use one of them.")
    splits = data.folds(folds, settings.random_state)
    work = (delayed(run)(i, train, test, None if parallel else callback) for i, (train, test) in enumerate(splits))
    results = []
    for result in Parallel(n_jobs=n_jobs, return_as="generator")(work):
        results.append(result)
        if callback is not None:
            callback(Progress("folds", len(results), folds, result.test))
    return CrossValidation(results, metric_for(data.whole, settings.metric))


def fold_settings(settings: Settings, number: int) -> Settings:
    """Settings of a fold: initial weights and order of its own.

    >>> fold_settings(Settings(), 0).random_state != fold_settings(Settings(), 1).random_state
    True
    """
    return replace(settings, random_state=derived_seed(settings.random_state, number))


def tested(data: GraphDataset, chosen: TrainedNetwork, number: int, test: Index) -> FoldResult:
    """Score the chosen network on the test graphs."""
    outputs = outputs_of(chosen.model, data.store(chosen.model), test)
    scores = all_scores(chosen.target, outputs, chosen.target.encode(data.y[test]))
    return FoldResult(number, dict(chosen.params), chosen.best_epoch, chosen.validation, scores, chosen.seconds)


def candidate_place(place: Place | None, number: int, candidate: int | None = None) -> Place | None:
    """Where a candidate of a fold keeps its files.

    >>> candidate_place(Place(Path("run")), 2, 0).folder.as_posix()
    'run/fold-2/candidate-0'
    """
    if place is None:
        return None
    folder: Path = place.folder / f"fold-{number}"
    return replace(place, folder=folder if candidate is None else folder / f"candidate-{candidate}")


def _rank(metric: Metric, validation: Mapping[str, float]) -> tuple[float, float]:
    """Best validation score last, among equals the lowest loss; without validation all are the same."""
    return metric.rank(validation.get(metric.name, math.nan), validation.get("loss", math.nan))

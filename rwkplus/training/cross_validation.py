"""Honest scores of a network, and of a search for its parameters: test graphs are looked at once, at the end."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from statistics import mean, pstdev
from typing import TYPE_CHECKING, Any, Unpack

from joblib import Parallel, delayed, effective_n_jobs

from rwkplus.datasets.splits import Index
from rwkplus.errors import MissingExtraError, NumericError, ParameterError
from rwkplus.files import json_values
from rwkplus.models.registry import MODELS, Model, name_of
from rwkplus.table import Graphs
from rwkplus.training.dataset import DatasetOptions, GraphDataset, outputs_of
from rwkplus.training.estimators import Job, TrainedNetwork, new_network
from rwkplus.training.loop import Settings, derived_seed
from rwkplus.training.run_folder import Place, check_identity
from rwkplus.training.targets import Metric, all_scores, metric_for
from rwkplus.types import Callback, Progress

if TYPE_CHECKING:
    from optuna import Study, Trial

Params = Mapping[str, Any]
SETTINGS = {field.name for field in fields(Settings)}
SETTINGS_SPACE: dict[str, Any] = {"lr": {"low": 1e-3, "high": 3e-2, "log": True}}
INTERRUPTED = "interrupted"
"""Marks trials that Ctrl-C ended."""
RUN = "run"
"""What a study belongs to, so that no other search goes on with it."""


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
    place: Place | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    **options: Unpack[DatasetOptions],
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
        place: Where to keep the networks of all folds, and to resume from.
        n_jobs: Folds at a time, in processes of their own.
        callback: Called after every fold and, if these run one at a time, after every epoch.
        options: Of :class:`GraphDataset`, such as ``task`` or ``ignore``, where ``X`` is none.

    Example:
        >>> from rwkplus.datasets import load_graphs
        >>> graphs = load_graphs("functional-groups")[:40]
        >>> scores = cross_validate("gin", graphs, folds=2, settings=Settings(epochs=2), ignore=("edge_attr",))
        >>> len(scores.folds), sorted(scores.to_dict())
        (2, ['folds', 'mean', 'std'])
    """
    settings = settings or Settings()
    candidates = _candidates(model_params, settings)
    data = GraphDataset.of(X, y, **options)
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

    return _run_folds(data, folds, settings, _run, n_jobs=n_jobs, callback=callback)


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


def _run_folds(
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
    """Settings of a fold: initial weights and order of its own."""
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


def tune(
    model: Model,
    X: Graphs | GraphDataset,
    y: object = None,
    *,
    trials: int = 20,
    space: Mapping[str, Any] | None = None,
    model_params: Params | None = None,
    folds: int = 5,
    settings: Settings | None = None,
    place: Place | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    **options: Unpack[DatasetOptions],
) -> CrossValidation:
    """Search parameters by Optuna's TPE, in every fold anew, and score what was found on the test part of the fold.

    A trial trains on the training part of the fold and is judged by its validation graphs; hopeless ones are cut
    short. Only the winner of a fold sees its test graphs, so the scores are those of the search as a whole (extra:
    ``tune``).

    There are so many ``trials`` per fold. ``space`` names what to try, parameters of the network or settings: a list of
    choices each, or a range ``{"low": 0.001, "high": 0.1, "log": True}``; by default that of the registered network.
    ``model_params`` and ``settings`` are not searched, ``place`` keeps studies, too, and ``callback`` is also called
    after every trial. All else is as in :func:`cross_validate`.
    """
    settings = settings or Settings()
    data = GraphDataset.of(X, y, **options)
    space = default_space(model) if space is None else space
    check_search(data, model, model_params or {}, space, settings)

    def _run(number: int, train: Index, test: Index, watch: Callback | None) -> FoldResult:
        job = Job.split(data, model, model_params or {}, train, fold_settings(settings, number))
        return _Search(job, space).run(number, test, trials, candidate_place(place, number), watch)

    return _run_folds(data, folds, settings, _run, n_jobs=n_jobs, callback=callback)


def default_space(model: Model) -> dict[str, Any]:
    """What a search tries unless told otherwise.

    >>> sorted(default_space("gin"))
    ['dropout', 'hidden_channels', 'layers', 'lr']
    """
    name = name_of(model)
    return {**(MODELS[name].space if name is not None else {}), **SETTINGS_SPACE}


def check_search(
    data: GraphDataset, model: Model, params: Params, space: Mapping[str, Any], settings: Settings
) -> None:
    """Find mistakes before the first trial: a search needs validation, Optuna, and names and values that exist."""
    _optuna()
    if settings.validation == 0:
        raise ParameterError("a search needs validation graphs: give validation more than 0.")
    first = {name: _first(name, choices) for name, choices in space.items()}
    searched, chosen = _split(first)
    replace(settings, **chosen)
    prepare(data, model, [params, {**params, **searched}], settings)


def _split(chosen: Params) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was chosen as parameters of the network, and as settings."""
    params = {name: value for name, value in chosen.items() if name not in SETTINGS}
    return params, {name: value for name, value in chosen.items() if name in SETTINGS}


def _first(name: str, choices: object) -> Any:  # noqa: ANN401
    """The first of a list of choices, or the lower end of a range; anything else is an error."""
    if isinstance(choices, Mapping) and {"low", "high"} <= choices.keys() <= {"low", "high", "log"}:
        low, high = choices["low"], choices["high"]
        numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in (low, high))
        if not numbers or low > high or (choices.get("log") and low <= 0):
            raise ParameterError(
                f"space: the range of {name!r} must lead from a lower to a higher number, above 0 if it is "
                f"logarithmic; got {choices!r}."
            )
        return low
    if isinstance(choices, list | tuple) and choices:
        return choices[0]
    raise ParameterError(
        f"space: {name!r} must be a list of choices or a range {{low: ..., high: ..., log: true}}; got {choices!r}."
    )


class _Search:
    """The study of one fold."""

    def __init__(self, job: Job, space: Mapping[str, Any]) -> None:
        self.job, self.space = job, space
        self.metric = metric_for(job.data.whole, job.settings.metric)

    def run(self, number: int, test: Index, trials: int, place: Place | None, callback: Callback | None) -> FoldResult:
        """Search, train the winner once more, and look at the test graphs."""
        optuna, study = _optuna(), self._study(place)
        while (done := _finished(study)) < trials:
            # A sampler per trial, so that a resumed search goes on as an uninterrupted one would have.
            study.sampler = optuna.samplers.TPESampler(seed=derived_seed(self.job.settings.random_state, done))
            study.optimize(self._objective, n_trials=1)
            if callback is not None:
                callback(Progress("trials", done + 1, trials))
        if all(trial.state.name != "COMPLETE" for trial in study.trials):
            raise NumericError(
                f"fold {number}: none of {trials} trials has a number for {self.metric.name}. They diverged, or it is "
                "not defined for so few validation graphs: search smaller learning rates, or give more of those."
            )
        result = tested(self.job.data, self._with(study.best_params).run(place), number, test)
        return replace(result, params={**self.job.params, **study.best_params})

    def _study(self, place: Place | None) -> "Study":
        optuna, storage, journal = _optuna(), None, Path()
        if place is not None:
            place.folder.mkdir(parents=True, exist_ok=True)
            journal = place.folder / "trials.journal"
            if not place.resume:
                journal.unlink(missing_ok=True)
            storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(journal)))
        study: Study = optuna.create_study(
            storage=storage,
            study_name="rwkplus",
            load_if_exists=True,
            direction="maximize" if self.metric.larger_is_better else "minimize",
            pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=self.job.settings.epochs // 4),
        )
        identity = json_values(self.job.identity() | {"space": self.space})
        if study.trials:
            check_identity(journal, identity, study.user_attrs.get(RUN, {}))
        study.set_user_attr(RUN, identity)
        return study

    def _objective(self, trial: "Trial") -> float:
        optuna, best = _optuna(), self.metric.worst

        def _report(progress: Progress) -> None:
            nonlocal best
            row = progress.values
            best = max(best, row["val_score"], key=self.metric.rank)
            trial.report(best, int(row["epoch"]))
            if trial.should_prune():
                raise optuna.TrialPruned

        chosen = {name: _suggest(trial, name, choices) for name, choices in self.space.items()}
        try:
            return self._with(chosen).run(callback=_report).validation[self.metric.name]
        except NumericError:
            return math.nan  # Optuna takes the trial for failed and goes on
        except KeyboardInterrupt:
            trial.set_user_attr(INTERRUPTED, True)
            raise

    def _with(self, chosen: Params) -> Job:
        """The job with other parameters of the network, and other settings."""
        params, settings = _split(chosen)
        return replace(self.job, params={**self.job.params, **params}, settings=replace(self.job.settings, **settings))


def _suggest(trial: "Trial", name: str, choices: Any) -> Any:  # noqa: ANN401
    if not isinstance(choices, Mapping):
        return trial.suggest_categorical(name, list(choices))
    low, high, log = choices["low"], choices["high"], bool(choices.get("log", False))
    suggest = trial.suggest_int if isinstance(low, int) and isinstance(high, int) else trial.suggest_float
    return suggest(name, low, high, log=log)


def _finished(study: "Study") -> int:
    """Number of trials that ran to an end, were given up or diverged; those killed or interrupted do not count."""
    ends = ("COMPLETE", "PRUNED", "FAIL")
    return sum(trial.state.name in ends and INTERRUPTED not in trial.user_attrs for trial in study.trials)


def _optuna() -> Any:  # noqa: ANN401
    try:
        import optuna
    except ImportError as error:
        raise MissingExtraError("the search needs Optuna: pip install 'rwkplus[tune]'.") from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna

"""Search for good parameters inside the training part of every fold; test graphs stay unseen (extra: ``tune``)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rwkplus.datasets.splits import Index
from rwkplus.errors import MissingExtraError, NumericError, ParameterError
from rwkplus.files import json_values
from rwkplus.models.registry import MODELS, name_of
from rwkplus.table import Graphs
from rwkplus.training.cross_validation import (
    CrossValidation,
    FoldResult,
    Params,
    candidate_place,
    fold_settings,
    prepare,
    run_folds,
    tested,
)
from rwkplus.training.dataset import GraphDataset, Model
from rwkplus.training.inputs import Features
from rwkplus.training.loop import Settings, derived_seed
from rwkplus.training.results import Job
from rwkplus.training.run_folder import Place, check_identity
from rwkplus.training.targets import Task, metric_for
from rwkplus.types import Callback, Progress

if TYPE_CHECKING:
    from optuna import Study, Trial

SETTINGS_SPACE: dict[str, Any] = {"lr": {"low": 1e-3, "high": 3e-2, "log": True}}
SETTINGS = {field.name for field in fields(Settings)}


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
    task: Task = "auto",
    features: Features = "auto",
    ignore: Sequence[str] = (),
    place: Place | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> CrossValidation:
    """Search parameters by Optuna's TPE, in every fold anew, and score what was found on the test part of the fold.

    A trial trains on the training part of the fold and is judged by its validation graphs; hopeless ones are cut
    short. Only the winner of a fold sees its test graphs, so the scores are those of the search as a whole.

    Args:
        model: Registered name or class of the network.
        X: Graphs in any form, or a :class:`GraphDataset`.
        y: One label per graph; those that the graphs carry by default.
        trials: Trials per fold.
        space: What to try, by name of a parameter of the network or a setting: a list of choices, or a range
            ``{"low": 0.001, "high": 0.1, "log": True}``. By default that of the registered network.
        model_params: Parameters of the network that are not searched.
        folds: Number of folds.
        settings: Settings that are not searched.
        task: What the labels mean.
        features: Node features where graphs have none.
        ignore: Columns to leave out on purpose.
        place: Where to keep studies and the best network of each fold, and to resume from.
        n_jobs: Folds at a time, in processes of their own.
        callback: Called after every fold and, if these run one at a time, after every trial.
    """
    settings = settings or Settings()
    data = GraphDataset.of(X, y, task=task, features=features, ignore=ignore)
    space = default_space(model) if space is None else space
    check_search(data, model, model_params or {}, space, settings)

    def _run(number: int, train: Index, test: Index, watch: Callback | None) -> FoldResult:
        job = Job.split(data, model, model_params or {}, train, fold_settings(settings, number))
        return _Search(job, space).run(number, test, trials, candidate_place(place, number), watch)

    return run_folds(data, folds, settings, _run, n_jobs=n_jobs, callback=callback)


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
    replace(settings, **{name: value for name, value in first.items() if name in SETTINGS})
    searched = {name: value for name, value in first.items() if name not in SETTINGS}
    prepare(data, model, [params, {**params, **searched}], settings)


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


INTERRUPTED = "interrupted"
"""Marks trials that Ctrl-C ended."""
RUN = "run"
"""What a study belongs to, so that no other search goes on with it."""


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
            best = row["val_score"] if self.metric.improves(row["val_score"], best) else best
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
        params = {name: value for name, value in chosen.items() if name not in SETTINGS}
        settings = {name: value for name, value in chosen.items() if name in SETTINGS}
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

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from rwkplus.datasets.splits import stratified_folds
from rwkplus.errors import DataError, MissingExtraError, NumericError, ParameterError
from rwkplus.saving import load
from rwkplus.training import Place, tune
from rwkplus.training.estimators import Job
from tests.training.toy import QUICK, SMALL, rings

SPACE = {"layers": [1, 2], "hidden_channels": {"low": 2, "high": 6}, "lr": {"low": 1e-3, "high": 0.1, "log": True}}


class StopError(BaseException):
    """What Ctrl-C is like."""


def searched(graphs=None, *, trials=3, **choices):
    choices = {"settings": QUICK, "space": SPACE} | choices
    return tune("gin", graphs or rings(30), trials=trials, folds=2, **choices)


def essence(result):
    return [replace(fold, seconds=0) for fold in result.folds]


def test_what_was_found_is_what_was_scored(tmp_path):
    graphs = rings(30)
    result = searched(graphs, place=Place(tmp_path))
    for fold, (_, test) in zip(result.folds, stratified_folds(np.arange(30) % 2, 2, 0), strict=True):
        assert fold.params.keys() == SPACE.keys()
        assert 2 <= fold.params["hidden_channels"] <= 6
        assert 1e-3 <= fold.params["lr"] <= 0.1
        trained = load(tmp_path / f"fold-{fold.fold}").trained_
        assert trained.params == {name: fold.params[name] for name in ("layers", "hidden_channels")}
        assert trained.settings.lr == fold.params["lr"]
        assert trained.scores([graphs[i] for i in test]) == pytest.approx(fold.test)
    best = max(result.folds, key=lambda fold: fold.validation["accuracy"])
    assert result.best().validation["accuracy"] == best.validation["accuracy"]


def test_test_graphs_have_no_say():
    graphs, labels = rings(30), np.arange(30) % 2
    _, test = stratified_folds(labels, 2, 0)[0]
    spoiled = list(graphs)
    for i, j in zip(test[labels[test] == 0], test[labels[test] == 1], strict=False):
        spoiled[i], spoiled[j] = graphs[j], graphs[i]
    honest, fooled = (searched(which, y=labels).folds[0] for which in (graphs, spoiled))
    assert (honest.params, honest.validation) == (fooled.params, fooled.validation)
    assert honest.test != fooled.test


def test_an_interrupted_search_ends_like_an_uninterrupted_one(tmp_path):
    def stop(progress):
        if progress.phase == "trials":
            seen.append(1)
        if len(seen) == 4:
            raise StopError

    seen = []
    with pytest.raises(StopError):
        searched(place=Place(tmp_path, resume=True), callback=stop)
    rest = []
    again = searched(place=Place(tmp_path, resume=True), callback=rest.append)
    assert sum(progress.phase == "trials" for progress in rest) == 2 * 3 - 4
    assert essence(again) == essence(searched())


def test_a_search_in_which_all_diverges_comes_to_an_end(monkeypatch):
    diverged = SimpleNamespace(validation={"accuracy": float("nan"), "loss": float("nan")})
    monkeypatch.setattr(Job, "run", lambda *_, **__: diverged)
    with pytest.raises(NumericError, match="fold 0: none of 2 trials has a number for accuracy"):
        tune("gin", rings(), trials=2, space={"lr": [0.1, 0.2]}, model_params=SMALL, folds=2, settings=QUICK)


def test_fixed_parameters_stay():
    result = searched(space={"lr": [0.01, 0.02]}, model_params=SMALL, trials=2)
    assert all(fold.params.items() >= SMALL.items() for fold in result.folds)


def test_the_space_of_a_registered_network_is_the_default():
    (fold, _) = searched(space=None, trials=1, settings=replace(QUICK, epochs=1)).folds
    assert fold.params.keys() == {"hidden_channels", "layers", "dropout", "lr"}


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"space": {"layers": 3}}, "'layers' must be a list of choices or a range"),
        ({"space": {"layers": []}}, "'layers' must be"),
        ({"space": {"lr": {"low": 1}}}, "'lr' must be"),
        ({"space": {"kernel": ["rwk+"]}}, "no parameter 'kernel'"),
        ({"settings": replace(QUICK, validation=0)}, "needs validation graphs"),
    ],
)
def test_impossible_searches_are_named(choices, message):
    with pytest.raises(ParameterError, match=message):
        searched(**choices)


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"rwkplus\[tune\]"):
        searched()


def test_a_trial_that_was_interrupted_is_tried_again(tmp_path, monkeypatch):
    run, seen = Job.run, []

    def interrupted(job, *arguments, **options):
        seen.append(1)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return run(job, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Job, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            searched(place=Place(tmp_path, resume=True))
    rest = []
    again = searched(place=Place(tmp_path, resume=True), callback=rest.append)
    assert sum(progress.phase == "trials" for progress in rest) == 2 * 3 - 1
    assert essence(again) == essence(searched())


def test_real_divergence_ends_a_trial_and_not_the_search():
    result = searched(space={"lr": [1e30, 0.01, 0.02]}, model_params=SMALL, trials=4)
    assert all(fold.params["lr"] < 1 for fold in result.folds)


@pytest.mark.parametrize("change", [{"X": rings(seed=1)}, {"settings": replace(QUICK, metric="roc_auc")}])
def test_trials_of_another_search_are_not_gone_on_with(tmp_path, change):
    """An interrupted fold has no model whose file would tell."""

    def stop(progress):
        raise StopError

    given = {"X": rings(), "settings": QUICK, "space": {"lr": [0.01, 0.02]}, "model_params": SMALL, "folds": 2}
    with pytest.raises(StopError):
        tune("gin", **given, trials=2, place=Place(tmp_path), callback=stop)
    with pytest.raises(DataError, match=r"belongs to another run: (graphs|metric) differ"):
        tune("gin", **given | change, trials=2, place=Place(tmp_path, resume=True))

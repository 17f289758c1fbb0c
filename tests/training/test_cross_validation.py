import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from rwkplus.datasets.splits import stratified_folds
from rwkplus.errors import ParameterError
from rwkplus.models.gnn import GIN
from rwkplus.saving import load
from rwkplus.training import CrossValidation, FoldResult, Place, cross_validate
from rwkplus.training.targets import Metric
from tests.training.toy import QUICK, SMALL, rings, surplus

CANDIDATES = [SMALL, SMALL | {"layers": 2}, SMALL | {"hidden_channels": 8}]


def scored(graphs=None, y=None, *, params=SMALL, folds=3, **choices):
    choices = {"settings": QUICK} | choices
    return cross_validate("gin", graphs or rings(30), y, model_params=params, folds=folds, **choices)


def same(first, second):
    """Everything but the time."""
    assert [replace(fold, seconds=0) for fold in first.folds] == [replace(fold, seconds=0) for fold in second.folds]


def test_folds_are_those_of_the_kernels_and_baselines(tmp_path):
    graphs = rings(30)
    result = scored(graphs, place=Place(tmp_path))
    for fold, (_, test) in zip(result.folds, stratified_folds(np.arange(30) % 2, 3, 0), strict=True):
        trained = load(tmp_path / f"fold-{fold.fold}").trained_
        assert trained.scores([graphs[i] for i in test]) == pytest.approx(fold.test)
    facts = result.to_dict()
    assert facts["mean"]["accuracy"] == result.mean("accuracy") == np.mean([f.test["accuracy"] for f in result.folds])
    assert facts["std"]["accuracy"] == pytest.approx(np.std([f.test["accuracy"] for f in result.folds]))


def test_test_graphs_have_no_say():
    """Graphs of the test part swap their classes: the same choice, the same validation scores."""
    graphs, labels = rings(30), np.arange(30) % 2
    _, test = stratified_folds(labels, 3, 0)[1]
    spoiled = rings(30)
    first, second = [[i for i in test if labels[i] == c] for c in (0, 1)]
    for i, j in zip(first, second, strict=True):  # swapped, so that the folds stay as they are
        spoiled[i], spoiled[j] = graphs[j], graphs[i]
    honest = scored(graphs, labels, params=CANDIDATES).folds[1]
    fooled = scored(spoiled, labels, params=CANDIDATES).folds[1]
    assert replace(honest, test={}, seconds=0) == replace(fooled, test={}, seconds=0)
    assert honest.test != fooled.test


def test_numbers_are_scaled_by_the_training_part_alone(tmp_path):
    graphs = rings(30)
    scored(graphs, surplus(graphs), place=Place(tmp_path))
    scales = {load(path).trained_.target.scale for path in tmp_path.rglob("model.safetensors")}
    assert len(scales) == 3


def test_the_best_candidate_of_each_fold_is_chosen_by_validation():
    together = scored(params=CANDIDATES)
    alone = [scored(params=candidate) for candidate in CANDIDATES]
    for number, chosen in enumerate(together.folds):
        rivals = [result.folds[number] for result in alone]
        best = max(rivals, key=lambda fold: (fold.validation["accuracy"], -fold.validation["loss"]))
        assert replace(chosen, seconds=0) == replace(best, seconds=0)


class Wild(GIN):
    """Diverges if told to."""

    def __init__(self, in_channels, out_channels, *, hidden_channels, layers, scale=1.0):
        super().__init__(in_channels, out_channels, hidden_channels=hidden_channels, layers=layers)
        self.scale = scale

    def forward(self, batch):
        return super().forward(batch) * self.scale


@pytest.mark.parametrize("place", [0, 1])
def test_a_candidate_that_diverged_is_never_chosen(place):
    candidates = [SMALL | {"scale": math.nan}]
    candidates.insert(place, SMALL)
    result = cross_validate(Wild, rings(), model_params=candidates, folds=2, settings=QUICK)
    assert all(fold.params == SMALL for fold in result.folds)


@pytest.mark.parametrize(("metric", "best"), [("accuracy", 2), ("loss", 1)])
def test_the_best_fold_is_one_with_a_score(metric, best):
    scores = [(math.nan, math.nan), (0.5, 0.3), (0.9, 0.5), (0.9, 0.6)]
    folds = [FoldResult(i, {}, 0, {"accuracy": a, "loss": b}, {}, 0.0) for i, (a, b) in enumerate(scores)]
    chosen_by = Metric(metric, metric == "accuracy", lambda *_: torch.zeros(()))
    assert CrossValidation(folds, chosen_by).best().fold == best


@pytest.mark.slow
def test_parallel_folds_give_the_same_numbers():
    same(scored(n_jobs=2), scored())


def test_finished_and_unfinished_folds_are_resumed(tmp_path):
    class StopError(Exception):
        pass

    def stop(progress):
        if progress.phase == "epochs":
            seen.append(progress)
        if len(seen) == 2 * QUICK.epochs - 1:
            raise StopError

    seen = []
    place = Place(tmp_path, resume=True, checkpoint_seconds=0)
    with pytest.raises(StopError):
        scored(place=place, callback=stop)
    rest = []
    same(scored(place=place, callback=rest.append), scored())
    assert sum(progress.phase == "epochs" for progress in rest) == 3 * QUICK.epochs - len(seen)
    assert [progress.done for progress in rest if progress.phase == "folds"] == [1, 2, 3]


def test_folds_of_one_seed_never_share_initial_weights():
    result = scored()
    assert len({fold.validation["loss"] for fold in result.folds}) == 3


@pytest.mark.parametrize(
    ("labels", "choices", "message"),
    [
        ([0] * 28 + [1] * 2, {}, "class 1 has 2 graphs, too few for 3 folds"),
        ([0] * 30, {}, "all labels are of class 0"),
        (["a"] * 28 + ["b"] * 2, {}, "class b has 2 graphs"),
        (None, {"params": CANDIDATES, "settings": replace(QUICK, validation=0)}, "needs validation"),
        (None, {"params": {"kernel": "rwk+"}}, "no parameter 'kernel'"),
        (list(np.linspace(0, 1, 30)), {"folds": 40}, "too few for 40 folds"),
    ],
)
def test_impossible_folds_are_named(labels, choices, message):
    with pytest.raises(ParameterError, match=message):
        scored(y=labels, **choices)


def test_the_callers_generator_is_left_alone():
    before = torch.get_rng_state()
    scored()
    assert torch.equal(torch.get_rng_state(), before)

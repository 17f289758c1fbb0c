import numpy as np
import pytest
from joblib import parallel_config
from sklearn.svm import SVC

from rwkplus.datasets.splits import stratified_folds
from rwkplus.errors import ParameterError, RWKPlusError, ShapeError
from rwkplus.kernels.evaluation import COSTS, NestedScores, nested_cross_validation


def classes(count=40):
    return np.arange(count) % 2


def gram_of(features):
    return features @ features.T


def cloud(y, seed=0, noise=1.0, shift=1.0):
    """Two clouds, a point per graph; less noise is easier, no shift impossible."""
    x = np.random.default_rng(seed).normal(size=(y.size, 5)) * noise
    x[:, 0] += shift * (2 * y - 1)
    return x


def separable(y, seed=0, noise=0.5):
    return gram_of(cloud(y, seed, noise))


def uninformative(y, seed=0):
    return gram_of(cloud(y, seed, shift=0.0))


def test_folds_are_stratified_disjoint_and_complete():
    y = np.repeat([0, 1, 2], [12, 24, 36])
    folds = stratified_folds(y, 4, random_state=0)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(72))
    for train, test in folds:
        assert not set(train) & set(test)
        assert len(train) + len(test) == 72
        assert np.bincount(y[test]).tolist() == [3, 6, 9]


def test_folds_follow_the_seed():
    y = classes()
    first, again, other = (stratified_folds(y, 5, seed) for seed in (0, 0, 1))
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(first, again, strict=True))
    assert any(not np.array_equal(a[1], b[1]) for a, b in zip(first, other, strict=True))


def test_one_class_is_nothing_to_classify():
    with pytest.raises(ParameterError, match="only one class"):
        stratified_folds(np.zeros(20, int), 5, 0)


def test_too_few_members_of_a_class_are_named():
    y = np.repeat([0, 7], [20, 3])
    with pytest.raises(ParameterError, match=r"class 7 has 3 graphs, too few for 5 folds. Use fewer folds"):
        stratified_folds(y, 5, 0)
    with pytest.raises(ParameterError, match="class 7 has 3 graphs"):
        nested_cross_validation({"a": np.eye(23)}, y, folds=5)


def test_too_few_members_for_the_inner_folds_are_an_error_of_ours():
    y = np.repeat([0, 1], [20, 4])
    with pytest.raises(RWKPlusError, match="class 1 has 3 graphs, too few for 5 folds"):
        nested_cross_validation({"a": np.eye(24)}, y, folds=4, inner_folds=5)


@pytest.mark.parametrize("shape", [(40, 39), (39, 39), (41, 41), (40,)])
def test_a_gram_matrix_of_another_size_is_refused(shape):
    with pytest.raises(ShapeError, match=r"Gram matrix 'b' has shape"):
        nested_cross_validation({"a": np.eye(40), "b": np.ones(shape)}, classes(), folds=2, inner_folds=2)


def test_an_easy_kernel_scores_high_and_noise_near_chance():
    y = classes(60)
    easy = nested_cross_validation({"easy": separable(y, noise=0.2)}, y, folds=5, inner_folds=3)
    noise = nested_cross_validation({"noise": uninformative(y)}, y, folds=5, inner_folds=3)
    assert np.mean(easy.accuracy) == 1
    assert np.mean(noise.accuracy) < 0.75


def test_the_inner_folds_choose_the_informative_kernel():
    y = classes(60)
    scores = nested_cross_validation({"noise": uninformative(y), "easy": separable(y)}, y, folds=5, inner_folds=3)
    assert [name for name, _ in scores.chosen] == ["easy"] * 5


def test_what_is_chosen_is_the_inner_best_and_the_score_that_of_a_plain_svm():
    y = classes()
    grams = {seed: separable(y, seed, noise=1.5) for seed in range(3)}
    costs = (0.01, 1.0, 100.0)
    scores = nested_cross_validation(grams, y, folds=4, inner_folds=3, random_state=5, costs=costs)

    def accuracy(gram, cost, fit, held):
        model = SVC(kernel="precomputed", C=cost).fit(gram[fit][:, fit], y[fit])
        return model.score(gram[held][:, fit], y[held])

    for (train, test), found, choice in zip(stratified_folds(y, 4, 5), scores.accuracy, scores.chosen, strict=True):
        inner = [(train[fit], train[held]) for fit, held in stratified_folds(y[train], 3, 5)]
        means = {
            (name, cost): np.mean([accuracy(gram, cost, *fold) for fold in inner])
            for name, gram in grams.items()
            for cost in costs
        }
        assert choice == max(means, key=means.get)  # the first of several, as documented
        assert found == accuracy(grams[choice[0]], choice[1], train, test)


def test_ties_go_to_the_first_candidate_and_the_smallest_cost():
    y = classes()
    gram = separable(y, noise=0.1)
    scores = nested_cross_validation({"first": gram, "second": gram.copy()}, y, folds=4, inner_folds=3)
    assert set(scores.chosen) == {("first", COSTS[0])}


@pytest.mark.parametrize("fold", range(4))
def test_the_test_fold_does_not_influence_what_is_chosen(fold):
    y, options = classes(), {"folds": 4, "inner_folds": 3, "costs": (0.01, 0.1)}
    features = {"hard": cloud(y, 1, noise=2.0), "harder": cloud(y, 2, noise=2.5), "noise": cloud(y, 3, shift=0.0)}
    clean = nested_cross_validation({n: gram_of(x) for n, x in features.items()}, y, **options)
    test = stratified_folds(y, 4, 0)[fold][1]
    for i, x in enumerate(features.values()):
        x[test] = np.random.default_rng(fold + 10 * i).normal(size=(test.size, 5)) * 4
    poisoned = nested_cross_validation({n: gram_of(x) for n, x in features.items()}, y, **options)
    assert poisoned.chosen[fold] == clean.chosen[fold]
    assert poisoned.accuracy != clean.accuracy  # the poison was strong enough to be seen elsewhere


@pytest.mark.parametrize("fold", range(4))
def test_a_kernel_that_shines_only_on_the_test_fold_is_not_chosen(fold):
    y = classes()
    test = stratified_folds(y, 4, 0)[fold][1]
    perfect_on_test = cloud(y, 1, shift=0.0)
    perfect_on_test[test] = 0
    perfect_on_test[test, 0] = 10 * (2 * y[test] - 1)
    grams = {"tempting": gram_of(perfect_on_test), "honest": gram_of(cloud(y, 2, noise=0.3))}
    assert nested_cross_validation(grams, y, folds=4, inner_folds=3, costs=(1.0,)).chosen[fold][0] == "honest"


def test_parallel_and_serial_agree():
    y = classes()
    grams = {"hard": separable(y, noise=2.0), "noise": uninformative(y)}
    options = {"folds": 4, "inner_folds": 3, "costs": (0.1, 1.0)}
    serial = nested_cross_validation(grams, y, **options)
    with parallel_config("threading"):
        assert nested_cross_validation(grams, y, **options, n_jobs=2) == serial


def test_every_fold_is_reported_once():
    y, seen = classes(), []
    scores = nested_cross_validation({"a": separable(y)}, y, folds=4, inner_folds=2, costs=(1.0,), callback=seen.append)
    assert isinstance(scores, NestedScores)
    assert [(step.phase, step.done, step.total) for step in seen] == [("folds", i + 1, 4) for i in range(4)]
    assert len(seen) == len(scores.accuracy) == len(scores.chosen) == 4


def test_classes_may_be_a_list():
    y = classes()
    options = {"folds": 2, "inner_folds": 2, "costs": (1.0,)}
    grams = {"easy": separable(y)}
    assert nested_cross_validation(grams, y.tolist(), **options) == nested_cross_validation(grams, y, **options)


def test_no_gram_matrix_is_an_error():
    with pytest.raises(ParameterError, match="grams is empty"):
        nested_cross_validation({}, classes(), folds=2)

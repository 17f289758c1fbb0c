import math

import numpy as np
import pytest
import torch
from sklearn import metrics as sk

from rwkplus.errors import ParameterError
from rwkplus.training.targets import Classes, Numbers, Questions, all_scores, metric_for, metrics_for


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("classes", [2, 4])
def test_scores_of_classes_equal_scikit_learn(classes):
    y = torch.arange(40) % classes
    outputs = draw(40, classes) + torch.eye(classes)[y]
    found = all_scores(Classes(tuple(range(classes))), outputs, y)
    predicted, shares = outputs.argmax(1), outputs.softmax(1)
    ranked = shares[:, 1] if classes == 2 else shares
    expected = {
        "accuracy": sk.accuracy_score(y, predicted),
        "f1": sk.f1_score(y, predicted, average="macro"),
        "recall": sk.balanced_accuracy_score(y, predicted),
        "roc_auc": sk.roc_auc_score(y, ranked, multi_class="ovr"),
        "ap": sk.average_precision_score(y if classes == 2 else np.eye(classes)[y], ranked),
        "loss": sk.log_loss(y, shares),
    }
    if classes == 2:
        expected["positive_f1"] = sk.f1_score(y, predicted)
        expected["positive_precision"] = sk.precision_score(y, predicted)
        expected["positive_recall"] = sk.recall_score(y, predicted)
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("scale", [1, 1e3, 1e-12])
def test_confident_outputs_keep_their_order(scale):
    y = torch.tensor([0, 0, 1, 0, 1, 1])
    margin = torch.tensor([18.0, 19.0, 20.0, 21.0, 22.0, 22.0]) * scale
    expected = sk.roc_auc_score(y, margin), sk.average_precision_score(y, margin)
    two = all_scores(Classes((0, 1)), torch.stack([-margin, margin], 1), y)
    assert (two["roc_auc"], two["ap"]) == pytest.approx(expected)
    one = all_scores(Questions(("a",)), margin[:, None], y[:, None].float())
    assert (one["roc_auc"], one["ap"]) == pytest.approx(expected)


def test_confident_outputs_of_three_classes_keep_their_order():
    y = torch.tensor([1, 2, 0, 1, 0, 2])
    outputs = torch.tensor([18.0, 19.0, 20.0, 21.0, 22.0, 23.0])[:, None] * torch.tensor([1.0, 0.0, 0.0])
    shares = outputs.double().softmax(1)
    found = all_scores(Classes((0, 1, 2)), outputs, y)
    assert found["roc_auc"] == pytest.approx(sk.roc_auc_score(y, shares, multi_class="ovr"))


def test_the_positive_class_can_be_chosen():
    y = torch.arange(40) % 2
    outputs = draw(40, 2) + torch.eye(2)[y]
    predicted, share = outputs.argmax(1), outputs.softmax(1)[:, 0]
    found = all_scores(Classes(("fraud", "ok")).about("fraud"), outputs, y)
    assert found["positive_f1"] == pytest.approx(sk.f1_score(y, predicted, pos_label=0))
    assert found["positive_precision"] == pytest.approx(sk.precision_score(y, predicted, pos_label=0))
    assert found["positive_recall"] == pytest.approx(sk.recall_score(y, predicted, pos_label=0))
    assert found["ap"] == pytest.approx(sk.average_precision_score(y, share, pos_label=0))
    assert found["roc_auc"] == pytest.approx(sk.roc_auc_score(1 - y, share))


def test_scores_of_numbers_are_in_their_units():
    target = Numbers((5.0,), (2.0,), True)
    truth, guess = np.array([1.0, 4.0, 9.0, 11.0]), np.array([2.0, 4.5, 8.0, 11.0])
    found = all_scores(target, target.encode(guess), target.encode(truth))
    assert found["mae"] == pytest.approx(sk.mean_absolute_error(truth, guess))
    assert found["mae_in_std"] == pytest.approx(sk.mean_absolute_error(truth, guess) / 2)
    assert found["rmse"] == pytest.approx(sk.root_mean_squared_error(truth, guess))
    assert found["r2"] == pytest.approx(sk.r2_score(truth, guess))


def test_missing_numbers_do_not_count():
    target = Numbers((0.0, 0.0), (1.0, 1.0), False)
    y = torch.tensor([[1.0, math.nan], [2.0, 5.0], [math.nan, 7.0]])
    found = all_scores(target, torch.tensor([[2.0, 99.0], [2.0, 5.0], [99.0, 9.0]]), y)
    assert found["mae"] == pytest.approx((0.5 + 1.0) / 2)


def test_questions_average_over_those_with_both_answers():
    y = torch.tensor([[1.0, 1.0, 0.0], [0.0, 1.0, math.nan], [1.0, math.nan, 1.0], [0.0, 1.0, 1.0]])
    outputs = draw(4, 3)
    found = all_scores(Questions(("a", "b", "c")), outputs, y)
    known = [(y[:, 0], outputs[:, 0]), (y[[0, 2, 3], 2], outputs[[0, 2, 3], 2])]
    assert found["roc_auc"] == pytest.approx(np.mean([sk.roc_auc_score(*pair) for pair in known]))
    assert found["ap"] == pytest.approx(np.mean([sk.average_precision_score(*pair) for pair in known]))


def test_a_ranking_without_a_second_class_has_no_score():
    found = all_scores(Classes((0, 1)), draw(3, 2), torch.zeros(3, dtype=torch.long))
    assert math.isnan(found["roc_auc"])
    assert math.isnan(all_scores(Questions(("a",)), draw(3, 1), torch.ones(3, 1))["ap"])


def test_directions():
    larger = {
        name for target in (Classes, Numbers, Questions) for name, m in _known(target).items() if m.larger_is_better
    }
    of_second = {"positive_f1", "positive_precision", "positive_recall"}
    assert larger == {"accuracy", "f1", "recall", "roc_auc", "ap", "r2"} | of_second
    mae = _known(Numbers)["mae"]
    assert mae.rank(0.1) > mae.rank(0.2)
    assert mae.rank(math.nan) < mae.rank(0.2)
    assert mae.rank(0.1) > mae.rank(mae.worst)


def test_the_better_sorts_last_and_nan_first():
    scores = [(math.nan, 0.0), (0.9, math.nan), (0.9, 2.0), (0.9, 1.0), (0.2, 5.0)]
    accuracy, mae = _known(Classes)["accuracy"], _known(Numbers)["mae"]
    assert sorted(scores, key=lambda pair: accuracy.rank(*pair)) == [scores[i] for i in (0, 4, 1, 2, 3)]
    assert sorted(scores, key=lambda pair: mae.rank(*pair)) == scores
    assert accuracy.rank(math.nan, 1.0) == accuracy.rank(math.nan, 0.5)


def _known(kind):
    targets = {Classes: Classes((0, 1)), Numbers: Numbers((0.0,), (1.0,), True), Questions: Questions(("a",))}
    return metrics_for(targets[kind])


def test_unknown_metrics_are_refused_by_name():
    assert metric_for(Classes((0, 1))).name == "accuracy"
    with pytest.raises(ParameterError, match="metric must be one of accuracy, f1"):
        metric_for(Classes((0, 1)), "mae")


def test_outputs_that_are_no_numbers_have_no_score():
    """The largest of nan and nan is the first class, which may be frequent."""
    outputs = torch.full((10, 2), torch.nan)
    scores = all_scores(Classes((0, 1)), outputs, torch.tensor([0] * 9 + [1]))
    assert all(math.isnan(score) for score in scores.values())

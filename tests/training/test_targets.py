import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from rwkplus.errors import ParameterError
from rwkplus.training import GraphDataset
from rwkplus.training.targets import Classes, Numbers, Questions, make_target, target_from_dict
from tests.training.toy import rings


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (np.array([0, 1, 1]), Classes),
        (np.array([True, False]), Classes),
        (np.array(["toxic", "safe"]), Classes),
        (np.array([0.0, 1.0, 2.5]), Numbers),
        (np.array([[0.0, 1.0], [1.0, math.nan]]), Questions),
        (np.array([[0, 1], [1, 0]]), Questions),
        (np.array([[0.5, 1.0], [1.0, math.nan]]), Numbers),
        (np.array([[0.0], [1.0]]), Questions),
        (np.array([0.0, 1.0]), Numbers),
    ],
)
def test_the_labels_tell_the_task(y, kind):
    assert type(make_target(y)) is kind


@pytest.mark.parametrize("from_graphs", [False, True])
@pytest.mark.parametrize(
    ("values", "task", "kind", "shape"),
    [
        ((0.0, 1.0, 1.0), "auto", Questions, (12, 1)),
        ((0.0, 1.0, math.nan), "auto", Questions, (12, 1)),
        ((0.0, 1.0, 1.0), "multitask", Questions, (12, 1)),
        ((0.0, 1.0, math.nan), "multitask", Questions, (12, 1)),
        ((0.0, 1.0, 1.0), "regression", Numbers, (12,)),
        ((0.0, 1.0, math.nan), "regression", Numbers, (12,)),
        ((0.0, 2.5, 1.0), "auto", Numbers, (12,)),
        ((0.0, 2.5, math.nan), "auto", Numbers, (12,)),
        ((0.0, 1.0, 1.0), "classification", Classes, (12,)),
        ((0, 1, 1), "auto", Classes, (12,)),
        ((0, 1, 1), "multitask", Questions, (12, 1)),
    ],
)
def test_a_single_column_means_the_same_with_gaps_and_wherever_it_comes_from(values, task, kind, shape, from_graphs):
    y, graphs = torch.tensor(values).repeat(4)[:, None], rings(12)
    for graph, label in zip(graphs, y, strict=True):
        graph.y = label[None] if from_graphs else None
    data = GraphDataset(graphs, None if from_graphs else y, task=task)
    assert (type(data.whole), data.y.shape) == (kind, shape)


@pytest.mark.parametrize(
    "target",
    [
        Classes((1, 5, 7)),
        Classes(("a", "b")),
        Classes(("a", "b"), positive="a"),
        Numbers((1.5, -2.0), (2.0, 0.1), False),
        Numbers((0.0,), (3.0,), True),
        Questions(("task 0", "task 1")),
    ],
)
def test_a_target_survives_json(target):
    import json

    assert target_from_dict(json.loads(json.dumps(target.to_dict()))) == target


def test_the_positive_class_goes_by_name_or_as_it_is_written():
    assert Classes((0, 1)).about("0").positive_number == 0
    assert Classes(("fraud", "ok")).about("fraud").positive_number == 0
    assert Classes((0, 1)).about(None).positive_number == 1
    with pytest.raises(ParameterError, match="positive must be one of the classes, 'fraud' or 'ok'; got 'bot'"):
        Classes(("fraud", "ok")).about("bot")
    with pytest.raises(ParameterError, match="is for two classes, and there are 3"):
        Classes((0, 1, 2)).about(1)
    with pytest.raises(ParameterError, match="must be one of the classes"):
        target_from_dict(Classes(("fraud", "ok")).to_dict() | {"positive": "bot"})


def test_classes_go_forth_and_back():
    target = make_target(np.array(["b", "a", "c"]))
    outputs = torch.eye(3)[target.encode(np.array(["c", "a", "b"]))]
    assert target.decode(outputs).tolist() == ["c", "a", "b"]
    assert target.probabilities(outputs).sum(1) == pytest.approx(1)


@pytest.mark.parametrize(
    "y", [np.array([1.0, 4.0, 10.0]), np.array([[1.0], [2.0]]), np.array([[1.0, 7.0], [2.0, 9.0]])]
)
@pytest.mark.parametrize("task", ["regression", "counting"])
def test_numbers_go_forth_and_back(y, task):
    target = make_target(y, task)
    encoded = target.encode(y)
    np.testing.assert_allclose(target.decode(encoded), y, rtol=1e-6)
    assert encoded.std(0, correction=0) == pytest.approx(1, rel=1e-5)


def test_counts_are_not_centered():
    assert make_target(np.array([2.0, 4.0]), "counting") == Numbers((0.0,), (1.0,), True)
    assert make_target(np.array([2.0, 4.0]), "regression") == Numbers((3.0,), (1.0,), True)


def test_a_constant_number_is_not_divided_by_zero():
    assert make_target(np.array([2.0, 2.0])).scale == (1.0,)


@pytest.mark.parametrize("target", [Numbers((0.0, 0.0), (1.0, 1.0), False), Questions(("a", "b"))])
def test_missing_labels_cost_nothing_and_pull_nothing(target):
    outputs = torch.tensor([[0.3, -2.0], [1.0, 0.5]], requires_grad=True)
    total, count = target.loss(outputs, torch.tensor([[1.0, math.nan], [0.0, 1.0]]))
    total.backward()
    assert int(count) == 3
    assert outputs.grad[0, 1] == 0
    assert (outputs.grad != 0).sum() == 3
    alone = [
        target.loss(outputs[i : i + 1, j : j + 1], torch.tensor([[y]]))[0]
        for i, j, y in ((0, 0, 1.0), (1, 0, 0.0), (1, 1, 1.0))
    ]
    torch.testing.assert_close(total, sum(alone))


def test_scaling_ignores_missing_numbers():
    target = make_target(np.array([[1.0, math.nan], [3.0, 5.0], [math.nan, 9.0]]))
    assert target.center == (2.0, 7.0)
    assert target.scale == (1.0, 2.0)


@pytest.mark.parametrize(
    ("y", "task", "message"),
    [
        (np.array([1, 1, 1]), "classification", "all labels are of class 1"),
        (np.array([1.0, math.nan]), "classification", "graph 1 has no label"),
        (np.zeros((2, 2)), "classification", "one label per graph"),
        (np.array([1.0, math.inf]), "regression", "finite"),
        (np.array(["a", "b"]), "regression", "finite numbers"),
        (np.array([[1.0, math.nan], [2.0, math.nan]]), "regression", "column 1 of y holds no number"),
        (np.array([[0.0, 2.0]]), "multitask", "0, 1 or nan"),
        (np.array([[1.0, 0.0], [1.0, math.nan]]), "multitask", "both 0 and 1"),
        (np.array([1, 2]), "ranking", "task must be one of"),
    ],
)
def test_labels_that_cannot_be_learned(y, task, message):
    with pytest.raises(ParameterError, match=message):
        make_target(y, task)


def test_labels_that_training_did_not_have():
    with pytest.raises(ParameterError, match="class 'd', which did not occur"):
        Classes(("a", "b")).encode(np.array(["a", "d"]))
    with pytest.raises(ParameterError, match="1 columns, training had 2"):
        Numbers((0.0, 0.0), (1.0, 1.0), False).encode(np.array([1.0]))
    with pytest.raises(ParameterError, match=r"expected \(graphs, 2\)"):
        Questions(("a", "b")).encode(np.array([1.0]))
    names = np.array([["yes", "no"]])
    for read in (Questions.of, Questions(("a", "b")).encode, Numbers((0.0, 0.0), (1.0, 1.0), False).encode):
        with pytest.raises(ParameterError, match="y must hold numbers"):
            read(names)


def test_logit_adjustment_changes_the_loss_and_not_the_answers():
    plain = Classes(("a", "b"))
    adjusted = replace(plain, prior=(0.9, 0.1))
    outputs, y = torch.tensor([[0.0, 1.0], [2.0, -1.0]]), torch.tensor([1, 0])
    expected = torch.nn.functional.cross_entropy(outputs + torch.tensor([0.9, 0.1]).log(), y, reduction="sum")
    torch.testing.assert_close(adjusted.loss(outputs, y)[0], expected)
    assert adjusted.decode(outputs).tolist() == plain.decode(outputs).tolist()
    assert target_from_dict(adjusted.to_dict()) == adjusted


def test_frequencies_are_those_of_the_training_part():
    data = GraphDataset(rings(20), np.repeat([0, 1], [15, 5]), balance="logits")
    assert data.target(np.arange(10, 20)).prior == (0.5, 0.5)
    assert data.target(np.arange(20)).prior == (0.75, 0.25)
    with pytest.raises(ParameterError, match="balance must be one of none, logits"):
        GraphDataset(rings(4), balance="weights")

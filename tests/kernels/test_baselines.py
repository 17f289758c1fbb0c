import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from rwkplus.datasets.splits import stratified_folds
from rwkplus.errors import GraphError, ParameterError, ShapeError
from rwkplus.kernels.evaluation import baseline_scores, sizes_and_histograms


def path(labels, width=2, bond=None):
    n = len(labels)
    one_way = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
    data = Data(x=torch.eye(width)[list(labels)], edge_index=torch.cat([one_way, one_way.flip(0)], 1))
    if bond is not None:
        data.edge_attr = torch.eye(2)[torch.full((2 * (n - 1),), bond)]
    return data


def same_graphs(count):
    return [path((0, 1, 0)) for _ in range(count)]


def scores_of(graphs, y, **options):
    options = {"folds": 4, "inner_folds": 2, **options}
    return {name: np.array(values) for name, values in baseline_scores(graphs, np.array(y), **options).items()}


def test_sizes_and_histograms_are_those_of_the_graphs():
    graphs = [path((0, 1, 0), bond=0), path((1,), bond=1), path((1, 1), bond=1)]
    size, histogram = sizes_and_histograms(graphs)
    assert size.tolist() == [[3, 4], [1, 0], [2, 2]]
    assert histogram.tolist() == [[2, 1, 4, 0], [0, 1, 0, 0], [0, 2, 0, 2]]
    assert sizes_and_histograms(graphs, ("edge_attr",))[1].tolist() == [[2, 1], [0, 1], [0, 2]]


@pytest.mark.slow
def test_graphs_that_are_all_alike_leave_the_majority():
    y = [0] * 24 + [1] * 12
    scores = scores_of(same_graphs(36), y)
    assert set(scores) == {"majority", "size", "histogram"}
    for values in scores.values():
        assert values == pytest.approx(np.full(4, 2 / 3))


@pytest.mark.slow
def test_classes_of_different_size_are_seen_by_the_size_guard():
    y = [0, 1] * 12
    scores = scores_of([path((0,) * (3 + 3 * c)) for c in y], y)
    assert scores["size"].tolist() == [1] * 4
    assert scores["majority"].mean() == 0.5


@pytest.mark.slow
def test_classes_of_different_labels_are_seen_only_by_the_histogram():
    y = [0, 1] * 12
    scores = scores_of([path((c, c, c)) for c in y], y)
    assert scores["histogram"].tolist() == [1] * 4
    assert scores["size"].mean() <= 0.5


@pytest.mark.slow
def test_classes_of_different_bonds_are_seen_only_by_the_histogram():
    y = [0, 1] * 12
    scores = scores_of([path((0, 0), bond=c) for c in y], y)
    assert scores["histogram"].tolist() == [1] * 4
    assert scores["size"].mean() <= 0.5


def test_the_order_of_labels_is_seen_by_no_guard():
    y = [0, 1] * 12
    scores = scores_of([path((0, 1, 0, 1) if c else (0, 0, 1, 1)) for c in y], y)
    assert all(values.mean() <= 0.5 for values in scores.values())


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "odd"), [(0, 0), (1, 5), (2, 17)])
def test_guards_use_the_folds_of_nested_cross_validation(seed, odd):
    y = np.array([0, 1] * 12)
    graphs = [path((0,) * (6 if (c == 1) != (i == odd) else 3)) for i, c in enumerate(y)]
    # One graph has the size of the other class: only the fold that tests it can lose.
    scores = scores_of(graphs, y, random_state=seed)["size"]
    expected = [odd in test for _, test in stratified_folds(y, 4, seed)]
    assert (scores < 1).tolist() == expected


def test_too_few_graphs_of_a_class_are_an_error():
    with pytest.raises(ParameterError, match="class 1 has 2 graphs, too few for 4 folds"):
        scores_of(same_graphs(12), [0] * 10 + [1] * 2)


def test_one_class_is_an_error():
    with pytest.raises(ParameterError, match="only one class"):
        scores_of(same_graphs(12), [0] * 12)


def test_malformed_graphs_are_refused_at_the_door():
    graphs = same_graphs(12)
    graphs[3].x = torch.full((3, 2), float("nan"))
    with pytest.raises(GraphError, match="graph 3: x contains nan"):
        scores_of(graphs, [0, 1] * 6)


def test_classes_may_be_a_list_and_must_be_as_many_as_graphs():
    options = {"folds": 2, "inner_folds": 2}
    y = [0, 1] * 4
    assert baseline_scores(same_graphs(8), y, **options) == baseline_scores(same_graphs(8), np.array(y), **options)
    with pytest.raises(ShapeError, match=r"y has shape \(6,\), but there are 8 graphs"):
        baseline_scores(same_graphs(8), y[:6], **options)

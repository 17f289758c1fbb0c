from itertools import permutations

import networkx as nx
import numpy as np
import pytest

from experiments.testbeds import prism, tailed_triangle
from rwkplus.errors import ParameterError, ShapeError
from rwkplus.mining.edit_distance import (
    cheapest_assignment,
    edit_distance_bounds,
    normalize_weights,
    weighted_edit_distance,
)


def random_pair(size, seed):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.random((size, size)), 1)
    target = nx.gnp_random_graph(size, 0.5, seed=seed)
    nx.set_node_attributes(target, {v: "ab"[int(rng.integers(2))] for v in target}, "label")
    return weights + weights.T, [*"aabbabab"[:size]], target


def by_loops(weights, labels, target, compare_labels):
    best = np.inf
    for order in permutations(target):
        cost = 0.0
        for i in range(len(order)):
            cost += compare_labels and labels[i] != target.nodes[order[i]]["label"]
            for j in range(i):
                w = weights[i, j]
                cost += 1 - w if target.has_edge(order[i], order[j]) else w
        best = min(best, cost)
    return best


@pytest.mark.parametrize("compare_labels", [False, True])
@pytest.mark.parametrize("size", [1, 2, 4, 5])
@pytest.mark.parametrize("seed", range(3))
def test_equals_explicit_loops_over_all_assignments(size, seed, compare_labels):
    weights, labels, target = random_pair(size, seed)
    distance = weighted_edit_distance(weights, labels, target, compare_labels=compare_labels)
    assert distance == pytest.approx(by_loops(weights, labels, target, compare_labels), abs=1e-12)
    order = cheapest_assignment(weights, labels, target, compare_labels=compare_labels)
    assert sorted(order) == list(target)
    edges = nx.to_numpy_array(target, weight=None)[np.ix_(order, order)]
    wrong = sum(label != target.nodes[place]["label"] for label, place in zip(labels, order, strict=True))
    paid = np.abs(weights - edges).sum() / 2 + compare_labels * wrong
    assert paid == pytest.approx(distance, abs=1e-12)


def test_assignments_of_large_graphs_are_not_searched():
    with pytest.raises(ParameterError, match="up to 8 nodes, the target has 9"):
        cheapest_assignment(np.zeros((9, 9)), None, nx.path_graph(9), compare_labels=False)


@pytest.mark.parametrize("size", [4, 6, 7])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_enclose_the_exact_distance(size, seed):
    weights, labels, target = random_pair(size, seed)
    lower, upper = edit_distance_bounds(weights, labels, target, compare_labels=True)
    exact = weighted_edit_distance(weights, labels, target, compare_labels=True)
    assert lower - 1e-12 <= exact <= upper + 1e-12
    assert upper <= 1.5 * exact  # the assignment is a good one, not just any


def test_a_larger_graph_in_another_order_is_recognized():
    target = nx.random_labeled_tree(12, seed=1)
    nx.set_node_attributes(target, {v: f"label {v}" for v in target}, "label")
    order = np.random.default_rng(0).permutation(12)
    adjacency = nx.to_numpy_array(target)[np.ix_(order, order)]
    labels = [f"label {v}" for v in order]
    assert weighted_edit_distance(adjacency, labels, target, compare_labels=True) == 0


def test_edits_have_the_price_of_the_paper():
    target = tailed_triangle()
    weights = nx.to_numpy_array(target)
    weights[0, 3] = weights[3, 0] = 0.75  # complete it: 0.25
    weights[1, 3] = weights[3, 1] = 0.5  # remove it: 0.5
    labels = ["green", "red", "red", "red"]  # change one: 1
    assert weighted_edit_distance(weights, labels, target, compare_labels=True) == pytest.approx(1.75)
    assert weighted_edit_distance(weights, None, target, compare_labels=False) == pytest.approx(0.75)


def test_weights_are_scaled_by_minimum_and_maximum_of_each_graph():
    first = np.array([[9, 2, 3], [2, 9, 4], [3, 4, 9]])
    scaled = normalize_weights(np.stack([first, np.full((3, 3), 0.3)]))
    np.testing.assert_allclose(scaled[0], [[0, 0, 0.5], [0, 0, 1], [0.5, 1, 0]])
    np.testing.assert_allclose(scaled[1], 0.3 * (1 - np.eye(3)))
    assert normalize_weights(np.ones((1, 1))) == 0


def test_what_cannot_be_compared_is_named():
    with pytest.raises(ShapeError, match="6 nodes"):
        weighted_edit_distance(np.zeros((5, 5)), None, prism(), compare_labels=False)
    with pytest.raises(ParameterError, match="normalize_weights"):
        weighted_edit_distance(np.full((6, 6), 2.0), None, prism(), compare_labels=False)
    with pytest.raises(ShapeError, match="one label for each"):
        weighted_edit_distance(np.zeros((6, 6)), ["red"], prism(), compare_labels=True)
    with pytest.raises(ShapeError, match="M, M"):
        normalize_weights(np.zeros((2, 3)))

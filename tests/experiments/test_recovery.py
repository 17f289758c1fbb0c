import networkx as nx
import numpy as np
import pytest

from experiments.recovery import matches_labels, matches_strictly, recovered
from experiments.testbeds import chain_patterns, ring
from rwkplus.errors import ShapeError

P1, P2 = chain_patterns()
TRIANGLE = 1 - np.eye(3, dtype=int)
PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def test_labels_count_as_often_as_they_occur_in_any_order():
    assert matches_labels(["blue", "red", "red"], P1)
    assert not matches_labels(["blue", "blue", "red"], P1)
    assert not matches_labels(["red", "red"], P1)


def test_strict_asks_for_every_edge_and_label_up_to_node_order():
    assert matches_strictly(TRIANGLE, ["red", "blue", "red"], P1)
    assert not matches_strictly(PATH, ["red", "blue", "red"], P1)
    assert not matches_strictly(TRIANGLE, ["red", "blue", "blue"], P1)
    six_ring = ring("RRBRRB")
    two_triangles = np.kron(np.eye(2, dtype=int), TRIANGLE)
    assert not matches_strictly(two_triangles, ["red", "red", "blue"] * 2, six_ring)
    turned = nx.to_numpy_array(nx.cycle_graph(6))
    assert matches_strictly(turned, ["blue", "red", "red"] * 2, six_ring)
    assert not matches_strictly(turned, ["blue", "blue", "red", "red", "red", "red"], six_ring)


def test_without_labels_only_edges_are_compared():
    assert matches_strictly(TRIANGLE, None, P1)
    assert not matches_strictly(PATH, None, P1)


def test_one_of_several_patterns_is_enough():
    found = [(PATH, ["purple", "green", "purple"]), P1]
    assert recovered(found, P1, strict=True)
    assert recovered(found, P2, strict=False)
    assert not recovered(found, P2, strict=True)
    assert not recovered([], P1, strict=False)


def test_relaxed_weights_and_missing_labels_are_refused():
    with pytest.raises(ShapeError, match="threshold"):
        matches_strictly(0.5 * TRIANGLE, ["red"] * 3, P1)
    with pytest.raises(ShapeError, match="one label per node"):
        matches_strictly(TRIANGLE, ["red"], P1)
    with pytest.raises(ShapeError, match="strictly"):
        recovered([(TRIANGLE, None)], P1, strict=False)

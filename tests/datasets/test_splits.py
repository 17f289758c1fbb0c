import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rwkplus.datasets.splits import hold_out, plain_folds
from rwkplus.errors import ParameterError


@pytest.mark.slow
@given(st.integers(2, 60), st.floats(0.01, 0.9), st.integers(0, 5))
def test_a_hold_out_is_a_seeded_partition(num_graphs, share, seed):
    index = np.arange(num_graphs) * 3
    if max(1, round(share * num_graphs)) >= num_graphs:
        with pytest.raises(ParameterError, match="leaves none"):
            hold_out(index, share, seed)
        return
    stay, held = hold_out(index, share, seed)
    assert held.size == max(1, round(share * num_graphs))
    assert np.array_equal(np.sort(np.concatenate([stay, held])), index)
    assert np.array_equal(held, hold_out(index, share, seed)[1])


def test_classes_keep_their_shares_where_they_can():
    classes = np.repeat([0, 1], [80, 20])
    _, held = hold_out(np.arange(100), 0.1, 0, classes)
    assert np.bincount(classes[held]).tolist() == [8, 2]


def test_too_few_graphs_for_every_class_fall_back_to_chance():
    classes = np.array([0] * 9 + [1])
    assert hold_out(np.arange(10), 0.1, 0, classes)[1].size == 1


def test_nothing_held_out():
    stay, held = hold_out(np.arange(4), 0.0, 0)
    assert (stay.size, held.size) == (4, 0)


def test_plain_folds_cover_every_graph_once():
    folds = plain_folds(11, 4, random_state=1)
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(11))
    assert all(not set(train) & set(test) for train, test in folds)
    with pytest.raises(ParameterError, match="too few for 4 folds"):
        plain_folds(3, 4, 0)

import numpy as np
import pytest
from scipy.stats import fisher_exact

from rwkplus.datasets import planted_molecules
from rwkplus.errors import ParameterError, RWKPlusWarning
from rwkplus.mining import PatternMiner
from rwkplus.mining.contrast import class_contrasts, classes_to_contrast


def test_counts_odds_and_probability_of_a_small_table():
    y = ["a"] * 10 + ["b"] * 10
    ((a, b),) = class_contrasts([[0, 1, 2, 3, 4, 5, 6, 7, 10]], y)
    assert (a.name, a.support, a.graphs) == ("a", 8, 10)
    assert (b.name, b.support, b.graphs) == ("b", 1, 10)
    assert a.odds_ratio == pytest.approx((8.5 * 9.5) / (2.5 * 1.5))
    assert b.odds_ratio == pytest.approx(1 / a.odds_ratio)
    assert a.p_value == pytest.approx(fisher_exact([[8, 2], [1, 9]]).pvalue)


def test_more_patterns_cost_certainty():
    y = [0] * 10 + [1] * 10
    alone = class_contrasts([range(8)], y)[0][0]
    among = class_contrasts([range(8), [0, 10], [1, 11], [2, 12]], y)[0][0]
    assert alone.p_value == among.p_value
    assert alone.corrected < among.corrected


@pytest.mark.parametrize("missing", [None, np.nan])
def test_graphs_without_a_class_are_left_out_and_counted(missing):
    y = [0, missing, 0, 1, 1, missing]
    with pytest.warns(RWKPlusWarning, match="2 of 6 graphs have no class in y"):
        ((zero, one),) = class_contrasts([[0, 1, 2, 5]], y)
    assert (zero.name, zero.support, zero.graphs) == ("0", 2, 2)
    assert (one.name, one.support, one.graphs) == ("1", 0, 2)


def test_one_class_cannot_be_contrasted():
    with pytest.raises(ParameterError, match="only the class"):
        class_contrasts([[0]], [1, 1])


def test_the_group_that_makes_the_difference_is_told_by_the_miner():
    graphs = planted_molecules(120)
    y = graphs.y.tolist()
    patterns = PatternMiner(4, criterion="blocks", n_controls=0, random_state=0).fit(graphs, y).patterns_
    different = [pattern for pattern in patterns if pattern.contrast[1].corrected < 0.01]
    assert [pattern.labels.count("F") for pattern in different] == [3]
    supports = np.array([[c.support for c in pattern.contrast] for pattern in patterns])
    assert supports.sum(1).tolist() == [pattern.support for pattern in patterns]


def test_several_columns_are_refused_and_one_is_read():
    y = np.array([0, 1] * 5)
    assert class_contrasts([[0, 2]], y[:, None]) == class_contrasts([[0, 2]], y)
    with pytest.raises(ParameterError, match=r"y has shape \(10, 2\)\. Give one class per graph"):
        class_contrasts([[0, 2]], np.stack([y, 1 - y], 1))


def test_real_targets_have_no_classes():
    assert classes_to_contrast([0.5, 1.0], 2) is None
    assert classes_to_contrast(np.array([[0.5, 1.0], [2.0, 3.0]]), 2) is None
    for y in ([0.0, 1.0], [0, 1], ["0.5", "a"], [0.0, 1.0, np.nan]):
        assert classes_to_contrast(y, len(y)) is y
    miner = PatternMiner(1, criterion="blocks", n_controls=0, beam_width=4)
    miner.fit(planted_molecules(20), np.linspace(0, 1, 20))
    assert miner.patterns_[0].contrast == ()

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from experiments.cross_validated import corrected_paired_test
from rwkplus.errors import ParameterError

accuracies = st.lists(st.tuples(*[st.integers(0, 20).map(lambda n: n / 20)] * 2), min_size=3, max_size=30)


@given(accuracies)
@settings(max_examples=50, deadline=None)
def test_the_order_of_the_methods_does_not_matter(pairs):
    first, second = zip(*pairs, strict=True)
    assert corrected_paired_test(first, second, 1 / 9) == corrected_paired_test(second, first, 1 / 9)


@given(accuracies)
@settings(max_examples=50, deadline=None)
def test_identical_scores_give_one(pairs):
    scores = [a for a, _ in pairs]
    assert corrected_paired_test(scores, scores, 1 / 9) == 1.0


@given(accuracies)
@settings(max_examples=50, deadline=None)
def test_the_correction_makes_p_larger(pairs):
    first, second = np.array(pairs).T
    assume(np.ptp(first - second) > 1e-6 and abs((first - second).mean()) > 1e-6)
    plain = stats.ttest_rel(first, second).pvalue
    assert corrected_paired_test(first, second, 1 / 9) > plain


@given(accuracies)
@settings(max_examples=50, deadline=None)
def test_without_overlap_it_is_the_paired_t_test(pairs):
    first, second = np.array(pairs).T
    assume(np.ptp(first - second) > 1e-6)
    assert corrected_paired_test(first, second, 0.0) == pytest.approx(stats.ttest_rel(first, second).pvalue)


def test_by_hand():
    # Differences 1, 2, 3: mean 2, variance 1; t = 2 / sqrt(1/3 + 1/6) = 2 sqrt(2) with 2 degrees of freedom.
    expected = 2 * stats.t.sf(2 * np.sqrt(2), 2)
    assert corrected_paired_test([2, 4, 6], [1, 2, 3], 1 / 6) == pytest.approx(expected)


def test_a_constant_difference_is_certain():
    assert corrected_paired_test([0.75, 0.5, 0.25], [0.5, 0.25, 0.0], 1 / 9) == 0.0


@pytest.mark.parametrize(("first", "second"), [([0.5, 0.6], [0.5]), ([0.5], [0.6]), ([], []), ([0.5, 0.6, 0.7], [0.5])])
def test_scores_that_do_not_pair_are_refused(first, second):
    with pytest.raises(ParameterError, match="same folds, at least two"):
        corrected_paired_test(first, second, 1 / 9)

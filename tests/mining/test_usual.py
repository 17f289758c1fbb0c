import numpy as np

from rwkplus.mining.reading import cut_points
from rwkplus.mining.search.chance import beyond_usual


def test_what_most_rows_have_is_no_news():
    low, high = np.arange(100) < 80, np.arange(100) >= 80
    shares = beyond_usual(np.column_stack([low, high]).astype(float))
    assert shares[0] == 1.0
    assert shares[1] < 0.25


def test_usual_rows_are_compared_with_usual_rows():
    """Half of all rows, but most of the usual ones."""
    usual, half, few = np.arange(100) < 72, np.arange(100) < 50, np.arange(100) < 20
    shares = beyond_usual(np.column_stack([usual, half, few]).astype(float))
    assert shares[1] == 1.0
    assert abs(shares[2] - 20 / 72) < 0.02


def test_rare_marks_keep_their_share_where_nothing_is_usual():
    marks = np.column_stack([np.arange(100) < 50, np.arange(100) >= 50]).astype(float)
    assert (np.abs(beyond_usual(marks) - 0.5) < 0.01).all()


def test_stray_values_do_not_fill_a_gap():
    rng = np.random.default_rng(0)
    usual, high = rng.lognormal(np.log(100), 1, 3_000), rng.uniform(5_000, 9_000, 1_000)
    stray = [2_500.0, 3_100.0, 3_900.0, 4_500.0]
    cuts = cut_points(np.concatenate([usual, high, stray]), 6)
    assert any(2_000 < cut <= high.min() for cut in cuts)

import os

import numpy as np
import pytest

from experiments.anomaly import load_screen, rare_class
from rwkplus.datasets.catalog import SCREENS
from rwkplus.errors import ParameterError

Y = np.repeat([0, 1], 100)


def test_all_of_the_common_class_and_a_seeded_share_of_the_rare_one():
    index = rare_class(Y, 0.2, seed=1)
    assert (np.diff(index) > 0).all()
    assert (Y[index] == 0).sum() == 100
    assert (Y[index] == 1).sum() == 25
    np.testing.assert_array_equal(index, rare_class(Y, 0.2, seed=1))
    assert not np.array_equal(index, rare_class(Y, 0.2, seed=2))


@pytest.mark.parametrize(
    ("rate", "message"), [(0, "between 0 and 1"), (1.5, "between 0 and 1"), (0.9, "needs 900"), (0.001, "needs 0")]
)
def test_impossible_rates_are_refused(rate, message):
    with pytest.raises(ParameterError, match=message):
        rare_class(Y, rate, seed=0)


def test_unknown_screens_are_refused():
    with pytest.raises(ParameterError, match="known are NCI-H23"):
        load_screen("HeLa")


@pytest.mark.skipif("RWKPLUS_DATA" not in os.environ, reason="needs the screens in RWKPLUS_DATA")
def test_a_real_screen_has_the_published_rate():
    screen = load_screen("PC-3", seed=0)
    total, actives = SCREENS["PC-3"]
    assert screen.y.mean() == pytest.approx(actives / total, rel=0.02)
    assert len(screen.graphs) == len(screen.y)
    assert (screen.undrawn.y == 1).all()
    assert len(screen.undrawn) + screen.y.sum() == 1350

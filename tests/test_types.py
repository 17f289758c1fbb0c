import numpy as np
import pytest

from rwkplus.errors import ParameterError
from rwkplus.types import seed_of


def test_seeds_are_read_as_scikit_learn_does():
    assert seed_of(np.int64(7)) == 7
    assert seed_of(np.random.RandomState(1)) == seed_of(np.random.RandomState(1)) != seed_of(np.random.RandomState(2))
    assert seed_of(None) >= 0


@pytest.mark.parametrize("wrong", [-1, 1.5, "1", True, np.random.default_rng(0)])
def test_what_is_no_seed_is_named(wrong):
    with pytest.raises(ParameterError, match="random_state must be"):
        seed_of(wrong)

import numpy as np
import pytest

from rwkplus.mining.search.chance import divergence, evidence


def test_divergence_is_zero_only_for_equal_coins():
    assert divergence(0.3, 0.3) == pytest.approx(0, abs=1e-12)
    assert divergence(0.9, 0.1) == pytest.approx(0.8 * np.log(9))
    assert divergence(1.0, 0.5) == pytest.approx(np.log(2))


def test_what_chance_expects_anyway_is_no_evidence():
    assert evidence(90, 100, 0.95, fidelity=0.7) == 0
    assert evidence(10, 100, 0.5, fidelity=0.7) < 0


def test_evidence_grows_with_the_number_of_graphs():
    assert evidence(90, 100, 0.3, 0.7) == pytest.approx(10 * evidence(9, 10, 0.3, 0.7))


def test_an_extension_that_holds_too_rarely_speaks_against_the_pattern():
    # Half of the copies: more than chance, but nearer to chance than to a faithful edge.
    assert evidence(50, 100, 0.4, fidelity=0.9) < 0 < evidence(50, 100, 0.4, fidelity=0.5)

"""Every detector keeps the manners of scikit-learn and PyOD."""

import pytest

from tests.contract import check_graph_detector
from tests.detect.conftest import DETECTORS


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)
def test_detectors_keep_the_contract(detector, graphs):
    check_graph_detector(detector, graphs[:14])

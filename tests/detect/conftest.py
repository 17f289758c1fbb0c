import pytest

from rwkplus.datasets import anomalous_molecules
from rwkplus.detect import PatternDetector, SurpriseDetector, WalkKernelDetector
from rwkplus.mining import PatternMiner

MINER = PatternMiner(3, criterion="blocks", n_controls=0, beam_width=6, random_state=0)
DETECTORS = {
    "surprise": SurpriseDetector(0.1, steps=2),
    "pattern": PatternDetector(0.1, MINER),
    **{method: WalkKernelDetector(0.1, method) for method in ("nearest", "density", "lof", "svm", "forest")},
}
TIES = {"pattern"}
"""Detectors to which different graphs may be equal in both scores."""


@pytest.fixture(scope="session")
def database():
    """Sixty molecules, three of them spoiled."""
    return anomalous_molecules(60, random_state=3)


@pytest.fixture(scope="session")
def graphs(database):
    return database.graphs.to_pyg()

"""The same results on a cluster: two worker processes of Dask, and a table on disk that all of them see."""

import pickle

import joblib
import numpy as np
import pytest

from rwkplus.datasets import anomalous_molecules
from rwkplus.detect import SurpriseDetector, WalkKernelDetector
from rwkplus.detect import surprise as surprise_module
from rwkplus.detect import walk_kernel as walk_kernel_module
from rwkplus.kernels import RandomWalkFeatures, RandomWalkKernel, explicit_features, open_features
from rwkplus.mining import PatternMiner
from rwkplus.mining.search import occurrences
from rwkplus.table import GraphTable, Reader
from rwkplus.table.arrays import ReadGraphs, map_blocks

pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed", reason="Dask is the extra 'cluster'")
pytest.importorskip("pyarrow", reason="tables on disk need the extra 'arrow'")


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        yield cluster


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables") / "molecules"
    return GraphTable.of(anomalous_molecules(120, random_state=5).graphs.write(folder))


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    for module in (explicit_features, surprise_module, walk_kernel_module, occurrences):
        monkeypatch.setattr(module, "BLOCK_NODES", 300)


def process(graphs):
    import os

    return os.getpid()


def test_blocks_travel_to_several_workers_as_path_and_range(cluster, table):
    graphs = ReadGraphs(table, Reader.fit(table))
    assert len(set(map_blocks(process, graphs, 100, None))) == 2
    blocks = list(graphs.blocks(300))
    assert len(blocks) > 3
    own = len(pickle.dumps(graphs.reader))
    assert all(len(pickle.dumps(block)) < own + 1000 for block in blocks)
    assert [graph for block in blocks for graph in pickle.loads(pickle.dumps(block)).table] == list(table)


def test_features_are_the_same(cluster, table, tmp_path):
    here = RandomWalkFeatures(steps=3, n_jobs=1).fit(table)
    there = RandomWalkFeatures(steps=3).fit(table)
    assert here.get_feature_names_out().tolist() == there.get_feature_names_out().tolist()
    expected = here.transform(table)
    assert (there.transform(table) != expected).nnz == 0
    assert (there.fit_transform(table) != expected).nnz == 0
    written = there.transform(table, out=tmp_path / "features")
    assert (written != expected).nnz == 0
    assert (open_features(tmp_path / "features") != expected).nnz == 0


def test_gram_blocks_are_the_same(cluster, table):
    part = table[:40]
    expected = RandomWalkKernel(steps=2, route="blocks", n_jobs=1).fit_transform(part)
    np.testing.assert_array_equal(RandomWalkKernel(steps=2, route="blocks").fit_transform(part), expected)


@pytest.mark.parametrize("detector", [SurpriseDetector, WalkKernelDetector])
def test_scores_are_the_same(cluster, table, detector):
    expected = detector(n_jobs=1).fit(table[:60]).score_samples(table)
    np.testing.assert_array_equal(detector().fit(table[:60]).score_samples(table), expected)


def test_patterns_are_counted_alike(cluster, table):
    how = {"n_patterns": 2, "criterion": "blocks", "n_controls": 0, "beam_width": 6}
    here, there = (PatternMiner(**how, n_jobs=jobs).fit(table) for jobs in (1, None))
    assert [pattern.to_dict() for pattern in there.patterns_] == [pattern.to_dict() for pattern in here.patterns_]


def test_molecules_are_read_alike(cluster):
    smiles = ["CCO", "c1ccccc1", "CC(=O)O"] * 50
    assert GraphTable.of(smiles, n_jobs=2) == GraphTable.of(smiles, n_jobs=1)

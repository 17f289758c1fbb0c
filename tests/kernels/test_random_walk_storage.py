"""RandomWalkKernel in several processes and on disk."""

import sys

import joblib
import numpy as np
import pytest

from rwkplus.kernels import RandomWalkKernel, explicit_features, random_walk
from tests.kernels.choices import ROUTES, STEPS
from tests.strategies import data_list, random_graphs

pytestmark = pytest.mark.slow

# Parallel


def several_blocks(monkeypatch):
    monkeypatch.setattr(explicit_features, "BLOCK_NODES", 25)
    monkeypatch.setattr(random_walk, "BLOCK_NODES", 25)


def serial_and_parallel(route, n_jobs=None):
    graphs = data_list(random_graphs(16, edge_colors=True))
    serial = RandomWalkKernel(steps=STEPS, route=route, normalize=True)
    expected = serial.fit_transform(graphs), serial.transform(graphs[5:])
    with joblib.parallel_config(backend="sequential"):
        assert np.array_equal(serial.fit_transform(graphs), expected[0])
    parallel = RandomWalkKernel(steps=STEPS, route=route, normalize=True, n_jobs=n_jobs)
    return expected, (lambda: (parallel.fit_transform(graphs), parallel.transform(graphs[5:])))


def test_two_processes_compute_the_same(monkeypatch):
    several_blocks(monkeypatch)
    for route in ("explicit", "blocks"):
        expected, parallel = serial_and_parallel(route, n_jobs=2)
        for result, other in zip(parallel(), expected, strict=True):
            assert np.array_equal(result, other)


@ROUTES
def test_threads_compute_the_same(monkeypatch, route):
    several_blocks(monkeypatch)
    expected, parallel = serial_and_parallel(route)
    with joblib.parallel_config(backend="threading", n_jobs=3):
        for result, other in zip(parallel(), expected, strict=True):
            assert np.array_equal(result, other)


def test_a_dask_cluster_of_two_workers_computes_the_same(monkeypatch):
    distributed = pytest.importorskip("distributed")
    several_blocks(monkeypatch)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        for route in ("explicit", "blocks"):
            expected, parallel = serial_and_parallel(route)
            for result, other in zip(parallel(), expected, strict=True):
                assert np.array_equal(result, other)
        worked = client.run(lambda: "rwkplus.kernels.random_walk" in sys.modules)
    assert len(worked) == 2
    assert any(worked.values())


# Results on disk


class BrokenOffError(Exception):
    pass


class Work:
    """Counts the blocks computed and, once, breaks off after some of them."""

    def __init__(self, patch, route):
        self.computed = 0
        self.break_after = None
        name = "feature_gram" if route == "explicit" else "pair_scores"
        self.compute = getattr(random_walk, name)
        patch.setattr(random_walk, "EXPLICIT_ROWS", 3)
        patch.setattr(random_walk, "BLOCK_NODES", 20)
        patch.setattr(random_walk, name, self)

    def __call__(self, *args, **kwargs):
        if self.computed == self.break_after:
            raise BrokenOffError
        self.computed += 1
        return self.compute(*args, **kwargs)


@pytest.fixture
def graphs():
    return data_list(random_graphs(12, edge_colors=True))


@ROUTES
@pytest.mark.parametrize("normalize", [False, True])
def test_a_file_holds_what_memory_would(tmp_path, monkeypatch, graphs, route, normalize):
    work = Work(monkeypatch, route)
    kernel = RandomWalkKernel(steps=STEPS, route=route, normalize=normalize)
    expected = kernel.fit_transform(graphs)
    assert work.computed > 3
    result = kernel.fit_transform(graphs, out=tmp_path / "gram.npy")
    assert isinstance(result, np.memmap)
    assert np.array_equal(result, expected)
    assert np.array_equal(np.load(tmp_path / "gram.npy"), expected)
    later = kernel.transform(graphs[:5], out=str(tmp_path / "later.npy"))
    np.testing.assert_allclose(later, expected[:5], rtol=1e-14)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["gram.npy", "later.npy"]


def interrupt(work, kernel, graphs, path, after=2):
    work.computed, work.break_after = 0, after
    with pytest.raises(BrokenOffError):
        kernel.fit_transform(graphs, out=path)
    work.computed, work.break_after = 0, None


@ROUTES
def test_an_interrupted_computation_goes_on_where_it_stopped(tmp_path, monkeypatch, graphs, route):
    work = Work(monkeypatch, route)
    kernel = RandomWalkKernel(steps=STEPS, route=route, normalize=True)
    expected = kernel.fit_transform(graphs)
    blocks_in_all = work.computed
    path = tmp_path / "gram.npy"
    interrupt(work, kernel, graphs, path)
    assert not path.exists()
    resumed = RandomWalkKernel(steps=STEPS, route=route, normalize=True, n_jobs=1)  # n_jobs changes no number
    assert np.array_equal(resumed.fit_transform(graphs, out=path), expected)
    assert work.computed == blocks_in_all - 2
    assert [file.name for file in tmp_path.iterdir()] == ["gram.npy"]


@ROUTES
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"steps": 3}, {"steps": 2}),
        ({"normalize": False}, {"normalize": True}),
        ({"kernel": "rwk+"}, {"kernel": "rwk-"}),
        ({"walks": "open"}, {"walks": "closed"}),
        ({"include_zero_step": False}, {"include_zero_step": True}),
        ({"combine": np.ones(STEPS)}, {"combine": np.array([1.0, 1.0, 1.0 + 1e-12])}),  # print alike
    ],
    ids=lambda how: next(iter(how)),
)
def test_a_changed_setting_starts_again(tmp_path, monkeypatch, graphs, route, before, after):
    work = Work(monkeypatch, route)
    how = {"steps": STEPS, "route": route}
    interrupt(work, RandomWalkKernel(**how | before), graphs, tmp_path / "gram.npy")
    other = RandomWalkKernel(**how | after)
    expected = other.fit_transform(graphs)
    blocks_in_all, work.computed = work.computed, 0
    assert np.array_equal(other.fit_transform(graphs, out=tmp_path / "gram.npy"), expected)
    assert work.computed == blocks_in_all


@ROUTES
def test_changed_graphs_start_again(tmp_path, monkeypatch, graphs, route):
    work = Work(monkeypatch, route)
    kernel = RandomWalkKernel(steps=STEPS, route=route)
    interrupt(work, kernel, graphs, tmp_path / "gram.npy")
    graphs[0].x = graphs[0].x.flip(1)
    expected = kernel.fit_transform(graphs)
    assert np.array_equal(kernel.fit_transform(graphs, out=tmp_path / "gram.npy"), expected)


@ROUTES
def test_another_size_of_blocks_after_an_interruption_does_no_harm(tmp_path, monkeypatch, graphs, route):
    work = Work(monkeypatch, route)
    kernel = RandomWalkKernel(steps=STEPS, route=route)
    expected = kernel.fit_transform(graphs)
    interrupt(work, kernel, graphs, tmp_path / "gram.npy", after=1)
    monkeypatch.setattr(random_walk, "EXPLICIT_ROWS", 5)
    monkeypatch.setattr(random_walk, "BLOCK_NODES", 33)
    assert np.array_equal(kernel.fit_transform(graphs, out=tmp_path / "gram.npy"), expected)

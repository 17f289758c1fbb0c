import networkx as nx
import numpy as np
import pytest

from rwkplus.data.counting import CountingData, count_subgraphs
from rwkplus.io.pyg import one_hot_degree
from rwkplus.reproduce import counting
from rwkplus.reproduce.counting import METHODS, run_counting
from rwkplus.reproduce.counting_tables import counting_page
from tests.strategies import pyg_graphs


@pytest.fixture(scope="module")
def data():
    shapes = [nx.gnp_random_graph(8, 0.35, seed=seed) for seed in range(60)]
    counts = np.array([count_subgraphs(nx.to_numpy_array(shape)) for shape in shapes])
    graphs = one_hot_degree(pyg_graphs(shapes))
    return CountingData(graphs, counts, *np.split(np.arange(60), [30, 40]))


def test_a_small_run_is_resumed_seed_by_seed(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    runs = []
    run = counting.Job.run
    monkeypatch.setattr(counting.Job, "run", lambda job, *rest: runs.append(job.settings.random_state) or run(job))
    few = {"epochs": 2, "methods": ["RWK+ with StepNorm"], "targets": ["triangle"], "data": data}
    first = run_counting(seeds=1, **few)
    assert runs == [0, 0]  # two candidates
    both = run_counting(seeds=2, **few)
    assert runs == [0, 0, 1]  # the candidate that was chosen
    assert both["triangle"]["RWK+ with StepNorm"][:1] == first["triangle"]["RWK+ with StepNorm"]
    page = counting_page()
    assert "| RWK+ with StepNorm (paper) | 0.0802 |" in page
    assert f"{np.mean([part['error'] for part in both['triangle']['RWK+ with StepNorm']]):.4f}" in page


@pytest.mark.parametrize("method", list(METHODS)[-2:])
def test_every_method_learns_something(tmp_path, monkeypatch, data, method):
    monkeypatch.chdir(tmp_path)
    errors = run_counting(epochs=30, seeds=1, methods=[method], targets=["triangle"], data=data)
    assert errors["triangle"][method][0]["error"] < errors["triangle"]["guards"]["mean"]


def test_stars_are_linear_in_the_degree_histogram(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    errors = run_counting(epochs=1, seeds=1, methods=[], targets=["star"], data=data)
    assert errors["star"]["guards"]["histogram"] < 1e-10 < errors["star"]["guards"]["size"]


def test_cells_with_fewer_seeds_say_so(tmp_path, monkeypatch, data):
    monkeypatch.chdir(tmp_path)
    few = {"epochs": 1, "data": data, "methods": list(METHODS)[-1:]}
    run_counting(seeds=2, targets=["triangle"], **few)
    run_counting(seeds=1, targets=["star"], **few)
    assert counting_page().count("(1 of 2 seeds)") == 1

import numpy as np
import pytest

from experiments import kernels
from experiments.records import RESULTS
from rwkplus.datasets import load_graphs
from rwkplus.kernels import RandomWalkKernel


def test_dirac_colors_of_one_step_equal_weisfeiler_leman():
    # After one step both see a node's label and the labels of its neighbors.
    graphs = load_graphs("functional-groups")[:20].to_pyg()
    ours = RandomWalkKernel("node-centric", 1, assignment="dirac", normalize=True, ignore=("edge_attr",))
    np.testing.assert_allclose(ours.fit_transform(graphs), kernels.weisfeiler_lehman(graphs, 1), rtol=1e-12)


def test_a_run_writes_every_method_and_guard(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kernels, "STEPS", (1,))
    monkeypatch.setattr(kernels, "FOLDS", 2)
    seen = []
    scores = kernels.run_kernel_quality("functional-groups", [0], inner_folds=2, on_step=seen.append)
    assert set(kernels.METHODS) < set(scores)
    assert len(seen) == len(kernels.METHODS)
    path = tmp_path / RESULTS / "kernel_quality" / "functional-groups.json"
    written = path.stat().st_mtime_ns
    # Nothing is left to do: no method is called, and the file stays as it is.
    monkeypatch.setattr(kernels, "METHODS", dict.fromkeys(kernels.METHODS))
    assert kernels.run_kernel_quality("functional-groups", [0], inner_folds=2) == scores
    assert path.stat().st_mtime_ns == written


def test_an_interrupted_run_keeps_the_methods_it_finished(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kernels, "STEPS", (1,))
    monkeypatch.setattr(kernels, "FOLDS", 2)
    asked = []

    def gram(graphs, steps, fail):
        asked.append(fail)
        if fail:
            raise KeyboardInterrupt
        return RandomWalkKernel(steps=steps).fit_transform(graphs)

    first, second = (lambda g, s: gram(g, s, False)), (lambda g, s: gram(g, s, True))
    monkeypatch.setattr(kernels, "METHODS", {"first": first, "second": second})
    with pytest.raises(KeyboardInterrupt):
        kernels.run_kernel_quality("functional-groups", [0], inner_folds=2)
    monkeypatch.setattr(kernels, "METHODS", {"first": second, "second": first})
    scores = kernels.run_kernel_quality("functional-groups", [0], inner_folds=2)
    assert asked == [False, True, False]
    assert {"first", "second", "guard: size"} <= set(scores)

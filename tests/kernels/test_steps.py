import math
import warnings

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rwkplus.errors import ParameterError, RWKPlusWarning
from rwkplus.kernels import RandomWalkKernel
from rwkplus.kernels.graph_kernel import step_weights
from tests.strategies import as_data, colored_graphs, real_graphs


@pytest.mark.parametrize(
    ("combine", "without_zero", "with_zero"),
    [
        ("sum", [0, 1, 1, 1], [1, 1, 1, 1]),
        ("last", [0, 0, 0, 1], [0, 0, 0, 1]),
        ("mean", [0, 1 / 3, 1 / 3, 1 / 3], [1 / 4] * 4),
        ("geometric", [0, 0.5, 0.25, 0.125], [1, 0.5, 0.25, 0.125]),
        ([3, 0, 2], [0, 3, 0, 2], [1, 3, 0, 2]),
        (np.array([3.0, 0.0, 2.0]), [0, 3, 0, 2], [1, 3, 0, 2]),
    ],
)
def test_weights_of_each_way_to_combine(combine, without_zero, with_zero):
    assert step_weights(3, combine, 0.5, False).tolist() == without_zero
    assert step_weights(3, combine, 0.5, True).tolist() == with_zero


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("steps", (0, "sum", 0.1)),
        ("steps", (2.0, "sum", 0.1)),
        ("steps", (True, "sum", 0.1)),
        ("steps", ("3", "sum", 0.1)),
        ("combine", (2, "median", 0.1)),
        ("combine", (2, [1.0], 0.1)),
        ("combine", (2, [1.0, -1.0], 0.1)),
        ("combine", (2, [0.0, 0.0], 0.1)),
        ("combine", (2, [1.0, math.nan], 0.1)),
        ("combine", (2, ["a", "b"], 0.1)),
        ("combine", (2, None, 0.1)),
        ("decay", (2, "geometric", 0.0)),
        ("decay", (2, "geometric", -1.0)),
        ("decay", (2, "geometric", math.inf)),
        ("decay", (2, "geometric", math.nan)),
        ("decay", (2, "geometric", "small")),
        ("decay", (400, "geometric", 100.0)),
    ],
)
def test_impossible_weights_are_refused_by_name(name, arguments):
    with pytest.raises(ParameterError, match=name):
        step_weights(*arguments, False)


@pytest.mark.parametrize("number", [np.float32(0.5), np.float64(0.5), np.int64(1), 1])
def test_decay_may_be_any_kind_of_number(number):
    assert step_weights(np.int64(2), "geometric", number, True).tolist() == [1, number, number**2]


@settings(max_examples=50)
@given(
    graph=real_graphs(edge_colors=True, edge_weights=True) | colored_graphs(edge_colors=True, edge_weights=True),
    kernel=st.sampled_from(["rwk+", "rwk-"]),
    walks=st.sampled_from(["open", "closed"]),
    decay=st.sampled_from([1e-4, 1e-3, 1e-2, 0.1]),
    steps=st.integers(1, 3),
)
def test_truncation_error_bounds_what_many_more_steps_add(graph, kernel, walks, decay, steps):
    def fitted(length):
        how = {"combine": "geometric", "decay": decay, "walks": walks, "route": "blocks"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RWKPlusWarning)
            return RandomWalkKernel(kernel, length, **how).fit([as_data(graph)])

    short, long = fitted(steps), fitted(30)
    (cut,), (full,) = short.diagonal(), long.diagonal()
    if cut > 0 and math.isfinite(short.truncation_error_):
        assert full - cut <= short.truncation_error_ * cut * (1 + 1e-9)


@given(
    graph=colored_graphs(min_nodes=1, edge_colors=True),
    assignment=st.sampled_from(["dirac", "optimal"]),
    decay=st.sampled_from([0.1, 0.5, 0.9]),
)
def test_truncation_error_bounds_node_centric_colors_whose_number_never_shrinks(graph, assignment, decay):
    def fitted(length):
        how = {"combine": "geometric", "decay": decay, "assignment": assignment}
        return RandomWalkKernel("node-centric", length, **how).fit([as_data(graph)])

    short, long = fitted(2), fitted(40)
    (cut,), (full,) = short.diagonal(), long.diagonal()
    assert 0 < full - cut <= short.truncation_error_ * cut * (1 + 1e-9)


def ring(size, color="C"):
    graph = nx.cycle_graph(size)
    nx.set_node_attributes(graph, color, "label")
    return graph


def test_truncation_error_is_exact_for_rings():
    # A ring of n nodes has n 2^i walks, so K^(i) = n^2 4^i and the series is geometric with ratio 4 decay.
    kernel = RandomWalkKernel(steps=3, combine="geometric", decay=0.1).fit([ring(5)])
    kept, lost = 0.4 + 0.4**2 + 0.4**3, 0.4**4 / 0.6
    assert kernel.diagonal()[0] == pytest.approx(25 * kept)
    assert kernel.truncation_error_ == pytest.approx(lost / kept)


def test_colors_of_length_half_shrink_the_series_of_rwk_plus_but_not_of_rwk_minus():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, 0.5, "x")
    how = {"steps": 2, "combine": "geometric", "decay": 0.5}
    plus, minus = (RandomWalkKernel(kernel, **how).fit([graph]) for kernel in ("rwk+", "rwk-"))
    # An edge has 2 walks of each length, 4 pairs: K+ = 4 (1/16)^i (adjacency times 1/4), K- = 4 / 16.
    assert plus.diagonal()[0] == pytest.approx(4 * (0.5 / 16 + (0.5 / 16) ** 2))
    assert minus.diagonal()[0] == pytest.approx(4 / 16 * (0.5 + 0.25))
    assert plus.truncation_error_ == pytest.approx(4 * (1 / 32) ** 3 / (31 / 32) / plus.diagonal()[0])
    assert minus.truncation_error_ == pytest.approx(4 / 16 * 0.25 / minus.diagonal()[0])


def test_a_series_that_may_diverge_warns_and_names_a_safe_decay():
    kernel = RandomWalkKernel(steps=3, combine="geometric", decay=0.5)
    with pytest.warns(RWKPlusWarning, match=r"below decay=0\.25 is safe"):
        kernel.fit([ring(5)])
    assert kernel.truncation_error_ == math.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernel.set_params(decay=0.249).fit([ring(5)]).truncation_error_ < math.inf

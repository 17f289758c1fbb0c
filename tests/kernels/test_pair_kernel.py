import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rwkplus.errors import NumericError
from rwkplus.kernels import random_walk
from rwkplus.kernels.random_walk import PairKernel
from tests.oracles import dense_kernel
from tests.strategies import arrays_of, data_list, node_rows, random_graphs, real_graphs

WEIGHTS = np.array([0.5, 1.0, 0.25, 2.0])
MATCH_ALL = pytest.mark.parametrize("match_all", [True, False], ids=["rwk+", "rwk-"])
CLOSED = pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])


def arrays(graphs):
    return arrays_of(data_list(graphs), labels=False)


def gram(kernel, rows, cols=None, n_jobs=None, skip=frozenset()):
    """Put the kernel together; what no block covers stays nan."""
    cols_or_rows = rows if cols is None else cols
    result = np.full((rows.num_graphs, cols_or_rows.num_graphs), np.nan)
    parts = kernel.row_blocks(rows, cols_or_rows, n_jobs, symmetric=cols is None, skip=skip)
    for start, stop, first, values in parts:
        result[start:stop, first:] = values
        if cols is None:
            result[first:, start:stop] = values.T
    return result


def by_definition(g, h, match_all, closed):
    zero = ((node_rows(g) @ node_rows(h).T) ** 2).sum()
    return WEIGHTS @ [zero, *dense_kernel(g, h, WEIGHTS.size - 1, match_all=match_all, closed=closed)]


@MATCH_ALL
@CLOSED
@given(
    graphs=st.lists(real_graphs(min_nodes=0, max_nodes=4, edge_colors=True), min_size=1, max_size=4),
    block_nodes=st.integers(1, 8),
)
def test_blocks_make_up_the_weighted_kernel(match_all, closed, graphs, block_nodes):
    kernel = PairKernel(match_all, WEIGHTS, closed)
    expected = np.array([[by_definition(g, h, match_all, closed) for h in graphs] for g in graphs])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(random_walk, "BLOCK_NODES", block_nodes)
        symmetric = gram(kernel, arrays(graphs))
        np.testing.assert_allclose(symmetric, expected, rtol=1e-11, atol=1e-9)
        assert np.array_equal(symmetric, symmetric.T)
        np.testing.assert_allclose(gram(kernel, arrays(graphs), arrays(graphs)), expected, rtol=1e-11, atol=1e-9)
        np.testing.assert_allclose(kernel.diagonal(arrays(graphs), None), np.diag(expected), rtol=1e-11, atol=1e-9)


def test_blocks_to_skip_are_left_out_and_no_others(monkeypatch):
    monkeypatch.setattr(random_walk, "BLOCK_NODES", 20)
    graphs = arrays(random_graphs(9, real=True))
    layout = list(graphs.blocks(20))
    assert len(layout) > 2
    kernel = PairKernel(True, WEIGHTS, False)
    done = [part[:2] for part in kernel.row_blocks(graphs, graphs, None, symmetric=True, skip=frozenset(layout[1:2]))]
    assert done == [layout[0], *layout[2:]]
    # A block with another end is another block.
    other = frozenset({(start, stop + 1) for start, stop in layout})
    done = [part[:2] for part in kernel.row_blocks(graphs, graphs, None, symmetric=True, skip=other)]
    assert done == layout


def test_a_pair_too_large_for_memory_is_refused_before_it_is_tried(monkeypatch):
    monkeypatch.setattr(random_walk, "MAX_PAIR_CELLS", 15)
    graphs = arrays(random_graphs(2, real=True))
    kernel = PairKernel(True, WEIGHTS, False)
    with pytest.raises(NumericError, match="route='explicit'"):
        gram(kernel, graphs)
    with pytest.raises(NumericError, match="RandomWalkNystroem"):
        kernel.diagonal(graphs, None)


@MATCH_ALL
@CLOSED
def test_walks_too_many_for_float64_raise(match_all, closed):
    graphs = random_graphs(3, edge_weights=True)
    for graph in graphs:
        for edge in graph.edges:
            graph.edges[edge]["weight"] = 1e30
    kernel = PairKernel(match_all, np.ones(9), closed)
    with pytest.raises(NumericError, match="steps"):
        gram(kernel, arrays(graphs))
    with pytest.raises(NumericError, match="steps"):
        kernel.diagonal(arrays(graphs), None)

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rwkplus.errors import ShapeError
from rwkplus.functional import product_graph, rwk_plus_by_product_graph
from tests.oracles import dense_kernel, dense_rwk
from tests.strategies import bank, batched, dense, random_graphs, real_graphs


def as_matrix(pairs, weight, size):
    return torch.zeros(size, size, dtype=weight.dtype).index_put((pairs[0], pairs[1]), weight, accumulate=True)


@given(real_graphs(edge_weights=True), real_graphs(edge_weights=True))
def test_adjacency_is_the_kronecker_product_scaled_by_similarities(g, h):
    arguments = batched([g]) | bank([h])
    del arguments["batch"]
    (x_g, adj_g, _), (x_h, adj_h, _) = dense(g), dense(h)
    s = (x_g @ x_h.T).flatten()
    expected = np.outer(s, s) * np.kron(adj_g, adj_h)
    np.testing.assert_allclose(as_matrix(*product_graph(**arguments), s.size).numpy(), expected, rtol=1e-12)


@given(real_graphs(edge_colors=True), real_graphs(edge_colors=True))
def test_edge_attributes_scale_the_edges_by_their_inner_product(g, h):
    arguments = batched([g]) | bank([h])
    del arguments["batch"]
    total = as_matrix(*product_graph(**arguments), len(g) * len(h)).sum()
    np.testing.assert_allclose(float(total), dense_kernel(g, h, 1)[0], rtol=1e-12, atol=1e-12)


@given(real_graphs(edge_weights=True), real_graphs(edge_weights=True))
def test_scores_equal_the_dense_powers(g, h):
    (x_g, adj_g, _), (x_h, adj_h, _) = dense(g), dense(h)
    result = rwk_plus_by_product_graph(**batched([g]), **bank([h]), steps=3)
    np.testing.assert_allclose(result[:, 0, 0], dense_rwk(adj_g, x_g, adj_h, x_h, 3), rtol=1e-12)


@given(st.lists(real_graphs(edge_colors=True), min_size=2, max_size=3))
def test_pairs_of_different_graphs_are_never_connected(graphs):
    together = rwk_plus_by_product_graph(**batched(graphs), **bank(graphs), steps=3)
    for i, g in enumerate(graphs):
        for j, h in enumerate(graphs):
            alone = rwk_plus_by_product_graph(**batched([g]), **bank([h]), steps=3)
            torch.testing.assert_close(together[:, i, j], alone[:, 0, 0])


def test_has_as_many_edges_as_edges_times_squared_hidden_nodes():
    (g,), hidden = random_graphs(1), random_graphs(3, seed=1)
    arguments = batched([g]) | bank(hidden)
    del arguments["batch"]
    num_hidden, size, _ = arguments["hidden_x"].shape
    pairs, weight = product_graph(**arguments)
    assert pairs.shape[1] == weight.numel() == arguments["edge_index"].size(1) * num_hidden * size**2


def test_gradients_flow_to_both_sides():
    arguments = batched(random_graphs(2, real=True)) | bank(random_graphs(2, seed=1, real=True))
    leaves = [arguments[name].requires_grad_() for name in ("x", "hidden_x", "hidden_adj")]
    rwk_plus_by_product_graph(**arguments, steps=2).sum().backward()
    assert all(leaf.grad.abs().sum() > 0 for leaf in leaves)


def test_edge_colors_on_one_side_only_are_refused():
    x, edge_index = torch.ones(2, 1), torch.tensor([[0, 1], [1, 0]])
    with pytest.raises(ShapeError, match="hidden_edge_attr"):
        product_graph(x, edge_index, x[None], torch.ones(1, 2, 2), edge_attr=torch.ones(2, 1))

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import einsum

from rwkplus.errors import ShapeError
from rwkplus.functional import bank_propagation, sparse_product
from tests.strategies import bank, batched, colored_graphs, dense, numbers, random_graphs, real_graphs


@given(real_graphs(edge_weights=True), st.data())
def test_sparse_product_is_the_matrix_product(graph, data):
    arguments = batched([graph])
    y = torch.tensor(data.draw(st.lists(numbers, min_size=len(graph) * 6, max_size=len(graph) * 6)))
    y = y.double().view(len(graph), 3, 2)
    expected = np.einsum("uv,v...->u...", dense(graph)[1], y.numpy())
    result = sparse_product(arguments["edge_index"], y, arguments["edge_weight"])
    np.testing.assert_array_equal(result.numpy(), expected)


def test_sparse_product_without_weights_counts_edges():
    edges = torch.tensor([[0, 0, 1], [1, 1, 0]])
    assert sparse_product(edges, torch.tensor([1.0, 10.0])).tolist() == [20.0, 1.0]


def test_sparse_product_reads_from_more_rows_than_it_writes():
    edges = torch.tensor([[0, 1], [3, 2]])
    assert sparse_product(edges, torch.arange(4.0), num_rows=2).tolist() == [3.0, 2.0]


def test_sparse_product_follows_edges_from_source_to_target():
    edge = torch.tensor([[0], [1]])
    assert sparse_product(edge, torch.tensor([[5.0], [7.0]])).tolist() == [[7.0], [0.0]]


def dense_step(graph, hidden, y):
    """Sum over channels of A_G^(c) Y A_H^(c)T."""
    (_, adj_g, colors_g), (_, adj_h, colors_h) = dense(graph), dense(hidden)
    if colors_g is None:
        return adj_g @ y @ adj_h.T
    return np.einsum("uv,uvc,vm...,lm,lmc->ul...", adj_g, colors_g, y, adj_h, colors_h)


@given(real_graphs(edge_weights=True), real_graphs(edge_weights=True))
def test_a_step_moves_both_walkers(g, h):
    arguments, hidden = batched([g]), bank([h])
    move = bank_propagation(arguments["edge_index"], hidden["hidden_adj"], edge_weight=arguments["edge_weight"])
    y = einsum("nd,kmd->nkm", arguments["x"], hidden["hidden_x"])
    np.testing.assert_allclose(move(y)[:, 0], dense_step(g, h, y[:, 0].numpy()), rtol=1e-12)


@pytest.mark.parametrize("discrete", [False, True], ids=["edge_attr", "edge_type"])
@given(pair=st.tuples(*[colored_graphs(edge_colors=True, edge_weights=True)] * 2))
def test_a_colored_step_sums_over_channels(discrete, pair):
    g, h = pair
    arguments, hidden = batched([g]), bank([h])
    colors = {"edge_attr": arguments["edge_attr"]}
    if discrete:
        colors = {"edge_type": arguments["edge_attr"].argmax(1)}
    move = bank_propagation(
        arguments["edge_index"],
        hidden["hidden_adj"],
        edge_weight=arguments["edge_weight"],
        hidden_edge_attr=hidden["hidden_edge_attr"],
        **colors,
    )
    y = einsum("nd,kmd->nkm", arguments["x"], hidden["hidden_x"])
    np.testing.assert_allclose(move(y)[:, 0], dense_step(g, h, y[:, 0].numpy()), rtol=1e-12)
    columns = torch.stack([y, 2 * y, -y], -1)  # several walks side by side, as closed walks need
    torch.testing.assert_close(move(columns), torch.stack([move(y), 2 * move(y), -move(y)], -1))


def test_edge_colors_on_one_side_only_are_refused():
    (graph,) = random_graphs(1, edge_colors=True)
    arguments, hidden = batched([graph]), bank([graph])
    index, adj = arguments["edge_index"], hidden["hidden_adj"]
    with pytest.raises(ShapeError, match="input graphs have none"):
        bank_propagation(index, adj, hidden_edge_attr=hidden["hidden_edge_attr"])
    with pytest.raises(ShapeError, match="hidden graphs have none"):
        bank_propagation(index, adj, edge_attr=arguments["edge_attr"])
    with pytest.raises(ShapeError, match="hidden graphs have none"):
        bank_propagation(index, adj, edge_type=arguments["edge_attr"].argmax(1))


EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


@pytest.mark.unchecked_shapes
@pytest.mark.parametrize("columns", [1, 2, 4])
def test_edges_have_as_many_colors_as_hidden_edges(columns):
    with pytest.raises(ShapeError, match="3 colors of the hidden graphs"):
        bank_propagation(
            EDGES, torch.ones(1, 2, 2), edge_attr=torch.ones(4, columns), hidden_edge_attr=torch.ones(1, 2, 2, 3)
        )


@pytest.mark.unchecked_shapes
@pytest.mark.parametrize("length", [1, 3, 5])
def test_every_edge_has_its_weight_and_color(length):
    adj, colors = torch.ones(1, 2, 2), torch.ones(1, 2, 2, 3)
    with pytest.raises(ShapeError, match="4 edges but edge_weight is"):
        bank_propagation(EDGES, adj, edge_weight=torch.ones(length))
    with pytest.raises(ShapeError, match="4 edges but edge_type is"):
        bank_propagation(EDGES, adj, edge_type=torch.zeros(length).long(), hidden_edge_attr=colors)
    with pytest.raises(ShapeError, match="4 edges but edge_attr is"):
        bank_propagation(EDGES, adj, edge_attr=torch.ones(length, 3), hidden_edge_attr=colors)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.long])
def test_weights_of_another_type_take_that_of_the_walks(dtype):
    weight, colors = torch.tensor([1, 2, 3, 4], dtype=dtype), torch.ones(4, 1, dtype=dtype)
    result = sparse_product(EDGES, torch.ones(3, 2), weight)
    assert result.dtype == torch.float32
    assert result[:, 0].tolist() == [1.0, 5.0, 4.0]
    adj = torch.ones(1, 2, 2)
    move = bank_propagation(EDGES, adj, edge_weight=weight, edge_attr=colors, hidden_edge_attr=adj.unsqueeze(-1))
    assert move(torch.ones(3, 1, 2))[:, 0, 0].tolist() == [2.0, 10.0, 8.0]

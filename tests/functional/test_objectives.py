import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given

from rwkplus.functional.objectives import (
    RIDGE,
    PrefixLevel,
    explained_fraction,
    pair_closed_walks,
    pair_walks,
    sequence_closed_walks,
    sequence_walks,
)
from tests.oracles import dense_kernel
from tests.strategies import colored_graphs, dense, real_graphs

STEPS = 3


def plain_fraction(k_gw, k_ww, k_gg):
    """The formula, graph by graph, in numpy."""
    scale = 1 / np.sqrt(np.diag(k_ww))
    cosine = k_ww * np.outer(scale, scale) + RIDGE * np.eye(len(k_ww))
    total = 0.0
    for row, norm in zip(k_gw, k_gg, strict=True):
        loads = row * scale
        total += loads @ np.linalg.inv(cosine) @ loads / norm
    return total


def random_kernels(seed, graphs=6, k=3, features=8):
    rng = np.random.default_rng(seed)
    g, w = rng.random((graphs, features)), rng.random((k, features))
    return g @ w.T, w @ w.T, (g * g).sum(1)


@pytest.mark.parametrize("seed", range(3))
def test_equals_a_plain_loop(seed):
    k_gw, k_ww, k_gg = random_kernels(seed)
    ours = explained_fraction(torch.tensor(k_gw), torch.tensor(k_ww), torch.tensor(k_gg))
    assert float(ours) == pytest.approx(plain_fraction(k_gw, k_ww, k_gg))


def test_banks_side_by_side_equal_one_by_one():
    parts = [random_kernels(seed) for seed in range(4)]
    k_gw, k_ww = (torch.tensor(np.stack([part[i] for part in parts])) for i in (0, 1))
    k_gg = torch.tensor(parts[0][2])
    together = explained_fraction(k_gw, k_ww, k_gg)
    alone = torch.stack([explained_fraction(k_gw[i], k_ww[i], k_gg) for i in range(4)])
    torch.testing.assert_close(together, alone)


def test_a_second_copy_explains_nothing_more():
    k_gw, k_ww, k_gg = (torch.tensor(part) for part in random_kernels(0, k=1))
    once = explained_fraction(k_gw, k_ww, k_gg)
    twice = explained_fraction(k_gw.expand(-1, 2), k_ww.expand(2, 2), k_gg)
    assert float(twice) == pytest.approx(float(once), rel=2 * RIDGE)


def test_a_hidden_graph_without_walks_explains_nothing_and_has_finite_gradients():
    k_gw, k_ww = torch.zeros(4, 2), torch.zeros(2, 2, requires_grad=True)
    fraction = explained_fraction(k_gw, k_ww, torch.ones(4))
    fraction.backward()
    assert float(fraction.detach()) == 0
    assert torch.isfinite(k_ww.grad).all()


def test_float32_is_near_float64():
    k_gw, k_ww, k_gg = (torch.tensor(part) for part in random_kernels(1))
    k_ww[1], k_ww[:, 1], k_gw[:, 1] = k_ww[0], k_ww[:, 0], k_gw[:, 0]  # two hidden graphs coincide
    k_ww[1, 1] = k_ww[0, 0]
    precise = explained_fraction(k_gw, k_ww, k_gg)
    rough = explained_fraction(k_gw.float(), k_ww.float(), k_gg.float())
    assert float(rough) == pytest.approx(float(precise), rel=1e-2)


def tensors(graph):
    x, adj, _ = dense(graph)
    return torch.tensor(x), torch.tensor(adj)


@given(colored_graphs(), colored_graphs())
def test_pairs_of_colored_graphs_equal_the_product_graph(g, h):
    scores = pair_walks(*tensors(g), *tensors(h), STEPS)
    np.testing.assert_allclose(scores[1:], dense_kernel(g, h, STEPS))
    np.testing.assert_allclose(scores[0], float((dense(g)[0] @ dense(h)[0].T).sum()))


@given(real_graphs(), real_graphs())
def test_closed_walks_of_pairs_equal_the_product_graph(g, h):
    closed = pair_closed_walks(*tensors(g), *tensors(h), (2, 3, 5))
    expected = dense_kernel(g, h, 5, closed=True)
    np.testing.assert_allclose(closed, [expected[i - 1] for i in (2, 3, 5)], atol=1e-9)


def test_pairs_broadcast_to_gram_matrices():
    generator = torch.Generator().manual_seed(0)
    x, adj = torch.rand(4, 3, 5, 2, generator=generator), torch.rand(4, 3, 5, 5, generator=generator)
    for kernel in (lambda *a: pair_walks(*a, 2), lambda *a: pair_closed_walks(*a, (2, 3))):
        gram = kernel(x.unsqueeze(2), adj.unsqueeze(2), x.unsqueeze(1), adj.unsqueeze(1))
        assert gram.shape[1:] == (4, 3, 3)
        torch.testing.assert_close(gram[:, 1, 0, 2], kernel(x[1, 0], adj[1, 0], x[1, 2], adj[1, 2]))


def test_sequences_of_a_path_are_counted():
    # Hidden graph: the path red - blue - red. Sequences: RB, BR; then RBR, and BRB over the same red node.
    path = nx.path_graph(3)
    hidden_adj = torch.tensor(nx.to_numpy_array(path)).unsqueeze(0)
    y0 = torch.tensor([[[1.0, 0.0, 1.0]], [[0.0, 1.0, 0.0]]]).double()  # colors R, B x one graph x its nodes
    first = PrefixLevel(torch.tensor([0, 0]), torch.tensor([0, 1]))
    second = PrefixLevel(torch.tensor([0, 1]), torch.tensor([1, 0]))
    one, two = sequence_walks(y0, hidden_adj, [first, second], [second, PrefixLevel(*torch.tensor([[0, 1], [0, 1]]))])
    assert one.flatten().tolist() == [2, 2]
    assert two.flatten().tolist() == [4, 2]


def test_closed_sequences_of_a_triangle_are_counted():
    # A red-red-blue triangle returns along R-R-B in two directions, along R-R-R never.
    adj = torch.tensor(nx.to_numpy_array(nx.complete_graph(3))).unsqueeze(0)
    y0 = torch.tensor([[[1.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]]).double()
    assert sequence_closed_walks(y0, adj, torch.tensor([[0, 0, 1], [0, 0, 0]])).flatten().tolist() == [2, 0]

import networkx as nx
import numpy as np
import pytest
import torch

from rwkplus.errors import ParameterError
from rwkplus.functional.colors import _whitened, identity_colors, structural_colors
from rwkplus.functional.walks import node_ranks


def edges(graph):
    return torch.tensor([*graph.edges, *((v, u) for u, v in graph.edges)]).t()


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


PATH = nx.path_graph(4)


@pytest.mark.parametrize("kind", ["gat", "gin", "random-walk"])
def test_copies_of_a_graph_get_the_same_colors(kind):
    two = nx.disjoint_union(PATH, PATH)
    batch = torch.tensor([0] * 4 + [1] * 4)
    colors = structural_colors(edges(two), 8, batch=batch, kind=kind, generator=generator())
    assert colors.shape == (8, 16)
    torch.testing.assert_close(colors[:4], colors[4:])
    alone = structural_colors(edges(PATH), 4, kind=kind, generator=generator())
    torch.testing.assert_close(colors[:4], alone)


@pytest.mark.parametrize("kind", ["gat", "gin"])
def test_colors_follow_the_generator(kind):
    first, again, other = (
        structural_colors(edges(PATH), 4, kind=kind, generator=generator(seed)) for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.allclose(first, other)


@pytest.mark.parametrize("kind", ["gat", "gin"])
def test_from_features_only_alike_nodes_are_colored_alike(kind):
    # The two ends of a path look the same, and so do the two nodes between them.
    x = torch.ones(4, 1)
    colors = structural_colors(edges(PATH), 4, x=x, kind=kind, generator=generator(), dim=5)
    torch.testing.assert_close(colors, colors.flip(0))
    # Attention averages: it cannot tell nodes apart by degree where all start alike, sums can.
    assert torch.allclose(colors[0], colors[1], atol=1e-6) == (kind == "gat")


def test_return_probabilities_are_those_of_the_transition_matrix():
    graph = nx.lollipop_graph(3, 2)
    adjacency = nx.to_numpy_array(graph)
    transition = adjacency / adjacency.sum(1, keepdims=True)
    expected = np.stack([np.diag(np.linalg.matrix_power(transition, i)) for i in range(1, 6)], 1)
    colors = structural_colors(edges(graph), 5, kind="random-walk", dim=5, generator=generator())
    np.testing.assert_allclose(colors.numpy(), expected, atol=1e-6)


def test_attention_weights_of_a_node_add_up_to_one():
    # Without differences to attend to, one layer returns every node's own projection.
    x = torch.ones(4, 2)
    one = structural_colors(edges(PATH), 4, x=x, layers=1, generator=generator())
    lonely = structural_colors(torch.empty(2, 0, dtype=torch.long), 4, x=x, layers=1, generator=generator())
    torch.testing.assert_close(one, lonely)


def test_whitened_colors_of_few_nodes_are_as_different_as_the_identity():
    colors = structural_colors(edges(PATH), 4, generator=generator(), whiten=True)
    torch.testing.assert_close(colors @ colors.t(), torch.eye(4), atol=1e-5, rtol=0)


def test_whitened_colors_have_length_one_and_no_preferred_direction():
    drawn = torch.rand(400, 3, generator=generator())  # mostly along (1, 1, 1)
    many = _whitened(drawn)
    torch.testing.assert_close(many.norm(dim=1), torch.ones(400))
    shares = [torch.linalg.svdvals(colors).square() / colors.square().sum() for colors in (drawn, many)]
    assert shares[0].max() > 0.7
    assert shares[1].max() < 0.4


def test_nodes_without_colors_stay_without_when_whitened():
    assert torch.equal(_whitened(torch.zeros(2, 3)), torch.zeros(2, 3))


def test_whitening_does_not_depend_on_copies():
    colors = torch.rand(4, 16, generator=generator())
    torch.testing.assert_close(_whitened(colors.repeat(3, 1))[:4], _whitened(colors), atol=1e-4, rtol=0)


def test_identity_numbers_the_nodes_of_every_graph():
    batch = torch.tensor([0, 0, 1, 1, 1])
    assert node_ranks(batch).tolist() == [0, 1, 0, 1, 2]
    assert node_ranks(batch[[2, 0, 3, 4, 1]]).tolist() == [0, 0, 1, 2, 1]
    assert identity_colors(batch).argmax(1).tolist() == [0, 1, 0, 1, 2]
    assert identity_colors(batch).sum(1).tolist() == [1, 1, 1, 1, 1]
    assert identity_colors(batch[:0]).shape == (0, 0)


@pytest.mark.unchecked_shapes
def test_unknown_kinds_are_refused():
    with pytest.raises(ParameterError, match="kind"):
        structural_colors(edges(PATH), 4, kind="gcn", generator=generator())
    with pytest.raises(ParameterError, match="dim"):
        structural_colors(edges(PATH), 4, dim=0, generator=generator())


@pytest.mark.parametrize("scale", [1e3, 1e6])
def test_attention_to_large_features_is_finite(scale):
    x = scale * torch.randn(4, 3, generator=generator())
    assert structural_colors(edges(PATH), 4, x=x, generator=generator()).isfinite().all()

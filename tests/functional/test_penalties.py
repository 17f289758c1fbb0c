import pytest
import torch

from rwkplus.errors import ParameterError, ShapeError
from rwkplus.functional import rwk_minus, rwk_plus
from rwkplus.functional.objectives import diversity_penalty, sparsity_penalty


def random_sets(*leading, nodes=4, features=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(*leading, nodes, features, generator=generator, dtype=torch.float64)
    adj = torch.rand(*leading, nodes, nodes, generator=generator, dtype=torch.float64).triu(1)
    return x, adj + adj.mT


def kernel_of_pair(kernel, x, adj, i, j, steps):
    edge_index = adj[i].nonzero().t()
    weight = adj[i][edge_index[0], edge_index[1]]
    batch = torch.zeros(x.size(1), dtype=torch.long)
    return kernel(x[i], edge_index, batch, x[j : j + 1], adj[j : j + 1], steps=steps, edge_weight=weight).flatten()


@pytest.mark.parametrize("last_only", [True, False])
@pytest.mark.parametrize("kernel", [rwk_plus, rwk_minus])
@pytest.mark.parametrize("steps", [1, 3])
def test_diversity_is_the_mean_over_pairs_of_explicit_kernels(kernel, last_only, steps):
    x, adj = random_sets(3)
    pairs = [kernel_of_pair(kernel, x, adj, i, j, steps) for i in range(3) for j in range(i)]
    expected = torch.stack([pair[-1] if last_only else pair.sum() for pair in pairs]).mean()
    found = diversity_penalty(x, adj, steps=steps, last_only=last_only, match_all=kernel is rwk_plus)
    torch.testing.assert_close(found, expected)


def test_normalized_diversity_is_a_mean_of_cosines():
    x, adj = random_sets(3)
    k = [[kernel_of_pair(rwk_plus, x, adj, i, j, 2)[-1] for j in range(3)] for i in range(3)]
    cosines = [k[i][j] / (k[i][i] * k[j][j]).sqrt() for i in range(3) for j in range(i)]
    found = diversity_penalty(x, adj, steps=2, normalize=True)
    torch.testing.assert_close(found, torch.stack(cosines).mean())
    torch.testing.assert_close(diversity_penalty(x, 0.1 * adj, steps=2, normalize=True), found)


def test_restarts_do_not_see_each_other():
    x, adj = random_sets(5, 3)
    together = diversity_penalty(x, adj, steps=3)
    alone = torch.stack([diversity_penalty(x[r], adj[r], steps=3) for r in range(5)])
    assert together.shape == (5,)
    torch.testing.assert_close(together, alone)


def test_a_single_graph_has_nothing_to_overlap_with():
    x, adj = random_sets(4, 1)
    assert diversity_penalty(x, adj, steps=2).tolist() == [0, 0, 0, 0]


def test_graphs_without_a_common_color_do_not_overlap():
    x = torch.eye(2).unsqueeze(1).expand(2, 3, 2)  # all nodes of one graph red, of the other blue
    adj = (1 - torch.eye(3)).expand(2, 3, 3)
    assert diversity_penalty(x, adj, steps=3) == 0
    assert diversity_penalty(x[:1].expand(2, 3, 2), adj, steps=3) == 24**2  # 3 * 2**3 walks each


def test_sparsity_counts_every_edge_once_and_features_where_given():
    adj = torch.tensor([[0.0, 0.5, -1.0], [0.5, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    assert sparsity_penalty(adj) == 1.5
    assert sparsity_penalty(adj, torch.full((3, 2), -0.5)) == 4.5
    assert sparsity_penalty(adj.expand(2, 4, 3, 3)).shape == (2, 4)


def test_gradients_flow_to_edges_and_features():
    x, adj = random_sets(2, 2, nodes=3, features=2)
    torch.autograd.gradcheck(
        lambda x, adj: diversity_penalty(x, adj, steps=2), (x.requires_grad_(), adj.requires_grad_())
    )


@pytest.mark.unchecked_shapes
def test_misfits_are_refused():
    x, adj = random_sets(2)
    with pytest.raises(ShapeError, match="hidden_adj"):
        diversity_penalty(x, adj[:, :3, :3], steps=2)
    with pytest.raises(ParameterError, match="steps"):
        diversity_penalty(x, adj, steps=0)

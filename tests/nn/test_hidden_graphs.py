import copy
import pickle

import pytest
import torch

from rwkplus.errors import ParameterError
from rwkplus.nn.kernel_conv import HiddenGraphs


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("adjacency", ["sigmoid", "relu", "discrete"])
def test_graphs_are_undirected_without_loops(adjacency):
    adj = HiddenGraphs(5, 4, 3, adjacency, generator=generator()).adj
    assert adj.shape == (5, 4, 4)
    assert torch.equal(adj, adj.mT)
    assert not adj.diagonal(dim1=1, dim2=2).any()
    assert (adj >= 0).all()


def test_weights_are_mapped_from_parameters_between_minus_one_and_one():
    hidden = HiddenGraphs(200, 4, 3, generator=generator())
    off = hidden.adj[:, hidden.upper[0], hidden.upper[1]]
    low, high = torch.tensor([-1.0, 1.0]).sigmoid()
    assert low <= off.min() < low + 0.02
    assert high - 0.02 < off.max() <= high
    assert (HiddenGraphs(200, 4, 3, "relu", generator=generator()).adj == 0).float().mean() > 0.5
    assert 0 <= hidden.x.min() < 0.02 < 0.98 < hidden.x.max() <= 1


def test_features_are_mapped_view_by_view():
    hidden = HiddenGraphs(2, 3, (4, 5), features=("softmax", "sigmoid"), generator=generator())
    first, second = hidden.views
    torch.testing.assert_close(first.sum(-1), torch.ones(2, 3))
    assert ((second > 0.5) & (second < 0.74)).all()  # sigmoid of U(0, 1)
    assert torch.equal(hidden.x, torch.cat([first, second], -1))


def test_unit_features_have_length_one_and_keep_their_signs():
    hidden = HiddenGraphs(2, 3, 4, features="unit", generator=generator())
    with torch.no_grad():
        hidden.node_logits[0][:, :, 0] = -1
    torch.testing.assert_close(hidden.x.norm(dim=-1), torch.ones(2, 3))
    assert (hidden.x[..., 0] < 0).all()
    assert (hidden.x[..., 1:] > 0).all()


def test_initial_values_come_from_the_generator_and_not_from_later_views():
    one, same, other = (
        HiddenGraphs(2, 3, widths, generator=generator(s)) for widths, s in ((4, 1), ((4, 2), 1), (4, 2))
    )
    assert torch.equal(one.adj, same.adj)
    assert torch.equal(one.x, same.views[0])
    assert not torch.equal(one.x, other.x)


def test_gradients_reach_edges_and_features():
    hidden = HiddenGraphs(2, 3, 4, features="softmax", generator=generator())
    (hidden.adj.sum() + hidden.x[..., 0].sum()).backward()
    assert all(parameter.grad.abs().min() > 0 for parameter in hidden.parameters())


def test_it_says_what_it_is():
    hidden = HiddenGraphs(2, 3, (4, 5), features="softmax")
    assert repr(hidden) == "HiddenGraphs(2, 3, 9, adjacency='sigmoid', features='softmax+softmax')"


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"num_hidden": 0}, "num_hidden"),
        ({"adjacency": "tanh"}, "adjacency"),
        ({"features": "tanh"}, "features"),
        ({"num_features": (2, 2), "features": ("raw",)}, "features"),
    ],
)
def test_impossible_sizes_and_maps_are_refused(wrong, name):
    with pytest.raises(ParameterError, match=name):
        HiddenGraphs(**{"num_hidden": 1, "hidden_nodes": 2, "num_features": 2} | wrong)


def test_edge_colors_are_the_same_in_both_directions():
    colors = HiddenGraphs(2, 3, 4, generator=generator(), num_edge_features=5).edge_attr
    assert colors.shape == (2, 3, 3, 5)
    assert torch.equal(colors, colors.transpose(1, 2))
    assert not colors.diagonal(dim1=1, dim2=2).any()
    assert HiddenGraphs(2, 3, 4).edge_attr is None


def test_edge_colors_leave_the_other_initial_values_as_they_are():
    plain, colored = (HiddenGraphs(2, 3, 4, generator=generator(), num_edge_features=c) for c in (0, 5))
    assert torch.equal(plain.adj, colored.adj)
    assert torch.equal(plain.x, colored.x)


def test_the_number_of_features_can_be_left_open():
    hidden = HiddenGraphs(2, 3, -1)
    hidden.initialize(4)
    hidden.initialize(5)  # known by now
    assert hidden.x.shape == (2, 3, 4)
    loaded = HiddenGraphs(2, 3, -1)
    loaded.load_state_dict(hidden.state_dict())
    assert torch.equal(loaded.x, hidden.x)
    waiting = HiddenGraphs(2, 3, -1)
    waiting.reset_parameters(generator())
    assert waiting.widths == (-1,)


def test_discrete_edges_are_there_or_not_and_learn_through_the_sigmoid():
    discrete, smooth = (HiddenGraphs(3, 4, 2, how, generator=generator()) for how in ("discrete", "sigmoid"))
    assert torch.equal(discrete.adj, (smooth.adj > 0.5).float())
    assert 0 < discrete.adj.mean() < 0.75  # some of both
    for hidden in (discrete, smooth):
        (hidden.adj * torch.arange(48.0).view(3, 4, 4)).sum().backward()
    torch.testing.assert_close(discrete.edge_logits.grad, smooth.edge_logits.grad)


def test_open_sizes_can_be_saved_and_loaded():
    waiting, other = HiddenGraphs(2, 3, -1, generator=generator(1)), HiddenGraphs(2, 3, -1, generator=generator(2))
    other.load_state_dict(waiting.state_dict())
    assert torch.equal(other.edge_logits, waiting.edge_logits)
    assert other.widths == (-1,)
    other.initialize(4)
    waiting.load_state_dict(other.state_dict())
    assert torch.equal(waiting.x, other.x)


def test_features_that_come_late_come_from_the_generator_too():
    late = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        hidden = HiddenGraphs(2, 3, -1, generator=generator())
        hidden.initialize(4)
        late.append(hidden)
    assert torch.equal(late[0].x, late[1].x)
    assert torch.equal(late[0].x, HiddenGraphs(2, 3, 4, generator=generator()).x)


def test_it_can_be_copied_and_pickled_before_and_after_the_features_came():
    hidden = HiddenGraphs(2, 3, -1, generator=generator())
    copies = [copy.deepcopy(hidden), pickle.loads(pickle.dumps(hidden))]
    hidden.initialize(4)
    for other in copies:
        other.initialize(4)
        assert torch.equal(other.x, hidden.x)
    for other in (copy.deepcopy(hidden), pickle.loads(pickle.dumps(hidden))):
        assert torch.equal(other.x, hidden.x)


def test_can_be_made_without_memory_and_filled_later():
    saved = HiddenGraphs(2, 4, 3, num_edge_features=2)
    with torch.device("meta"):
        hidden = HiddenGraphs(2, 4, 3, num_edge_features=2)
    hidden.to_empty(device="cpu").load_state_dict(saved.state_dict())
    torch.testing.assert_close(hidden.adj, saved.adj)
    torch.testing.assert_close(hidden.edge_attr, saved.edge_attr)

import pytest
import torch
from torch.nn import functional

from rwkplus.models.gnn import dropout


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("way", [dropout, functional.dropout])
def test_the_share_is_dropped_and_the_rest_makes_up_for_it(way, share):
    torch.manual_seed(0)
    y = way(torch.ones(1000, 999), share)
    assert (y == 0).float().mean().item() == pytest.approx(share, abs=2e-3)
    torch.testing.assert_close(y.unique(), torch.tensor([0, 1 / (1 - share)]), rtol=1e-4, atol=0)
    # Neither neighbors nor entries that share a random word know of each other.
    for apart in (1, 2, 3, 4, 999):
        both = (y.flatten()[apart:] == 0) & (y.flatten()[:-apart] == 0)
        assert both.float().mean().item() == pytest.approx(share**2, abs=3e-3)


def test_gradients_are_dropped_alike():
    x = torch.rand(7, 5, dtype=torch.double, requires_grad=True)
    y = dropout(x, 0.3)
    y.sum().backward()
    torch.testing.assert_close(x.grad * x, y)
    assert 0 < (x.grad == 0).sum() < 35


def test_a_seed_draws_the_same_again():
    x, draws = torch.rand(30, 3), []
    for _ in range(2):
        torch.manual_seed(5)
        draws.append(dropout(x, 0.5))
    assert torch.equal(*draws)
    assert not torch.equal(dropout(x, 0.5), draws[0])


@pytest.mark.parametrize("shape", [(0,), (0, 4), (1,), (3, 1, 2)])
def test_any_shape(shape):
    assert dropout(torch.rand(shape), 0.5).shape == shape


def test_nothing_is_dropped_in_evaluation_and_nearly_all_at_shares_near_one():
    x = torch.rand(4)
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0) is x
    assert dropout(torch.ones(1000), 1 - 1e-9).isfinite().all()


def test_half_precision_and_transforms():
    assert dropout(torch.ones(8, dtype=torch.bfloat16), 0.5).dtype == torch.bfloat16
    many = torch.func.vmap(lambda x: dropout(x, 0.5), randomness="different")(torch.ones(50, 8))
    assert set(many.unique().tolist()) == {0.0, 2.0}


def test_nothing_is_left_of_what_is_dropped_whole():
    assert not dropout(torch.ones(1000, 100), 1.0).any()

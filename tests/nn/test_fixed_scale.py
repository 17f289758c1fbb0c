import pytest
import torch

from rwkplus.errors import ParameterError
from rwkplus.nn import FixedScale


def test_first_batches_set_the_scale_and_later_ones_do_not():
    scale = FixedScale(2, batches=2)
    first, second = torch.randn(50, 2) * 3 + 1, torch.randn(60, 2) * 5 - 2
    scale(first)
    scale(second)
    torch.testing.assert_close(scale.mean, (first.mean(0) + second.mean(0)) / 2)
    torch.testing.assert_close(scale.deviation, (first.std(0, correction=0) + second.std(0, correction=0)) / 2)
    before = scale.mean.clone()
    scale(torch.randn(10, 2))
    torch.testing.assert_close(scale.mean, before)


def test_is_one_linear_map_in_training_and_in_use():
    scale = FixedScale(3)
    x = torch.randn(20, 3)
    trained = scale(x)
    torch.testing.assert_close(trained.mean(0), torch.zeros(3), atol=1e-6, rtol=0)
    torch.testing.assert_close(scale.eval()(x[:1]), trained[:1])


def test_does_not_learn_its_scale_in_use():
    scale = FixedScale(1).eval()
    torch.testing.assert_close(scale(torch.tensor([[7.0]])).item(), 7.0)
    assert int(scale.seen) == 0


def test_constant_features_are_only_shifted():
    scale = FixedScale(1)
    scale(torch.full((4, 1), 2.0))
    assert scale(torch.tensor([[2.5]])).item() == 0.5


def test_forgets_when_reset():
    scale = FixedScale(1)
    scale(torch.randn(5, 1))
    scale.reset_parameters()
    assert (int(scale.seen), scale.mean.item(), scale.deviation.item()) == (0, 0, 1)


@pytest.mark.parametrize("arguments", [(0,), (2, 0)])
def test_refuses_sizes_below_one(arguments):
    with pytest.raises(ParameterError, match="FixedScale needs"):
        FixedScale(*arguments)


def test_measures_in_its_own_type_under_autocast():
    with torch.autocast("cpu", torch.bfloat16):
        scaled = FixedScale(2)(torch.nn.Linear(2, 2)(torch.rand(3, 2)))
    assert scaled.dtype == torch.float32
    torch.testing.assert_close(scaled.mean(0), torch.zeros(2), atol=1e-5, rtol=0)


def test_a_batch_without_rows_sets_nothing():
    scale = FixedScale(2)
    scale(torch.zeros(0, 2))
    assert int(scale.seen) == 0
    assert scale(torch.rand(3, 2)).isfinite().all()


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_batch_that_is_not_finite_says_nothing(bad):
    scale, x = FixedScale(2), torch.randn(20, 2)
    scale(torch.tensor([[1.0, 2.0], [bad, 3.0]]))
    assert scale.seen == 0
    scale(x)
    torch.testing.assert_close(scale.mean, x.mean(0))

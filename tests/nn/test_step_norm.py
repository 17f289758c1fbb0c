import pytest
import torch
from torch import nn

from rwkplus.errors import ParameterError
from rwkplus.functional.walks import step_moments
from rwkplus.nn import StepNorm

N, K, M, STEPS = 7, 3, 4, 2


def walks(seed=0, n=N):
    return 5 * torch.randn(n, K, M, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) + 2


def learned(placement="propagate"):
    norm = StepNorm(K, STEPS, placement).double()
    with torch.no_grad():
        norm.weight.copy_(torch.linspace(0.5, 2, STEPS * K).view(STEPS, K))
        norm.bias.copy_(torch.linspace(-1, 1, STEPS * K).view(STEPS, K))
    return norm


def twin(norm):
    """The same from torch's own BatchNorm, one per step."""
    norms = [nn.BatchNorm1d(K).double() for _ in range(STEPS)]
    for i, one in enumerate(norms):
        one.weight.data, one.bias.data = norm.weight[i].detach().clone(), norm.bias[i].detach().clone()
    return norms


def test_it_is_a_batch_norm_of_its_own_for_each_step_and_a_sigmoid():
    norm = learned()
    norms = twin(norm)
    for training in (True, True, False):
        norm.train(training)
        for step in (1, 2):
            norms[step - 1].train(training)
            expected = norms[step - 1](walks(step)).sigmoid()
            torch.testing.assert_close(norm(walks(step), step), expected)
    for i, one in enumerate(norms):
        torch.testing.assert_close(norm.running_mean[i], one.running_mean)
        torch.testing.assert_close(norm.running_var[i], one.running_var)


def test_moments_are_those_of_all_processes():
    y = walks()
    mean, var, count = step_moments(y, lambda sums: 3 * sums)  # three processes with the same walks
    torch.testing.assert_close(mean, y.mean((0, 2)))
    torch.testing.assert_close(var, y.var((0, 2), correction=0))
    assert count.tolist() == [3 * N * M] * K


@pytest.mark.parametrize("n", [1, N])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_one_bad_batch_does_not_spoil_the_statistics(bad, n):
    """Only what it says of other hidden graphs is believed."""
    norm, twin = learned(), learned()
    norm(walks(), 1)
    twin(walks(), 1)
    wrong = walks(1, n=n)
    twin(wrong, 1)
    wrong[0, 0, 0] = bad
    before = norm.running_mean[0, 0].clone(), norm.running_var[0, 0].clone()
    norm(wrong, 1)
    assert (norm.running_mean[0, 0], norm.running_var[0, 0]) == before
    torch.testing.assert_close(norm.running_mean[0, 1:], twin.running_mean[0, 1:])
    torch.testing.assert_close(norm.running_var[0, 1:], twin.running_var[0, 1:])


def test_the_placement_decides_which_hook_it_fills():
    hooks = {placement: StepNorm(K, STEPS, placement) for placement in ("propagate", "readout", None)}
    assert [norm.normalize is norm for norm in hooks.values()] == [True, False, False]
    assert [norm.readout is norm for norm in hooks.values()] == [False, True, False]
    assert hooks[None].state_dict() == {}
    assert torch.equal(hooks[None](walks(), 1), walks())


def test_reset_forgets_everything():
    norm = learned()
    norm(walks(), 1)
    norm.reset_parameters()
    for name, value in StepNorm(K, STEPS).double().state_dict().items():
        assert torch.equal(norm.state_dict()[name], value)


def test_it_says_what_it_is():
    assert repr(StepNorm(K, STEPS, "readout")) == "StepNorm(3, steps=2, placement='readout')"


@pytest.mark.parametrize("wrong", [{"placement": "after"}, {"steps": 0}, {"num_hidden": 0}])
def test_impossible_arguments_are_refused(wrong):
    with pytest.raises(ParameterError, match=str(next(iter(wrong.values())))):
        StepNorm(**{"num_hidden": K, "steps": STEPS} | wrong)


def test_misfits_are_refused():
    with pytest.raises(ParameterError, match="step 3"):
        StepNorm(K, STEPS)(walks(), 3)
    with pytest.raises(ParameterError, match="got 3"):
        StepNorm(K + 1, STEPS)(walks(), 1)


def test_a_single_value_has_no_variance():
    norm = StepNorm(K, STEPS).double()
    value = torch.tensor([[[2.0], [3.0], [4.0]]], dtype=torch.float64)
    torch.testing.assert_close(norm(value, 1), torch.full_like(value, 0.5))
    torch.testing.assert_close(norm.running_mean[0], 0.1 * value.flatten())
    torch.testing.assert_close(norm.running_var[0], torch.full((K,), 0.9, dtype=torch.float64))


def test_a_batch_without_values_says_nothing():
    norm = learned()
    norm(walks(), 1)
    before = {name: value.clone() for name, value in norm.state_dict().items()}
    assert norm(walks(n=0), 1).shape == (0, K, M)
    for name, value in norm.state_dict().items():
        assert torch.equal(value, before[name])


def test_half_precision_counts_many_walks():
    y = torch.rand(40_000, 2, 2).half() + 3
    mean, var, number = step_moments(y)
    assert mean.dtype == torch.half
    assert number.tolist() == [80_000, 80_000]
    torch.testing.assert_close(mean, torch.full((2,), 3.5).half(), rtol=0.01, atol=0)
    assert var.isfinite().all()

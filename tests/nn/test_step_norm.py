import pytest
import torch
from torch import nn

from rwkplus.errors import ParameterError
from rwkplus.functional.step_norm import step_moments
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


@pytest.mark.parametrize("training", [True, False])
def test_padding_counts_nowhere(training):
    """Neither the statistics, nor the outputs, nor the gradients of real walks know of padded ones."""
    norm, masked = learned().train(training), learned().train(training)
    y = walks().requires_grad_()
    padded = torch.cat([y, torch.full((5, K, M), 1e3, dtype=torch.float64)])
    mask = torch.arange(N + 5).view(-1, 1, 1) < N
    expected, result = norm(y, 2), masked(padded, 2, mask)
    torch.testing.assert_close(result[:N], expected)
    assert not result[N:].any()
    torch.testing.assert_close(masked.running_mean, norm.running_mean)
    torch.testing.assert_close(masked.running_var, norm.running_var)
    grads = [torch.autograd.grad(out[:N].square().sum(), y, retain_graph=True)[0] for out in (expected, result)]
    torch.testing.assert_close(*grads)


def test_padded_hidden_nodes_count_nowhere():
    y = walks()
    mask = torch.arange(M) < 2
    mean, var, count = step_moments(y, mask.view(1, 1, -1))
    torch.testing.assert_close(mean, y[..., :2].mean((0, 2)))
    torch.testing.assert_close(var, y[..., :2].var((0, 2), correction=0))
    assert count.tolist() == [N * 2] * K


def test_gradients_of_masked_statistics():
    norm = learned()
    y, mask = walks().requires_grad_(), (torch.arange(N) != 3).view(-1, 1, 1)
    assert torch.autograd.gradcheck(lambda y: norm(y, 1, mask), y)


@pytest.mark.parametrize("training", [True, False])
def test_rows_may_stand_for_several(training):
    norm, counted = learned().train(training), learned().train(training)
    y, count = walks(), torch.arange(N) % 4 + 1
    expected, result = norm(y.repeat_interleave(count, 0), 2), counted(y, 2, count=count.double())
    torch.testing.assert_close(result.repeat_interleave(count, 0), expected)
    torch.testing.assert_close(counted.running_mean, norm.running_mean)
    torch.testing.assert_close(counted.running_var, norm.running_var)


def test_a_mask_and_counts_do_not_go_together():
    with pytest.raises(ParameterError, match="not both"):
        learned()(walks(), 1, torch.ones(N, 1, 1, dtype=torch.bool), torch.ones(N))


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


@pytest.mark.parametrize("masked", [True, False])
def test_a_batch_without_values_says_nothing(masked):
    norm = learned()
    norm(walks(), 1)
    before = {name: value.clone() for name, value in norm.state_dict().items()}
    y, mask = (walks(), torch.zeros(N, 1, 1, dtype=torch.bool)) if masked else (walks(n=0), None)
    assert not norm(y, 1, mask).any()
    for name, value in norm.state_dict().items():
        assert torch.equal(value, before[name])


@pytest.mark.parametrize(
    "options", [{"mask": torch.ones(40_000, 1, 1, dtype=torch.bool)}, {"count": torch.ones(40_000)}]
)
def test_half_precision_counts_many_walks(options):
    norm, y = StepNorm(2, 1).half(), torch.rand(40_000, 2, 2).half() + 3
    assert norm(y, 1, **options).dtype == torch.half
    torch.testing.assert_close(norm.running_mean, torch.full((1, 2), 0.35).half(), rtol=0.01, atol=0)
    assert norm.running_var.isfinite().all()

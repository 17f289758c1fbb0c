import copy

import numpy as np
import pytest
import torch

from rwkplus.nn import KernelConv, extract_egonets
from tests.nn.kernel_conv_choices import BATCH, GRAPHS, PLACEMENTS, WAYS, layer


def test_steps_are_combined_as_told():
    outputs = {
        combine: layer(combine=combine)(BATCH.x, BATCH.edge_index) for combine in ("concat", "sum", "mean", "last")
    }
    steps = outputs["concat"].view(-1, 3, 5)
    torch.testing.assert_close(outputs["sum"], steps.sum(1))
    torch.testing.assert_close(outputs["mean"], steps.mean(1))
    torch.testing.assert_close(outputs["last"], steps[:, -1])
    assert layer(combine="concat", include_zero_step=True).num_outputs == 20
    assert layer(combine="sum", include_zero_step=True).num_outputs == 5


def test_sizes_are_read_off_the_first_input():
    lazy = KernelConv(-1, 5, hidden_nodes=3)
    assert lazy.in_channels == -1
    assert lazy(BATCH.x.float(), BATCH.edge_index).shape == (BATCH.num_nodes, 5)
    assert lazy.in_channels == 2
    loaded = KernelConv(-1, 5, hidden_nodes=3)
    loaded.load_state_dict(lazy.state_dict())
    expected = lazy(BATCH.x.float(), BATCH.edge_index)
    torch.testing.assert_close(loaded(BATCH.x.float(), BATCH.edge_index), expected)


def test_parameters_are_drawn_anew():
    conv = layer(step_norm="propagate")
    before = copy.deepcopy(conv.state_dict())
    conv(BATCH.x, BATCH.edge_index)
    conv.reset_parameters(torch.Generator().manual_seed(1))
    assert not torch.equal(conv.hidden.edge_logits, before["hidden.edge_logits"])
    assert torch.equal(conv.norm.running_mean, before["norm.running_mean"])


def test_it_says_what_it_is():
    conv = KernelConv(-1, 8, kernel="rwk-", hops=2, max_nodes=10)
    assert (
        repr(conv)
        == "KernelConv(-1, 8, hidden_nodes=6, steps=3, kernel='rwk-', route='compiled', hops=2, max_nodes=10)"
    )


@pytest.mark.slow
@pytest.mark.parametrize("on_the_fly", [True, False], ids=["edges", "egonets"])
@PLACEMENTS
def test_it_compiles_into_one_graph(step_norm, on_the_fly):
    conv = layer(step_norm=step_norm).eval()
    argument = BATCH.edge_index if on_the_fly else extract_egonets(BATCH.edge_index, BATCH.num_nodes)
    expected = conv(BATCH.x, argument)
    compiled = torch.compile(conv, fullgraph=True, backend="aot_eager")
    x = BATCH.x.clone().requires_grad_()
    output = compiled(x, argument)
    torch.testing.assert_close(output, expected)
    output.sum().backward()
    assert x.grad.isfinite().all()


def test_training_compiles_into_one_graph():
    plain, other = layer(step_norm="propagate"), layer(step_norm="propagate")
    egonets = extract_egonets(BATCH.edge_index, BATCH.num_nodes)
    compiled = torch.compile(other, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(BATCH.x, egonets), plain(BATCH.x, egonets))
    torch.testing.assert_close(other.norm.running_mean, plain.norm.running_mean)


@pytest.mark.parametrize("step_norm", [None, "propagate"])
def test_it_can_be_exported(step_norm):
    conv = layer(step_norm=step_norm, max_nodes=4).eval()
    nodes, edges = torch.export.Dim("nodes"), torch.export.Dim("edges")
    program = torch.export.export(
        conv, (BATCH.x, BATCH.edge_index), dynamic_shapes={"x": {0: nodes}, "edge_index": {1: edges}}
    )
    graph = GRAPHS[0]
    expected = conv(graph.x, graph.edge_index)
    torch.testing.assert_close(program.module()(graph.x, graph.edge_index), expected)


def test_random_numbers_of_others_are_left_alone():
    torch.manual_seed(123)
    expected = torch.rand(3)
    torch.manual_seed(123)
    conv = KernelConv(2, 3, generator=torch.Generator())
    conv(BATCH.x.float(), BATCH.edge_index)
    assert torch.equal(torch.rand(3), expected)


@WAYS
@PLACEMENTS
@pytest.mark.parametrize("inside", [True, False])
def test_autocast_leaves_walks_in_full_precision(step_norm, compiled, inside):
    edge_index, x = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.rand(3, 2, requires_grad=True)
    conv = KernelConv(2, 2, hidden_nodes=2, step_norm=step_norm, compiled=compiled)
    expected = conv(x, edge_index).detach()
    with torch.autocast("cpu", torch.bfloat16):
        output = conv(x, edge_index)
        if inside:
            output.sum().backward()
    if not inside:
        output.sum().backward()
    assert output.dtype == torch.float32
    torch.testing.assert_close(output, expected, rtol=0.1, atol=0.05)
    assert all(parameter.grad.isfinite().all() for parameter in conv.parameters())


@pytest.mark.parametrize("walks", ["open", "closed"])
def test_weights_and_colors_may_be_of_another_type(walks):
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    x, weight, attr = torch.rand(3, 2), torch.rand(4), torch.rand(4, 2)
    conv = KernelConv(2, 2, hidden_nodes=2, walks=walks, edge_dim=2)
    expected = conv(x, edge_index, weight, attr)
    torch.testing.assert_close(conv(x, edge_index, weight.double(), attr.double()), expected)


@PLACEMENTS
def test_transforms_of_torch_walk_plainly(step_norm):
    conv = layer(step_norm=step_norm).eval()
    state, x = dict(conv.named_parameters()), BATCH.x.clone().requires_grad_()

    def total(state, x):
        return torch.func.functional_call(conv, state, (x, BATCH.edge_index)).square().sum()

    by_state, by_x = torch.func.grad(total, argnums=(0, 1))(state, x.detach())
    total(state, x).backward()
    torch.testing.assert_close(by_x, x.grad)
    for name, parameter in conv.named_parameters():
        torch.testing.assert_close(by_state[name], parameter.grad)


def test_sizes_may_be_numbers_of_numpy():
    conv = KernelConv(np.int64(2), 3, hops=np.int32(1), max_nodes=np.int64(4)).double()
    assert conv(BATCH.x, BATCH.edge_index).shape == (BATCH.num_nodes, 3)

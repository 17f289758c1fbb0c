import pytest
import torch

from rwkplus.functional.walks import rwk_plus_conv, split_by_color


def test_one_node_with_a_loop_can_be_followed_by_hand():
    # A single node, y0 = sigmoid(0) = 1/2, and a step that doubles: 1/2 * 2 * 1/2 = 1/2, then 1/2 * 2 * 1/4 = 1/4.
    steps = rwk_plus_conv(torch.zeros(1, 1), lambda y: 2 * y, steps=3, combine="concat")
    assert steps.tolist() == [[0.5, 0.25, 0.125]]


@pytest.mark.parametrize("combine", ["last", "sum"])
def test_other_readouts_come_from_the_same_steps(combine):
    generator = torch.Generator().manual_seed(0)
    logits, hidden = torch.randn(5, 3, generator=generator), torch.randn(3, 3, generator=generator)
    steps = rwk_plus_conv(logits, lambda y: y @ hidden, steps=3, combine="concat").unflatten(1, (3, 3))
    expected = steps[:, -1] if combine == "last" else steps.sum(1)
    torch.testing.assert_close(rwk_plus_conv(logits, lambda y: y @ hidden, steps=3, combine=combine), expected)


def wide(row, col, weight, color, colors):
    row, col, weight = split_by_color(row, col, weight, color, colors)
    return torch.zeros(3, 3 * colors).index_put((row, col), weight, accumulate=True)


def test_integer_and_one_hot_colors_are_the_same_matrices():
    row, col, color = torch.tensor([0, 1, 2, 2]), torch.tensor([1, 2, 0, 1]), torch.tensor([0, 1, 1, 0])
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0])
    one_hot = torch.nn.functional.one_hot(color, 2).float()
    by_color = wide(row, col, weight, color, 2).view(3, 3, 2)
    torch.testing.assert_close(by_color[..., 1], torch.tensor([[0.0, 0, 0], [0, 0, 2], [3, 0, 0]]))
    torch.testing.assert_close(wide(row, col, weight, one_hot, 2).view(3, 3, 2), by_color)


def test_zeros_are_kept_only_for_gradients():
    row = col = torch.arange(2)
    color = torch.eye(2)
    assert split_by_color(row, col, torch.ones(2), color, 2)[0].tolist() == [0, 1]
    assert split_by_color(row, col, torch.ones(2), color.requires_grad_(), 2)[0].tolist() == [0, 0, 1, 1]

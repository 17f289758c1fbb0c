import pytest
import torch
from hypothesis import given

from rwkplus.functional import bank_propagation, color_similarity, walk_steps
from tests.strategies import bank, batched, random_graphs, real_graphs


def recurrence(graphs, hidden):
    given_graphs, given_bank = batched(graphs), bank(hidden)
    y0 = color_similarity(given_graphs["x"], given_bank["hidden_x"])
    return y0, bank_propagation(given_graphs["edge_index"], given_bank["hidden_adj"])


@pytest.mark.slow
@given(real_graphs(), real_graphs())
def test_inner_nodes_are_matched_twice_and_ends_once(g, h):
    y0, move = recurrence([g], [h])
    expected = [y0 * move(y0), y0 * move(y0**2 * move(y0)), y0 * move(y0**2 * move(y0**2 * move(y0)))]
    for matched, by_hand in zip(walk_steps(y0, move, 3), expected, strict=True):
        torch.testing.assert_close(matched, by_hand)


@given(real_graphs(), real_graphs())
def test_without_match_all_inner_nodes_are_not_matched(g, h):
    y0, move = recurrence([g], [h])
    expected = [y0 * move(y0), y0 * move(move(y0)), y0 * move(move(move(y0)))]
    for matched, by_hand in zip(walk_steps(y0, move, 3, match_all=False), expected, strict=True):
        torch.testing.assert_close(matched, by_hand)


def test_normalization_acts_between_propagation_and_matching_and_the_recursion_sees_it():
    y0, move = recurrence(random_graphs(2, real=True), random_graphs(2, seed=1, real=True))
    steps_seen = []

    def normalize(y, step):
        steps_seen.append(step)
        return torch.tanh(y) / step

    first, second = walk_steps(y0, move, 2, normalize=normalize)
    assert steps_seen == [1, 2]
    torch.testing.assert_close(first, y0 * torch.tanh(move(y0)))
    torch.testing.assert_close(second, y0 * torch.tanh(move(y0 * first)) / 2)


@pytest.mark.parametrize("match_all", [True, False])
def test_walks_from_all_starts_add_up_to_walks_from_everywhere(match_all):
    y0, move = recurrence(random_graphs(1, real=True), random_graphs(1, seed=1, real=True))
    nodes, _, hidden = y0.shape
    starts = torch.eye(nodes * hidden, dtype=torch.float64).view(nodes, 1, hidden, nodes * hidden)
    apart = walk_steps(y0.unsqueeze(-1), move, 3, match_all=match_all, start=starts)
    together = walk_steps(y0, move, 3, match_all=match_all)
    for by_start, everywhere in zip(apart, together, strict=True):
        assert by_start.shape == (nodes, 1, hidden, nodes * hidden)
        torch.testing.assert_close(by_start.sum(-1), everywhere)


def test_no_step_is_computed_before_it_is_asked_for():
    y0, move = recurrence(random_graphs(1), random_graphs(1))
    moved = []

    def counting(y):
        moved.append(1)
        return move(y)

    steps = walk_steps(y0, counting, 5)
    next(steps)
    next(steps)
    assert len(moved) == 2

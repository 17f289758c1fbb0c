import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch

from rwkplus.errors import GraphError
from rwkplus.functional import rwk_minus, rwk_plus
from rwkplus.functional.merged_walks import merge_nodes, merged_scores, normalized_merged_scores
from rwkplus.nn import StepNorm
from rwkplus.ops.egonet_kinds import row_hashes
from rwkplus.ops.egonet_loops import BLOCK
from rwkplus.ops.walk_kinds import walk_kinds
from tests.strategies import COLORS, colored_graphs, data_list, random_graphs

BATCH = Batch.from_data_list(data_list(random_graphs(8)))


def merged(batch, steps):
    return merge_nodes(walk_kinds(row_hashes(batch.x), batch.edge_index, steps), batch.edge_index)


def hidden(num_hidden=3, hidden_nodes=4, features=COLORS, seed=0):
    draw = torch.Generator().manual_seed(seed)
    x = torch.rand(num_hidden, hidden_nodes, features, generator=draw, dtype=torch.float64)
    adj = torch.rand(num_hidden, hidden_nodes, hidden_nodes, generator=draw, dtype=torch.float64)
    return x.requires_grad_(), adj.requires_grad_()


@given(st.lists(colored_graphs(blank=True), min_size=1, max_size=4), st.integers(1, 4), st.booleans(), st.booleans())
def test_scores_are_those_of_walks_from_every_node(graphs, steps, match_all, zero):
    batch = Batch.from_data_list(data_list(graphs))
    bank, options = hidden(), {"include_zero_step": zero, "num_graphs": len(graphs) + 1}
    found = merged_scores(batch.x, merged(batch, steps), batch.batch, *bank, match_all=match_all, **options)
    kernel = rwk_plus if match_all else rwk_minus
    expected = kernel(batch.x, batch.edge_index, batch.batch, *bank, steps=steps, **options)
    torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad(scores.square().sum(), bank) for scores in (found, expected)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("match_all", [True, False])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("zero", [True, False])
def test_step_norm_counts_every_node(match_all, training, zero):
    """Three ways to the same numbers: from every node, merged in plain torch, and merged in compiled loops."""
    nodes, found = merged(BATCH, 3), []
    assert nodes.levels[0].color.numel() < BATCH.num_nodes
    for way in ("every node", "merged", "compiled"):
        bank, norm = hidden(), StepNorm(3, 3).double().train(training)
        with torch.no_grad():
            for part in (norm.weight, norm.bias, norm.running_var):
                part += torch.linspace(0.1, 0.9, 9, dtype=part.dtype).view(3, 3)
        options = {"include_zero_step": zero}
        if way == "every node":
            kernel = rwk_plus if match_all else rwk_minus
            edges = BATCH.edge_index, BATCH.batch
            scores = kernel(BATCH.x, *edges, *bank, steps=3, normalize=norm.normalize, **options)
        elif way == "merged":
            scores = merged_scores(
                BATCH.x,
                nodes,
                BATCH.batch,
                *bank,
                match_all=match_all,
                normalize=norm,
                **options,
            )
        else:
            arguments = (BATCH.x, nodes, BATCH.batch, *bank, norm.state)
            scores, moments = normalized_merged_scores(*arguments, match_all=match_all, **options)
            if training:
                norm.update(slice(None), *moments)
        scores.square().sum().backward()
        learned = [part.grad for part in (*bank, norm.weight, norm.bias)]
        found.append([scores.detach(), *learned, norm.running_mean, norm.running_var])
    torch.testing.assert_close(found[1], found[0])
    torch.testing.assert_close(found[2], found[0])


@given(st.lists(colored_graphs(blank=True), min_size=1, max_size=4), st.integers(1, 3), st.booleans(), st.booleans())
def test_compiled_loops_agree_with_torch(graphs, steps, match_all, training):
    agree(Batch.from_data_list(data_list(graphs)), steps, match_all, training)


def test_more_kinds_than_a_block_of_loops():
    batch = Batch.from_data_list(data_list(random_graphs(60, max_nodes=12)))
    assert merged(batch, 3).levels[-1].color.numel() > 2 * BLOCK
    agree(batch, 3, True, True)


def agree(batch, steps, match_all, training):
    nodes, found = merged(batch, steps), []
    for compiled in (True, False):
        bank, norm = hidden(), StepNorm(3, steps).double().train(training)
        arguments = (batch.x, nodes, batch.batch, *bank)
        if compiled:
            scores, moments = normalized_merged_scores(*arguments, norm.state, match_all=match_all)
            if training:
                norm.update(slice(None), *moments)
        else:
            scores = merged_scores(*arguments, match_all=match_all, normalize=norm)
        scores.square().sum().backward()
        learned = [part.grad for part in (*bank, norm.weight, norm.bias)]
        found.append([scores.detach(), *learned, norm.running_mean, norm.running_var])
    torch.testing.assert_close(*found)


def test_hand_written_gradients_are_right():
    nodes, (x, adj) = merged(BATCH, 2), hidden(2, 3)
    norm = StepNorm(2, 2).double()

    def score(x, adj, weight, bias):
        state = norm.state._replace(weight=weight, bias=bias)
        return normalized_merged_scores(BATCH.x, nodes, BATCH.batch, x, adj, state)[0]

    assert torch.autograd.gradcheck(score, (x, adj, norm.weight, norm.bias))


def test_edges_to_nodes_that_are_not_there_are_refused():
    kinds = torch.zeros(3, 2, dtype=torch.long)
    with pytest.raises(GraphError, match="names nodes from 0 to 3 but there are 3"):
        merge_nodes(kinds, torch.tensor([[0], [3]]))


def test_graphs_without_edges_or_nodes():
    empty = torch.empty(2, 0, dtype=torch.long)
    x, batch = torch.eye(COLORS, dtype=torch.float64), torch.arange(COLORS)
    norm = StepNorm(3, 2).double()
    nodes = merge_nodes(walk_kinds(row_hashes(x), empty, 2), empty)
    scores, _ = normalized_merged_scores(x, nodes, batch, *hidden(), norm.state)
    expected = rwk_plus(x, empty, batch, *hidden(), steps=2, normalize=norm)
    torch.testing.assert_close(scores, expected)
    nobody = merge_nodes(torch.zeros(0, 3, dtype=torch.long), empty)
    assert merged_scores(x[:0], nobody, batch[:0], *hidden(), num_graphs=2).shape == (2, 2, 3)

import pytest
import torch
from torch.library import opcheck

from rwkplus.functional import color_similarity
from rwkplus.functional.egonet_kernels import _tensors
from rwkplus.graphs import egonets_of
from rwkplus.ops.egonet_walks import egonet_walks, egonet_walks_backward, score_egonets
from rwkplus.ops.egonets import find_egonets
from rwkplus.ops.normalized_walks import normalized_walks
from tests.strategies import as_data, bank, random_graphs

STEPS = 3


def inputs(num_hidden=10):
    graph = as_data(random_graphs(1, seed=2, real=True)[0])
    hidden = bank(random_graphs(num_hidden, seed=3, max_nodes=4, real=True))
    y0 = color_similarity(graph.x, hidden["hidden_x"])
    egonets = _tensors(egonets_of(graph, 1, 4), None, y0)
    return y0.requires_grad_(), hidden["hidden_adj"].unsqueeze(-1).requires_grad_(), egonets


@pytest.mark.parametrize("compiled", [True, False])
def test_the_operator_is_registered_as_torch_expects(compiled):
    opcheck(egonet_walks, (*inputs(), STEPS, True, compiled))
    y0, hidden, egonets = inputs()
    grad = torch.ones(STEPS, *y0.shape[:2], dtype=y0.dtype)
    opcheck(egonet_walks_backward, (grad, y0.detach(), hidden.detach(), egonets, True, compiled))


@pytest.mark.parametrize("training", [True, False])
def test_the_normalized_operator_is_registered_as_torch_expects(training):
    y0, hidden, egonets = inputs()
    norm = [torch.rand(STEPS, y0.size(1), dtype=y0.dtype) for _ in range(4)]
    norm = [part.requires_grad_(i < 2) for i, part in enumerate(norm)]
    opcheck(normalized_walks, (y0, hidden, egonets, torch.ones_like(egonets[1]), *norm, True, training, False, 1e-5))


def test_the_search_is_registered_as_torch_expects():
    opcheck(find_egonets, (torch.tensor([[0, 1], [1, 0]]), 3, 1, -1), test_utils=("test_schema", "test_faketensor"))


def test_only_colors_and_hidden_graphs_are_kept_for_the_backward_pass():
    y0, hidden, egonets = inputs()
    kept = []

    def pack(tensor):
        if tensor.is_floating_point():
            kept.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        score_egonets(y0, hidden, egonets, STEPS, True, True)
    assert sorted(kept) == sorted([y0.numel(), hidden.numel(), egonets[4].numel()])


@pytest.mark.parametrize("compiled", [True, False])
def test_second_derivatives_are_refused(compiled):
    y0, hidden, egonets = inputs()
    (grad,) = torch.autograd.grad(
        score_egonets(y0, hidden, egonets, STEPS, True, compiled).sum(), y0, create_graph=True
    )
    with pytest.raises(RuntimeError, match="no autograd formula"):
        grad.sum().backward()

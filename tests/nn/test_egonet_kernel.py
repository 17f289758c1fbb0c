import pytest
import torch
from torch.library import opcheck

from rwkplus.functional import color_similarity
from rwkplus.nn import egonets_of
from rwkplus.nn.egonet_kernel import StepNormState, compiled_egonet_scores, egonet_walks, egonet_walks_backward
from rwkplus.nn.transforms import find_egonets
from tests.strategies import as_data, bank, random_graphs

STEPS = 3
GRAPH = as_data(random_graphs(1, seed=2, real=True)[0])
EGONETS = egonets_of(GRAPH, 1, 4)


def inputs(*, normalized, training=False):
    """What the operator is called with."""
    hidden = bank(random_graphs(10, seed=3, max_nodes=4, real=True))
    y0 = color_similarity(GRAPH.x, hidden["hidden_x"])
    norm = [torch.rand(STEPS, y0.size(1) if normalized else 0, dtype=y0.dtype) for _ in range(4)]
    learned = [y0, hidden["hidden_adj"].unsqueeze(-1), *norm[:2]]
    fixed = [*EGONETS[:4], y0.new_empty(len(EGONETS.link), 0), torch.ones_like(EGONETS.size), *norm[2:]]
    return [part.requires_grad_() for part in learned], fixed, [1.0, float(training), 0.0, 1e-5]


@pytest.mark.parametrize(("normalized", "training"), [(True, True), (True, False), (False, False)])
def test_the_operator_is_registered_as_torch_expects(normalized, training):
    learned, fixed, how = inputs(normalized=normalized, training=training)
    opcheck(egonet_walks, (*learned, fixed, how))
    scores, _, kept = egonet_walks(*learned, fixed, how)
    opcheck(
        egonet_walks_backward,
        (torch.ones_like(scores), *(part.detach() for part in learned), fixed, kept.detach(), how),
    )


def test_the_search_is_registered_as_torch_expects():
    opcheck(find_egonets, (torch.tensor([[0, 1], [1, 0]]), 3, 1, -1), test_utils=("test_schema", "test_faketensor"))


@pytest.mark.parametrize("normalized", [True, False])
def test_second_derivatives_are_refused(normalized):
    hidden = bank(random_graphs(2, seed=3, max_nodes=4, real=True))
    norm = StepNormState(*torch.ones(4, STEPS, 2).double(), training=True, sync=False, eps=1e-5)
    x = GRAPH.x.clone().requires_grad_()
    scores, _ = compiled_egonet_scores(x, EGONETS, **hidden, steps=STEPS, norm=norm if normalized else None)
    (grad,) = torch.autograd.grad(scores.sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="no autograd formula"):
        grad.sum().backward()

import pytest
import torch

from rwkplus.data.testbeds import triangle_chains
from rwkplus.errors import ParameterError, ShapeError
from rwkplus.functional import rwk_minus, rwk_plus
from rwkplus.io.pyg import as_batch
from rwkplus.models.kcn import KCN

BATCH = as_batch(triangle_chains(3))
GRAPHS = (BATCH.x, BATCH.edge_index, BATCH.batch)


def generator():
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("combine", ["sum", "last"])
@pytest.mark.parametrize(("name", "kernel"), [("rwk+", rwk_plus), ("rwk-", rwk_minus)])
def test_scores_are_the_kernel_with_the_hidden_graphs(name, kernel, combine):
    model = KCN(5, 3, 4, kernel=name, steps=3, combine=combine, generator=generator())
    scores = kernel(*GRAPHS, model.hidden.x, model.hidden.adj, steps=3)
    torch.testing.assert_close(model(*GRAPHS), scores.sum(0) if combine == "sum" else scores[-1])


def test_the_zero_step_adds_squared_color_similarities():
    with_zero, without = (
        KCN(2, 3, 4, steps=2, include_zero_step=zero, generator=generator()) for zero in (True, False)
    )
    squared = (torch.einsum("nd,kmd->nkm", BATCH.x, without.hidden.x) ** 2).sum(-1)
    expected = torch.zeros(3, 2).index_add(0, BATCH.batch, squared)
    torch.testing.assert_close(with_zero(*GRAPHS) - without(*GRAPHS), expected, rtol=1e-4, atol=1e-3)


def test_views_share_the_edges_and_add_up():
    x = torch.cat([BATCH.x, torch.rand(BATCH.x.size(0), 2, generator=generator())], 1)
    model = KCN(2, 3, (4, 2), steps=2, generator=generator())
    scores = model.view_scores(x, *GRAPHS[1:])
    assert scores.shape == (2, 3, 2)
    second = rwk_plus(x[:, 4:], *GRAPHS[1:], model.hidden.views[1], model.hidden.adj, steps=2).sum(0)
    torch.testing.assert_close(scores[1], second)
    torch.testing.assert_close(model(x, *GRAPHS[1:]), scores.sum(0))


def test_rwnn_has_the_settings_of_its_release():
    model = KCN.rwnn(2, 3, 4, steps=2, generator=generator())
    assert (model.hidden.adj == 0).any()  # ReLU
    expected = rwk_minus(*GRAPHS, model.hidden.x, model.hidden.adj, steps=2, include_zero_step=True).sum(0)
    torch.testing.assert_close(model(*GRAPHS), expected)


def test_misfits_are_refused():
    with pytest.raises(ShapeError, match="structural colors"):
        KCN(2, 3, 5)(*GRAPHS)
    with pytest.raises(ParameterError, match="kernel"):
        KCN(2, 3, 4, kernel="rwk")
    with pytest.raises(ParameterError, match="combine"):
        KCN(2, 3, 4, combine="mean")

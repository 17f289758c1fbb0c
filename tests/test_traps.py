"""RowErrors that published code for these networks has made, each with a test that fails if it is made again.

Elsewhere: the adjacency of an egonet in another order than its features
(``tests/nn/test_egonets.py::test_links_are_the_edges_between_members_in_the_order_of_the_members``), padding that
leaks through StepNorm (``tests/nn/test_kernel_conv.py::test_step_norm_sees_real_nodes_only``), the adjacency
normalized anew in every forward pass
(``tests/nn/test_rwk_plus_conv_use.py::test_the_cache_holds_until_the_type_changes``).
"""

from types import SimpleNamespace
from typing import ClassVar

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch

from rwkplus.models import GNN, RWNN, KerGNN
from rwkplus.models.registry import MODELS, register
from rwkplus.nn import EgoNets, KernelConv, KernelLayer, RWKPlusConv, StepNorm
from rwkplus.training import Place, cross_validate, cross_validation, train
from rwkplus.training.estimators import Job
from tests.training.toy import QUICK, SMALL, rings


def test_ties_between_settings_are_broken_by_their_own_losses(monkeypatch):
    """Not by the loss of whichever setting came before."""
    scores = [(0.9, 0.5), (0.8, 0.1), (0.9, 0.3), (0.7, 0.9), (0.9, 0.4)]
    results = [SimpleNamespace(validation={"accuracy": accuracy, "loss": loss}) for accuracy, loss in scores]
    coming, chosen = iter(results * 2), []
    monkeypatch.setattr(Job, "run", lambda *_: next(coming))
    monkeypatch.setattr(cross_validation, "tested", lambda _, result, *__: chosen.append(result))
    cross_validate("gin", rings(), model_params=[SMALL] * len(scores), folds=2, settings=QUICK)
    assert chosen == [results[2]] * 2


def test_folds_and_settings_keep_their_checkpoints_apart(tmp_path):
    settings = [SMALL, SMALL | {"layers": 2}]
    cross_validate("gin", rings(), model_params=settings, folds=3, settings=QUICK, place=Place(tmp_path))
    weights = [path.read_bytes() for path in sorted(tmp_path.rglob("model.safetensors"))]
    assert len(weights) == len(set(weights)) == 6


@pytest.mark.parametrize(
    "make",
    [
        lambda draw: KernelConv(2, 3, steps=2, generator=draw),
        lambda draw: KernelLayer(2, 3, steps=2, generator=draw),
        lambda draw: StepNorm(3, 2),
    ],
)
def test_layers_leave_the_global_generator_alone(make):
    before = torch.get_rng_state()
    make(torch.Generator().manual_seed(1))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("make", [KerGNN, RWNN, GNN, lambda i, o: RWKPlusConv(i, o)])
def test_two_networks_in_a_row_begin_with_different_weights(make):
    """A seed set inside a layer would make all layers and all restarts alike."""
    torch.manual_seed(3)
    first, second = (nn.utils.parameters_to_vector(make(2, 2).parameters()) for _ in range(2))
    assert not torch.equal(first, second)
    after = torch.rand(1)
    torch.manual_seed(3)
    for _ in range(2):
        make(2, 2)
    assert torch.equal(torch.rand(1), after)
    torch.manual_seed(4)
    for _ in range(2):
        make(2, 2)
    assert not torch.equal(torch.rand(1), after)


def test_forward_passes_leave_the_global_generator_alone():
    batch = Batch.from_data_list([EgoNets(1, 10)(graph) for graph in rings(4)])
    for model in (KerGNN(2, 2), RWNN(2, 2), GNN(2, 2)):
        before = torch.get_rng_state()
        model(batch)
        assert torch.equal(torch.get_rng_state(), before)


class Watched(nn.Linear):
    """A linear map of summed features that notes how it is called."""

    calls: ClassVar[list[tuple[bool, bool]]] = []

    def forward(self, batch):
        self.calls.append((self.training, torch.is_grad_enabled()))
        return super().forward(torch.zeros(batch.num_graphs, 2).index_add(0, batch.batch, batch.x))


def test_validation_runs_without_autograd():
    register("watched", Watched)
    try:
        Watched.calls.clear()
        train("watched", rings(), settings=QUICK)
    finally:
        del MODELS["watched"]
    assert (True, True) in Watched.calls
    assert {grad for training, grad in Watched.calls if not training} == {False}

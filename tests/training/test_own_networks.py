"""Networks and numbers as users bring them along."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from rwkplus.errors import DataError, ParameterError
from rwkplus.models.gnn import GIN
from rwkplus.models.registry import MODELS, register
from rwkplus.saving import load
from rwkplus.training import Place, train
from rwkplus.training.estimators import estimator_of
from tests.training.toy import QUICK, SMALL, rings


class WritesIntoBatches(nn.Module):
    """A network that changes what it gets, as is usual with PyG's loaders."""

    def __init__(self, in_channels, out_channels, *, writes=True):
        super().__init__()
        self.first, self.last = nn.Linear(in_channels, in_channels), nn.Linear(in_channels, out_channels)
        self.writes = writes

    def forward(self, batch):
        x = self.first(batch.x).relu()
        if self.writes:
            batch.x = x
        return self.last(torch.zeros(batch.num_graphs, x.size(1)).index_add(0, batch.batch, x))


def test_networks_may_write_into_their_batches():
    histories = [
        train(WritesIntoBatches, rings(), model_params={"writes": writes}, settings=QUICK).history
        for writes in (False, True)
    ]
    assert histories[0] == histories[1]


class Tied(WritesIntoBatches):
    """Two layers with the same weights."""

    def __init__(self, in_channels, out_channels):
        super().__init__(in_channels, out_channels)
        self.last.weight = self.first.weight


class GivesOneNumber(GIN):
    def forward(self, batch):
        return super().forward(batch)[:, 0]


@pytest.mark.parametrize(("model", "params"), [("gnn", {"level": "node"}), (GivesOneNumber, {})])
def test_outputs_must_be_a_row_for_every_graph(model, params):
    with pytest.raises(ParameterError, match=r"gives outputs \(\d+.*\) where \(\d+, 2\) are expected"):
        train(model, rings(), model_params=SMALL | params, settings=QUICK)


def test_weights_that_layers_share_can_be_saved(tmp_path):
    register("tied", Tied)
    try:
        trained = train("tied", rings(), settings=QUICK)
        path = estimator_of(trained).save(tmp_path / "tied.safetensors")
        loaded = load(path).trained_
    finally:
        del MODELS["tied"]
    with pytest.raises(DataError, match=r"tied\.safetensors: it holds a 'tied', which is not known here. Register"):
        load(path)
    assert loaded.model.last.weight is loaded.model.first.weight
    torch.testing.assert_close(loaded.outputs(rings()), trained.outputs(rings()))


def test_double_precision_is_kept_in_files_and_predictions(tmp_path):
    torch.set_default_dtype(torch.float64)
    try:
        trained = train("gin", rings(), model_params=SMALL, settings=QUICK)
    finally:
        torch.set_default_dtype(torch.float32)
    loaded = load(estimator_of(trained).save(tmp_path / "double.safetensors")).trained_
    assert loaded.outputs(rings()).dtype == trained.outputs(rings()).dtype == torch.float64


def test_runs_with_numbers_of_numpy_can_be_resumed(tmp_path):
    place, settings = Place(tmp_path, resume=True), replace(QUICK, batch_size=np.int64(8))
    params = SMALL | {"layers": np.int64(1)}
    first, again = (train("gin", rings(), model_params=params, settings=settings, place=place) for _ in range(2))
    assert again.history == first.history

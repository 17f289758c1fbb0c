import math

import pytest
import torch
from torch import nn

from rwkplus.errors import DataError
from rwkplus.training.loop import RunState
from rwkplus.training.run_folder import Checkpoints
from rwkplus.training.targets import Classes, Numbers, metric_for

ACCURACY, MAE = metric_for(Classes((0, 1))), metric_for(Numbers((0.0,), (1.0,), True))
RUN = {"lr": 0.1, "model": "gin", "model_params": {"layers": 2}}


def kept(metric, *scores):
    """Epoch that is kept, and its weight, which counts epochs."""
    progress, model = RunState(metric), nn.Linear(1, 1, bias=False)
    for epoch, (score, loss) in enumerate(scores):
        with torch.no_grad():
            model.weight.fill_(epoch)
        progress.update({"epoch": epoch, "val_score": score, "val_loss": loss}, model)
    assert int(progress.weights["weight"]) == progress.epoch
    return progress.epoch


def test_the_best_score_wins_in_the_direction_of_the_metric():
    assert kept(ACCURACY, (0.5, 1), (0.9, 1), (0.7, 1)) == 1
    assert kept(MAE, (0.5, 1), (0.9, 1), (0.3, 1)) == 2


def test_ties_go_to_the_lower_loss_then_to_the_first():
    assert kept(ACCURACY, (0.9, 1.0), (0.9, 0.5), (0.9, 0.7), (0.8, 0.1)) == 1
    assert kept(ACCURACY, (0.9, 1.0), (0.9, 1.0)) == 0


def test_scores_that_are_not_defined_lose():
    assert kept(ACCURACY, (math.nan, 1), (0.1, 5), (math.nan, 0)) == 1
    assert kept(ACCURACY, (math.nan, 1), (math.nan, 0.5)) == 0


def test_without_validation_the_last_epoch_is_kept():
    progress, model = RunState(ACCURACY), nn.Linear(1, 1)
    for epoch in range(3):
        progress.update({"epoch": epoch, "train_loss": 0.1}, model)
    assert progress.epoch == 2


def checkpoints(folder, identity=RUN):
    return Checkpoints(folder / "run", identity, 0)


@pytest.fixture
def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    optimizer, progress = torch.optim.AdamW(model.parameters(), fused=True), RunState(ACCURACY)
    step(model, optimizer, progress, 0)
    return model, optimizer, progress


def step(model, optimizer, progress, epoch):
    optimizer.zero_grad()
    model(torch.arange(8.0).view(4, 2)).square().sum().backward()
    optimizer.step()
    progress.update({"epoch": epoch, "val_score": 0.5 + epoch, "val_loss": math.nan}, model)


def fresh():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    return model, torch.optim.AdamW(model.parameters(), fused=True), RunState(ACCURACY)


def test_a_saved_run_goes_on_as_if_nothing_had_happened(tmp_path, run):
    checkpoints(tmp_path).save(run[2], *run[:2])
    again = fresh()
    checkpoints(tmp_path).load(again[2], *again[:2])
    assert again[2].history[0]["val_score"] == 0.5
    for model, optimizer, progress in (run, again):
        step(model, optimizer, progress, 1)
    for name, value in run[0].state_dict().items():
        assert torch.equal(again[0].state_dict()[name], value)
        assert torch.equal(again[2].weights[name], run[2].weights[name])


def test_a_run_whose_names_are_no_text_goes_on(tmp_path, run):
    identity, again = RUN | {"model": "caf\udce9"}, fresh()
    checkpoints(tmp_path, identity).save(run[2], *run[:2])
    checkpoints(tmp_path, identity).load(again[2], *again[:2])
    assert again[2].epoch == 0


def test_another_run_is_refused_by_what_differs(tmp_path, run):
    checkpoints(tmp_path).save(run[2], *run[:2])
    again = fresh()
    with pytest.raises(DataError, match="belongs to another run: lr, model_params differ"):
        checkpoints(tmp_path, RUN | {"lr": 1, "model_params": {}}).load(again[2], *again[:2])


def test_a_network_of_other_size_is_refused(tmp_path, run):
    checkpoints(tmp_path).save(run[2], *run[:2])
    model = nn.Linear(2, 3)
    with pytest.raises(DataError, match="do not fit together"):
        checkpoints(tmp_path).load(RunState(ACCURACY), model, torch.optim.AdamW(model.parameters()))


def test_broken_files_are_refused(tmp_path, run):
    path = tmp_path / "run"
    checkpoints(tmp_path).save(run[2], *run[:2])
    whole = path.read_bytes()
    torch.save({"state_dict": {}}, tmp_path / "pickle")
    for content in (b"", b"x" * 50, whole[:-1], whole[: len(whole) // 2], (tmp_path / "pickle").read_bytes()):
        path.write_bytes(content)
        again = fresh()
        with pytest.raises(DataError, match=r"(is not a checkpoint|is a pickle).* Remove it to start over\."):
            checkpoints(tmp_path).load(again[2], *again[:2])

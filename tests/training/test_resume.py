"""A run that was interrupted, by an exception or by ``kill -9``, ends with the numbers of one that was not."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from rwkplus.errors import DataError, ParameterError
from rwkplus.training import GraphDataset, Place, train
from tests.training.toy import QUICK, SMALL, rings

pytestmark = pytest.mark.slow

PARAMS = SMALL | {"dropout": 0.3}
SETTINGS = replace(QUICK, epochs=9, halve_lr_every=2, validation=0.25)
FILES = ("history.csv", "model.safetensors")


class StopError(Exception):
    pass


def run(folder, *, stop_after=None, settings=SETTINGS, resume=True, graphs=None):
    def stop(progress):
        assert progress.phase == "epochs"
        assert progress.total == settings.epochs
        if progress.done == stop_after:
            raise StopError

    place = Place(folder, resume=resume, checkpoint_seconds=0)
    return train("gin", graphs or rings(), model_params=PARAMS, settings=settings, place=place, callback=stop)


def same(first, second):
    theirs = second.model.state_dict()
    assert all(torch.equal(value, theirs[name]) for name, value in first.model.state_dict().items())
    assert (first.history, first.best_epoch) == (second.history, second.best_epoch)
    assert first.validation == second.validation


@pytest.mark.parametrize("stops", [(1,), (4,), (8,), (2, 3, 7)])
def test_an_interrupted_run_ends_like_an_uninterrupted_one(tmp_path, stops):
    whole = run(tmp_path / "whole")
    for stop in stops:
        with pytest.raises(StopError):
            run(tmp_path / "parts", stop_after=stop)
    assert (tmp_path / "parts" / "resume.safetensors").exists()
    same(whole, run(tmp_path / "parts"))
    for folder in ("whole", "parts"):
        assert sorted(path.name for path in (tmp_path / folder).iterdir()) == sorted(FILES)


def test_a_finished_run_is_not_run_again(tmp_path):
    whole = run(tmp_path)
    stamps = [(tmp_path / name).stat().st_mtime_ns for name in FILES]
    same(whole, run(tmp_path, stop_after=1))
    assert [(tmp_path / name).stat().st_mtime_ns for name in FILES] == stamps


def test_without_resume_a_run_starts_anew(tmp_path):
    with pytest.raises(StopError):
        run(tmp_path, stop_after=5)
    seen = []
    place = Place(tmp_path)
    train("gin", rings(), model_params=PARAMS, settings=SETTINGS, place=place, callback=seen.append)
    assert seen[0].values["epoch"] == 0


def test_more_epochs_can_be_asked_for(tmp_path):
    whole = run(tmp_path / "whole")
    with pytest.raises(StopError):
        run(tmp_path / "parts", stop_after=3, settings=replace(SETTINGS, epochs=5))
    same(whole, run(tmp_path / "parts"))


def test_more_epochs_make_another_cosine(tmp_path):
    cosine = replace(SETTINGS, lr_schedule="cosine")
    with pytest.raises(StopError):
        run(tmp_path, stop_after=3, settings=cosine)
    with pytest.raises(DataError, match="belongs to another run: epochs differ"):
        run(tmp_path, settings=replace(cosine, epochs=12))
    run(tmp_path, settings=cosine)


def test_a_finished_run_cannot_be_prolonged(tmp_path):
    run(tmp_path)
    with pytest.raises(ParameterError, match="a run of 9 epochs that is complete: start a new one for 12"):
        run(tmp_path, settings=replace(SETTINGS, epochs=12))


def _rewired():
    """The same labels and numbers of nodes, other edges."""
    graphs = rings()
    graphs[3].edge_index = graphs[3].edge_index.roll(1, 1)
    return graphs


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"settings": replace(SETTINGS, lr=0.5)}, "lr"),
        ({"graphs": rings(26)}, "graphs"),
        ({"graphs": _rewired()}, "graphs"),
        ({"graphs": GraphDataset(rings(), balance="logits")}, "balance"),
        ({"graphs": GraphDataset(rings(), positive=0)}, "positive"),
    ],
)
@pytest.mark.parametrize("stop", [3, None])
def test_another_run_is_not_resumed(tmp_path, change, name, stop):
    if stop is None:
        run(tmp_path)
    else:
        with pytest.raises(StopError):
            run(tmp_path, stop_after=stop)
    with pytest.raises(DataError, match=f"belongs to another run: {name} differ"):
        run(tmp_path, **change)


@pytest.mark.parametrize(("change", "name"), [({"loss": "absolute"}, "loss"), ({"task": "counting"}, "task")])
def test_another_goal_is_not_resumed(tmp_path, change, name):
    goal = {"task": "regression"}
    with pytest.raises(StopError):
        run(tmp_path, stop_after=2, graphs=GraphDataset(rings(), **goal))
    with pytest.raises(DataError, match=f"belongs to another run: {name} differ"):
        run(tmp_path, graphs=GraphDataset(rings(), **goal | change))


SCRIPT = """
import sys, time
from dataclasses import replace
from pathlib import Path
from tests.training.test_resume import PARAMS, SETTINGS
from tests.training.toy import rings
from rwkplus.training import Place, train
def slowly(progress):
    print(progress.values["epoch"], flush=True)
    time.sleep(0.1)
train("gin", rings(), model_params=PARAMS, settings=SETTINGS, callback=slowly,
      place=Place(Path(sys.argv[1]), resume=True, checkpoint_seconds=0))
"""


def test_a_killed_process_is_resumed(tmp_path):
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        for line in process.stdout:
            if int(line) == 3:
                time.sleep(0.05)
                os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "model.safetensors").exists()
    same(run(tmp_path / "whole"), run(tmp_path))

"""Several processes on this machine (gloo, CPU) do what one does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from rwkplus.errors import ParameterError
from rwkplus.training import cross_validate
from tests.training.shared_run import recorded_runs
from tests.training.toy import QUICK, rings

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def test_two_processes_have_the_gradients_of_one(tmp_path):
    """Batches and labels are shared unevenly: nothing hangs, and no graph counts more than another."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [sys.executable, *launcher, "-m", "tests.training.shared_run", str(tmp_path)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    alone = recorded_runs()
    for rank in (0, 1):
        shared = torch.load(tmp_path / f"{rank}.pt", weights_only=True)
        assert shared["world"] == 2
        assert len(shared["gradients"]) == 2 * 3 * 4
        for name, expected in alone.items():
            torch.testing.assert_close(shared[name], expected, rtol=1e-7, atol=1e-9)


def test_folds_run_in_parallel_or_share_devices():
    from dataclasses import replace

    with pytest.raises(ParameterError, match="use one of them"):
        cross_validate("gin", rings(), settings=replace(QUICK, devices=2), n_jobs=2)

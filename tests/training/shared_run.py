"""Train in as many processes as torchrun starts, and write every gradient to a file."""

import sys
from dataclasses import replace

import numpy as np
import torch

from rwkplus.tensors import rank_and_world
from rwkplus.training import train
from rwkplus.training.loop import GraphTask
from tests.training.toy import QUICK, SMALL, rings

SETTINGS = replace(QUICK, batch_size=5, epochs=3, validation=0.2)


def labels(graphs):
    """Questions whose gaps make the processes know different numbers of answers."""
    y = np.array([[i % 2, 1 - i % 2] for i in range(len(graphs))], float)
    y[: len(graphs) // 2, 0] = np.nan
    return y


def recorded_runs():
    """Gradients of every step, and histories, of a classification and a multi-task run with uneven batches."""
    gradients = []

    class Recording(torch.optim.AdamW):
        def step(self, closure=None):
            gradients.append(torch.cat([p.grad.flatten() for group in self.param_groups for p in group["params"]]))
            return super().step(closure)

    def optimizer(task):
        return Recording(task.parameters(), lr=SETTINGS.lr)

    before, GraphTask.optimizer = GraphTask.optimizer, optimizer
    torch.set_default_dtype(torch.float64)
    try:
        graphs = rings(23)  # 18 to train on: batches of 5, 5, 4, 4
        runs = [train("gin", graphs, y, model_params=SMALL, settings=SETTINGS) for y in (None, labels(graphs))]
    finally:
        GraphTask.optimizer = before
        torch.set_default_dtype(torch.float32)
    rows = [[row["train_loss"], row["val_loss"], row["val_score"]] for run in runs for row in run.history]
    return {"gradients": torch.stack(gradients), "rows": torch.tensor(rows, dtype=torch.float64)}


if __name__ == "__main__":
    torch.set_num_threads(1)
    results = recorded_runs()
    rank, world = rank_and_world()
    torch.save(results | {"world": world}, f"{sys.argv[1]}/{rank}.pt")

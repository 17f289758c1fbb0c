"""Train on parts of a graph in as many processes as torchrun starts, and write every gradient to a file."""

import sys

import numpy as np
import torch
from torch_geometric.data import Data

from rwkplus.large import ClusterLoader, NeighborLoader
from rwkplus.large.csr_graph import CSRGraph
from rwkplus.tensors import rank_and_world
from rwkplus.training.large_graphs import Cutting, SampledTask, train_sampled
from rwkplus.training.loop import Settings

SETTINGS = Settings(epochs=2, batch_size=8, lr=0.02, halve_lr_every=0, threads=1, accelerator="cpu")
CUTS = {
    "neighbors": Cutting("neighbors", num_neighbors=(3, 2)),
    "clusters": Cutting("clusters", cluster_size=4),
}
PARTS = 2


def ring_of_two_kinds(n=46):
    """A ring with chords: 32 nodes to train on, in batches of 8; the kind is that of the color around."""
    draw = torch.Generator().manual_seed(0)
    nodes = torch.arange(n)
    one_way = torch.cat([torch.stack([nodes, (nodes + k) % n]) for k in (1, 3)], 1)
    y = (nodes % 5 < 2).long()
    x = torch.rand(n, 3, generator=draw, dtype=torch.float64) + y[:, None]
    masks = {"train_mask": nodes < 31, "val_mask": (nodes >= 31) & (nodes < 39), "test_mask": nodes >= 39}
    return CSRGraph.of(Data(x=x, y=y, edge_index=torch.cat([one_way, one_way.flip(0)], 1), **masks))


def in_one_process(loader):
    """What two processes get of each batch, side by side in one."""
    share, epoch = loader.share, loader.epoch
    if share()[1] == PARTS:
        yield from type(loader).__mro__[1].__iter__(loader)
        return
    parts = []
    for rank in range(PARTS):
        loader.share, loader.epoch = (lambda rank=rank: (rank, PARTS)), epoch
        parts.append(list(type(loader).__mro__[1].__iter__(loader)))
    loader.share = share
    for together in zip(*parts, strict=True):
        yield side_by_side(together)


def side_by_side(parts):
    """Disjoint graphs as one, those nodes first that batches were drawn for."""
    starts = np.cumsum([0, *(part.num_nodes for part in parts)])
    first = torch.cat([torch.arange(part.num_nodes) < part.batch_size for part in parts])
    order = torch.cat([first.nonzero().flatten(), (~first).nonzero().flatten()])
    place = torch.empty_like(order)
    place[order] = torch.arange(order.numel())
    edges = torch.cat([part.edge_index + start for part, start in zip(parts, starts, strict=False)], 1)
    x, y = (torch.cat([part[name] for part in parts])[order] for name in ("x", "y"))
    return Data(x=x, y=y, edge_index=place[edges], batch_size=sum(part.batch_size for part in parts))


def recorded_runs():
    """Gradients of all steps and scores of all epochs, for both ways of making batches."""
    gradients, rows = [], []

    class Recording(torch.optim.AdamW):
        def step(self, closure=None):
            gradients.append(torch.cat([p.grad.flatten() for group in self.param_groups for p in group["params"]]))
            return super().step(closure)

    kept = SampledTask.optimizer, [cls.__iter__ for cls in (NeighborLoader, ClusterLoader)]
    SampledTask.optimizer = lambda task: Recording(task.parameters(), lr=SETTINGS.lr)
    NeighborLoader.__iter__ = ClusterLoader.__iter__ = in_one_process
    torch.set_default_dtype(torch.float64)
    try:
        for cutting in CUTS.values():
            result = train_sampled(
                ring_of_two_kinds(),
                {"hidden_channels": 4, "conv": "RWKPlusConv"},
                settings=SETTINGS,
                cutting=cutting,
                class_weights=(1.0, 5.0),
            )
            scores = [part[name] for part in (result.validation, result.test) for name in ("positive_f1", "roc_auc")]
            rows += [[row["train_loss"], row["val_loss"], row["val_score"], *scores] for row in result.history]
    finally:
        torch.set_default_dtype(torch.float32)
        SampledTask.optimizer = kept[0]
        NeighborLoader.__iter__, ClusterLoader.__iter__ = kept[1]
    return {"gradients": torch.stack(gradients), "rows": torch.tensor(rows, dtype=torch.float64)}


if __name__ == "__main__":
    torch.set_num_threads(1)
    results = recorded_runs()
    rank, world = rank_and_world()
    torch.save(results | {"world": world}, f"{sys.argv[1]}/{rank}.pt")

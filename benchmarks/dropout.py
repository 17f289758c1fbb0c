"""Dropout in the training of a backbone on molecules: torch's draws beside 16 random bits for each entry."""

from functools import partial

import torch
from torch.nn import functional
from torch_geometric.data import Batch

from benchmarks.kernel_conv import interleaved_milliseconds
from benchmarks.measure import record
from rwkplus.datasets import load_molhiv
from rwkplus.models import GNN, gnn
from rwkplus.models.gnn import dropout

GRAPHS, CHANNELS, SHARE = 128, 128, 0.5


def main():
    """Time the function alone and a training step, both in turns."""
    molecules = load_molhiv()
    batch = Batch.from_data_list(molecules.graphs[:GRAPHS])
    torch.manual_seed(0)
    x = torch.randn(batch.num_nodes, CHANNELS, requires_grad=True)
    network = GNN(9, 1, categories=molecules.categories, hidden_channels=CHANNELS, dropout=SHARE)

    def step(way):
        gnn.dropout = way
        network(batch).sum().backward()

    works = {
        "dropout alone": lambda way: way(x, SHARE).sum().backward(),
        "training step of a GNN with two RWKPlusConv": step,
    }
    rows = []
    for name, work in works.items():
        torch_ms, bits_ms = interleaved_milliseconds([partial(work, way) for way in (functional.dropout, dropout)])
        rows.append({"work": name, "torch ms": torch_ms, "bits ms": bits_ms, "times faster": torch_ms / bits_ms})
    about = f"Forward and backward, {GRAPHS} molecules of ogbg-molhiv, {CHANNELS} channels, one thread."
    record("dropout", "Dropout on the CPU", about, rows)


if __name__ == "__main__":
    main()

"""RWKPlusConv with the bonds of molhiv: all pairs of node and color, or those that occur."""

import torch
from torch_geometric.data import Batch

from benchmarks.kernel_conv import interleaved_milliseconds
from benchmarks.measure import record
from rwkplus.datasets import load_molhiv
from rwkplus.models.gnn import OneHots
from rwkplus.nn import RWKPlusConv
from rwkplus.nn import conv_operator as operators

GRAPHS, CHANNELS, STEPS = 128, 128, 2


def main():
    """Go forward and backward with both, in turns."""
    molecules = load_molhiv()
    batch = Batch.from_data_list(molecules.graphs[:GRAPHS])
    bonds = OneHots(molecules.edge_categories, "edge_attr")(batch.edge_attr)
    torch.manual_seed(0)
    x, layer = torch.randn(batch.num_nodes, CHANNELS), RWKPlusConv(CHANNELS, CHANNELS, STEPS, edge_dim=bonds.size(1))

    def step(most_pairs):
        operators.MOST_PAIRS = most_pairs
        layer(x, batch.edge_index, edge_attr=bonds).sum().backward()

    chosen = operators.MOST_PAIRS
    all_ms, occurring_ms = interleaved_milliseconds([lambda: step(0.0), lambda: step(chosen)])
    row = {
        "colors": bonds.size(1),
        "all pairs ms": all_ms,
        "occurring ms": occurring_ms,
        "ratio": all_ms / occurring_ms,
    }
    about = f"Forward and backward, {GRAPHS} molecules, {CHANNELS} channels, {STEPS} steps, one thread."
    record("edge_colors", "Edge colors of RWKPlusConv on ogbg-molhiv", about, [row])


if __name__ == "__main__":
    main()

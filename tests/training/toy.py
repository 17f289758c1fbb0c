"""Small labelled databases that a small network learns in a moment."""

import torch
from torch_geometric.data import Data

from rwkplus.training import Settings

QUICK = Settings(epochs=4, batch_size=8, lr=0.02, threads=1, accelerator="cpu")
SMALL = {"hidden_channels": 4, "layers": 1}


def rings(num_graphs=24, *, seed=0, edge_attr=False):
    """Rings of 3 to 7 nodes with two colors; the class is the more frequent color, ``value`` its surplus."""
    draw = torch.Generator().manual_seed(seed)
    graphs = []
    for i in range(num_graphs):
        n = int(torch.randint(3, 8, (1,), generator=draw))
        nodes = torch.arange(n)
        one_way = torch.stack([nodes, (nodes + 1) % n])
        colors = torch.rand(n, generator=draw) < (0.8 if i % 2 else 0.2)
        graph = Data(
            x=torch.nn.functional.one_hot(colors.long(), 2).float(),
            edge_index=torch.cat([one_way, one_way.flip(0)], 1),
            y=torch.tensor([i % 2]),
            node_label_names=("blue", "red"),
        )
        if edge_attr:
            graph.edge_attr = torch.ones(2 * n, 1)
        graphs.append(graph)
    return graphs


def surplus(graphs):
    """A number per graph: red nodes minus blue ones."""
    return [float(graph.x[:, 1].sum() - graph.x[:, 0].sum()) for graph in graphs]

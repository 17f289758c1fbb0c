"""Learn from a graph on disk that may be larger than memory: in clusters, then in neighborhoods by a loop of your own.

Run: python examples/05_large_graph.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch.nn.functional import cross_entropy

from rwkplus.large import CSRGraph, NeighborLoader, WebGraph
from rwkplus.models import GNN
from rwkplus.training import Settings, layerwise_outputs, train_sampled

NODES = 20_000  # or 1_000_000: docs/results/speed.md has time and memory

with TemporaryDirectory() as folder:
    # Yours: CSRGraph.of(data).save("graph") for PyG's Data with x, y, train_mask, val_mask and test_mask.
    WebGraph(nodes=NODES).write(Path(folder) / "graph")
    graph = CSRGraph.open(Path(folder) / "graph")  # mapped, not read
    print(f"{graph.num_nodes:,} users, {graph['y'].mean():.0%} of them bots, {graph.num_edges:,} directed edges")

    # A lean loop on Lightning Fabric: clusters of nodes as batches, several processes with torchrun.
    settings = Settings(epochs=3, batch_size=2_000, lr=3e-3, threads=1)
    result = train_sampled(graph, {"hidden_channels": 32}, settings=settings, class_weights=(1.0, 5.0))
    print(f"clusters: ROC-AUC {result.test['roc_auc']:.2f} on test users, epoch {result.best_epoch}")
    result.save(Path(folder) / "bots.safetensors")

    # Or your own: batches are PyG's Data, their first batch_size nodes are the ones to learn from.
    model = GNN(graph["x"].shape[1], 2, level="node", hidden_channels=32)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for batch in NeighborLoader(graph, [10, 5], input_nodes=graph["train_mask"], batch_size=1_000, random_state=0):
        optimizer.zero_grad()
        own = slice(0, batch.batch_size)
        cross_entropy(model(batch)[own], batch.y[own].long()).backward()
        optimizer.step()

    outputs = layerwise_outputs(model, graph)  # all nodes, one layer at a time
    suspects = outputs.softmax(1)[:, 1].topk(3)
    print("neighbors: most suspicious users", suspects.indices.tolist(), [f"{p:.2f}" for p in suspects.values.tolist()])

"""
A graph larger than memory
==========================

If a graph is too large for memory, write it to disk once and then read it in clusters or neighborhoods. This example
generates a social network with bots and learns to find them. It has 100,000 users; for a million, set
``RWKPLUS_EXAMPLE_NODES=1000000`` (time and memory are in :doc:`/results/speed` and :doc:`/results/twibot`). Needs
``rwkplus[nn]`` and ``rwkplus[plot]``.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import torch
from sklearn.metrics import RocCurveDisplay
from torch.nn.functional import cross_entropy

from rwkplus.large import CSRGraph, NeighborLoader, WebGraph
from rwkplus.models import GNN
from rwkplus.training import Settings, layerwise_outputs, train_sampled

torch.set_num_threads(1)
NODES = int(os.environ.get("RWKPLUS_EXAMPLE_NODES", "100000"))
folder = TemporaryDirectory()

# %%
# Write a graph to disk
# ---------------------
# For a graph of your own, use ``CSRGraph.of(data).save("graph")``, where ``data`` is a PyG ``Data`` with ``x``, ``y``,
# ``train_mask``, ``val_mask`` and ``test_mask``.

WebGraph(nodes=NODES).write(Path(folder.name) / "graph")
graph = CSRGraph.open(Path(folder.name) / "graph")  # memory-mapped
print(f"{graph.num_nodes:,} users, {graph['y'].mean():.0%} of them bots, {graph.num_edges:,} directed edges")

# %%
# Train on clusters
# -----------------
# ``train_sampled`` uses clusters of nodes as batches. Started with ``torchrun``, several processes share the work.

settings = Settings(epochs=2, batch_size=NODES // 10, lr=3e-3, threads=1)
result = train_sampled(graph, {"hidden_channels": 32}, settings=settings, class_weights=(1.0, 5.0))
print(f"clusters: ROC-AUC {result.test['roc_auc']:.2f} on test users, epoch {result.best_epoch}")

# %%
# Write your own loop
# -------------------
# Batches are PyG ``Data`` whose first ``batch_size`` nodes are the training nodes. In the end, all nodes are scored one
# layer at a time.

model = GNN(graph["x"].shape[1], 2, level="node", hidden_channels=32)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for batch in NeighborLoader(graph, [10, 5], input_nodes=graph["train_mask"], batch_size=1_000, random_state=0):
    optimizer.zero_grad()
    own = slice(0, batch.batch_size)
    cross_entropy(model(batch)[own], batch.y[own].long()).backward()
    optimizer.step()
scores = layerwise_outputs(model, graph).softmax(1)[:, 1].numpy()
suspects = scores.argsort()[::-1][:3]
print("neighbors: most suspicious users", suspects.tolist(), [f"{scores[v]:.2f}" for v in suspects])

# %%
# Plot the accuracy
# -----------------

test = graph["test_mask"].astype(bool)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
RocCurveDisplay.from_predictions(graph["y"][test], scores[test], name="neighborhoods", ax=left, plot_chance_level=True)
for kind, name, color in ((0, "users", "#8a969e"), (1, "bots", "#cc3b33")):
    chosen = scores[test & (graph["y"] == kind)]
    right.hist(chosen, bins=40, range=(0, 1), density=True, alpha=0.75, color=color, label=name)
right.set_xlabel("predicted probability of a bot, test users")
right.set_ylabel("density")
right.legend(frameon=False)
plt.show()
folder.cleanup()

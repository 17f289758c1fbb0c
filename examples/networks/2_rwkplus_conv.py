"""
Replace GCNConv with RWKPlusConv
================================

PyG's two-layer example for Cora, first as it is, then with a different import and class name. On this split, with 20
labels per class, GCNConv is ahead: RWKPlusConv has more parameters and works better with more labels, BatchNorm and a
final linear layer (:class:`rwkplus.models.GNN`). Needs ``rwkplus[nn]`` and ``rwkplus[plot]``.

Cora is read from ``RWKPLUS_DATA`` or downloaded by PyG. If neither works, PyG's karate club is used instead, which is
too small for a comparison.
"""

import os

import matplotlib.pyplot as plt
import torch
from sklearn.decomposition import PCA
from torch.nn.functional import cross_entropy, dropout
from torch_geometric.datasets import KarateClub
from torch_geometric.nn import GCNConv
from torch_geometric.transforms import NormalizeFeatures

from rwkplus import RWKPlusConv
from rwkplus.datasets import load_nodes
from rwkplus.errors import DataError

torch.set_num_threads(1)  # a second thread does not help with a small graph
EPOCHS = int(os.environ.get("RWKPLUS_EXAMPLE_EPOCHS", "60"))


class Network(torch.nn.Module):
    """Two convolutions; the second returns one score per class."""

    def __init__(self, conv, in_channels, out_channels):
        super().__init__()
        self.conv1 = conv(in_channels, 16, cached=True)
        self.conv2 = conv(16, out_channels, cached=True)

    def forward(self, x, edge_index):
        """Logits of every node."""
        x = dropout(x, 0.5, self.training)
        x = self.conv1(x, edge_index).relu()
        x = dropout(x, 0.5, self.training)
        return self.conv2(x, edge_index)


try:
    data = NormalizeFeatures()(load_nodes("Cora"))
except DataError as error:  # no network either
    print(error)
    data = KarateClub()[0]
    data.val_mask = data.test_mask = ~data.train_mask
print(data)

# %%
# Train both in the same way
# --------------------------
# The epoch is chosen by the validation nodes. Test nodes are only used for the plot and the final accuracy.


def train(conv):
    """The trained network, and its accuracy on validation and test nodes after every epoch."""
    torch.manual_seed(0)
    model = Network(conv, data.num_features, int(data.y.max()) + 1)
    layers = [{"params": model.conv1.parameters(), "weight_decay": 5e-4}, {"params": model.conv2.parameters()}]
    optimizer = torch.optim.Adam(layers, lr=0.01)
    course = []
    for _ in range(EPOCHS):
        model.train()
        optimizer.zero_grad()
        out = model(data.x, data.edge_index)
        cross_entropy(out[data.train_mask], data.y[data.train_mask]).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            correct = (model(data.x, data.edge_index).argmax(1) == data.y).float()
        course.append([float(correct[mask].mean()) for mask in (data.val_mask, data.test_mask)])
    return model, torch.tensor(course)


trained = {conv.__name__: train(conv) for conv in (GCNConv, RWKPlusConv)}
for name, (_, course) in trained.items():
    print(f"{name:12} {course[course[:, 0].argmax(), 1]:.3f} accuracy on test nodes")

# %%
# Compare the results
# -------------------
# On the left is the test accuracy during training; dots mark the chosen epochs. Next to it are the test nodes, placed
# by the output of each network (PCA) and colored by their true classes.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for (name, (model, course)), ax, color in zip(trained.items(), axes[1:], ("#8a969e", "#3567c4"), strict=True):
    best = int(course[:, 0].argmax())
    axes[0].plot(range(1, len(course) + 1), course[:, 1], color=color, label=name)
    axes[0].plot(best + 1, course[best, 1], "o", color=color)
    with torch.no_grad():
        places = PCA(2).fit_transform(model(data.x, data.edge_index).log_softmax(1))
    ax.scatter(*places[data.test_mask].T, c=data.y[data.test_mask], cmap="tab10", s=6)
    ax.set_title(name, fontsize=10)
    ax.set_xticks([])
    ax.set_yticks([])
axes[0].set_xlabel("epoch")
axes[0].set_ylabel("accuracy on test nodes")
axes[0].legend(frameon=False, loc="lower right")
plt.show()

# %%
# One run is an anecdote: :doc:`/results/nodes` has several seeds, more data sets, the paper's backbone and paired
# tests.

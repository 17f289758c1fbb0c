"""
The hidden graphs of a KerGNN
=============================

A KerGNN compares the neighborhood of every node with hidden graphs whose edges and labels are learned. You can draw
them to see what the network responds to. The two classes here differ in one group, nitro or its isomer nitrite. Both
have the same atoms, so counting atoms does not help. Needs ``rwkplus[nn]`` and ``rwkplus[plot]``.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np

from rwkplus import GraphClassifier, load, load_graphs
from rwkplus.drawing import GraphsDisplay, graphs_to_draw
from rwkplus.reports import write_network_report
from rwkplus.training.matches import match_hidden_graphs

graphs = load_graphs("functional-groups")
y = np.where(graphs.y == 1, "nitrite", "nitro")

# %%
# Train, save, load
# -----------------

model = GraphClassifier("kergnn", model_params={"steps": 3}, epochs=30, ignore=("edges.label",), random_state=0)
model.fit(graphs[:150], y[:150])
with TemporaryDirectory() as place:
    model = load(model.save(Path(place) / "model.safetensors"))
    page = write_network_report(Path(place) / "network.html", model, graphs[150:], "functional groups")
    print(f"{page.name}: {page.stat().st_size:,} bytes")
print(f"accuracy on 50 unseen graphs: {np.mean(model.predict(graphs[150:]) == y[150:]):.2f}")

# %%
# Draw the hidden graphs
# ----------------------
# Each node shows the label that it responds to most. Darker edges have larger weights.

found = match_hidden_graphs(model.trained_, graphs[150:])
found.plot()
plt.show()

# %%
# Draw what matches them
# ----------------------
# The best match of each of the first three hidden graphs. The stronger the color of a node, the better the match.

best = [found.strongest(k, 1)[0] for k in range(3)]
titles = [f"hidden graph {k + 1}: a {y[150 + i]} compound" for k, i in enumerate(best)]
GraphsDisplay(graphs_to_draw(graphs[150:][best]), titles, [found.strength(i, k) for k, i in enumerate(best)]).plot()
plt.show()

"""
The hidden graphs of a KerGNN
=============================

A kernel network compares the neighborhood of every node with hidden graphs whose edges and labels are learned. They
can be looked at. The classes here differ in one group: nitro, or nitrite, its isomer with the same atoms and bonds,
so that counting atoms says nothing. Needs ``rwkplus[nn]`` and ``rwkplus[plot]``.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from rwkplus import GraphClassifier, load, load_graphs
from rwkplus.drawing import label_colors
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
# Hidden graphs, and what matches them
# ------------------------------------
# On the left, hidden graphs: a node shows the label it responds to most, an edge is as dark as its weight. On the
# right, the graph with the best match of each: the larger a node, the better its neighborhood matches.

found = match_hidden_graphs(model.trained_, graphs[150:])
molecules = graphs[150:].to_networkx()
COLORS = label_colors(["C", "N", "O"])
figure, axes = plt.subplots(3, 2, figsize=(8, 9), layout="constrained", width_ratios=(2, 3))
for k, (left, right) in enumerate(axes):
    hidden = found.hidden[k]
    places = nx.circular_layout(hidden)
    weights = [hidden.edges[edge].get("weight", 1.0) for edge in hidden.edges]
    shown = [COLORS[hidden.nodes[v]["label"]] for v in hidden]
    nx.draw_networkx_nodes(hidden, places, node_color=shown, node_size=350, ax=left)
    nx.draw_networkx_labels(hidden, places, nx.get_node_attributes(hidden, "label"), font_color="white", ax=left)
    nx.draw_networkx_edges(hidden, places, alpha=weights, width=3, ax=left)
    left.set_title(f"hidden graph {k + 1}", fontsize=10)
    i = found.strongest(k, 1)[0]
    strength = found.strength(i, k)
    places = nx.kamada_kawai_layout(molecules[i])
    shown = [COLORS[molecules[i].nodes[v]["label"]] for v in molecules[i]]
    nx.draw_networkx_edges(molecules[i], places, edge_color="#8a969e", ax=right)
    sizes = [40 + 260 * strength[v] for v in molecules[i]]
    nx.draw_networkx_nodes(molecules[i], places, node_color=shown, node_size=sizes, ax=right)
    nx.draw_networkx_labels(
        molecules[i], places, nx.get_node_attributes(molecules[i], "label"), font_color="white", font_size=8, ax=right
    )
    right.set_title(f"best match: a {y[150 + i]} compound", fontsize=10)
for ax in axes.flat:
    ax.margins(0.15)
    ax.set_axis_off()
plt.show()

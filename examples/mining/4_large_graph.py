"""
Motifs in one large graph
=========================

A miner can also search a single graph. It then counts occurrences and the minimum-image support: the number of
distinct nodes in the rarest position of the pattern. The network here is random, except for some hidden triangles of
a courier and two accounts. Needs ``rwkplus[plot]``.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from rwkplus import PatternMiner

rng = np.random.default_rng(0)
network = nx.gnm_random_graph(3_000, 5_000, seed=0)
nx.set_node_attributes(
    network, {v: str(rng.choice(["account", "shop", "courier"], p=[0.5, 0.4, 0.1])) for v in network}, "label"
)
for _ in range(60):
    courier, *accounts = (len(network) + k for k in range(3))
    network.add_node(courier, label="courier")
    network.add_nodes_from(accounts, label="account")
    network.add_edges_from([(courier, accounts[0]), (courier, accounts[1]), tuple(accounts)])
    network.add_edges_from((v, int(rng.integers(3_000))) for v in (courier, *accounts))
print(network)

# %%
# Mine
# ----
# Patterns grow as long as they occur more often than by chance, which is estimated from rewired copies of the network.

miner = PatternMiner(n_patterns=3, random_state=0).fit([network])
for pattern in miner.patterns_:
    print(pattern)
print(
    f"best scores by chance: {miner.control_.round(1).tolist()}, found: {[round(p.score, 1) for p in miner.patterns_]}"
)

# %%
# Draw the pattern and its first occurrences
# ------------------------------------------

pattern = miner.patterns_[0]
colors = {"account": "#3567c4", "shop": "#8a969e", "courier": "#cc3b33"}
figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
pattern.plot(axes[0])
for ax, occurrence in zip(axes[1:], pattern.occurrences, strict=False):
    near = nx.ego_graph(network, occurrence.nodes[0], 2)
    places = nx.kamada_kawai_layout(near)
    nx.draw_networkx_edges(near, places, ax=ax, edge_color="#b8c0c6")
    inside = set(occurrence.nodes)
    for nodes, size in (([v for v in near if v not in inside], 40), ([v for v in near if v in inside], 180)):
        shown = [colors[near.nodes[v]["label"]] for v in nodes]
        nx.draw_networkx_nodes(near, places, nodes, node_size=size, node_color=shown, ax=ax)
    ax.set_title(f"nodes {', '.join(map(str, occurrence.nodes))}", fontsize=10)
    ax.set_axis_off()
plt.show()

"""
Score a stream of graphs
========================

A fitted detector scores graphs as they arrive: each line of JSON is answered with a line of JSON, in constant memory.
``rwkplus detect --stream`` does the same on the command line. Needs ``rwkplus[plot]``.
"""

import io
import json

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from rwkplus import SurpriseDetector
from rwkplus.detect.stream import score_stream

rng = np.random.default_rng(0)


def purchases(number, *, odd=False):
    """Customers who pay a shop; if ``odd``, two of them pay each other as well."""
    graph = nx.star_graph(int(rng.integers(3, 7)))
    nx.set_node_attributes(graph, {v: "customer" if v else "shop" for v in graph}, "label")
    if odd:
        graph.add_edge(1, 2)
    graph.graph["name"] = f"hour {number}"
    return graph


detector = SurpriseDetector(contamination=0.01).fit([purchases(number) for number in range(300)])

# %%
# Score a stream
# --------------
# This works with any file or pipe. A broken line is answered with an error, and the stream continues.

arriving = [purchases(number, odd=number in (60, 151)) for number in range(200)]
lines = [json.dumps({"id": graph.name} | nx.node_link_data(graph, edges="edges")) for graph in arriving]
lines[100] = lines[100][:40]
answers = io.StringIO()
counts = score_stream(detector, io.BytesIO("\n".join(lines).encode()), answers, explain=True)
print(counts)
records = [json.loads(line) for line in answers.getvalue().splitlines()]
for record in records:
    if record.get("anomaly") or "error" in record:
        print(record)

# %%
# Plot the scores
# ---------------
# In a stream, higher scores are more anomalous.

scores = np.array([record.get("score", np.nan) for record in records])
odd = np.array([bool(record.get("anomaly")) for record in records])
figure, ax = plt.subplots(figsize=(9, 3), layout="constrained")
ax.plot(scores, color="#8a969e", linewidth=1, label="score")
ax.plot(np.flatnonzero(odd), scores[odd], "o", color="#cc3b33", label="anomaly")
ax.axhline(-detector.offset_, color="#444", linestyle="--", linewidth=1, label="threshold")
for place in np.flatnonzero([("error" in record) for record in records]):
    ax.axvline(place, color="#d97a1d", linewidth=1, label="broken line")
ax.set_xlabel("graphs in order of arrival")
ax.legend(frameon=False, ncols=4, loc="upper center")
ax.margins(y=0.3)
plt.show()

"""Find the graphs that do not look like the rest, see why, and judge graphs that come later.

Run: python examples/04_detect.py
"""

import networkx as nx

from rwkplus.datasets import anomalous_molecules
from rwkplus.detect import SurpriseDetector, load_detector
from rwkplus.reports import write_detection_report

graphs, planted = anomalous_molecules()  # or graphs of your own in any form; one in twenty is spoiled
detector = SurpriseDetector(contamination=0.05).fit(graphs)

flagged = sorted(detector.labels_.nonzero()[0], key=lambda i: -detector.decision_scores_[i])
for i, why in zip(flagged[:5], detector.explain(graphs[flagged[:5]]), strict=True):
    print(f"graph {i}, score {detector.decision_scores_[i]:.1f}: nodes {why.nodes}; planted: {planted[i]}")

path = detector.save("detector.safetensors")
ether = nx.path_graph(3)  # no molecule of the database has an oxygen between two carbons
nx.set_node_attributes(ether, {0: "C", 1: "O", 2: "C"}, "label")
nx.set_edge_attributes(ether, "-", "label")
print("an ether:", "anomaly" if load_detector(path).predict([ether])[0] == -1 else "usual")

page = write_detection_report("anomalies.html", detector, graphs, "molecules", detector.decision_scores_)
print(f"look at {page}")

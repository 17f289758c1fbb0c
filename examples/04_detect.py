"""Find the graphs that do not look like the rest, see why, and judge graphs that come later.

Run: python examples/04_detect.py
"""

import networkx as nx

from rwkplus.datasets import anomalous_molecules
from rwkplus.detect import SurpriseDetector
from rwkplus.reports import write_detection_report

graphs, planted = anomalous_molecules()  # or graphs of your own in any form; one in twenty is spoiled
detector = SurpriseDetector(contamination=0.05)
judged = detector.fit_judge(graphs)  # fit_predict(graphs) would tell -1 and 1

flagged = sorted(judged.flagged.nonzero()[0], key=lambda i: judged.scores[i])  # the lower, the more anomalous
for i, why in zip(flagged[:5], detector.explain(graphs[flagged[:5]]), strict=True):
    print(f"graph {i}, score {judged.scores[i]:.1f}: nodes {why.nodes}; planted: {planted[i]}")

path = detector.save("detector.safetensors")
ether = nx.path_graph(3)  # no molecule of the database has an oxygen between two carbons
nx.set_node_attributes(ether, {0: "C", 1: "O", 2: "C"}, "label")
nx.set_edge_attributes(ether, "-", "label")
print("an ether:", "anomaly" if SurpriseDetector.load(path).predict([ether])[0] == -1 else "usual")

page = write_detection_report("anomalies.html", detector, graphs, "molecules", judged)
print(f"look at {page}")

"""Train a kernel network on labelled graphs, save it, predict, and look at its hidden graphs.

Run: python examples/03_train.py
"""

from pathlib import Path

from rwkplus import GraphClassifier, load
from rwkplus.datasets import functional_groups
from rwkplus.reports import write_network_report

graphs = functional_groups(200)  # or networkx graphs, data frames, SMILES, PyG graphs, a file
y = ["nitrite" if y else "nitro" for y in graphs.y]

model = GraphClassifier("kergnn", model_params={"steps": 3}, epochs=30, ignore=("edges.label",), random_state=0)
model.fit(graphs[:150], y[:150])
print(f"accuracy on unseen graphs: {model.score(graphs[150:], y[150:]):.2f}")

path = model.save(Path("model.safetensors"))
trained = load(path)
print(trained.predict(graphs[150:155]).tolist())
print(f"look at {write_network_report('network.html', trained, graphs[150:], 'functional groups')}")

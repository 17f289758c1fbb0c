"""
Unusual molecules, with reasons
===============================

``SurpriseDetector`` learns which labels usually surround a node, and flags graphs in which the surroundings of a node
are improbable. The reason is a set of nodes, so it can be drawn. Needs ``rwkplus[chem]`` and ``rwkplus[plot]``.
"""

# %%
# Real molecules
# --------------
# RDKit includes the first 5,000 compounds of the NCI database. No one has marked unusual ones, so this is unsupervised.

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
from rdkit import RDConfig, RDLogger
from rdkit.Chem import MolFromSmiles

from rwkplus import GraphTable, SurpriseDetector, load
from rwkplus.datasets import anomalous_molecules
from rwkplus.detect import PyODDetector

RDLogger.DisableLog("rdApp.*")
lines = (Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi").read_text().splitlines()
molecules = [molecule for line in lines if (molecule := MolFromSmiles(line.split()[0]))]
graphs = GraphTable.of(molecules)
detector = SurpriseDetector(contamination=0.002)
judged = detector.fit_judge(graphs)
flagged = sorted(judged.flagged.nonzero()[0].tolist(), key=lambda i: judged.scores[i])
reasons = detector.explain(graphs[flagged])
print(f"{len(flagged)} of {len(graphs):,} molecules flagged")
for i, why in zip(flagged, reasons, strict=True):
    print(f"molecule {i}, score {judged.scores[i]:.1f}: atoms {why.nodes}")

# %%
# Draw the reasons
# ----------------
# The highlighted atoms are those with improbable neighbors, and these neighbors.

detector.plot_explanations(graphs[flagged[:6]])
plt.show()

# %%
# Check against planted anomalies
# -------------------------------
# In a generated set of molecule-like graphs, one in twenty was given an anomaly on purpose. How many are flagged?

generated, altered = anomalous_molecules()
planted = SurpriseDetector(contamination=0.05)
found = planted.fit_judge(generated)
hits = [altered[i] is not None for i in found.flagged.nonzero()[0]]
print(
    f"{sum(hits)} of {len(hits)} flagged graphs were altered, out of {sum(part is not None for part in altered)} in all"
)

planted.plot(generated)
plt.show()

# %%
# Save the detector and score a new molecule
# ------------------------------------------
# Like scikit-learn, ``predict`` returns -1 for outliers. ``PyODDetector`` returns 1, like PyOD.

with TemporaryDirectory() as place:
    later = load(detector.save(Path(place) / "detector.safetensors"))
print(later.predict(["CCO", "O=[Xe](=O)=O"]), PyODDetector(later).fit(graphs[:500]).predict(["CCO", "O=[Xe](=O)=O"]))

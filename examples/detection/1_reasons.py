"""
Molecules unlike the rest, and why
==================================

``SurpriseDetector`` learns which labels usually surround a node, and flags graphs with a node whose surroundings are
improbable. The reason is a set of nodes, so it can be drawn. Needs ``rwkplus[chem]`` and ``rwkplus[plot]``.
"""

# %%
# Real molecules
# --------------
# RDKit comes with the first 5,000 compounds of the NCI database. Nobody has said which are unusual.

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
# The reason, drawn
# -----------------
# Highlighted atoms are those whose neighbors are hard to explain, and these neighbors.

detector.plot_explanations(graphs[flagged[:6]])
plt.show()

# %%
# Where the truth is known
# ------------------------
# In an embedded set of molecule-like graphs, one in twenty was spoiled on purpose. Of those, it flags these:

generated, spoiled = anomalous_molecules()
planted = SurpriseDetector(contamination=0.05)
found = planted.fit_judge(generated)
hits = [spoiled[i] is not None for i in found.flagged.nonzero()[0]]
print(
    f"{sum(hits)} of {len(hits)} flagged graphs were spoiled; {sum(part is not None for part in spoiled)} were in all"
)

planted.plot(generated)
plt.show()

# %%
# Save it, and judge a molecule that comes later
# ----------------------------------------------
# Signs are scikit-learn's. ``PyODDetector`` has those of PyOD.

with TemporaryDirectory() as place:
    later = load(detector.save(Path(place) / "detector.safetensors"))
print(later.predict(["CCO", "O=[Xe](=O)=O"]), PyODDetector(later).fit(graphs[:500]).predict(["CCO", "O=[Xe](=O)=O"]))

"""
What are these molecules made of?
=================================

Find the subgraphs that occur more often than by chance in 1,500 molecules, draw them, and search for them in new
molecules. The molecules are included in RDKit. Needs ``rwkplus[chem]`` and ``rwkplus[plot]``.
"""

import os
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
from rdkit import RDConfig, RDLogger
from rdkit.Chem import MolFromSmiles

from rwkplus import GraphTable, PatternMiner
from rwkplus.reports import write_mining_report

RDLogger.DisableLog("rdApp.*")
with warnings.catch_warnings(action="ignore"):
    molecules = GraphTable.of(Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi", on_error="skip")[:1500]
print(molecules)

# %%
# Mine
# ----
# A pattern is kept if it occurs more often than labels and degrees explain. To see what chance alone produces, the
# miner also mines randomly rewired copies of the molecules, here three of them. Supports are exact.

CONTROLS = int(os.environ.get("RWKPLUS_EXAMPLE_CONTROLS", "3"))
miner = PatternMiner(n_patterns=6, n_controls=CONTROLS, random_state=0).fit(molecules)
for pattern in miner.patterns_:
    print(pattern)

# %%
# Draw the patterns
# -----------------

miner.plot()
plt.show()

# %%
# In a notebook, a pattern draws itself:

miner.patterns_[0]

# %%
# Export the patterns
# -------------------
# Patterns can be exported as a data frame, RDKit queries, features for a model, or an HTML report.

print(miner.to_frame().round(2).head(3).to_string())

# %%
aspirin = MolFromSmiles("CC(=O)Oc1ccccc1C(=O)O")
print([aspirin.HasSubstructMatch(pattern.to_mol()) for pattern in miner.patterns_])
print(miner.transform([aspirin]).round(2))

# %%
with TemporaryDirectory() as place:
    page = write_mining_report(Path(place) / "report.html", miner, molecules, "NCI molecules")
    print(f"{page.name}: {page.stat().st_size:,} bytes, a single self-contained file")

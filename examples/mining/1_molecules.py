"""
What are these molecules made of?
=================================

Mine 1,500 molecules that RDKit comes with for the subgraphs that occur beyond chance, look at them, and search new
molecules for them. Needs ``rwkplus[chem]`` and ``rwkplus[plot]``.
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
# Candidates grow along real occurrences. A pattern is kept if it occurs more often than labels and degrees explain;
# mining rewired copies of the database shows what chance alone achieves, here with three of them. Supports are exact.

CONTROLS = int(os.environ.get("RWKPLUS_EXAMPLE_CONTROLS", "3"))
miner = PatternMiner(n_patterns=6, n_controls=CONTROLS, random_state=0).fit(molecules)
for pattern in miner.patterns_:
    print(pattern)

# %%
# Look at them
# ------------

miner.plot()
plt.show()

# %%
# In a notebook, a pattern draws itself:

miner.patterns_[0]

# %%
# Hand them on
# ------------
# Patterns are tables for pandas, queries for RDKit, features for a model, and a report with drawings to page through.

print(miner.to_frame().round(2).head(3).to_string())

# %%
aspirin = MolFromSmiles("CC(=O)Oc1ccccc1C(=O)O")
print([aspirin.HasSubstructMatch(pattern.to_mol()) for pattern in miner.patterns_])
print(miner.transform([aspirin]).round(2))

# %%
with TemporaryDirectory() as place:
    page = write_mining_report(Path(place) / "report.html", miner, molecules, "NCI molecules")
    print(f"{page.name}: {page.stat().st_size:,} bytes, one self-contained page")

"""
What distinguishes two classes of molecules?
============================================

Which subgraphs do ligands of one kinase (EGFR) have more often than ligands of another (CDK2)? A contrast finds them,
with odds ratios and p-values that are corrected for the search. Needs ``rwkplus[chem]`` and
``rwkplus[plot]``.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from rdkit import RDConfig
from rdkit.Chem import SDMolSupplier

from rwkplus import GraphTable, PatternMiner

folder = Path(RDConfig.RDContribDir)
egfr = list(SDMolSupplier(str(folder / "PBF/testData/egfr.sdf")))
cdk2 = list(SDMolSupplier(str(folder / "Fastcluster/testdata/cdk2.sdf")))
graphs, y = GraphTable.of(egfr + cdk2), np.repeat(["EGFR", "CDK2"], [len(egfr), len(cdk2)])
print(f"{len(egfr)} ligands of EGFR, {len(cdk2)} of CDK2")

# %%
# Mine one half, test on the other
# --------------------------------
# The patterns are found in one half of the ligands. Counting them in the other half gives an unbiased estimate.

half = np.random.default_rng(0).permutation(len(graphs)) % 2 == 0
miner = PatternMiner(3, criterion="contrast", output="presence", random_state=0).fit(graphs[half], y[half])
found = miner.transform(graphs[~half]).toarray() > 0
shares = {name: found[y[~half] == name].mean(0) for name in ("EGFR", "CDK2")}
for k, pattern in enumerate(miner.patterns_):
    more = max(pattern.contrast, key=lambda part: part.odds_ratio)
    print(f"{k + 1}. {pattern.to_smarts()}")
    print(f"   more often in {more.name}: odds ratio {more.odds_ratio:.2f}, q = {more.corrected:.1g}")
    print(f"   other half: {shares['EGFR'][k]:.0%} of EGFR, {shares['CDK2'][k]:.0%} of CDK2")

# %%
# Draw the patterns and their frequencies
# ---------------------------------------

count = len(miner.patterns_)
figure, axes = plt.subplots(
    2, count, figsize=(3.4 * count, 5), layout="constrained", height_ratios=(3, 1), squeeze=False
)
for k, pattern in enumerate(miner.patterns_):
    top, bottom = axes[:, k]
    pattern.plot(top)
    top.set_title(f"pattern {k + 1}", fontsize=10)
    bottom.barh(list(shares), [share[k] for share in shares.values()], color=["#3567c4", "#cc3b33"])
    bottom.set_xlim(0, 1)
    bottom.set_xlabel("share of the other half")
plt.show()

"""
A map of a database
===================

Kernel PCA lays graphs out on a plane so that similar ones lie close together. Here they are a thousand real molecules
that RDKit comes with. Needs ``rwkplus[chem]`` and ``rwkplus[plot]``.
"""

# %%
# Read a file of SMILES
# ---------------------
# Some lines of this file are beyond what RDKit reads: ``on_error="skip"`` leaves these out and says which.

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from rdkit import RDConfig, RDLogger
from sklearn.decomposition import KernelPCA

from rwkplus import GraphTable, RandomWalkKernel

RDLogger.DisableLog("rdApp.*")
with warnings.catch_warnings(action="ignore"):
    molecules = GraphTable.of(Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi", on_error="skip")
molecules = molecules[:1000]
print(molecules)

# %%
# Lay them out
# ------------
# The Gram matrix of node-centric colors takes about a second. Normalized, it compares what molecules are made of
# rather than how large they are.

gram = RandomWalkKernel("node-centric", steps=3, normalize=True).fit_transform(molecules)
places = KernelPCA(2, kernel="precomputed").fit_transform(gram)

# %%
# Color the map by facts that the kernel was not told
# ---------------------------------------------------

aromatic = [np.mean([bond == ":" for *_, bond in graph.edges(data="label")]) for graph in molecules.to_networkx()]
size = np.diff(molecules.node_ptr)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained", sharey=True)
for ax, values, title in zip(axes, (aromatic, size), ("share of aromatic bonds", "number of atoms"), strict=True):
    points = ax.scatter(*places.T, c=values, s=12, cmap="viridis", vmax=np.quantile(values, 0.98))
    figure.colorbar(points, ax=ax)
    ax.set_title(title)
    ax.set_xticks([])
    ax.set_yticks([])
plt.show()

"""
Predict affinities
==================

How strongly do compounds block the sodium channel Nav1.7? RDKit includes measurements of 1,017 compounds from ChEMBL
(pIC50). A node-centric walk kernel predicts them nearly as well as Morgan fingerprints. Needs ``rwkplus[chem]`` and
``rwkplus[plot]``.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from rdkit import RDConfig
from rdkit.Chem import MolFromSmiles
from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVR

from rwkplus import GraphTable, RandomWalkKernel

EVERY = int(os.environ.get("RWKPLUS_EXAMPLE_EVERY", "1"))  # how many compounds to skip; 1 takes all
folder = Path(RDConfig.RDContribDir) / "FreeWilson" / "data"
structures = pd.read_csv(folder / "CHEMBL2321810.smi", sep=" ", names=["smiles", "Name"])
compounds = structures.merge(pd.read_csv(folder / "CHEMBL2321810_act.csv"))[::EVERY]
graphs, y = GraphTable.of(compounds.smiles), compounds.Act.to_numpy()
print(graphs)

# %%
# Compare three similarities
# --------------------------
# Each is used in a support vector regression. Every compound is predicted by a model that was not trained on it; the
# cost is chosen within the training part. The kernels describe atoms by their element only.

folds = KFold(5, shuffle=True, random_state=0)
molecules = [MolFromSmiles(text) for text in compounds.smiles]
bits = np.stack([GetMorganGenerator(radius=2).GetFingerprintAsNumPy(molecule) for molecule in molecules]).astype(float)


def tanimoto(a, b):
    """Share of bits in common."""
    both = a @ b.T
    return both / (a.sum(1)[:, None] + b.sum(1) - both)


def regression(kernel):
    """The same grid of costs for every similarity."""
    return GridSearchCV(SVR(kernel=kernel), {"C": [1, 10, 100]}, cv=3)


models = {
    "Morgan fingerprints": (regression(tanimoto), bits),
    "node-centric walks": (
        make_pipeline(RandomWalkKernel("node-centric", normalize=True), regression("precomputed")),
        graphs,
    ),
    "rwk+ walks": (make_pipeline(RandomWalkKernel("rwk+", normalize=True), regression("precomputed")), graphs),
}
predicted = {name: cross_val_predict(model, inputs, y, cv=folds) for name, (model, inputs) in models.items()}
for name, values in predicted.items():
    print(f"{name:20} R2 = {r2_score(y, values):.3f}")

# %%
figure, axes = plt.subplots(1, 3, figsize=(10, 3.7), sharex=True, sharey=True, layout="constrained")
for ax, (name, values) in zip(axes, predicted.items(), strict=True):
    ax.scatter(y, values, s=6, alpha=0.4)
    ax.axline((y.min(), y.min()), slope=1, color="#8a969e", linewidth=1)
    ax.set_title(f"{name}: $R^2$ = {r2_score(y, values):.2f}", fontsize=11)
    ax.set_xlabel("measured pIC50")
axes[0].set_ylabel("predicted pIC50")
plt.show()

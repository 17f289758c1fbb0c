"""
Which protein does a molecule bind?
===================================

RDKit includes ligands of four proteins. A walk kernel compares the molecules, a support vector machine predicts the
protein, and a confusion matrix shows its errors. Needs ``rwkplus[chem]`` and ``rwkplus[plot]``.
"""

# %%
# Read the molecules
# ------------------
# ``GraphTable.of`` reads SMILES and RDKit molecules: atoms become nodes, bonds become edges. To save time, only every
# fourth molecule of the largest group is used.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from rdkit import RDConfig
from rdkit.Chem import MolFromSmiles, SDMolSupplier
from sklearn.metrics import ConfusionMatrixDisplay, balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rwkplus import GraphTable, RandomWalkKernel
from rwkplus.kernels.evaluation import sizes_and_histograms

folder = Path(RDConfig.RDContribDir)


def smiles(path):
    """Molecules from the first column of a text file."""
    return [MolFromSmiles(line.split()[0]) for line in (folder / path).read_text().splitlines()]


ligands = {
    "EGFR": list(SDMolSupplier(str(folder / "PBF/testData/egfr.sdf"))),
    "CDK2": list(SDMolSupplier(str(folder / "Fastcluster/testdata/cdk2.sdf"))),
    "CHEMBL11265": smiles("fraggle/data/ChEMBL_11265_actives.smi"),
    "Nav1.7": smiles("FreeWilson/data/CHEMBL2321810.smi")[::4],
}
graphs = GraphTable.of([molecule for group in ligands.values() for molecule in group])
y = np.repeat(list(ligands), [len(group) for group in ligands.values()])
print(graphs)

# %%
# Compare kernels with a baseline
# -------------------------------
# Each molecule is predicted by a model that was not trained on it. Classes differ in size, so the score is the mean
# accuracy over classes. The baseline only counts the atoms and bonds of each kind and does not use the structure.

folds = StratifiedKFold(5, shuffle=True, random_state=0)
kernels = {
    "node-centric": RandomWalkKernel("node-centric", normalize=True),
    "rwk+": RandomWalkKernel("rwk+", normalize=True),
    "rwk-": RandomWalkKernel("rwk-", normalize=True),
}
predicted = {}
for name, kernel in kernels.items():
    predicted[name] = cross_val_predict(make_pipeline(kernel, SVC(kernel="precomputed", C=10)), graphs, y, cv=folds)
sizes, histograms = sizes_and_histograms(graphs)
baseline = make_pipeline(StandardScaler(), SVC(C=10))
predicted["counts of atoms and bonds"] = cross_val_predict(baseline, np.hstack([sizes, histograms]), y, cv=folds)
for name, classes in predicted.items():
    print(f"{name:26} {balanced_accuracy_score(y, classes):.3f}")

# %%
# Look at the errors
# ------------------
# The ligands of two kinases, EGFR and CDK2, are similar. RWK+ confuses some of them; the node-centric kernel, which
# compares atoms by all walks that start there, rarely does.

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, name in zip(axes, ("rwk+", "node-centric"), strict=True):
    ConfusionMatrixDisplay.from_predictions(
        y, predicted[name], labels=list(ligands), cmap="Blues", colorbar=False, ax=ax, xticks_rotation=30
    )
    ax.set_title(name)
plt.show()

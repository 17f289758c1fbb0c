"""
Cluster graphs
==============

Spectral clustering accepts a Gram matrix like any other similarity. Here it groups the ligands of four proteins
without knowing that there are four. Needs ``rwkplus[chem]`` and ``rwkplus[plot]``.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from rdkit import RDConfig
from rdkit.Chem import MolFromSmiles, SDMolSupplier
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score, silhouette_score

from rwkplus import GraphTable, RandomWalkKernel

folder = Path(RDConfig.RDContribDir)


def smiles(path):
    """Molecules from the first column of a text file."""
    return [MolFromSmiles(line.split()[0]) for line in (folder / path).read_text().splitlines()]


ligands = {
    "EGFR": list(SDMolSupplier(str(folder / "PBF/testData/egfr.sdf")))[::5],
    "CDK2": list(SDMolSupplier(str(folder / "Fastcluster/testdata/cdk2.sdf"))),
    "CHEMBL11265": smiles("fraggle/data/ChEMBL_11265_actives.smi"),
    "Nav1.7": smiles("FreeWilson/data/CHEMBL2321810.smi")[::12],
}
graphs = GraphTable.of([molecule for group in ligands.values() for molecule in group])
truth = np.repeat(list(ligands), [len(group) for group in ligands.values()])
print({name: len(group) for name, group in ligands.items()})

# %%
# How many clusters?
# ------------------
# A normalized kernel is a cosine, so the distance between two graphs is ``sqrt(2 - 2 K)``. The silhouette needs no
# classes: it compares distances within and between clusters. The adjusted Rand index compares the clusters with the
# true classes.

gram = RandomWalkKernel("node-centric", steps=3, normalize=True).fit_transform(graphs)
distance = np.sqrt(np.clip(2 - 2 * gram, 0, None))
np.fill_diagonal(distance, 0)
for count in range(2, 8):
    clusters = SpectralClustering(count, affinity="precomputed", random_state=0).fit_predict(gram)
    silhouette = silhouette_score(distance, clusters, metric="precomputed")
    print(
        f"{count} clusters: silhouette {silhouette:.3f}, adjusted Rand index {adjusted_rand_score(truth, clusters):.3f}"
    )

# %%
# Draw the matrix with similar molecules next to each other
# ---------------------------------------------------------
# The rows are ordered by average linkage. Bright blocks are series of molecules designed for the same protein, which
# the stripe on the left shows.

order = dendrogram(linkage(squareform(distance, checks=False), "average"), no_plot=True)["leaves"]
names = list(ligands)
figure, (side, ax) = plt.subplots(1, 2, figsize=(7, 6), width_ratios=(1, 24), layout="constrained")
colors = plt.get_cmap("tab10", len(names))
side.imshow([[names.index(truth[i])] for i in order], aspect="auto", cmap=colors, vmin=0, vmax=len(names))
image = ax.imshow(gram[np.ix_(order, order)], cmap="magma")
figure.colorbar(image, ax=ax, label="similarity")
for part in (side, ax):
    part.set_xticks([])
    part.set_yticks([])
handles = [plt.Line2D([], [], marker="s", linestyle="", color=colors(k), label=name) for k, name in enumerate(names)]
figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
plt.show()

"""
A Dask cluster
==============

Everything that has ``n_jobs`` runs on joblib, so a Dask cluster can replace local processes. Workers receive the path
of a table on disk and a range of graphs, not the data. Here the cluster consists of two threads of this process;
``Client("address:8786")`` connects to one of many machines. Needs ``rwkplus[arrow,chem,cluster,plot]``.
"""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import joblib
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client
from rdkit import RDConfig, RDLogger
from sklearn.decomposition import TruncatedSVD

from rwkplus import GraphTable, RandomWalkFeatures

# %%
# Write a table to disk
# ---------------------
# All workers must be able to read it under the same path.

RDLogger.DisableLog("rdApp.*")
folder = TemporaryDirectory()
with warnings.catch_warnings(action="ignore"):
    molecules = GraphTable.of(Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi", on_error="skip")
molecules = GraphTable.of(molecules.write(Path(folder.name) / "molecules"))
print(molecules)

# %%
# Count walks on the cluster
# --------------------------
# The code is the same as on one machine, inside a ``with`` block. :doc:`/data` has two settings that speed up workers.

with (
    Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as client,
    joblib.parallel_config(backend="dask"),
):
    features = RandomWalkFeatures(steps=3).fit(molecules)
    counts = features.transform(molecules)
    workers = client.scheduler_info()["workers"]
    print(f"{len(workers)} workers: {counts.shape[0]:,} molecules, {counts.shape[1]:,} features")

alone = features.transform(molecules)
print("same result as with one process:", (counts != alone).nnz == 0)

# %%
# Look at the features
# --------------------
# The features are a sparse matrix with named columns, ready for scikit-learn.

logarithms = counts.copy()
logarithms.data = np.log1p(logarithms.data)
places = TruncatedSVD(2, random_state=0).fit_transform(logarithms)
names = features.get_feature_names_out()
often = np.asarray((counts > 0).sum(0)).ravel()
top = often.argsort()[::-1][:12]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.scatter(*places.T, s=3, c=np.diff(molecules.node_ptr), cmap="viridis", vmax=40)
left.set_title("molecules by their walks, colored by size", fontsize=10)
left.set_xticks([])
left.set_yticks([])
right.barh([names[k] for k in top[::-1]], often[top[::-1]], color="#3567c4")
right.set_xlabel("molecules with this walk")
plt.show()
folder.cleanup()

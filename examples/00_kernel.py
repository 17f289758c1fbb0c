"""Classify graphs with a walk kernel, then look at the walks that tell the classes apart."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC

from rwkplus.datasets import load_graphs
from rwkplus.kernels import RandomWalkFeatures, RandomWalkKernel

graphs = load_graphs("functional-groups")
y = graphs.y
print(graphs)

for kernel in ("rwk+", "rwk-", "node-centric"):
    model = make_pipeline(RandomWalkKernel(kernel, steps=2, normalize=True), SVC(kernel="precomputed", C=10))
    print(f"{kernel:13} accuracy {cross_val_score(model, graphs, y, cv=5).mean():.3f}")

linear = make_pipeline(RandomWalkFeatures(steps=2), MaxAbsScaler(), LogisticRegression(C=10)).fit(graphs, y)
names = linear[0].get_feature_names_out()
order = np.argsort(linear[-1].coef_[0])
print("nitro:  ", ", ".join(names[order[:4]]))
print("nitrite:", ", ".join(names[order[-4:]]))

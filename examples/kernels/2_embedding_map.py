"""
A map of medicines
==================

Kernel PCA places similar graphs close together on a plane. The graphs are 141 well-known medicines of eleven families,
included in the package. The kernel does not see the families. Needs ``rwkplus[plot]``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.manifold import TSNE

from rwkplus import RandomWalkKernel, load_graphs

medicines = load_graphs("medicines")
print(medicines)

# %%
# Compare them
# ------------
# A normalized kernel compares what molecules are made of, not how large they are. For three medicines, these are the
# most similar ones:

gram = RandomWalkKernel("node-centric", steps=3, normalize=True).fit_transform(medicines)
names = [medicines.graph_id(i) for i in range(len(medicines))]
for name in ("morphine", "diazepam", "testosterone"):
    row = gram[names.index(name)]
    closest = np.argsort(-row)[1:4]
    print(f"{name}: " + ", ".join(f"{names[i]} ({row[i]:.2f})" for i in closest))

# %%
# Draw a map
# ----------
# On the left is Kernel PCA. On the right is t-SNE, which preserves neighborhoods rather than the overall layout, on the
# distances ``sqrt(2 - 2 K)`` of the same kernel.

distances = np.sqrt(np.clip(2 - 2 * gram, 0, None))
maps = {
    "Kernel PCA": KernelPCA(2, kernel="precomputed").fit_transform(gram),
    "t-SNE": TSNE(metric="precomputed", init="random", perplexity=15, random_state=0).fit_transform(distances),
}
figure, axes = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
colors = plt.get_cmap("tab20")
for ax, (title, places) in zip(axes, maps.items(), strict=True):
    for k, family in enumerate(sorted(set(medicines.y))):
        own = medicines.y == family
        ax.scatter(*places[own].T, s=26, color=colors(k), label=family)
    ax.set_title(title)
    ax.set_xticks([])
    ax.set_yticks([])
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
plt.show()

"""Labels for what has none: measurements and structural colors cut into classes."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from torch import Tensor
from torch_geometric.data import Batch

from rwkplus.functional.colors import structural_colors

SAMPLE = 20_000
"""Rows that classes are learned from."""

WALKS = 6
"""Steps after which structural colors look whether a walk has returned."""


@dataclass(frozen=True)
class ColorClasses:
    """Classes of similar rows: the nearest of some standardized centers."""

    prefix: str
    mean: NDArray[np.float64]  # (D,)
    scale: NDArray[np.float64]  # (D,)
    centers: NDArray[np.float64]  # (k, D), standardized

    @classmethod
    def learn(cls, values: Tensor, count: int, prefix: str, seed: int) -> "ColorClasses":
        """Cluster rows by k-means; at most ``count`` classes, fewer where fewer rows are distinct."""
        rows = values.double().numpy()
        if len(rows) > SAMPLE:
            rows = rows[np.random.default_rng(seed).permutation(len(rows))[:SAMPLE]]
        scale = rows.std(0)
        scale[scale == 0] = 1.0
        standard = (rows - rows.mean(0)) / scale
        distinct = len(np.unique(standard.round(9), axis=0))
        means = KMeans(min(count, distinct), n_init=3, random_state=seed).fit(standard)
        order = np.lexsort(means.cluster_centers_.T[::-1])  # by the first column: names do not depend on chance
        return cls(prefix, rows.mean(0), scale, means.cluster_centers_[order])

    @property
    def names(self) -> tuple[str, ...]:
        """A short name for every class."""
        return tuple(f"{self.prefix}{k}" for k in range(len(self.centers)))

    @property
    def typical(self) -> NDArray[np.float64]:
        """Center of every class in the units of the data: ``(k, D)``."""
        return self.centers * self.scale + self.mean

    def one_hot(self, values: Tensor) -> Tensor:
        """Class of every row, one-hot."""
        standard = (values.double().numpy() - self.mean) / self.scale
        nearest = ((standard[:, None, :] - self.centers) ** 2).sum(2).argmin(1)
        return torch.nn.functional.one_hot(torch.from_numpy(nearest), len(self.centers)).to(torch.get_default_dtype())


def structural_rows(batch: Batch) -> Tensor:
    """Describe the place of every node: how likely walks return to it, and the logarithm of its degree."""
    num_nodes = batch.num_nodes or 0
    returns = structural_colors(
        batch.edge_index, num_nodes, generator=torch.Generator(), batch=batch.batch, kind="random-walk", dim=WALKS
    )
    degree = torch.bincount(batch.edge_index[0], minlength=num_nodes).to(returns)
    return torch.cat([degree.log1p()[:, None], returns[:, 1:]], 1)

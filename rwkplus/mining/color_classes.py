"""Labels for what has none: measurements and structural colors cut into classes."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from torch import Tensor
from torch_geometric.data import Batch

from rwkplus.functional.colors import structural_colors

SAMPLE = 20_000
"""Rows that classes are learned from."""

ROUNDING = 1e-6
"""In standard deviations."""

WALKS = 6
"""Steps after which structural colors look whether a walk has returned."""


@dataclass(frozen=True)
class ColorClasses:
    """Classes of similar rows: the nearest of some standardized centers.

    Later rows that are farther from all of them than any row that was learned from are in a class of their own.
    """

    prefix: str
    mean: NDArray[np.float64]  # (D,)
    scale: NDArray[np.float64]  # (D,)
    centers: NDArray[np.float64]  # (k, D), standardized
    reach: float  # distance of the farthest learned row from its center

    @classmethod
    def learn(cls, values: Tensor, count: int, prefix: str, seed: int) -> "ColorClasses":
        """Cluster rows by k-means; at most ``count`` classes, fewer where fewer rows are distinct."""
        rows = every = values.double().numpy()
        if len(rows) > SAMPLE:
            rows = rows[np.random.default_rng(seed).permutation(len(rows))[:SAMPLE]]
        scale = rows.std(0)
        scale[scale == 0] = 1.0
        standard = (rows - rows.mean(0)) / scale
        distinct = len(np.unique(standard.round(9), axis=0))
        means = KMeans(min(count, distinct), n_init=3, random_state=seed).fit(standard)
        order = np.lexsort(means.cluster_centers_.T[::-1])  # by the first column: names do not depend on chance
        classes = cls(prefix, rows.mean(0), scale, means.cluster_centers_[order], np.inf)
        return replace(classes, reach=float(classes._nearest(every)[1].max(initial=0.0)))

    @property
    def names(self) -> tuple[str, ...]:
        """A short name for every class."""
        return tuple(f"{self.prefix}{k}" for k in range(len(self.centers)))

    @property
    def beyond(self) -> str:
        """Name of the class of rows beyond reach."""
        return f"{self.prefix}*"

    @property
    def typical(self) -> NDArray[np.float64]:
        """Center of every class in the units of the data: ``(k, D)``."""
        return self.centers * self.scale + self.mean

    def one_hot(self, values: Tensor) -> tuple[Tensor, tuple[str, ...]]:
        """Class of every row, one-hot, and the names of the columns."""
        nearest, distance = self._nearest(values.double().numpy())
        far = distance > self.reach + ROUNDING
        names = (*self.names, self.beyond) if far.any() else self.names
        column = torch.from_numpy(np.where(far, len(self.centers), nearest))
        return torch.nn.functional.one_hot(column, len(names)).to(torch.get_default_dtype()), names

    def _nearest(self, rows: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Number of the nearest center, and its distance."""
        squares = (((rows - self.mean) / self.scale)[:, None, :] - self.centers) ** 2
        apart = np.sqrt(squares.sum(2))
        return apart.argmin(1), apart.min(1)


def structural_rows(batch: Batch) -> Tensor:
    """Describe the place of every node: how likely walks return to it, and the logarithm of its degree."""
    num_nodes = batch.num_nodes or 0
    returns = structural_colors(
        batch.edge_index, num_nodes, generator=torch.Generator(), batch=batch.batch, kind="random-walk", dim=WALKS
    )
    degree = torch.bincount(batch.edge_index[0], minlength=num_nodes).to(returns)
    return torch.cat([degree.log1p()[:, None], returns[:, 1:]], 1)

"""Attributes and places in the graph, cut into classes that can stand for labels."""

from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rwkplus.table.arrays import Ints
from rwkplus.table.columns import Categories

Floats = NDArray[np.float64]
SAMPLE = 20_000
"""Rows that classes are learned from."""
ROUNDING = 1e-6
"""In standard deviations."""
WALKS = 6
"""Steps after which the place of a node is told by whether a walk has returned."""


class AttributeClasses(msgspec.Struct, frozen=True, eq=False, forbid_unknown_fields=True):
    """Classes of similar rows: the nearest of some standardized centers.

    Later rows that are farther from all of them than any row that was learned from are in a class of their own.
    """

    column: str
    prefix: str
    mean: Floats  # (D,)
    scale: Floats  # (D,)
    centers: Floats  # (k, D), standardized
    reach: float  # distance of the farthest learned row from its center

    def __post_init__(self) -> None:
        fits = self.mean.ndim == 1 and self.mean.shape == self.scale.shape == self.centers.shape[1:]
        numbers = [*self.mean.ravel(), *self.scale.ravel(), *self.centers.ravel(), self.reach]
        if not fits or not len(self.centers) or not np.isfinite(numbers).all() or not (self.scale > 0).all():
            raise ValueError("its classes of attributes do not fit together")

    @classmethod
    def learn(cls, column: str, values: Floats, count: int, prefix: str, seed: int) -> "AttributeClasses":
        """Cluster rows ``(N, D)`` by k-means; at most ``count`` classes, fewer where fewer rows are distinct.

        >>> amounts = np.array([[1.0], [2.0], [900.0], [950.0]])
        >>> AttributeClasses.learn("amount", amounts, 2, "c", 0).names
        ('amount < 463', 'amount >= 463')
        """
        from sklearn.cluster import KMeans

        if not len(values):  # edges that nobody has seen: all later ones are beyond reach
            width = values.shape[1]
            return cls(column, prefix, np.zeros(width), np.ones(width), np.zeros((1, width)), 0.0)
        rows = values
        if len(rows) > SAMPLE:
            rows = rows[np.random.default_rng(seed).permutation(len(rows))[:SAMPLE]]
        scale = rows.std(0)
        scale[scale == 0] = 1.0
        standard = (rows - rows.mean(0)) / scale
        distinct = len(np.unique(standard.round(9), axis=0))
        means = KMeans(min(count, distinct), n_init=3, random_state=seed).fit(standard)
        order = np.lexsort(means.cluster_centers_.round(6).T[::-1])  # by the first column: names are no chance
        classes = cls(column, prefix, rows.mean(0), scale, means.cluster_centers_[order], 0.0)
        return msgspec.structs.replace(classes, reach=float(classes._nearest(values)[1].max(initial=0.0)))

    @property
    def names(self) -> tuple[str, ...]:
        """A name for every class: the interval of a single attribute, a number for several."""
        if self.centers.shape[1] > 1:
            return tuple(f"{self.prefix}{k}" for k in range(len(self.centers)))
        return _intervals(self.column, self.typical[:, 0])

    @property
    def beyond(self) -> str:
        """Name of the class of rows beyond reach."""
        return f"{self.prefix}*" if self.centers.shape[1] > 1 else f"{self.column} far out"

    @property
    def typical(self) -> Floats:
        """Center of every class in the units of the data: ``(k, D)``."""
        return self.centers * self.scale + self.mean

    def read(self, values: Floats) -> Categories:
        """Class of every row.

        >>> amounts = np.array([[1.0], [2.0], [900.0], [950.0]])
        >>> classes = AttributeClasses.learn("amount", amounts, 2, "c", 0)
        >>> classes.read(np.array([[3.0], [9000.0]])).values().tolist()
        ['amount < 463', 'amount far out']
        """
        nearest, distance = self._nearest(values)
        far = distance > self.reach + ROUNDING
        names = (*self.names, self.beyond) if far.any() else self.names
        return Categories.numbered(np.where(far, len(self.centers), nearest), names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AttributeClasses):
            return False
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in self.__struct_fields__)

    __hash__ = None  # type: ignore[assignment]

    def _nearest(self, rows: Floats) -> tuple[Ints, Floats]:
        """Number of the nearest center, and its distance."""
        squares = (((rows - self.mean) / self.scale)[:, None, :] - self.centers) ** 2
        apart = np.sqrt(squares.sum(2))
        return apart.argmin(1), apart.min(1)


def _intervals(column: str, centers: Floats) -> tuple[str, ...]:
    """Intervals of one attribute around ascending centers, with as many digits as tell them apart."""
    if len(centers) == 1:
        return (column,)
    cuts = (centers[1:] + centers[:-1]) / 2
    for digits in range(3, 18):
        words = [f"{cut:,.{digits - 3}f}" if abs(cut) >= 1000 else f"{cut:.{digits}g}" for cut in cuts]
        if len(set(words)) == len(words):
            break
    middle = [f"{column} {low} to {high}" for low, high in pairwise(words)]
    return (f"{column} < {words[0]}", *middle, f"{column} >= {words[-1]}")


def structural_rows(node_ptr: Ints, source: Ints, target: Ints) -> Floats:
    """Describe the place of every node: the logarithm of its degree, and how likely walks return to it ``(N, WALKS)``.

    Args:
        node_ptr: Where the nodes of each graph begin ``(B + 1,)``.
        source: First node of every edge, both directions listed ``(E,)``.
        target: Second node ``(E,)``.

    Example:
        >>> both = np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1])  # a path of three nodes
        >>> structural_rows(np.array([0, 3]), *both)[:, 1].tolist()  # back after two steps
        [0.5, 1.0, 0.5]
    """
    num_nodes = int(node_ptr[-1])
    degree = np.bincount(source, minlength=num_nodes)
    chance = sparse.csr_matrix(
        (1.0 / np.maximum(degree, 1)[source], (source, target)), shape=(num_nodes, num_nodes)
    )  # parallel edges are added up
    rows = np.zeros((num_nodes, WALKS))
    rows[:, 0] = np.log1p(degree)
    power = chance
    for step in range(1, WALKS):
        power = power @ chance
        rows[:, step] = power.diagonal()
    return rows

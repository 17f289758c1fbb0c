r"""Node-centric walk colors (Kriege 2022): what the walks from a node see tells nodes apart like Weisfeiler-Leman.

The color of a node after ``i`` steps stands for the multisets of label sequences of all walks of 0 to ``i``
edges that begin there. It is a hash: with random coefficients per step and label,

.. math:: g_i(v) = c_i(l_v) \sum_{v \to u} e_i(l_{vu}) \, g_{i-1}(u) \pmod p

is a polynomial that names the multiset of ``i``-edge sequences, and two primes of 31 bits make different
multisets collide with probability around :math:`2^{-60}`. Colors of ``i`` steps refine those of ``i - 1``
(the hash includes the shorter one), so they form the hierarchy that makes histogram intersection an
optimal assignment (Kriege, Giscard and Wilson 2016).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rwkplus.kernels.walk_sequences import Counted
from rwkplus.loops.random_streams import STEP, mix
from rwkplus.loops.walk_loops import hash_step
from rwkplus.saving import array
from rwkplus.table.arrays import Codes, GraphArrays, Ints
from rwkplus.types import Assignment

PRIMES = np.array([2_147_483_647, 2_147_483_629])
_COEFFICIENT_SEED = 20240513  # any constant: colors must mean the same in every process
_GOLDEN = np.int64(-7046029254386353131)  # 2^64 / golden ratio, wraps around on purpose


@dataclass(frozen=True)
class ColorTable:
    """The colors met, by number of steps: ascending hashes.

    >>> known, later = ColorTable([np.array([3, 5, 9])]), ColorTable([np.array([4, 9])])
    >>> list(known.locate(later))
    [array([-1,  2])]
    """

    keys: list[Ints]

    @property
    def sizes(self) -> list[int]:
        """Number of colors of each number of steps."""
        return [keys.size for keys in self.keys]

    def to_arrays(self) -> dict[str, Ints]:
        """Return what :meth:`from_arrays` takes."""
        return {f"colors.{i}": keys for i, keys in enumerate(self.keys)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], steps: int) -> "ColorTable":
        """Read what :meth:`to_arrays` returned; ``KeyError`` or ``ValueError`` where it is not a table of ``steps``."""
        keys = [array(arrays, f"colors.{i}", "i", 1) for i in range(steps + 1)]
        if any((np.diff(part) <= 0).any() for part in keys):
            raise ValueError("its colors are not in order")
        return cls(keys)

    def locate(self, other: "ColorTable") -> Iterator[Ints]:
        """Yield, step by step, the number here of each of the other's colors, -1 for unknown ones."""
        for mine, theirs in zip(self.keys, other.keys, strict=True):
            place = np.minimum(np.searchsorted(mine, theirs), max(mine.size - 1, 0))
            yield np.where(mine[place] == theirs, place, -1) if mine.size else np.full(theirs.size, -1)

    def names(self, *labels: object) -> list[list[str]]:
        """Names of colors by number of steps; they have none but their numbers."""
        return [[f"color{i}.{k}" for k in range(size)] for i, size in enumerate(self.sizes)]

    def hashes(self, graphs: GraphArrays) -> Iterator[Codes]:
        """Yield, step by step, a 64-bit hash of every color, the same everywhere."""
        for step, keys in enumerate(self.keys):
            yield mix(keys.astype(np.uint64) + np.uint64(step) + STEP)

    @classmethod
    def merged(cls, tables: Sequence["ColorTable"]) -> "ColorTable":
        """Join the colors of several tables into one.

        >>> ColorTable.merged([ColorTable([np.array([3, 9])]), ColorTable([np.array([4, 9])])]).keys
        [array([3, 4, 9])]
        """
        return cls([np.unique(np.concatenate(keys)) for keys in zip(*(t.keys for t in tables), strict=True)])


def count_colors(graphs: GraphArrays, steps: int, assignment: Assignment) -> Counted[ColorTable]:
    """Count the walk colors of 0 to ``steps`` edges.

    Under ``"dirac"`` a feature is a color and its value the number of nodes that have it. Under
    ``"optimal"`` the features are "at least one node of this color", "at least two", ...: their inner
    product is the histogram intersection, the value of an optimal assignment of nodes.

    >>> from rwkplus.table import GraphTable, Reader
    >>> table = GraphTable.of(["CCC", "CO"])
    >>> arrays = Reader.fit(table).read(table)
    >>> count_colors(arrays, 1, "dirac").counts[0].toarray().max(1)  # nodes of the commonest label
    array([3., 1.])
    """
    alive = np.flatnonzero(graphs.label >= 0)
    graph = graphs.graph[alive]
    keys, counts = [], []
    for colors in node_colors(graphs, steps):
        key = colors[alive]
        if assignment == "optimal":
            key = key + _rank_in_graph(graph, key) * _GOLDEN
        distinct, place = np.unique(key, return_inverse=True)
        matrix = sparse.csr_matrix((np.ones(key.size), (graph, place)), shape=(graphs.num_graphs, distinct.size))
        matrix.sum_duplicates()
        keys.append(distinct)
        counts.append(matrix)
    return Counted(ColorTable(keys), counts)


def node_colors(graphs: GraphArrays, steps: int) -> Iterator[Ints]:
    """Yield the hash of every node's walks of up to 0, 1, ..., ``steps`` edges.

    >>> from rwkplus.table import GraphTable, Reader
    >>> table = GraphTable.of(["CCC"])
    >>> arrays = Reader.fit(table).read(table)
    >>> [len(set(colors.tolist())) for colors in node_colors(arrays, 1)]  # one label; then ends and middle
    [1, 2]
    """
    edge_label = np.zeros_like(graphs.source) if graphs.edge_label is None else graphs.edge_label
    of_label = _coefficients(0, graphs.label_code, steps)
    of_edge = _coefficients(1, graphs.edge_label_code, steps)
    refine = _coefficients(2, np.arange(2, dtype=np.uint64), steps)[0]
    walks = of_label[graphs.label, 0]
    color = walks
    yield color[:, 0] << 31 | color[:, 1]
    for step in range(1, steps + 1):
        coefficients = of_edge[:, step], of_label[:, step]
        walks = hash_step(walks, graphs.source, graphs.target, edge_label, graphs.label, *coefficients, PRIMES)
        color = (color * refine[step] + walks) % PRIMES
        yield color[:, 0] << 31 | color[:, 1]


def _coefficients(purpose: int, codes: Codes, steps: int) -> Ints:
    """Random numbers ``(len(codes), steps + 1, 2)``; the last row, for label -1, is zero: no walk passes."""
    table = np.zeros((codes.size, steps + 1, 2), np.int64)
    for row, code in zip(table, codes[:-1].tolist(), strict=False):
        row[:] = _drawn(purpose, code, steps)
    return table


@lru_cache(maxsize=4096)  # a stream asks for the same again and again
def _drawn(purpose: int, code: int, steps: int) -> Ints:
    return np.random.default_rng((_COEFFICIENT_SEED, purpose, code)).integers(1, PRIMES, size=(steps + 1, 2))


def _rank_in_graph(graph: Ints, key: Ints) -> Ints:
    """Number the nodes of one graph and color 0, 1, 2, ..."""
    color = np.unique(key, return_inverse=True)[1]
    group = graph * (int(color.max(initial=0)) + 1) + color
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: ordered.size])
    sizes = np.diff(np.append(begins, ordered.size))
    rank = np.empty(graph.size, np.int64)
    rank[order] = np.arange(graph.size) - np.repeat(begins, sizes)
    return rank

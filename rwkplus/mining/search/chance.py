r"""How surprising an extension of a pattern is: the configuration model as the voice of chance.

Chance keeps every node's label and degree and pairs the ends of edges at random. A node with ``r`` edges
beyond those the pattern uses then has a neighbor of label ``l`` over an edge of label ``e`` among them with
probability :math:`1 - (1 - p)^r`, ``p`` being the share of such ends at nodes of its label; two nodes with
``r`` and ``r'`` spare edges are joined with rate :math:`r r' / 2E_G`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.loops.embeddings import Ints
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.occurrences import Shape

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Chance:
    """Frequencies that the configuration model needs, read off a database."""

    seen: Ints  # ascending codes of (label, edge label, neighbor's label): only what occurs, labels may be thousands
    times: Floats
    label_ends: Floats  # (labels,): ends of edges at nodes of each label
    edge_share: Floats  # (edge labels,)
    degree: Ints  # (N,)
    ends: Floats  # (B,): ends of edges per graph

    @classmethod
    def of(cls, database: MiningDatabase) -> "Chance":
        """Count ends of edges by label."""
        rows = database.rows
        own = rows.label[database.source]
        code = (own * database.num_edge_labels + rows.edge_label) * database.num_labels + rows.label[rows.neighbor]
        seen, times = np.unique(code, return_counts=True)
        edges = np.bincount(rows.edge_label, minlength=database.num_edge_labels) + 0.5
        return cls(
            seen,
            times.astype(float),
            np.bincount(own, minlength=database.num_labels).astype(float),
            edges / edges.sum(),
            database.degree,
            np.bincount(rows.graph, database.degree, database.num_graphs).astype(float),
        )

    def end_share(self, label: int, edge: int, neighbor: int) -> float:
        """Share of the ends at nodes of ``label`` that have this edge and neighbor; what was never seen is rare.

        >>> from rwkplus.loops.embeddings import Adjacency
        >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
        >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
        >>> round(Chance.of(triangle).end_share(0, 0, 0), 3)
        1.0
        """
        num_labels, num_edge_labels = self.label_ends.size, self.edge_share.size
        code = (label * num_edge_labels + edge) * num_labels + neighbor
        place = int(np.searchsorted(self.seen, code))
        times = self.times[place] if place < self.seen.size and self.seen[place] == code else 0.0
        return float((times + 0.5) / (self.label_ends[label] + 0.5 * num_edge_labels * num_labels))


class _Expected(NamedTuple):
    """What the configuration model expects of an extension."""

    graphs: int  # graphs that have the positions in question
    in_graph: float  # mean chance that a graph has the extension at one embedding at least
    at_embedding: float  # mean chance that an embedding has it


class SpareEnds:
    """Edges beyond the pattern's own at the nodes of its embeddings, added up by graph.

    Embeddings may lack positions (-1); only graphs that have a position tell about it.
    """

    def __init__(self, chance: Chance, shape: Shape, embeddings: Ints, used: Ints, graph: Ints) -> None:
        self.chance = chance
        self.labels = shape.labels
        self.used = used  # (count, n): edges of the pattern at each node, fewer in distorted copies
        self.embeddings = embeddings
        self.graph = graph
        self._known: dict[tuple[int, int], Ints] = {}

    def of_new_node(self, i: int, edge: int, label: int) -> "_Expected":
        """What chance expects of this neighbor at position ``i``."""
        rows = self._distinct(i, i)
        spare = self.chance.degree[self.embeddings[rows, i]] - self.used[rows, i]
        share = min(self.chance.end_share(self.labels[i], edge, label), 1 - 1e-9)  # 1 where all is one label
        return self._mean(rows, spare * np.log1p(-share))

    def of_new_edge(self, i: int, j: int, edge: int) -> "_Expected":
        """What chance expects of an edge between positions ``i`` and ``j``."""
        rows = self._distinct(i, j)
        nodes = self.embeddings[rows][:, [i, j]]
        spare = self.chance.degree[nodes] - self.used[rows][:, [i, j]]
        rate = spare.prod(1) / self.chance.ends[self.graph[rows]]
        return self._mean(rows, -rate * self.chance.edge_share[edge])

    def _distinct(self, i: int, j: int) -> Ints:
        """One row for each node, or pair of nodes, at these positions."""
        if (i, j) not in self._known:
            present = np.flatnonzero((self.embeddings[:, i] >= 0) & (self.embeddings[:, j] >= 0))
            first, second = self.embeddings[present, i], self.embeddings[present, j]
            pair = first * self.chance.degree.size + second
            self._known[i, j] = present[np.unique(pair, return_index=True)[1]]
        return self._known[i, j]

    def _mean(self, rows: Ints, log_absent: Floats) -> _Expected:
        graph = self.graph[rows]
        there = np.bincount(graph) > 0
        absent = np.exp(np.bincount(graph, log_absent)[there])
        return _Expected(int(there.sum()), float(1 - absent.mean()), float(-np.expm1(log_absent).mean()))


def divergence(observed: float, expected: float) -> float:
    """Kullback-Leibler divergence of two coins, in nats.

    >>> divergence(0.5, 0.5), round(divergence(0.9, 0.5), 3)
    (0.0, 0.368)
    """
    p = min(max(observed, 1e-12), 1 - 1e-12)
    q = min(max(expected, 1e-9), 1 - 1e-9)
    return float(p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q)))


def evidence(holds: int, graphs: int, expected: float, fidelity: float) -> float:
    """Log-likelihood ratio that an extension belongs to the pattern rather than to chance.

    If it belongs, it holds in a share of at least ``fidelity`` of the graphs that have the pattern; by chance
    it holds in a share of at most ``expected``. Negative where chance explains ``holds`` of ``graphs`` better.

    >>> round(evidence(holds=18, graphs=20, expected=0.1, fidelity=0.7), 1)
    35.2
    >>> round(evidence(holds=2, graphs=20, expected=0.1, fidelity=0.7), 1)
    -15.9
    """
    share = holds / graphs
    beyond_chance = divergence(share, expected) if share > expected else 0.0
    unfaithful = divergence(share, fidelity) if share < fidelity else 0.0
    return graphs * (beyond_chance - unfaithful)

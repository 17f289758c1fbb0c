r"""How surprising an extension of a pattern is: the configuration model as the voice of chance.

Chance keeps every node's label and degree and pairs the ends of edges at random. A node with ``r`` edges
beyond those the pattern uses then has a neighbor of label ``l`` over an edge of label ``e`` among them with
probability :math:`1 - (1 - p)^r`, ``p`` being the share of such ends at nodes of its label; two nodes with
``r`` and ``r'`` spare edges are joined with rate :math:`r r' / 2E_G`. Where edges have a direction, those that leave
a node and those that enter it are counted apart, and the rate is :math:`r r' / E_G`. How often an edge has a parallel
or a reverse one is no matter of degrees: the share is taken as it is seen.
"""

from collections import Counter
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
    label_ends: Floats  # (labels, directions): ends of edges at nodes of each label
    edge_share: Floats  # (edge labels,): among those of the same direction
    degree: Ints  # (N, directions)
    ends: Floats  # (B,): ends of edges per graph, of one direction
    directed: bool
    parallel: dict[tuple[int, int], float]  # share of the edges of one label that have one of another label beside

    @classmethod
    def of(cls, database: MiningDatabase) -> "Chance":
        """Count ends of edges by label."""
        rows, width = database.rows, 1 + database.directed
        own = rows.label[database.source]
        code = (own * database.num_edge_labels + rows.edge_label) * database.num_labels + rows.label[rows.neighbor]
        seen, times = np.unique(code, return_counts=True)
        edges = np.bincount(rows.edge_label, minlength=database.num_edge_labels) + 0.5
        at_labels = np.bincount(own * width + database.direction, minlength=database.num_labels * width)
        return cls(
            seen,
            times.astype(float),
            at_labels.reshape(-1, width).astype(float),
            edges * width / edges.sum(),
            database.degree,
            np.bincount(rows.graph, database.degree[:, 0], database.num_graphs).astype(float),
            database.directed,
            _parallel_shares(database),
        )

    def direction(self, edge: int) -> int:
        """Whether an edge of this label enters the node that it is seen from."""
        return edge & self.directed

    def end_share(self, label: int, edge: int, neighbor: int) -> float:
        """Share of the ends at nodes of ``label`` that have this edge and neighbor; what was never seen is rare.

        >>> from rwkplus.loops.embeddings import Adjacency
        >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
        >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
        >>> round(Chance.of(triangle).end_share(0, 0, 0), 3)
        1.0
        """
        num_labels, directions = self.label_ends.shape
        code = (label * self.edge_share.size + edge) * num_labels + neighbor
        place = int(np.searchsorted(self.seen, code))
        times = self.times[place] if place < self.seen.size and self.seen[place] == code else 0.0
        ways = self.edge_share.size / directions * num_labels
        return float((times + 0.5) / (self.label_ends[label, self.direction(edge)] + 0.5 * ways))


def _parallel_shares(database: MiningDatabase) -> dict[tuple[int, int], float]:
    rows, labels = database.rows, database.num_edge_labels
    pair = database.source * rows.label.size + rows.neighbor
    edge = np.unique(np.stack([pair, rows.edge_label]), axis=1) if rows.edge_marks.size else (pair, rows.edge_label)
    pair, edge_label = edge
    total = np.bincount(edge_label, minlength=labels)
    both: Counter[int] = Counter()
    apart = 1
    while (beside := np.flatnonzero(pair[apart:] == pair[:-apart])).size:
        one, other = edge_label[beside], edge_label[beside + apart]
        both.update(np.concatenate([one * labels + other, other * labels + one]).tolist())
        apart += 1
    return {divmod(code, labels): (times + 0.5) / (total[code // labels] + 1) for code, times in both.items()}


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
        self.shape = shape
        self.used = used  # (count, n, directions): edges of the pattern at each node, fewer in distorted copies
        self.embeddings = embeddings
        self.graph = graph
        self._known: dict[tuple[int, int], Ints] = {}

    def of_new_node(self, i: int, edge: int, label: int) -> "_Expected":
        """What chance expects of this neighbor at position ``i``."""
        rows = self._distinct(i, i)
        share = min(self.chance.end_share(self.shape.labels[i], edge, label), 1 - 1e-9)  # 1 where all is one label
        return self._mean(rows, self._spare(rows, i, edge) * np.log1p(-share))

    def of_new_edge(self, i: int, j: int, edge: int) -> "_Expected":
        """What chance expects of an edge between positions ``i`` and ``j``."""
        rows = self._distinct(i, j)
        beside = [self.chance.parallel.get((own, edge), 1e-9) for u, v, own in self.shape.edges if (u, v) == (i, j)]
        if beside:
            return self._mean(rows, np.full(rows.size, np.log1p(-max(beside))))
        ends = self._spare(rows, i, edge) * self._spare(rows, j, edge ^ self.chance.directed)
        return self._mean(rows, -ends / self.chance.ends[self.graph[rows]] * self.chance.edge_share[edge])

    def _spare(self, rows: Ints, i: int, edge: int) -> Ints:
        """Ends at a position, beyond those of the pattern, in the direction of an edge as seen from there."""
        direction = self.chance.direction(edge)
        spare: Ints = self.chance.degree[self.embeddings[rows, i], direction] - self.used[rows, i, direction]
        return spare

    def _distinct(self, i: int, j: int) -> Ints:
        """One row for each node, or pair of nodes, at these positions."""
        if (i, j) not in self._known:
            present = np.flatnonzero((self.embeddings[:, i] >= 0) & (self.embeddings[:, j] >= 0))
            first, second = self.embeddings[present, i], self.embeddings[present, j]
            pair = first * len(self.chance.degree) + second
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

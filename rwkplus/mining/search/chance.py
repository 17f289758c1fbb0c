r"""How surprising an extension of a pattern is: the configuration model as the voice of chance.

Chance keeps every node's label and degree and pairs the ends of edges at random. A node with ``r`` edges
beyond those the pattern uses then has a neighbor of label ``l`` over an edge of label ``e`` among them with
probability :math:`1 - (1 - p)^r`, ``p`` being the share of such ends at nodes of its label; two nodes with
``r`` and ``r'`` spare edges are joined with rate :math:`r r' / 2E_G`. Where edges have a direction, those that leave
a node and those that enter it are counted apart, and the rate is :math:`r r' / E_G`. How often an edge has a parallel
or a reverse one is no matter of degrees: the share is taken as it is seen.
"""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.loops.embeddings import Floats, Ints
from rwkplus.loops.growing import CERTAIN, PRODUCT, SPARE
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.occurrences import Shape

USUAL = 0.6
"""Share of nodes or edges beyond which a mark is no news: readers take it that a payment is a usual one. It is somewhat
more than a half, since a cut near the median parts values in two halves that are never quite equal."""


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
    database: MiningDatabase
    shares: dict[tuple[int, int, str], Floats] = field(default_factory=dict)  # of marks, once they were asked for

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
            database,
        )

    def direction(self, edge: int) -> int:
        """Whether an edge of this label enters the node that it is seen from."""
        return edge & self.directed

    @cached_property
    def end_pairs(self) -> Floats:
        """Pairs of different ends of edges at the same node, by its label and the directions of both."""
        labels, directions = self.label_ends.shape
        pairs = np.empty((labels, directions, directions))
        for into, out in np.ndindex(directions, directions):
            ways = self.degree[:, into] * (self.degree[:, out] - (into == out))
            pairs[:, into, out] = np.bincount(self.database.rows.label, ways, labels)
        return pairs

    def end_share(self, label: Ints | int, edge: Ints | int, neighbor: Ints | int) -> Floats:
        """Share of the ends at nodes of ``label`` that have this edge and neighbor; what was never seen is rare.

        >>> from rwkplus.loops.embeddings import Adjacency
        >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
        >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
        >>> Chance.of(triangle).end_share(0, np.array([0]), 0).round(3)
        array([1.])
        """
        num_labels, directions = self.label_ends.shape
        code = (label * self.edge_share.size + edge) * num_labels + neighbor
        place = np.minimum(np.searchsorted(self.seen, code), self.seen.size - 1)
        times = np.where(self.seen[place] == code, self.times[place], 0.0)
        ways = self.edge_share.size / directions * num_labels
        return np.asarray((times + 0.5) / (self.label_ends[label, edge & self.directed] + 0.5 * ways))

    def share_of_marks(self, label: int, need: int = 0) -> Floats:
        """Share of the nodes of a label, of those that have the marks needed, that have each further mark.

        Usual marks have share 1.
        """
        rows = self.database.rows
        return self._share((label, need, "node"), rows.marks, rows.label == label, need)

    def share_of_edge_marks(self, edge: int, need: int = 0) -> Floats:
        """The same of edges."""
        rows = self.database.rows
        return self._share((edge, need, "edge"), rows.edge_marks, rows.edge_label == edge, need)

    def _share(self, key: tuple[int, int, str], marks: Ints, like: NDArray[np.bool_], need: int) -> Floats:
        if key not in self.shares:
            own = marks[like & (marks & need == need)]
            bits = np.arange(int(marks.max(initial=0)).bit_length())
            self.shares[key] = beyond_usual((own[:, None] >> bits & 1).astype(np.float64))
        return self.shares[key]


def beyond_usual(marks: Floats) -> Floats:
    """Share of rows that have each mark, among those with the usual marks that it implies; 1 for usual ones.

    Where a pattern's payments are usual ones, all are below 5,000 if most of all payments are, and more of them than
    of all payments are below 100. Neither is worth a condition.

    >>> below_10, below_5, below_4 = np.arange(20) < 15, np.arange(20) < 10, np.arange(20) < 5
    >>> beyond_usual(np.column_stack([below_10, below_5, below_4]).astype(float)).round(2).tolist()
    [1.0, 1.0, 0.35]
    """
    both = marks.T @ marks
    times = both.diagonal()
    share = (times + 0.5) / (len(marks) + 1)
    implied = (both == times[:, None]) & (share > USUAL)  # every row with the first mark has the second
    beyond = share / np.where(implied, share, 1.0).min(1, initial=1.0)
    return np.where(beyond > USUAL, 1.0, beyond)


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


class Places(NamedTuple):
    """Steps of a pattern as chance sees them."""

    start: Ints
    end: Ints  # the same position for a condition on its node
    direction: Ints
    mode: Ints
    log_absent: Floats  # where the rate of a place is 1

    @classmethod
    def of(cls, chance: Chance, shape: Shape, steps: Ints, shares: Floats, known: NDArray[np.bool_]) -> "Places":
        """Prepare steps ``(K, 4)``, of which ``shares`` of edges and nodes meet the conditions.

        ``known`` tells which steps ask for a condition only, on an edge or a node that is there.
        """
        start, end, edge, label = steps.T
        new = end >= shape.size
        mode = np.where(known, CERTAIN, np.where(new, SPARE, PRODUCT))
        log_absent = np.log1p(-np.minimum(shares, 1 - 1e-9))
        share = chance.end_share(np.array(shape.labels)[start[new]], edge[new], label[new]) * shares[new]
        log_absent[new] = np.log1p(-np.minimum(share, 1 - 1e-9))
        closing = mode == PRODUCT
        log_absent[closing] = -chance.edge_share[edge[closing]] * shares[closing]
        for k in np.flatnonzero(closing & shape.joined[start, np.where(new, start, end)]).tolist():
            beside = [mine for u, v, mine in shape.edges if (u, v) == (start[k], end[k])]
            there = max(chance.parallel.get((mine, int(edge[k])), 1e-9) for mine in beside)
            log_absent[k], mode[k] = np.log1p(-there * shares[k]), CERTAIN
        return cls(start, end, edge & chance.directed, mode, log_absent)


def divergence(observed: Floats | float, expected: Floats | float) -> Floats:
    """Kullback-Leibler divergence of two coins, in nats.

    >>> float(divergence(0.5, 0.5)), round(float(divergence(0.9, 0.5)), 3)
    (0.0, 0.368)
    """
    p, q = np.clip(observed, 1e-12, 1 - 1e-12), np.clip(expected, 1e-9, 1 - 1e-9)
    return np.asarray(p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q)))


def evidence(holds: Floats | float, graphs: Floats | int, expected: Floats | float, fidelity: float) -> Floats:
    """Log-likelihood ratio that an extension belongs to the pattern rather than to chance.

    If it belongs, it holds in a share of at least ``fidelity`` of the graphs that have the pattern; by chance
    it holds in a share of at most ``expected``. Negative where chance explains ``holds`` of ``graphs`` better.

    >>> round(float(evidence(holds=18, graphs=20, expected=0.1, fidelity=0.7)), 1)
    35.2
    >>> round(float(evidence(holds=2, graphs=20, expected=0.1, fidelity=0.7)), 1)
    -15.9
    """
    share = np.asarray(holds) / graphs
    beyond_chance = np.where(share > expected, divergence(share, expected), 0.0)
    unfaithful = np.where(share < fidelity, divergence(share, fidelity), 0.0)
    return np.asarray(graphs * (beyond_chance - unfaithful))

"""Where the search in one large graph begins: short cycles, and paths, that occur more often than by chance."""

from collections.abc import Iterator
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rwkplus.loops.cycles import short_cycles
from rwkplus.loops.embeddings import Floats, Ints
from rwkplus.mining.search.chance import Chance
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.occurrences import Shape

LONGEST = 6
"""Nodes of a cycle to begin with."""
MOST_CYCLES = 1_000_000
STEPS = 1_000_000_000
"""Cycles listed, and edges followed, at most; in denser graphs, cycles are looked for at some of the nodes."""
FEWEST = 5
"""Occurrences of a seed."""
PRICE = 3.0
"""Nats for seeds and conditions beyond those for choosing them: seldom is chance to be taken for one."""


class Seed(NamedTuple):
    """Where growth begins."""

    shape: Shape
    times: float  # occurrences
    expected: float  # by chance
    symmetries: int
    score: float


def excess(times: Floats | float, expected: Floats | float) -> Floats:
    """Log-likelihood ratio of so many occurrences, where chance expects others; 0 where they are not more.

    >>> excess(20.0, 5.0).round(1), float(excess(4.0, 5.0))
    (np.float64(12.7), 0.0)
    """
    n, rate = np.asarray(times, float), np.maximum(expected, 1e-9)
    return np.asarray(np.where(n > rate, n * np.log(np.maximum(n, 1e-9) / rate) - (n - rate), 0.0))


def cycle_seeds(database: MiningDatabase, chance: Chance, rng: np.random.Generator, longest: int) -> Iterator[Seed]:
    """Kinds of short cycles that occur more often than chance expects.

    >>> from rwkplus.loops.embeddings import Adjacency
    >>> one = np.array([[1, 2], [0, 2], [0, 1]])
    >>> ends = np.concatenate([one + 3 * k for k in range(20)]).ravel()
    >>> rows = Adjacency(np.arange(0, 121, 2), ends, ends * 0, np.arange(60) % 3, np.zeros(60, np.int64))
    >>> triangles = MiningDatabase(rows, num_graphs=1, num_labels=3, num_edge_labels=1)
    >>> [seed.times for seed in cycle_seeds(triangles, Chance.of(triangles), np.random.default_rng(0), 3)]
    [20.0]
    """
    rows, labels = database.rows, database.num_edge_labels
    tops = rng.permutation(rows.label.size)
    found = short_cycles(rows, database.distinct, tops, longest, most=MOST_CYCLES, steps=STEPS)
    sizes = (found.entries >= 0).sum(1)
    for size in range(3, longest + 1):
        entries = found.entries[sizes == size, :size]
        node, edge = database.source[entries], rows.edge_label[entries]
        token = rows.label[node] * labels + edge
        turned = rows.label[node] * labels + (np.roll(edge, 1, axis=1) ^ database.directed)
        hashes = np.stack([_hashes(way, start) for way in (token, turned[:, ::-1]) for start in range(size)])
        kinds, first, times = np.unique(hashes.min(0), return_index=True, return_counts=True)
        symmetries = (hashes[:, first] == kinds).sum(0)
        kinds_there = max((database.num_labels * labels) ** size / (2 * size), 1)
        for k in np.flatnonzero(times >= FEWEST).tolist():
            shape = _cycle(rows.label[node[first[k]]].tolist(), edge[first[k]].tolist(), database.directed)
            expected = _expected_cycles(chance, shape, database) / int(symmetries[k])
            score = float(excess(float(times[k]), expected * found.share)) - float(np.log(kinds_there)) - PRICE
            yield Seed(shape, float(times[k]) / found.share, expected, int(symmetries[k]), score)


def longest_cycles(database: MiningDatabase) -> int:
    """Cycles to look for: so long that chance makes half as many as can be listed."""
    degree = np.diff(database.rows.indptr).astype(float)
    further = float((degree * (degree - 1)).sum() / degree.sum())
    sizes = (size for size in range(LONGEST, 3, -1) if further**size / (2 * size) < MOST_CYCLES / 2)
    return next(sizes, 3)


def girth(shape: Shape) -> float:
    """Nodes of the shortest cycle."""
    return float(nx.girth(nx.Graph((i, j) for i, j, _ in shape.edges)))


def _hashes(token: Ints, start: int) -> NDArray[np.uint64]:
    """One number for each row of tokens, read from ``start`` on; rows of different tokens hardly ever share it."""
    turned = np.roll(token, -start, axis=1).astype(np.uint64) + np.uint64(1)
    hashes = np.zeros(len(token), np.uint64)
    for column in turned.T:
        hashes = (hashes ^ column) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    return hashes


def _cycle(labels: list[int], edges: list[int], directed: bool) -> Shape:
    """The shape of a cycle: the last edge leads back to the first node."""
    steps = [(k, k + 1, edge) for k, edge in enumerate(edges[:-1])]
    return Shape(tuple(labels), (*steps, (0, len(labels) - 1, edges[-1] ^ directed)), directed)


def _expected_cycles(chance: Chance, shape: Shape, database: MiningDatabase) -> float:
    """Ways along a cycle of this kind, from a first node on, that the configuration model expects."""
    expected, size = 1.0, shape.size
    edges = [edge for _, _, edge in shape.edges[:-1]] + [shape.mate(shape.edges[-1][2])]
    for k, edge in enumerate(edges):
        label, came = shape.labels[k], shape.mate(edges[k - 1])
        into, out = chance.direction(came), chance.direction(edge)
        degree = database.degree[database.rows.label == label]
        pairs = float((degree[:, into] * (degree[:, out] - (into == out))).sum())
        share = float(chance.end_share(label, edge, shape.labels[(k + 1) % size]))
        expected *= pairs * share / max(chance.label_ends[label, into], 1.0)
    return expected


def path_seeds(database: MiningDatabase, chance: Chance) -> Iterator[Seed]:
    """Kinds of paths of three nodes, the first in the middle, that occur more often than chance expects."""
    rows, base = database.rows, database.num_labels
    keep = database.distinct
    kind = rows.edge_label[keep] * base + rows.label[rows.neighbor[keep]]
    shape = (rows.label.size, database.num_edge_labels * base)
    ends = csr_matrix((np.ones(kind.size), (database.source[keep], kind)), shape=shape)
    for label in range(base):
        nodes = np.flatnonzero(rows.label == label)
        own, degree = ends[nodes], database.degree[nodes].astype(float)
        both = (own.T @ own).tocoo()
        total = np.asarray(own.sum(0)).ravel()
        chosen = both.row <= both.col
        for a, b, times in zip(both.row[chosen].tolist(), both.col[chosen].tolist(), both.data[chosen], strict=True):
            (first, one), (second, other) = divmod(a, base), divmod(b, base)
            into, out = chance.direction(first), chance.direction(second)
            pairs = float((degree[:, into] * (degree[:, out] - (into == out))).sum())
            expected = pairs * float(chance.end_share(label, first, one) * chance.end_share(label, second, other))
            n = (times - total[a]) / 2 if a == b else float(times)
            expected = expected / 2 if a == b else expected
            score = float(excess(n, expected)) - float(np.log(shape[1] ** 2 * base)) - PRICE
            if score > 0 and n >= FEWEST:
                path = Shape((label, one, other), ((0, 1, first), (0, 2, second)), database.directed)
                yield Seed(path, n, expected, 1 + (a == b), score)

r"""Search in one large graph, where there is nothing to count but occurrences.

In a sparse graph almost every small tree occurs everywhere by chance, and a motif with a few hundred copies is lost
among them. Short cycles are rare by chance: in a graph of 50,000 nodes with eight edges each, labels tell five-cycles
apart of which chance makes ten. So the search begins at kinds of cycles of three to six nodes, and of paths of three
nodes for graphs whose patterns are trees, that occur more often than the configuration model expects, and grows them
along their embeddings.

Every occurrence of such a seed may lie in a copy of a larger pattern. Where chance expects :math:`\mu` extensions of a
kind and there are ``x``, among which a copy has one by design, the occurrence is :math:`x / \mu` times as likely in a
copy as by chance; ratios of several steps multiply, and those of several embeddings add up. If a share ``f`` of the
occurrences lies in copies, the evidence is the sum of :math:`\log(1 - f + f r)` over their ratios ``r``. A step
belongs to the pattern if it raises the evidence, at a share ``f`` that is at least ``fidelity`` times the one before.

Trees must stand out by their paths of three nodes: one with a few hundred copies among as many nodes as above cannot be
told from chance, whatever the search.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rwkplus.loops.cycles import short_cycles
from rwkplus.loops.embeddings import Floats, Ints
from rwkplus.loops.growing import Growth, grow_embeddings
from rwkplus.mining.search.chance import Chance
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.greedy import Controls, Search
from rwkplus.mining.search.growth import Beam, Grown, Step, condition_cost, condition_places, edge_cost, extended
from rwkplus.mining.search.occurrences import Shape, distinct_occurrences
from rwkplus.mining.search.whole_graph import count_whole, neighborhoods, some_embeddings

SEEDS = 5
"""Kinds of cycles or paths that are grown."""
PLACES = 4_000
"""Embeddings that growth looks at."""
AHEAD = 6
"""Steps that are looked beyond where none is worth it by itself: the tail of a ring may be told by its end only."""
MOST_ENDS = 2_000_000
"""Edges at the nodes of these."""
SHARES = np.concatenate([np.geomspace(0.002, 0.5, 20), np.linspace(0.55, 1.0, 10)])
"""Shares of places to try."""
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
    score: float


@dataclass(frozen=True)
class LargeSearch:
    """How to search in one graph for maximal patterns."""

    beam: Beam
    min_size: int
    seed: int

    def best(self, database: MiningDatabase) -> Grown | None:
        """The pattern with most evidence, or None where there is none."""
        if not database.num_edges:
            return None
        chance, rng = Chance.of(database), np.random.default_rng(self.seed)
        longest = longest_cycles(database)
        cycles = self._grown(cycle_seeds(database, chance, rng, longest), database, chance, rng)
        paths = self._grown(path_seeds(database, chance), database, chance, rng)
        grown = [*cycles, *(part for part in paths if girth(part.shape) > longest)]  # others are seen better there
        fitting = (part for part in grown if part.shape.size >= self.min_size)
        return max(fitting, key=lambda part: part.score, default=None)

    def _grown(
        self, seeds: Iterable[Seed], database: MiningDatabase, chance: Chance, rng: np.random.Generator
    ) -> Iterator[Grown]:
        """What the best seeds grow to."""
        fitting = [seed for seed in seeds if seed.shape.size <= self.beam.max_size and seed.score > 0]
        for seed in sorted(fitting, key=lambda seed: -seed.score)[:SEEDS]:
            yield _Growing(database, chance, self.beam, rng).grow(seed)
            if self.beam.expired:
                return

    def one_after_the_other(self, database: MiningDatabase, controls: Controls) -> Iterator[Grown]:
        """Yield patterns that beat chance, each found where those before leave something unexplained."""
        while (best := self.best(database)) is not None and controls.beaten_by(best.score):
            yield best
            if self.beam.expired:
                return
            database = database.without_edges(count_whole(database, best.shape).covered)

    def control(self, database: MiningDatabase, number: int) -> float:
        """Best score in the graph rewired at random."""
        best = self.best(database.shuffled(np.random.default_rng([self.seed, number])))
        return 0.0 if best is None else best.score


@dataclass(frozen=True)
class BlockSearch:
    """How to search in one graph for building blocks: in what is around some of its nodes."""

    search: Search
    count: int

    def one_after_the_other(self, database: MiningDatabase, controls: Controls) -> Iterator[Grown]:
        """Yield blocks, each found where those before leave something unexplained."""
        rng = np.random.default_rng(self.search.seed)
        yield from self.search.one_after_the_other(neighborhoods(database, self.count, rng), controls)

    def control(self, database: MiningDatabase, number: int) -> float:
        """Best score in the graph rewired at random, in as many neighborhoods."""
        rng = np.random.default_rng([self.search.seed, number])
        best = self.search.best(neighborhoods(database.shuffled(rng), self.count, rng))
        return 0.0 if best is None else best.score


@dataclass(frozen=True)
class _Places:
    """Embeddings of a pattern in occurrences of its seed, and how much likelier each is in a copy than by chance."""

    database: MiningDatabase
    chance: Chance
    shape: Shape
    embeddings: Ints  # (count, n)
    owner: Ints  # (count,): the seed's occurrence
    weight: Floats  # (count,): ratios of likelihoods, which are added up for each occurrence
    occurrences: int

    @cached_property
    def growth(self) -> Growth:
        """All ways to extend them by an edge."""
        return grow_embeddings(self.database.rows, self.embeddings, self.shape.edge_array)

    def spare(self, i: int, edge: int) -> Ints:
        """Ends beyond those of the pattern, in the direction of an edge as seen from position ``i``."""
        direction = self.chance.direction(edge)
        spare: Ints = self.database.degree[self.embeddings[:, i], direction] - self.shape.ends[i, direction]
        return spare

    def rates(self, step: Step) -> Floats:
        """Edges of a kind that chance expects at each embedding."""
        chance, i, j, edge = self.chance, step.start, step.end, step.edge
        if j == self.shape.size:
            return self.spare(i, edge) * np.float64(chance.end_share(self.shape.labels[i], edge, step.label))
        beside = [own for u, v, own in self.shape.edges if (u, v) == (i, j)]
        if beside:
            return np.full(len(self.embeddings), max(chance.parallel.get((own, edge), 1e-9) for own in beside))
        ends = self.spare(i, edge) * self.spare(j, self.shape.mate(edge))
        rates: Floats = ends * chance.edge_share[edge] / chance.ends[0]
        return rates

    def extended(self, way: "_Way") -> "_Places":
        """Embeddings of a larger pattern."""
        embeddings = self.embeddings[way.rows]
        if way.nodes is not None:
            embeddings = np.column_stack([embeddings, way.nodes])
        shape, owner = extended(self.shape, way.step), self.owner[way.rows]
        return replace(self, shape=shape, embeddings=embeddings, owner=owner, weight=way.weight)

    def some(self, rng: np.random.Generator) -> "_Places":
        """As many of the seed's occurrences as growth can look at, in random order."""
        degree = np.diff(self.database.rows.indptr)
        ends = np.bincount(self.owner, degree[self.embeddings].sum(1), self.occurrences)
        order = rng.permutation(self.occurrences)
        kept = max(int(np.searchsorted(ends[order].cumsum(), MOST_ENDS)), 1)
        if kept >= self.occurrences:
            return self
        number = np.full(self.occurrences, -1)
        number[order[:kept]] = np.arange(kept)
        mine = number[self.owner] >= 0
        owner = number[self.owner[mine]]
        return replace(self, embeddings=self.embeddings[mine], owner=owner, weight=self.weight[mine], occurrences=kept)


class _Way(NamedTuple):
    """A step that a pattern may grow by."""

    step: Step
    rows: Ints  # embeddings that have it
    nodes: Ints | None  # new nodes
    weight: Floats  # of the larger embeddings


class _State(NamedTuple):
    """How far growth has come."""

    places: _Places
    told: float  # evidence for steps beyond the seed
    share: float  # of the seed's occurrences that lie in copies
    score: float


class _Ahead(NamedTuple):
    """A step that may be taken."""

    places: _Places
    way: _Way
    told: float
    share: float
    score: float

    def carried_out(self) -> _State:
        return _State(self.places.extended(self.way), self.told, self.share, self.score)


@dataclass(frozen=True)
class _Growing:
    """Growth of one pattern, by the step with most evidence, as long as there is one."""

    database: MiningDatabase
    chance: Chance
    beam: Beam
    rng: np.random.Generator

    def grow(self, seed: Seed) -> Grown:
        """The largest pattern that a seed leads to: steps that raise the score are taken, alone or two at a time."""
        state = _State(self._begin(seed), 0.0, max(1 - seed.expected / seed.times, 0.0), seed.score)
        while not self.beam.expired:
            ahead = self._ahead(state)
            if ahead and ahead[0].score <= state.score:
                ahead = [more for step in ahead[:AHEAD] for more in self._ahead(step.carried_out())[:1]]
            best = max(ahead, key=lambda step: step.score, default=None)
            if best is None or best.score <= state.score:
                break
            state = best.carried_out()
        return Grown(state.places.shape, state.places.embeddings, 1, state.score, 0.0)

    def _ahead(self, state: "_State") -> "list[_Ahead]":
        """Patterns with one step more, the best first."""
        places, prices = state.places.some(self.rng), self._prices(state.places.shape)
        found = []
        for way in (*self._by_edges(places), *self._by_conditions(places)):
            ratio: Floats = np.bincount(places.owner[way.rows], way.weight, places.occurrences).astype(np.float64)
            told, share = evidence_of_copies(ratio, self.beam.fidelity * state.share)
            score = state.score + told - state.told - prices[bool(way.step.need or way.step.edge_need)]
            found.append(_Ahead(places, way, told, min(share, state.share), score))
        return sorted(found, key=lambda step: -step.score)

    def _begin(self, seed: Seed) -> _Places:
        """Occurrences of a seed, in all ways to look at each."""
        found = distinct_occurrences(seed.shape, some_embeddings(self.database, seed.shape, PLACES, self.rng))
        ways = seed.shape.automorphisms
        owner = np.repeat(np.arange(len(found)), len(ways))
        weight = np.full(owner.size, 1 / len(ways))
        rows = found[:, ways].reshape(-1, seed.shape.size)
        return _Places(self.database, self.chance, seed.shape, rows, owner, weight, len(found))

    def _prices(self, shape: Shape) -> tuple[float, float]:
        """Nats to be paid for one step more, and for one with a condition."""
        price = edge_cost(self.database, shape)
        return price, price + PRICE + condition_cost(self.database)

    def _by_edges(self, places: _Places) -> Iterator[_Way]:
        """Steps by an edge, with and without a condition."""
        growth, shape, rows = places.growth, places.shape, self.database.rows
        if len(shape.edges) >= self.beam.max_edges or not growth.row.size:
            return
        label = np.where(growth.node < 0, 0, rows.label[growth.node])
        bases = (shape.size + 1, self.database.num_edge_labels, self.database.num_labels)
        kind = ((growth.start * bases[0] + growth.end) * bases[1] + rows.edge_label[growth.entry]) * bases[2] + label
        if shape.size >= self.beam.max_size:
            kind = np.where(growth.node < 0, kind, -1)
        order = np.argsort(kind, kind="stable")
        kinds, begin = np.unique(kind[order], return_index=True)
        for one, members in zip(kinds.tolist(), np.split(order, begin[1:]), strict=True):
            if one >= 0 and members.size >= FEWEST:
                start, end, edge, label_there = np.unravel_index(one, (bases[0], bases[0], bases[1], bases[2]))
                step = Step(int(start), int(end), int(edge), int(label_there))
                yield from self._with_conditions(places, step, members)

    def _with_conditions(self, places: _Places, step: Step, members: Ints) -> Iterator[_Way]:
        growth, rows, new = places.growth, self.database.rows, step.end == places.shape.size
        weight = places.weight / np.maximum(places.rates(step), 1e-9)

        def way(step: Step, own: Ints, share: float) -> _Way:
            row = growth.row[own]
            return _Way(step, row, growth.node[own] if new else None, weight[row] / share)

        entry = growth.entry[members]
        yield way(step, members[self.database.distinct[entry]], 1.0)
        if rows.edge_marks.size:
            for bit, share in enumerate(self.chance.share_of_edge_marks(step.edge).tolist()):
                own = members[rows.edge_marks[entry] >> bit & 1 == 1]
                key = growth.row[own] * rows.label.size + growth.node[own]
                yield way(step._replace(edge_need=1 << bit), own[np.unique(key, return_index=True)[1]], share)
        if rows.marks.size and new:
            free = members[self.database.distinct[entry]]
            for bit, share in enumerate(self.chance.share_of_marks(step.label).tolist()):
                own = free[rows.marks[growth.node[free]] >> bit & 1 == 1]
                yield way(step._replace(need=1 << bit), own, share)

    def _by_conditions(self, places: _Places) -> Iterator[_Way]:
        """Conditions on nodes and edges that are there."""
        grown = Grown(places.shape, places.embeddings, 1, 0.0, 0.0)
        for step, marks, shares in condition_places(self.database, self.chance, grown):
            name = "need" if step.start == step.end else "edge_need"
            for bit, share in enumerate(shares.tolist()):
                rows = np.flatnonzero(marks >> bit & 1)
                yield _Way(step._replace(**{name: 1 << bit}), rows, None, places.weight[rows] / share)


def evidence_of_copies(ratio: Floats, least: float) -> tuple[float, float]:
    """Log-likelihood ratio that a share of at least ``least`` of all places are copies, and the likeliest such share.

    ``ratio`` tells of every place how much likelier it is in a copy than by chance.

    >>> gain, share = evidence_of_copies(np.full(100, 3.0), least=0.7)
    >>> round(gain, 1), share
    (109.9, 1.0)
    """
    if ratio.mean() <= 1:
        return 0.0, 0.0
    shares = np.concatenate([[least], SHARES[least < SHARES]])
    with np.errstate(divide="ignore"):
        gains = np.log(1 - shares[:, None] + shares[:, None] * ratio).sum(1)
    best = int(np.argmax(gains))
    return float(gains[best]), float(shares[best])


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
            expected = _expected_cycles(chance, shape) / int(symmetries[k])
            score = float(excess(float(times[k]), expected * found.share)) - float(np.log(kinds_there)) - PRICE
            yield Seed(shape, float(times[k]) / found.share, expected, score)


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


def _expected_cycles(chance: Chance, shape: Shape) -> float:
    """Ways along a cycle of this kind, from a first node on, that the configuration model expects."""
    expected, size = 1.0, shape.size
    edges = [edge for _, _, edge in shape.edges[:-1]] + [shape.mate(shape.edges[-1][2])]
    for k, edge in enumerate(edges):
        label, came = shape.labels[k], shape.mate(edges[k - 1])
        into, out = chance.direction(came), chance.direction(edge)
        pairs = float(chance.end_pairs[label, into, out])
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
        own = ends[nodes]
        both = (own.T @ own).tocoo()
        total = np.asarray(own.sum(0)).ravel()
        chosen = both.row <= both.col
        for a, b, times in zip(both.row[chosen].tolist(), both.col[chosen].tolist(), both.data[chosen], strict=True):
            (first, one), (second, other) = divmod(a, base), divmod(b, base)
            into, out = chance.direction(first), chance.direction(second)
            pairs = float(chance.end_pairs[label, into, out])
            expected = pairs * float(chance.end_share(label, first, one) * chance.end_share(label, second, other))
            n = (times - total[a]) / 2 if a == b else float(times)
            expected = expected / 2 if a == b else expected
            score = float(excess(n, expected)) - float(np.log(shape[1] ** 2 * base)) - PRICE
            if score > 0 and n >= FEWEST:
                path = Shape((label, one, other), ((0, 1, first), (0, 2, second)), database.directed)
                yield Seed(path, n, expected, score)

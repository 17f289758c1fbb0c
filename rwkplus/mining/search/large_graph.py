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

import numpy as np

from rwkplus.loops.embeddings import Floats, Growth, Ints, grow_embeddings
from rwkplus.mining.search.chance import Chance
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.greedy import Controls, Search
from rwkplus.mining.search.growth import Beam, Grown, Step, condition_cost, condition_places, edge_cost, extended
from rwkplus.mining.search.occurrences import Shape, distinct_occurrences
from rwkplus.mining.search.seeds import FEWEST, PRICE, Seed, cycle_seeds, girth, longest_cycles, path_seeds
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

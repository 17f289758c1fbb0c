"""Growth guided by classes or targets: patterns that tell which graphs are which.

The score is the log-likelihood ratio that having a pattern tells something of the target: for classes the information
gain times the number of graphs, for real targets the same of two means. What an extension can reach at best is known:
it occurs in some of the same graphs, and most telling would be those of one class.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from rwkplus.loops.embeddings import Floats, Ints, totals_by_mark
from rwkplus.mining.contrast import Targets
from rwkplus.mining.search.chance import Chance
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.greedy import Controls
from rwkplus.mining.search.growth import (
    Beam,
    Extension,
    Grown,
    Ways,
    condition_places,
    extensions,
    first_of_each_shape,
    single_edges,
    worthwhile,
)
from rwkplus.mining.search.occurrences import Shape, exact_embeddings

NO_GAIN = 1e-9


@dataclass(frozen=True)
class Telling:
    """Judges how much the graphs that have a pattern tell of a target.

    >>> telling = Telling.of(np.array([0, 0, 1, 1]), num_classes=2)
    >>> telling.scores(telling.weights[:2].sum(0)[None]).round(2)  # a pattern that the first class has
    array([2.77])
    """

    weights: Floats  # (B, W): ones; then one column for each class, or the target and its square
    num_classes: int  # 0 for real targets

    @classmethod
    def of(cls, target: NDArray[np.float64] | Ints, num_classes: int) -> "Telling":
        """Make the weights of graphs, which are added up over those that have a pattern."""
        ones = np.ones((target.size, 1))
        if num_classes:
            return cls(np.hstack([ones, np.eye(num_classes)[target]]), num_classes)
        centered = (target - target.mean()) / (target.std() or 1.0)
        return cls(np.column_stack([ones, centered, centered**2]), 0)

    def scores(self, totals: Floats) -> Floats:
        """Nats that patterns tell, from the weights of the graphs that have them: ``(k, W)`` to ``(k,)``."""
        everything = self.weights.sum(0)
        size, have = everything[0], totals[:, 0]
        if self.num_classes:
            rest = everything - totals
            inside, outside = (xlogy(part[:, 1:], part[:, 1:]).sum(1) for part in (totals, rest))
            lost = xlogy(have, have) + xlogy(size - have, size - have)
            nats = inside + outside - lost + xlogy(size, size) - xlogy(everything[1:], everything[1:]).sum()
            return np.asarray(np.maximum(nats, 0.0))
        between = np.where(
            (have > 0) & (have < size), totals[:, 1] ** 2 * size / np.maximum(have * (size - have), 1), 0.0
        )
        return np.asarray(-size / 2 * np.log1p(-np.minimum(between / everything[2], 1 - 1e-12)))

    def bounds(self, totals: Floats) -> Floats:
        """Nats that an extension of each pattern can reach at best.

        >>> telling = Telling.of(np.array([0, 0, 1, 1]), num_classes=2)
        >>> telling.bounds(telling.weights[:3].sum(0)[None]).round(2)  # without the third graph
        array([2.77])
        """
        if not self.num_classes:
            return np.full(len(totals), np.inf)
        best = np.zeros(len(totals))
        for k in range(self.num_classes):
            for kept in (np.arange(self.num_classes) == k, np.arange(self.num_classes) != k):
                part = totals[:, 1:] * kept
                best = np.maximum(best, self.scores(np.column_stack([part.sum(1), part])))
        return best

    def permuted(self, rng: np.random.Generator) -> "Telling":
        """Targets given to graphs at random."""
        return replace(self, weights=rng.permutation(self.weights))


@dataclass(frozen=True)
class GuidedSearch:
    """Finds the most telling pattern of a database."""

    beam: Beam
    min_size: int
    seed: int

    def best(self, database: MiningDatabase, telling: Telling) -> Grown | None:
        """Return the most telling pattern, with all edges that the graphs that have it share; None without any."""
        best: Grown | None = None
        for grown in self._grown(database, telling):
            if grown.shape.size >= self.min_size and grown.score > (NO_GAIN if best is None else best.score + NO_GAIN):
                best = grown
        return best

    def completed(self, database: MiningDatabase, grown: Grown) -> Grown:
        """Add what all graphs that have the pattern share beyond chance: the same graphs have more in common."""
        chance = Chance.of(database)
        while True:
            base = replace(grown, score=0.0)
            shared = [
                e for e in extensions(database, chance, [base], self.beam) if e.support == grown.support and e.score > 0
            ]
            if not shared:
                return grown
            best = max(shared, key=lambda extension: extension.score)
            rng = np.random.default_rng(self.seed)
            more = best.carry_out(database, self.beam.max_per_graph, rng)
            grown = replace(more, score=grown.score)

    def control(self, database: MiningDatabase, telling: Telling, number: int) -> float:
        """Best score where targets are given to graphs at random: what chance alone achieves."""
        best = self.best(database, telling.permuted(np.random.default_rng([self.seed, number])))
        return 0.0 if best is None else best.score

    def _grown(self, database: MiningDatabase, telling: Telling) -> Iterator[Grown]:
        """Patterns of the beam, level by level; those that cannot become the best any more are left."""
        rng, beam = np.random.default_rng(self.seed), self.beam
        chance = Chance.of(database)
        front, best = single_edges(database, beam.min_support), 0.0
        while front:
            ahead: list[tuple[float, Extension]] = []
            for grown in front:
                for bound, extension in self._extensions(database, chance, telling, grown, best - NO_GAIN):
                    best = max(best, extension.score if extension.size >= self.min_size else 0.0)
                    ahead.append((bound, extension))
            ahead = [(bound, extension) for bound, extension in ahead if bound >= best - NO_GAIN]
            by_score = first_of_each_shape((e for _, e in sorted(ahead, key=lambda pair: -pair[1].score)), beam.width)
            by_bound = first_of_each_shape((e for _, e in sorted(ahead, key=lambda pair: -pair[0])), beam.width // 2)
            chosen = {extension.shape.fingerprint: extension for extension in (*by_bound, *by_score)}
            front = [extension.carry_out(database, beam.max_per_graph, rng) for extension in chosen.values()]
            yield from front
            if beam.expired:
                return

    def _extensions(
        self, database: MiningDatabase, chance: Chance, telling: Telling, grown: Grown, reached: float
    ) -> Iterator[tuple[float, Extension]]:
        """What an extension can reach, if that is not less than what others have, and it with its own score."""
        weights, least = telling.weights, self.beam.min_support
        graph = database.rows.graph[grown.embeddings.max(1)]
        for step, marks, shares in condition_places(database, chance, grown):
            totals = totals_by_mark(marks, graph, weights, shares.size)
            scores, bounds = telling.scores(totals), telling.bounds(totals)
            name = "need" if step.start == step.end else "edge_need"
            for bit in np.flatnonzero((totals[:, 0] >= least) & (scores > grown.score) & (bounds >= reached)).tolist():
                own = step._replace(**{name: 1 << bit})
                yield bounds[bit], Extension(grown, own, int(totals[bit, 0]), float(scores[bit]), 0.0)
        if len(grown.shape.edges) >= self.beam.max_edges:
            return
        ways = Ways.of(database, grown, self.beam, weights)
        hopeful = np.flatnonzero(telling.bounds(ways.totals) >= reached).tolist()
        if database.num_marks or database.num_edge_marks:
            found = [part for k in hopeful for part in ways.with_conditions(k, weights)]
        else:
            found = [(ways.step(k), ways.totals[k]) for k in hopeful]
        if not found:
            return
        steps, sums = zip(*found, strict=True)
        totals = np.array(sums)
        scores, bounds = telling.scores(totals), telling.bounds(totals)
        scores[totals[:, 0] < least] = -np.inf
        for n in worthwhile(steps, scores):
            if np.isfinite(scores[n]) and bounds[n] >= reached:
                yield bounds[n], Extension(grown, steps[n], int(totals[n, 0]), float(scores[n]), 0.0)


@dataclass(frozen=True)
class Rounds:
    """One telling pattern after the other, each searched for in graphs that have none of those before."""

    search: GuidedSearch
    database: MiningDatabase
    targets: Targets
    most_graphs: int

    def control(self, number: int) -> float:
        """What chance achieves in the first round."""
        return self.search.control(*self.part(self.chosen(self.first, np.random.default_rng(self.search.seed))), number)

    @property
    def first(self) -> NDArray[np.bool_]:
        """Graphs of the first round: all that have a target."""
        left = np.zeros(self.database.num_graphs, bool)
        left[self.targets.known] = True
        return left

    def patterns(self, controls: "Controls") -> Iterator[Grown]:
        """Yield patterns that tell more than chance does."""
        left = self.first
        rng = np.random.default_rng(self.search.seed)
        while (chosen := self.chosen(left, rng)).size:
            sample, telling = self.part(chosen)
            best = self.search.best(sample, telling)
            if best is None or not controls.beaten_by(best.score):
                return
            best = self.search.completed(sample, best)
            yield best
            if self.search.beam.expired:
                return
            left[graphs_with(self.database, best.shape)] = False

    def part(self, chosen: Ints) -> tuple[MiningDatabase, Telling]:
        """Some of the graphs with their targets."""
        telling = Telling.of(self.targets.values[chosen], len(self.targets.classes))
        return self.database.graphs_subset(chosen), telling

    def chosen(self, left: NDArray[np.bool_], rng: np.random.Generator) -> Ints:
        """Graphs to search in, as many of each class as may be; none where there is nothing left to tell apart."""
        if not self.targets.classes:
            graphs = np.flatnonzero(left)
            return np.sort(rng.permutation(graphs)[: self.most_graphs]) if graphs.size > 3 else graphs[:0]
        members = [np.flatnonzero(left & (self.targets.values == k)) for k in range(len(self.targets.classes))]
        members = [part for part in members if part.size >= self.search.beam.min_support]
        if len(members) < 2:
            return np.empty(0, np.int64)
        chosen: list[Ints] = []
        for rest, part in enumerate(sorted(members, key=len)):  # what small classes lack, large ones may fill
            room = (self.most_graphs - sum(map(len, chosen))) // (len(members) - rest)
            chosen.append(rng.permutation(part)[: max(room, self.search.beam.min_support)])
        return np.sort(np.concatenate(chosen))


def graphs_with(database: MiningDatabase, shape: Shape) -> Ints:
    """Numbers of the graphs that have a shape.

    >>> from rwkplus.loops.embeddings import Adjacency
    >>> rows = Adjacency(*map(np.array, ([0, 1, 2, 3, 4], [1, 0, 3, 2], [0] * 4, [0, 0, 0, 1], [0, 0, 1, 1])))
    >>> graphs_with(MiningDatabase(rows, 2, 2, 1), Shape((0, 1), ((0, 1, 0),)))
    array([1])
    """
    return np.unique(database.rows.graph[exact_embeddings(database, shape, limit=1)[:, 0]])

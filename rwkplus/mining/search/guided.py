"""Growth guided by classes or targets: patterns that tell which graphs are which.

The score is the log-likelihood ratio that having a pattern tells something of the target: for classes the information
gain times the number of graphs, for real targets the same of two means. What an extension can reach at best is known:
it occurs in some of the same graphs, and most telling would be those of one class. Of the best patterns of each size,
that which chance hardly reaches is chosen, and completed by what its graphs share.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, gammainccinv, gammaln, logsumexp, ndtri, xlogy

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
from rwkplus.types import Callback

NO_GAIN = 1e-9
ALPHA = 0.01
"""Share of searches on permuted targets that may find a pattern as telling."""
UNCLEAR = 3.0
"""Nats around the threshold, times the root of the number of controls, in which further controls may decide."""
SHARED = 0.9
"""Share of the graphs with a pattern that must have what completes it."""


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

    @cached_property
    def everything(self) -> Floats:
        """Weights of all graphs, added up.

        >>> Telling.of(np.array([0, 1, 1]), num_classes=2).everything
        array([3., 1., 2.])
        """
        return np.asarray(self.weights.sum(0))

    @cached_property
    def _kept(self) -> NDArray[np.bool_]:
        """Classes of the graphs that the most telling extensions keep: one, or all but one."""
        one = np.eye(self.num_classes, dtype=bool)
        return one if self.num_classes == 2 else np.vstack([one, ~one])

    def scores(self, totals: Floats) -> Floats:
        """Nats that patterns tell, from the weights of the graphs that have them: ``(k, W)`` to ``(k,)``."""
        everything = self.everything
        size, have = everything[0], totals[:, 0]
        if self.num_classes:
            parts = np.stack([totals, everything - totals, np.broadcast_to(everything, totals.shape)])
            nats = xlogy(parts, parts)
            inside, outside, before = nats[:, :, 1:].sum(2) - nats[:, :, 0]
            return np.asarray(np.maximum(inside + outside - before, 0.0))
        between = np.where(
            (have > 0) & (have < size), totals[:, 1] ** 2 * size / np.maximum(have * (size - have), 1), 0.0
        )
        return np.asarray(-size / 2 * np.log1p(-np.minimum(between / everything[2], 1 - 1e-12)))

    def score(self, has: NDArray[np.bool_]) -> float:
        """Nats that it tells which graphs have a pattern."""
        return float(self.scores(self.weights[has].sum(0)[None])[0])

    def bounds(self, totals: Floats) -> Floats:
        """Nats that an extension of each pattern can reach at best.

        >>> telling = Telling.of(np.array([0, 0, 1, 1]), num_classes=2)
        >>> telling.bounds(telling.weights[:3].sum(0)[None]).round(2)  # without the third graph
        array([2.77])
        """
        if not self.num_classes:
            return np.full(len(totals), np.inf)
        parts = (totals[:, 1:] * self._kept[:, None]).reshape(-1, self.num_classes)
        best = self.scores(np.column_stack([parts.sum(1), parts])).reshape(len(self._kept), -1)
        return np.asarray(best.max(0))

    def permuted(self, rng: np.random.Generator) -> "Telling":
        """Targets given to graphs at random."""
        return replace(self, weights=rng.permutation(self.weights))

    def likelihoods(self, has: NDArray[np.bool_]) -> Floats:
        """Log-likelihood of the target of every graph, once it is known which graphs have a pattern: ``(B,)``.

        >>> telling = Telling.of(np.array([0, 0, 1, 1]), num_classes=2)
        >>> telling.likelihoods(np.array([True, False, False, False])).round(2).tolist()
        [0.0, -1.1, -0.41, -0.41]
        """
        nats = np.zeros(has.size)
        if self.num_classes:
            for part in (has, ~has):
                classes = self.weights[part, 1:]
                nats[part] = np.log(classes @ classes.mean(0)) if len(classes) else 0.0
            return nats
        target = self.weights[:, 1]
        for part in (has, ~has):
            nats[part] = (target[part] - (target[part].mean() if part.any() else 0.0)) ** 2
        variance = max(float(nats.mean()), 1e-12)
        return np.asarray(-nats / (2 * variance) - np.log(variance) / 2)


@dataclass(frozen=True)
class GuidedSearch:
    """Finds the most telling patterns of a database."""

    beam: Beam
    min_size: int
    seed: int

    def best(self, database: MiningDatabase, telling: Telling) -> list[Grown | None]:
        """The most telling pattern of one edge, of one step more, ...; None where none is large enough."""
        best: list[Grown | None] = []
        for front in self._fronts(database, telling):
            fitting = [grown for grown in front if grown.shape.size >= self.min_size and grown.score > NO_GAIN]
            best.append(max(fitting, key=lambda grown: grown.score, default=None))
        return best

    def completed(self, database: MiningDatabase, telling: Telling, grown: Grown) -> Grown:
        """Add what nearly all graphs that have the pattern share beyond chance, as long as it tells hardly less."""
        chance, found = Chance.of(database), grown
        nats = telling.likelihoods(_having(database, found))
        while True:
            base, rng = replace(grown, score=0.0), np.random.default_rng(self.seed)
            shared = [
                e
                for e in extensions(database, chance, [base], self.beam)
                if e.support >= SHARED * found.support and e.score > 0
            ]
            if not shared:
                return grown
            best = max(shared, key=lambda extension: extension.score)
            more = best.carry_out(database, self.beam.max_per_graph, rng)
            has = _having(database, more)
            lost = nats - telling.likelihoods(has)
            if lost.sum() > lost.std() * np.sqrt(lost.size):  # more than a standard error
                return grown
            grown = replace(more, score=telling.score(has))

    def control(self, database: MiningDatabase, telling: Telling, number: int) -> Floats:
        """Best scores by steps where targets are given to graphs at random: what chance alone achieves."""
        best = self.best(database, telling.permuted(np.random.default_rng([self.seed, number])))
        return np.maximum.accumulate([0.0, *(0.0 if grown is None else grown.score for grown in best)])[1:]

    def _fronts(self, database: MiningDatabase, telling: Telling) -> Iterator[list[Grown]]:
        """Patterns of the beam, level by level; those that cannot become the best any more are left."""
        rng, beam = np.random.default_rng(self.seed), self.beam
        chance = Chance.of(database)
        front = [
            replace(grown, score=telling.score(_having(database, grown)))
            for grown in single_edges(database, beam.min_support)
        ]
        best = max((grown.score for grown in front if grown.shape.size >= self.min_size), default=0.0)
        while front:
            yield front
            if beam.expired:
                return
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


class SizedControls(Controls):
    r"""What chance achieves with patterns of every size: small ones have few rivals, large ones have many.

    By chance, having a pattern tells ``s`` nats of two classes, or of real targets, with probability ``exp(-s)``, and
    the best of ``N`` patterns does with ``N`` times that; nobody knows ``N``. Where ``n`` permuted searches reached
    ``m`` nats each, the *wait* :math:`n \log(1 + e^{-s} / \sum e^{-m})` of another one is exponential with mean 1,
    whatever ``N`` is. Looking at all sizes has its price, too: the shortest wait of a search is compared with those of
    the permuted searches, each beside the others, in the same way. Of more classes there is more to tell by chance:
    see :func:`rarity`.

    Args:
        control: Gives the best scores by steps of the control with a number.
        most: How many at most; without any, everything beats chance.
        n_jobs: Parallel jobs, through joblib.
        callback: Called after every control.
        deadline: When to stop, as :func:`time.monotonic` tells it.
        freedom: Number of classes; 2 for real targets.

    >>> controls = SizedControls(lambda number: np.array([2.0, 6.0]), most=3)
    >>> controls.beaten_at(9.0, level=0), controls.beaten_at(9.0, level=1)
    (True, False)
    """

    def __init__(
        self,
        control: Callable[[int], Floats],
        most: int,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        deadline: float = np.inf,
        freedom: int = 2,
    ) -> None:
        super().__init__(control, most, n_jobs, callback, deadline)
        self.freedom = freedom

    def among(self, control: Callable[[int], Floats]) -> "SizedControls":
        """What chance achieves among some of the graphs only."""
        return SizedControls(control, self.most, self.n_jobs, None, self.deadline, self.freedom)

    def beaten_at(self, score: float, level: int) -> bool:
        """Whether chance hardly ever reaches a score with as many steps, or fewer."""
        self.make_until(lambda: abs(score - self._threshold(level)) > UNCLEAR / np.sqrt(len(self.found)))
        return not self.found or self.chance_at(score, level) <= ALPHA

    def chance_at(self, score: float, level: int) -> float:
        """Share of searches on permuted targets that would find a pattern as telling for its size; nan without any."""
        if not self.found:
            return float("nan")
        return float(-np.expm1(-len(self.found) * np.logaddexp(0.0, -self.beyond_chance(score, level))))

    def beyond_chance(self, score: float, level: int) -> float:
        """Nats that remain of a score when what chance reaches with as many steps is taken off."""
        if not self.found:
            return score
        by_level, waits = self._by_level
        rare = rarity(np.asarray(score), self.freedom)
        return float(waits - _log_wait(-rare - by_level[min(level, by_level.size - 1)], len(self.found)))

    @property
    def threshold(self) -> float:
        """Score that suffices, whatever the size."""
        return max(self._threshold(-1), 0.0) if self.found else 0.0

    def _threshold(self, level: int) -> float:
        """The score whose chance is ``ALPHA``."""
        (by_level, waits), n = self._by_level, len(self.found)
        wait = np.expm1(-np.log1p(-ALPHA) / n) * np.exp(waits)
        rare = -np.log(np.expm1(wait / n)) - by_level[min(level, by_level.size - 1)]
        return float(rare if self.freedom == 2 or rare < 0 else gammainccinv(self.freedom / 2, np.exp(-rare)))

    @property
    def _by_level(self) -> tuple[Floats, float]:
        """The logarithm of the sum of ``exp(-m)`` for every number of steps, and that of the sum of shortest waits."""
        n, longest = len(self.found), max(map(len, self.found))
        logs = -rarity(np.array([[*part, *[part[-1]] * (longest - len(part))] for part in self.found]), self.freedom)
        if n == 1:  # nothing to compare it with: every size counts in full
            return logs[0], -float(np.log(longest))
        others = np.array([logsumexp(np.delete(logs, k, 0), axis=0) for k in range(n)])
        return logsumexp(logs, axis=0), float(logsumexp(_log_wait(logs - others, n - 1).min(1)))


def rarity(score: Floats, freedom: int) -> Floats:
    """Nats by which chance avoids a score: how rarely half of a chi-squared variable is as large, as a logarithm.

    Likelihood ratios of ``k`` classes have ``k - 1`` degrees of freedom where counts are large. Those of rare patterns
    have longer tails, so that one more is reckoned with: of two classes a score is its own rarity.

    >>> rarity(np.array([0.0, 10.0]), freedom=2).tolist(), rarity(np.array([0.0, 10.0]), freedom=6).round(1).tolist()
    ([0.0, 10.0], [0.0, 5.9])
    """
    powers = np.arange(freedom % 2 / 2, freedom / 2)
    terms = logsumexp(xlogy(powers, score[..., None]) - gammaln(powers + 1), axis=-1)
    if freedom % 2:
        terms = np.logaddexp(terms, np.log(erfcx(np.sqrt(score))))
    return np.asarray(score - terms)


def _log_wait(ratio: Floats, n: int) -> Floats:
    """Logarithm of ``n log(1 + exp(ratio))``."""
    return np.asarray(np.log(n) + np.where(ratio < -30, ratio, np.log(np.logaddexp(0.0, np.maximum(ratio, -30)))))


class Candidate(NamedTuple):
    """A pattern that tells something of the targets of some graphs."""

    grown: Grown
    among: NDArray[np.bool_]
    beyond: float  # nats beyond what chance reaches
    chance: float  # share of searches on permuted targets that would find a pattern as telling


@dataclass(frozen=True)
class Rounds:
    """One telling pattern after the other, each among graphs that those before do not tell apart.

    Together they are the inner nodes of a decision tree that grows where a pattern is most surprising. Every part of
    the graphs has its own controls, as it may hold more to find by chance than all graphs do.
    """

    search: GuidedSearch
    database: MiningDatabase
    targets: Targets
    most_graphs: int
    chances: list[float] = field(default_factory=list)
    """Of each pattern that was found, how likely chance is to find one as telling in any part searched so far."""

    def control(self, number: int) -> Floats:
        """What chance achieves among all graphs."""
        return self.search.control(*self.part(self.chosen(self.first, np.random.default_rng(self.search.seed))), number)

    @cached_property
    def first(self) -> NDArray[np.bool_]:
        """Graphs of the first round: all that have a target."""
        left = np.zeros(self.database.num_graphs, bool)
        left[self.targets.known] = True
        return left

    def patterns(self, controls: SizedControls) -> Iterator[Grown]:
        """Yield patterns that tell more than chance does."""
        rng = np.random.default_rng(self.search.seed)
        seen: set[tuple[int, int, int]] = set()
        searched, candidates = 1, [self._candidate(self.first, rng, controls)]
        while waiting := [part for part in candidates if part is not None]:
            best = max(waiting, key=lambda candidate: candidate.beyond)
            if best.grown.shape.fingerprint not in seen:
                self.chances.append(float(-np.expm1(searched * np.log1p(-best.chance))))
                yield best.grown
            if self.search.beam.expired:
                return
            seen.add(best.grown.shape.fingerprint)
            graphs = np.flatnonzero(best.among)
            has = np.zeros_like(best.among)
            has[graphs[graphs_with(self.database.graphs_subset(graphs), best.grown.shape)]] = True
            parts = (best.among & has, best.among & ~has)
            candidates = [part for part in waiting if part is not best]
            candidates += [self._candidate(part, rng, controls) for part in parts]
            searched += len(parts)
            if self.search.beam.expired:  # the last parts may have been left without controls
                return

    def _candidate(
        self, among: NDArray[np.bool_], rng: np.random.Generator, controls: SizedControls
    ) -> Candidate | None:
        """The most surprising pattern, completed; None where chance may find one as telling."""
        chosen = self.chosen(among, rng)
        if not chosen.size:
            return None
        sample, telling = self.part(chosen)
        found = [(level, grown) for level, grown in enumerate(self.search.best(sample, telling)) if grown is not None]
        if not found:
            return None
        own = controls if among is self.first else controls.among(partial(self.search.control, sample, telling))
        own.make_until(lambda: True)
        level, best = max(found, key=lambda pair: own.beyond_chance(pair[1].score, pair[0]))
        beaten = own.beaten_at(best.score, level)
        if own is not controls:
            own.finish()
        if not beaten:
            return None
        completed = self.search.completed(sample, telling, best)
        score = min(best.score, completed.score)
        return Candidate(completed, among, own.beyond_chance(score, level), own.chance_at(score, level))

    def part(self, chosen: Ints) -> tuple[MiningDatabase, Telling]:
        """Some of the graphs with their targets; of real ones with their normal scores, which have no outliers."""
        values = self.targets.values[chosen]
        telling = Telling.of(values if self.targets.classes else normal_scores(values), len(self.targets.classes))
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


def normal_scores(values: Floats) -> Floats:
    """What values of these ranks would be if they were normally distributed; equal values stay equal.

    >>> normal_scores(np.array([1.0, 2.0, 1e9])).round(2).tolist()
    [-0.97, 0.0, 0.97]
    """
    from scipy.stats import rankdata  # slow to import, and few need it

    return np.asarray(ndtri((rankdata(values) - 0.5) / values.size))


def _having(database: MiningDatabase, grown: Grown) -> NDArray[np.bool_]:
    """Which graphs have a pattern."""
    has = np.zeros(database.num_graphs, bool)
    has[database.rows.graph[grown.embeddings.max(1)]] = True
    return has


def graphs_with(database: MiningDatabase, shape: Shape) -> Ints:
    """Numbers of the graphs that have a shape.

    >>> from rwkplus.loops.embeddings import Adjacency
    >>> rows = Adjacency(*map(np.array, ([0, 1, 2, 3, 4], [1, 0, 3, 2], [0] * 4, [0, 0, 0, 1], [0, 0, 1, 1])))
    >>> graphs_with(MiningDatabase(rows, 2, 2, 1), Shape((0, 1), ((0, 1, 0),)))
    array([1])
    """
    return np.unique(database.rows.graph[exact_embeddings(database, shape, limit=1)[:, 0]])

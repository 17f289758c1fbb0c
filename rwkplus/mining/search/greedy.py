"""Patterns one after the other: find the best, take away what it explains, go on.

Growth climbs edge by edge and can miss what pays off only when complete, such as a ring. So candidates also come from
samples, which see rings as a whole, and from gradient descent, which sees the database as a whole. Every candidate
occurs: what has no support is dropped.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from rwkplus.loops.embeddings import find_embeddings
from rwkplus.mining.search.chance import Chance, divergence
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.growth import (
    Beam,
    Extension,
    Grown,
    Step,
    extensions,
    grow_blocks,
    grow_patterns,
    rated_block,
    single_edges,
)
from rwkplus.mining.search.occurrences import LIMIT, Shape, covered, exact_embeddings, near_embeddings, used_entries
from rwkplus.types import Callback, Criterion, Progress

FINALISTS = 3
NEARLY = 0.9
"""A larger block must save a tenth more than a smaller one: blocks are to be read."""

NEARLY_IN_SAMPLE = 0.97
"""Share of the best score below which another sample of a large database would hardly find more."""

CONTROL_GRAPHS = 100
"""Graphs that a control rewires: the evidence that chance makes up hardly depends on their number."""

FEWEST_CONTROLS = 3
FAR = 7.5
"""Scales of the distribution of controls: two standard errors of their threshold, times the root of their number."""

SAMPLES = 600
KEPT = 30
LARGEST_SAMPLE = 6

CONTRADICTION = 5.0
"""Nats of evidence against an edge that outweigh what distorted copies say for it."""


@dataclass(frozen=True)
class Search:
    """What to look for, and how."""

    criterion: Criterion
    beam: Beam
    min_size: int
    seed: int
    sample: bool = True
    """Whether subgraphs sampled from the database join the pool of candidates."""
    given: Sequence[Shape] = ()
    """Further candidates, such as decoded hidden graphs."""
    of_many: bool = False
    """Whether the database is a sample of many more graphs. Which maximal pattern scores most would then depend on the
    sample; the smallest of those that score nearly as much does not."""

    def best(self, database: MiningDatabase) -> Grown | None:
        """Return the best pattern by the criterion, or None where there is nothing to gain."""
        pool = self._pool(database)
        if self.criterion == "maximal":
            completed = [complete(database, grown, self.beam) for grown in self._finalists(pool)]
            pool = [*pool, *completed] if self.of_many else completed
        fitting = [grown for grown in pool if self._fits(grown)]
        best = max(fitting, key=lambda grown: grown.score, default=None)
        if best is None or (self.criterion == "maximal" and not self.of_many):
            return best
        least = best.score * (NEARLY if self.criterion == "blocks" else NEARLY_IN_SAMPLE)
        nearly = [grown for grown in fitting if grown.score >= least]
        return min(nearly, key=lambda grown: (grown.shape.size, -grown.score))

    def _fits(self, grown: Grown) -> bool:
        return grown.shape.size >= self.min_size and grown.score > 0

    def _finalists(self, pool: list[Grown]) -> list[Grown]:
        """The best that are large enough, and smaller ones that are better: completion may make them larger.

        The very best are often variants of one pattern. Where it matters, the best of every size are taken instead.
        """
        ranked = sorted(pool, key=lambda grown: -grown.score)
        if self.of_many:
            of_size: dict[int, Grown] = {}
            for grown in ranked:
                of_size.setdefault(grown.shape.size, grown)
            return [grown for grown in of_size.values() if grown.score >= NEARLY * ranked[0].score]
        fitting = [grown for grown in ranked if self._fits(grown)]
        return fitting[:FINALISTS] + [grown for grown in ranked[:FINALISTS] if not self._fits(grown)]

    def _pool(self, database: MiningDatabase) -> list[Grown]:
        """Grow, sample and take what was given: every candidate occurs and is judged alike."""
        blocks = self.criterion == "blocks"
        grow, beam = grow_blocks if blocks else grow_patterns, replace(self.beam, surprise=blocks)
        chance, edges = Chance.of(database), single_edges(database, beam.min_support)
        pool = {grown.shape.fingerprint: grown for grown in grow(database, chance, edges, beam, self.seed)}
        starts = {grown.shape: grown for grown in edges}
        sampled = sampled_shapes(database, beam, np.random.default_rng(self.seed)) if self.sample else []
        for shape in (*sampled, *self.given):
            if shape.fingerprint not in pool:
                grown = rated_along_a_path(database, chance, starts, shape, beam)
                if grown is not None:
                    pool[shape.fingerprint] = rated_block(database, grown) if blocks else grown
        return list(pool.values())

    def one_after_the_other(self, database: MiningDatabase, controls: "Controls") -> Iterator[Grown]:
        """Yield patterns, each found where the ones before leave something unexplained.

        Every maximal pattern must beat chance. Of blocks the first must: if the database has any structure, the others
        say how the rest of it is put together.
        """
        first = True
        while (best := self.best(database)) is not None:
            if (first or self.criterion == "maximal") and not controls.beaten_by(best.score):
                return
            yield best
            first = False
            if self.beam.expired:
                return
            embeddings, _ = near_embeddings(database, best.shape)
            database = database.without_edges(covered(database, used_entries(database, best.shape, embeddings)))

    def control(self, database: MiningDatabase, number: int) -> float:
        """Best score on the database rewired at random: what chance alone achieves."""
        rng = np.random.default_rng([self.seed, number])
        chosen = np.sort(rng.permutation(database.num_graphs)[:CONTROL_GRAPHS])
        best = self.best(database.graphs_subset(chosen).shuffled(rng))
        return 0.0 if best is None else best.score


class Controls:
    """What chance achieves: best scores on rewired databases, as many as it takes to tell whether a pattern beats them.

    Args:
        control: Gives the score of the control with a number, or several.
        most: How many at most; without any, everything beats chance.
        n_jobs: Parallel jobs, through joblib.
        callback: Called after every control.
        deadline: When to stop, as :func:`time.monotonic` tells it.

    >>> controls = Controls(lambda number: 9.0 + number, most=10)
    >>> controls.beaten_by(400.0), controls.scores.size
    (True, 3)
    >>> Controls(lambda number: 9.0 + number, most=10).beaten_by(18.0)
    False
    """

    def __init__(
        self,
        control: Callable[[int], Any],
        most: int,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        deadline: float = np.inf,
    ) -> None:
        self.control = control
        self.most = most
        self.n_jobs = n_jobs
        self.callback = callback
        self.deadline = deadline
        self.found: list[Any] = []
        self._running: Iterator[Any] = iter(())

    def begin(self) -> None:
        """Start the first controls where others can make them meanwhile; every pattern needs some."""
        if self.most and effective_n_jobs(self.n_jobs) > 1:
            self._running = self._started()

    @property
    def scores(self) -> NDArray[np.float64]:
        """Best score of every control."""
        return np.array([np.max(found) for found in self.found], np.float64)

    @property
    def threshold(self) -> float:
        """Score that a pattern has to beat."""
        return control_threshold(self.scores)

    def beaten_by(self, score: float) -> bool:
        """Whether chance hardly ever reaches a score; further controls are made while that is unclear."""
        self.make_until(lambda: self._is_clear(score))
        return score > self.threshold

    def make_until(self, clear: Callable[[], bool]) -> None:
        """Make controls, a few to begin with, until it is clear what they say; as many as there may be at most."""
        while len(self.found) < self.most and time.monotonic() <= self.deadline:
            if len(self.found) >= FEWEST_CONTROLS and clear():
                return
            one = next(self._running, None)
            if one is None:
                self._running = self._started()
                continue
            self.found.append(one)
            if self.callback is not None:
                self.callback(Progress("controls", len(self.found), self.most, {"score": float(np.max(one))}))

    def _started(self) -> Iterator[Any]:
        """The next controls, which jobs make in the background; how many are looked at does not depend on jobs."""
        ahead = max(FEWEST_CONTROLS - len(self.found), effective_n_jobs(self.n_jobs))
        numbers = range(len(self.found), min(len(self.found) + ahead, self.most))
        made: Iterator[Any] = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(self.control)(k) for k in numbers
        )
        return made

    def finish(self) -> None:
        """Wait for controls that were started and are not needed, rather than to stop the processes that make them."""
        if effective_n_jobs(self.n_jobs) > 1:
            for _ in self._running:
                pass

    def _is_clear(self, score: float) -> bool:
        """Whether further controls would hardly carry the threshold across a score."""
        return bool(abs(score - self.threshold) > FAR * _scale(self.scores) / np.sqrt(len(self.found)))


def control_threshold(scores: NDArray[np.float64]) -> float:
    """Return the score that chance exceeds about once in a hundred times, from a fitted Gumbel distribution.

    Likelihood ratios under chance exceed ``s`` nats with probability ``exp(-s)`` at most, so that the scale of their
    maximum is about 1; a few controls may by accident vary less.

    >>> control_threshold(np.zeros(0)), round(control_threshold(np.array([9.0, 10.0, 11.0])), 1)
    (0.0, 14.0)
    """
    if scores.size < 2:
        return float(scores.max(initial=0.0))
    scale = _scale(scores)
    location = float(scores.mean()) - np.euler_gamma * scale
    return max(float(location - scale * np.log(-np.log(0.99))), 0.0)


def _scale(scores: NDArray[np.float64]) -> float:
    return max(float(scores.std(ddof=1) * np.sqrt(6) / np.pi), 1.0)


def sampled_shapes(database: MiningDatabase, beam: Beam, rng: np.random.Generator) -> list[Shape]:
    """Draw connected induced subgraphs of three to six nodes; return those met most often.

    >>> from rwkplus.loops.embeddings import Adjacency
    >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
    >>> rng = np.random.default_rng(0)
    >>> {(shape.size, len(shape.edges)) for shape in sampled_shapes(triangle, Beam(), rng)}
    {(3, 3)}
    """
    met: Counter[tuple[int, int, int]] = Counter()
    shapes: dict[tuple[int, int, int], Shape] = {}
    largest = min(LARGEST_SAMPLE, beam.max_size)
    if largest < 3 or not database.num_edges:
        return []
    rows = database.rows

    @cache
    def around(v: int) -> list[tuple[int, int]]:
        entries = slice(rows.indptr[v], rows.indptr[v + 1])
        return list(zip(rows.neighbor[entries].tolist(), rows.edge_label[entries].tolist(), strict=True))

    for _ in range(SAMPLES):
        shape = _sample(database, around, int(rng.integers(3, largest, endpoint=True)), rng)
        if len(shape.edges) <= beam.max_edges:
            met[shape.fingerprint] += 1
            shapes.setdefault(shape.fingerprint, shape)
    return [shapes[key] for key, times in met.most_common(KEPT) if times > 1]


def labelled_shapes(database: MiningDatabase, shapes: Iterable[Shape]) -> Iterator[Shape]:
    """Give shapes without edge labels the labels they most often have in the database; drop what never occurs."""
    rows = database.rows
    blank = rows._replace(edge_label=np.zeros_like(rows.edge_label))
    label_of = dict(
        zip(zip(database.source.tolist(), rows.neighbor.tolist(), strict=True), rows.edge_label, strict=True)
    )
    for shape in shapes:
        found = find_embeddings(blank, shape.occurrence_plan, 20)
        if not len(found):
            continue
        place = {v: k for k, v in enumerate(shape.search_order)}
        labels = Counter(
            tuple(int(label_of[row[place[i]], row[place[j]]]) for i, j, _ in shape.edges) for row in found.tolist()
        )
        best = labels.most_common(1)[0][0]
        yield Shape(shape.labels, tuple((i, j, e) for (i, j, _), e in zip(shape.edges, best, strict=True)))


def rated_along_a_path(
    database: MiningDatabase, chance: Chance, starts: dict[Shape, Grown], shape: Shape, beam: Beam
) -> Grown | None:
    """Grow a given shape edge by edge, so that it is judged like those that growth found; None without support."""
    grown, place = _first_edge(starts, shape)
    left = list(shape.edges[1:])
    while grown is not None and left:
        wanted = next(edge for edge in left if edge[0] in place or edge[1] in place)
        left.remove(wanted)
        grown = _step(database, chance, grown, shape, wanted, place, beam)
    return grown


def _first_edge(starts: dict[Shape, Grown], shape: Shape) -> tuple[Grown | None, dict[int, int]]:
    i, j, edge = shape.edges[0]
    turned = edge & 1 if shape.directed else shape.labels[i] > shape.labels[j]
    i, j, edge = (j, i, shape.mate(edge)) if turned else (i, j, edge)
    start = Shape((shape.labels[i], shape.labels[j]), ((0, 1, edge),), shape.directed)
    return starts.get(start), {i: 0, j: 1}


def _step(
    database: MiningDatabase,
    chance: Chance,
    grown: Grown,
    shape: Shape,
    wanted: tuple[int, int, int],
    place: dict[int, int],
    beam: Beam,
) -> Grown | None:
    u, v, edge = wanted if wanted[0] in place else (wanted[1], wanted[0], shape.mate(wanted[2]))
    if v not in place:
        step = Step(place[u], grown.shape.size, edge, shape.labels[v])
        place[v] = grown.shape.size
    elif place[u] < place[v]:
        step = Step(place[u], place[v], edge, 0)
    else:
        step = Step(place[v], place[u], shape.mate(edge), 0)
    wide = replace(beam, max_edges=len(shape.edges) + 1)
    for extension in extensions(database, chance, [grown], wide, only=step):
        return extension.carry_out(database, beam.max_per_graph, np.random.default_rng(0))
    return None


def _sample(
    database: MiningDatabase, around: Callable[[int], list[tuple[int, int]]], size: int, rng: np.random.Generator
) -> Shape:
    """One connected induced subgraph: begin at a random edge and add random neighbors.

    ``around`` tells the neighbors of a node, with the labels of edges.
    """
    entry = int(rng.integers(database.rows.neighbor.size))
    nodes = [int(database.source[entry]), int(database.rows.neighbor[entry])]
    border = {w for v in nodes for w, _ in around(v)}.difference(nodes)
    while len(nodes) < size and border:
        nodes.append(sorted(border)[int(rng.integers(len(border)))])
        border = border.union(w for w, _ in around(nodes[-1])).difference(nodes)
    place = {v: k for k, v in enumerate(nodes)}
    edges = {(k, place[w], edge) for k, v in enumerate(nodes) for w, edge in around(v) if place.get(w, 0) > k}
    return Shape(tuple(database.rows.label[nodes].tolist()), tuple(sorted(edges)), database.directed)


def complete(database: MiningDatabase, grown: Grown, beam: Beam) -> Grown:
    """Add edges that the distorted copies of a pattern support beyond chance, one after the other.

    A pattern of ten edges of which each copy lost a fifth is complete in one graph out of ten; its last edge
    is seen in few complete copies but in many incomplete ones.
    """
    chance = Chance.of(database)
    while True:
        embeddings, used = near_embeddings(database, grown.shape)
        loose = replace(grown, embeddings=embeddings)
        for extension in extensions(database, chance, [loose], beam, used).by_score():
            if extension.score <= grown.score:
                return grown
            extended = _carried_out(database, extension)
            if extended.support >= beam.min_support and not _contradicted(grown, extended, beam):
                grown = extended
                break
        else:
            return grown


def _carried_out(database: MiningDatabase, extension: Extension) -> Grown:
    embeddings = exact_embeddings(database, extension.shape, LIMIT)
    support = np.unique(database.rows.graph[embeddings[:, 0]]).size
    return Grown(extension.shape, embeddings, support, extension.score, extension.surprise)


def _contradicted(grown: Grown, extended: Grown, beam: Beam) -> bool:
    """Whether complete copies lack the new edge more often than fidelity allows: then it is not part of them."""
    share = extended.support / grown.support
    return share < beam.fidelity and float(grown.support * divergence(share, beam.fidelity)) > CONTRADICTION

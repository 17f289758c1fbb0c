"""Beam search along real embeddings: patterns grow step by step and never stop occurring.

A step adds an edge, to a new node or between two that are there, or a condition on an attribute. Maximal patterns are
ranked by the evidence for their steps, building blocks by what they save.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from rwkplus.loops.embeddings import Floats, Ints, group_by_kind, joined_marks, totals_by_mark
from rwkplus.loops.growing import count_ways, expected_ways, ways_of
from rwkplus.mining.search.chance import Chance, Places, evidence
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.occurrences import Shape, disjoint, used_entries

LABEL_COST = 2.0
"""Nats to write down one node or edge of a building block."""


@dataclass(frozen=True)
class Grown:
    """A pattern with its embeddings."""

    shape: Shape
    embeddings: Ints
    support: int
    score: float  # evidence for every edge but the first, minus their cost
    surprise: float  # nats by which one occurrence surprises chance


Extend = Callable[[], tuple[Ints, Ints | None]]


class Step(NamedTuple):
    """What an extension adds."""

    start: int
    end: int  # the same position for a condition on its node, the number of positions for a new node
    edge: int
    label: int  # of a new node
    edge_need: int = 0
    need: int = 0


def extended(shape: Shape, step: Step) -> Shape:
    """The shape with one step more.

    >>> extended(Shape((0, 0), ((0, 1, 0),)), Step(start=1, end=2, edge=0, label=3)).labels
    (0, 0, 3)
    """
    if step.start == step.end:
        return shape.with_need(step.start, step.need)
    if step[:3] in shape.edges:
        return shape.with_edge_need(shape.edges.index(step[:3]), step.edge_need)
    if step.end < shape.size:
        return shape.with_edge(step.start, step.end, step.edge, step.edge_need)
    return shape.with_node(step.start, step.edge, step.label, step.edge_need, step.need)


@dataclass(frozen=True)
class Extension:
    """One step more for a grown pattern, not yet carried out."""

    base: Grown
    step: Step
    support: int
    score: float
    surprise: float
    extend: Extend  # gives the embeddings that can be extended, and by which nodes

    @property
    def size(self) -> int:
        """Nodes of the larger pattern."""
        return self.base.shape.size + (self.step.end == self.base.shape.size)

    @cached_property
    def shape(self) -> Shape:
        """The larger pattern."""
        return extended(self.base.shape, self.step)

    def carry_out(self, graph: Ints, max_per_graph: int, rng: np.random.Generator) -> Grown:
        """Extend the embeddings; where a graph has more than ``max_per_graph``, a random part of them goes on."""
        rows, nodes = self.extend()
        embeddings = self.base.embeddings[rows]
        if nodes is not None:
            embeddings = np.column_stack([embeddings, nodes])
        embeddings = embeddings[_some_of_each(graph[embeddings[:, 0]], max_per_graph, rng)]
        return Grown(self.shape, embeddings, self.support, self.score, self.surprise)


def _some_of_each(group: Ints, most: int, rng: np.random.Generator) -> Ints:
    """Choose at most ``most`` items of each group at random; groups ascend, and the order stays."""
    if np.bincount(group).max(initial=0) <= most:
        return np.arange(group.size)
    shuffled = np.argsort(group + rng.random(group.size))
    begin = np.searchsorted(group, group)
    return np.sort(shuffled[np.arange(group.size) - begin < most])


@dataclass(frozen=True)
class Beam:
    """How to search."""

    width: int = 30
    max_size: int = 12
    max_edges: int = 18
    min_support: int = 3
    fidelity: float = 0.7
    max_per_graph: int = 100
    deadline: float = np.inf
    surprise: bool = False  # whether to tell by how much occurrences surprise, which building blocks need

    @property
    def expired(self) -> bool:
        """Whether there is no time left.

        >>> Beam().expired, Beam(deadline=0.0).expired
        (False, True)
        """
        return time.monotonic() > self.deadline


def grow_patterns(
    database: MiningDatabase, chance: Chance, front: list[Grown], beam: Beam, seed: int
) -> Iterator[Grown]:
    """Yield the patterns of the beam, level by level: those of one edge in front, then those with one step more, ...

    Extensions are ranked by evidence against the configuration model (see :mod:`rwkplus.mining.search.chance`).

    >>> from rwkplus.loops.embeddings import Adjacency
    >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
    >>> search = triangle, Chance.of(triangle), single_edges(triangle, 1), Beam(min_support=1)
    >>> [len(grown.shape.edges) for grown in grow_patterns(*search, seed=0)]
    [1, 2, 3]
    """
    rng = np.random.default_rng(seed)
    while front:
        yield from front
        if beam.expired:
            return
        ahead = sorted(extensions(database, chance, front, beam), key=lambda extension: -extension.score)
        best = first_of_each_shape(ahead, beam.width)
        front = [extension.carry_out(database.rows.graph, beam.max_per_graph, rng) for extension in best]


def first_of_each_shape(ranked: Iterable[Extension], most: int) -> list[Extension]:
    """The best extensions, one for each shape that they lead to."""
    best: dict[tuple[int, int, int], Extension] = {}
    for extension in ranked:
        best.setdefault(extension.shape.fingerprint, extension)
        if len(best) == most:
            break
    return list(best.values())


def single_edges(database: MiningDatabase, min_support: int) -> list[Grown]:
    """All patterns of one edge.

    >>> from rwkplus.loops.embeddings import Adjacency
    >>> rows = Adjacency(*map(np.array, ([0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [0] * 6, [0] * 3, [0] * 3)))
    >>> triangle = MiningDatabase(rows, num_graphs=1, num_labels=1, num_edge_labels=1)
    >>> [grown.shape.edges for grown in single_edges(triangle, min_support=1)]
    [((0, 1, 0),)]
    """
    rows, labels = database.rows, database.num_labels
    first, second = rows.label[database.source], rows.label[rows.neighbor]
    kind = (first * database.num_edge_labels + rows.edge_label) * labels + second
    forward = np.flatnonzero((database.direction == 0 if database.directed else first <= second) & database.distinct)
    graph = rows.graph[database.source[forward]]
    groups = group_by_kind(kind[forward], graph, np.ones((database.num_graphs, 1)))
    grown = []
    for k in np.flatnonzero(groups.totals[:, 0] >= min_support).tolist():
        rest, b = divmod(groups.kinds[k].item(), labels)
        a, edge = divmod(rest, database.num_edge_labels)
        entries = forward[groups.order[groups.bounds[k] : groups.bounds[k + 1]]]
        embeddings = np.column_stack([database.source[entries], rows.neighbor[entries]])
        both = 2 if a != b or database.directed else 1
        surprise = -float(np.log(len(entries) * both / rows.neighbor.size))
        shape = Shape((a, b), ((0, 1, edge),), database.directed)
        grown.append(Grown(shape, embeddings, int(groups.totals[k, 0]), 0.0, surprise))
    return grown


@dataclass(frozen=True)
class Ways:
    """Steps by an edge that extend a pattern, with enough support."""

    database: MiningDatabase
    grown: Grown
    steps: Ints  # (k, 4): start, end, edge and label
    totals: Floats  # (k, W): weights of the graphs that have each, added up

    @classmethod
    def of(cls, database: MiningDatabase, grown: Grown, beam: Beam, weights: Floats) -> "Ways":
        """List them; the first of the weights of graphs ``(B, W)`` is 1."""
        shape, rows, labels = grown.shape, database.rows, database.num_edge_labels
        number, edge, label = database.ends
        ends = rows.indptr, rows.neighbor, rows.edge_label, rows.graph, number, edge.size, labels
        full = shape.size >= beam.max_size
        kinds, totals = count_ways(*ends, grown.embeddings, shape.edge_array, full, weights)
        enough = totals[:, 0] >= beam.min_support
        closing = shape.size * labels
        start, rest = np.divmod(kinds[enough], closing + edge.size)
        new = np.maximum(rest - closing, -1)
        closes = new < 0
        end = np.where(closes, rest // labels, shape.size)
        steps = [start, end, np.where(closes, rest % labels, edge[new]), np.where(closes, 0, label[new])]
        return cls(database, grown, np.stack(steps, axis=1), totals[enough])

    def step(self, k: int) -> Step:
        """One of them, without conditions."""
        return Step(*self.steps[k].tolist())

    def _taken(self, step: Step) -> tuple[Ints, Ints, Ints]:
        rows = self.database.rows
        ends = rows.indptr, rows.neighbor, rows.edge_label, rows.label
        taken: tuple[Ints, Ints, Ints] = ways_of(*ends, self.grown.embeddings, *step[:4])
        return taken

    def with_conditions(self, k: int, weights: Floats) -> Iterator[tuple[Step, Floats]]:
        """A step, and the same with each condition; with the weights of the graphs that have it, added up."""
        database, step = self.database, self.step(k)
        yield step, self.totals[k]
        row, entry, node = self._taken(step)
        graph = database.rows.graph[self.grown.embeddings[row, step.start]]
        if database.num_edge_marks:
            marks = database.rows.edge_marks[entry]
            totals = totals_by_mark(marks, graph, weights, database.num_edge_marks)
            for bit in np.flatnonzero(totals[:, 0]).tolist():
                yield step._replace(edge_need=1 << bit), totals[bit]
        if database.num_marks and step.end == self.grown.shape.size:
            totals = totals_by_mark(database.rows.marks[node], graph, weights, database.num_marks)
            for bit in np.flatnonzero(totals[:, 0]).tolist():
                yield step._replace(need=1 << bit), totals[bit]

    def extending(self, step: Step) -> tuple[Ints, Ints | None]:
        """Embeddings that a step extends, once each, and their new nodes, where these meet conditions."""
        rows = self.database.rows
        row, entry, node = self._taken(step)
        if step.edge_need:
            met = rows.edge_marks[entry] & step.edge_need == step.edge_need
            row, node = row[met], node[met]
        if step.need:
            met = rows.marks[node] & step.need == step.need
            row, node = row[met], node[met]
        if rows.edge_marks.size:  # parallel edges that differ in marks only
            first = np.unique(row * rows.label.size + node + 1, return_index=True)[1]
            row, node = row[first], node[first]
        return row, None if step.end < self.grown.shape.size else node


def edge_cost(database: MiningDatabase, shape: Shape) -> float:
    """Nats charged for one more edge: the logarithm of the number of edges one could have chosen."""
    new_nodes = shape.size * database.num_labels
    closing = shape.size * (shape.size - 1) / 2
    return float(np.log(database.num_edge_labels * (new_nodes + closing)))


def condition_cost(database: MiningDatabase) -> float:
    """Nats charged for the choice among all conditions, and none."""
    return float(np.log(1 + database.num_edge_marks + database.num_marks))


def _choice_cost(database: MiningDatabase, shape: Shape) -> float:
    return edge_cost(database, shape) + condition_cost(database)


class _Candidate(NamedTuple):
    """A step that may be worth it."""

    base: Grown
    step: Step
    holds: float  # graphs
    share: float  # of edges and nodes that meet its conditions
    extend: Extend
    known: bool = False  # whether the edge or node that it asks for a condition is there

    @property
    def free(self) -> bool:
        return not self.step.need and not self.step.edge_need


def extensions(
    database: MiningDatabase,
    chance: Chance,
    front: Iterable[Grown],
    beam: Beam,
    used: Ints | None = None,
    only: Step | None = None,
) -> Iterator[Extension]:
    """Every extension of patterns by one step, with the evidence for it.

    ``used (count, n, directions)`` tells how many of a pattern's edges each node has; all of them by default.
    ``only`` asks for one extension. Embeddings of one graph stand side by side.
    """
    candidates: list[_Candidate] = []
    expected, prices = [], []
    for grown in front:
        every = _candidates(database, chance, grown, beam, conditions=used is None and only is None)
        own = [one for one in every if only is None or one.step == only]
        if own:
            ends = grown.shape.ends[None] if used is None else used
            expected.append(_expected(chance, grown, own, ends, beam.surprise))
            prices += [_choice_cost(database, grown.shape)] * len(own)
            candidates += own
    if not candidates:
        return
    graphs, in_graph, at_place = np.concatenate(expected, axis=1)
    holds = np.array([one.holds for one in candidates])
    gains = evidence(holds, graphs, in_graph, beam.fidelity) - np.array(prices)
    surprise = -np.log(np.maximum(at_place, 1e-9)) if beam.surprise else at_place
    for n in _worth(candidates, gains):
        base, step, support, _, extend, _ = candidates[n]
        score = base.score + float(gains[n])
        yield Extension(base, step, int(support), score, base.surprise + float(surprise[n]), extend)


def _worth(candidates: Sequence[_Candidate], gains: Floats) -> list[int]:
    """Numbers of the candidates without those whose condition adds nothing."""
    if all(one.free for one in candidates):
        return list(range(len(candidates)))
    new = [n for n, one in enumerate(candidates) if not one.known]
    worth = {new[k] for k in worthwhile([candidates[n].step for n in new], gains[new])}
    return [n for n, one in enumerate(candidates) if n in worth or (one.known and gains[n] > 0)]


def worthwhile(steps: Sequence[Step], gains: Floats) -> Iterator[int]:
    """Numbers of the candidates without those whose condition adds nothing.

    >>> free = Step(0, 1, 0, 0)
    >>> steps = [free, free._replace(need=1), free._replace(need=2)]
    >>> list(worthwhile(steps, np.array([3.0, 4.0, 2.0])))
    [0, 1]
    """
    free = -np.inf
    for n, (step, gain) in enumerate(zip(steps, gains.tolist(), strict=True)):
        if not step.edge_need and not step.need:  # comes before those with conditions
            free = gain
            yield n
        elif gain > free:
            yield n


def _candidates(
    database: MiningDatabase, chance: Chance, grown: Grown, beam: Beam, *, conditions: bool
) -> Iterator[_Candidate]:
    """Steps with enough support: conditions on what the pattern has, if wanted, and edges with and without any."""
    weights = np.ones((database.num_graphs, 1))
    if conditions:
        graph = database.rows.graph[grown.embeddings[:, 0]]
        for step, marks, shares in condition_places(database, chance, grown):
            holds = totals_by_mark(marks, graph, weights, shares.size)[:, 0]
            name = "need" if step.start == step.end else "edge_need"
            for bit in np.flatnonzero(holds >= beam.min_support).tolist():
                own, extend = step._replace(**{name: 1 << bit}), partial(meeting, marks, bit)
                yield _Candidate(grown, own, float(holds[bit]), float(shares[bit]), extend, known=True)
    if len(grown.shape.edges) >= beam.max_edges:
        return
    ways = Ways.of(database, grown, beam, weights)
    marked = database.num_marks or database.num_edge_marks
    for k, holds_free in enumerate(ways.totals[:, 0].tolist()):
        step = ways.step(k)
        yield _Candidate(grown, step, holds_free, 1.0, partial(ways.extending, step))
        for step, totals in ways.with_conditions(k, weights) if marked else ():
            if (step.need or step.edge_need) and totals[0] >= beam.min_support:
                yield _Candidate(grown, step, float(totals[0]), _share(chance, step), partial(ways.extending, step))


def _share(chance: Chance, step: Step) -> float:
    """Share of edges, or of nodes, that meet the one condition of a step."""
    if step.edge_need:
        return float(chance.share_of_edge_marks(step.edge)[step.edge_need.bit_length() - 1])
    return float(chance.share_of_marks(step.label)[step.need.bit_length() - 1])


def _expected(chance: Chance, grown: Grown, candidates: Sequence[_Candidate], used: Ints, each: bool) -> Floats:
    """What chance expects of steps of one pattern, as :func:`rwkplus.loops.growing.expected_ways` tells it."""
    steps = np.array([one.step[:4] for one in candidates])
    shares = np.array([one.share for one in candidates])
    known = np.array([one.known for one in candidates])
    places = Places.of(chance, grown.shape, steps, shares, known)
    graph, ends = chance.database.rows.graph, (chance.degree, chance.ends)
    return np.stack(expected_ways(graph, *ends, grown.embeddings, used, *places, chance.directed, each))


def meeting(marks: Ints, bit: int) -> tuple[Ints, Ints | None]:
    """Embeddings that meet a condition.

    >>> meeting(np.array([0b01, 0b10, 0b11]), bit=1)
    (array([1, 2]), None)
    """
    return np.flatnonzero(marks >> bit & 1), None


def condition_places(database: MiningDatabase, chance: Chance, grown: Grown) -> Iterator[tuple[Step, Ints, Floats]]:
    """Where a pattern may get a condition: the step, the marks of each embedding there, and what chance expects."""
    shape, rows = grown.shape, database.rows
    if database.num_marks:
        for i, (label, need) in enumerate(zip(shape.labels, shape.needs, strict=True)):
            marks = rows.marks[grown.embeddings[:, i]] & ~np.int64(need)
            yield Step(i, i, -1, label), marks, chance.share_of_marks(label, need)
    if database.num_edge_marks:
        for (i, j, edge), need in zip(shape.edges, shape.edge_needs, strict=True):
            ends = rows.indptr, rows.neighbor, rows.edge_label, rows.edge_marks
            marks = joined_marks(*ends, grown.embeddings, i, j, edge, need) & ~np.int64(need)
            yield Step(i, j, edge, -1), marks, chance.share_of_edge_marks(edge, need)


def grow_blocks(database: MiningDatabase, chance: Chance, front: list[Grown], beam: Beam, seed: int) -> Iterator[Grown]:
    """Yield candidates for the pattern that explains most, level by level; the best so far go on growing.

    A block's score is the number of occurrences that share no edge, times the surprise of one under the
    configuration model, which is what a reader saves who knows the block, minus the cost of writing it down.
    """
    rng = np.random.default_rng(seed)
    front = [rated_block(database, grown) for grown in front]
    while front:
        yield from front
        if beam.expired:
            return
        ahead = [(_hope(e), e) for e in extensions(database, chance, front, beam)]
        ahead.sort(key=lambda pair: -pair[0])
        promising = first_of_each_shape((extension for _, extension in ahead), 2 * beam.width)
        carried = [
            rated_block(database, extension.carry_out(database.rows.graph, beam.max_per_graph, rng))
            for extension in promising
        ]
        front = sorted(carried, key=lambda grown: -grown.score)[: beam.width]


def _hope(extension: Extension) -> float:
    """Score if the embeddings that can be extended hold their share of the occurrences."""
    grown = extension.base
    share = np.count_nonzero(np.bincount(extension.extend()[0])) / len(grown.embeddings)
    return share * grown.score * extension.surprise / max(grown.surprise, 1e-9)  # 0 where all edges are alike


def rated_block(database: MiningDatabase, grown: Grown) -> Grown:
    """Score a grown pattern as a building block."""
    occurrences = int(disjoint(database, used_entries(database, grown.shape, grown.embeddings)).sum())
    cost = LABEL_COST * (grown.shape.size + len(grown.shape.edges))
    return replace(grown, score=occurrences * grown.surprise - cost)

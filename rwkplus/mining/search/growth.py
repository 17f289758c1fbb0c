"""Beam search along real embeddings: patterns grow step by step and never stop occurring.

A step adds an edge, to a new node or between two that are there, or a condition on an attribute. Maximal patterns are
ranked by the evidence for their steps, building blocks by what they save.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.loops.embeddings import Floats, Ints, group_by_kind, joined_marks, totals_by_mark
from rwkplus.loops.growing import count_ways, expected_ways, ways_of
from rwkplus.mining.search.chance import Chance, Places, evidence
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.occurrences import Shape, disjoint, used_entries

ROOM = 20_000_000
"""Nodes in the embeddings of a level, about, beyond which it gets no wider than it must be."""
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


class Step(NamedTuple):
    """What an extension adds."""

    start: int
    end: int  # the same position for a condition on its node, the number of positions for a new node
    edge: int
    label: int  # of a new node
    edge_need: int = 0
    need: int = 0

    def is_known(self, shape: Shape) -> bool:
        """Whether it asks for a condition on a node or an edge that a shape has.

        >>> Step(0, 1, 0, -1, edge_need=1).is_known(Shape((0, 0), ((0, 1, 0),)))
        True
        """
        return self.start == self.end or self[:3] in shape.edges


def extended(shape: Shape, step: Step) -> Shape:
    """The shape with one step more.

    >>> extended(Shape((0, 0), ((0, 1, 0),)), Step(start=1, end=2, edge=0, label=3)).labels
    (0, 0, 3)
    """
    if step.start == step.end:
        return shape.with_need(step.start, step.need)
    if step.is_known(shape):
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

    @property
    def size(self) -> int:
        """Nodes of the larger pattern."""
        return self.base.shape.size + (self.step.end == self.base.shape.size)

    @cached_property
    def shape(self) -> Shape:
        """The larger pattern."""
        return extended(self.base.shape, self.step)

    def carry_out(self, database: MiningDatabase, max_per_graph: int, rng: np.random.Generator) -> Grown:
        """Extend the embeddings; where a graph has more than ``max_per_graph``, a random part of them goes on."""
        rows, nodes = extending(database, self.base, self.step)
        embeddings = self.base.embeddings[rows]
        if nodes is not None:
            embeddings = np.column_stack([embeddings, nodes])
        graph = database.rows.graph[embeddings[:, 0]]
        embeddings = embeddings[_some_of_each(graph, max_per_graph, rng)]
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
    most: int = 0  # maximal patterns kept at every level where there is room, if these are more than the width

    @property
    def expired(self) -> bool:
        """Whether there is no time left."""
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
        ranked = extensions(database, chance, front, beam).by_score()
        front, held = [], 0
        for extension in first_of_each_shape(ranked, max(beam.width, beam.most)):
            if len(front) >= beam.width and held > ROOM:
                break
            front.append(extension.carry_out(database, beam.max_per_graph, rng))
            held += front[-1].embeddings.size


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
    steps: Ints  # (k, 6), without conditions
    totals: Floats  # (k, W): weights of the graphs that have each, added up

    @classmethod
    def of(cls, database: MiningDatabase, grown: Grown, beam: Beam, weights: Floats) -> "Ways":
        """List them; the first of the weights of graphs ``(B, W)`` is 1."""
        shape, rows, labels = grown.shape, database.rows, database.num_edge_labels
        number, edge, label = database.ends
        full = shape.size >= beam.max_size
        kinds, totals = count_ways(rows, number, edge.size, labels, grown.embeddings, shape.edge_array, full, weights)
        enough = totals[:, 0] >= beam.min_support
        closing = shape.size * labels
        start, rest = np.divmod(kinds[enough], closing + edge.size)
        new = np.maximum(rest - closing, -1)
        closes = new < 0
        end = np.where(closes, rest // labels, shape.size)
        steps = np.zeros((start.size, 6), np.int64)
        steps[:, 0], steps[:, 1] = start, end
        steps[:, 2], steps[:, 3] = np.where(closes, rest % labels, edge[new]), np.where(closes, 0, label[new])
        return cls(database, grown, steps, totals[enough])

    def step(self, k: int) -> Step:
        """One of them, without conditions."""
        return Step(*self.steps[k].tolist())

    def with_conditions(self, k: int, weights: Floats) -> Iterator[tuple[Step, Floats]]:
        """A step, and the same with each condition; with the weights of the graphs that have it, added up."""
        database, step = self.database, self.step(k)
        yield step, self.totals[k]
        row, entry, node = _taken(database, self.grown, step)
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


def _taken(database: MiningDatabase, grown: Grown, step: Step) -> tuple[Ints, Ints, Ints]:
    rows = database.rows
    ends = rows.indptr, rows.neighbor, rows.edge_label, rows.label
    taken: tuple[Ints, Ints, Ints] = ways_of(*ends, grown.embeddings, *step[:4])
    return taken


def extending(database: MiningDatabase, grown: Grown, step: Step) -> tuple[Ints, Ints | None]:
    """Embeddings that a step extends, once each, and their new nodes, where these meet conditions."""
    rows = database.rows
    if step.is_known(grown.shape):
        marks = marks_at(database, grown, step)
        return np.flatnonzero(marks & (step.need | step.edge_need)), None
    row, entry, node = _taken(database, grown, step)
    if step.edge_need:
        met = rows.edge_marks[entry] & step.edge_need == step.edge_need
        row, node = row[met], node[met]
    if step.need:
        met = rows.marks[node] & step.need == step.need
        row, node = row[met], node[met]
    if rows.edge_marks.size:  # parallel edges that differ in marks only
        first = np.unique(row * rows.label.size + node + 1, return_index=True)[1]
        row, node = row[first], node[first]
    return row, None if step.end < grown.shape.size else node


def edge_cost(database: MiningDatabase, shape: Shape) -> float:
    """Nats charged for one more edge: the logarithm of the number of edges one could have chosen."""
    new_nodes = shape.size * database.num_labels
    closing = shape.size * (shape.size - 1) / 2
    return float(np.log(database.num_edge_labels * (new_nodes + closing)))


def condition_cost(database: MiningDatabase) -> float:
    """Nats charged for the choice among all conditions, and none."""
    return float(np.log(1 + database.num_edge_marks + database.num_marks))


@dataclass(frozen=True)
class Extensions:
    """Extensions of several patterns, with the evidence for each."""

    bases: list[Grown]
    base: Ints  # (K,): number of the pattern that is extended
    steps: Ints  # (K, 6)
    support: Floats
    score: Floats
    surprise: Floats

    def __iter__(self) -> Iterator[Extension]:
        return map(self.__getitem__, range(self.base.size))

    def __getitem__(self, n: int) -> Extension:
        step = Step(*self.steps[n].tolist())
        values = int(self.support[n]), float(self.score[n]), float(self.surprise[n])
        return Extension(self.bases[self.base[n]], step, *values)

    def by_score(self) -> Iterator[Extension]:
        """The best first."""
        return map(self.__getitem__, np.argsort(-self.score, kind="stable").tolist())


class _Candidates(NamedTuple):
    """Steps of one pattern that may be worth it."""

    steps: Ints  # (K, 6)
    holds: Floats  # graphs
    shares: Floats  # of edges and nodes that meet their conditions
    known: NDArray[np.bool_]  # whether the edge or node that they ask for a condition is there

    @classmethod
    def of(cls, parts: "list[tuple[Step, float, float]]", *, known: bool) -> "_Candidates":
        steps = np.array([step for step, *_ in parts], np.int64).reshape(-1, 6)
        holds, shares = np.array([values for _, *values in parts]).reshape(-1, 2).T
        return cls(steps, holds, shares, np.full(len(parts), known))

    @classmethod
    def joined(cls, parts: "list[_Candidates]") -> "_Candidates":
        columns: Any = map(np.concatenate, zip(*parts, strict=True))
        return cls(*columns)


def extensions(
    database: MiningDatabase,
    chance: Chance,
    front: list[Grown],
    beam: Beam,
    used: Ints | None = None,
    only: Step | None = None,
) -> Extensions:
    """Extensions of patterns by one step, with the evidence for each.

    ``used (count, n, directions)`` tells how many of a pattern's edges each node has; all of them by default.
    ``only`` asks for one extension. Embeddings of one graph stand side by side.
    """
    parts = [_candidates(database, chance, grown, beam, conditions=used is None and only is None) for grown in front]
    if only is not None:
        parts = [_Candidates(*(column[(part.steps == only).all(1)] for column in part)) for part in parts]
    sizes = [part.holds.size for part in parts]
    expected = [
        _expected(chance, grown, part, grown.shape.ends[None] if used is None else used, beam.surprise)
        for grown, part in zip(front, parts, strict=True)
    ]
    graphs, in_graph, at_place = np.concatenate([np.empty((3, 0)), *expected], axis=1)
    steps, holds, _, known = _Candidates.joined(parts)
    before = np.array([(edge_cost(database, grown.shape), grown.score, grown.surprise) for grown in front])
    price, score, surprise = np.repeat(before, sizes, axis=0).T
    gains = evidence(holds, graphs, in_graph, beam.fidelity) - (price + condition_cost(database))
    if beam.surprise:
        surprise = surprise - np.log(np.maximum(at_place, 1e-9))
    found = Extensions(front, np.repeat(np.arange(len(front)), sizes), steps, holds, score + gains, surprise)
    if not steps[:, 4:].any():
        return found
    worth = np.flatnonzero(_worth(steps, known, gains))
    columns: Any = (column[worth] for column in (found.base, steps, holds, found.score, surprise))
    return Extensions(front, *columns)


def _worth(steps: Ints, known: NDArray[np.bool_], gains: Floats) -> NDArray[np.bool_]:
    """Which steps have no condition, or one that adds something."""
    worth, new = known & (gains > 0), np.flatnonzero(~known)
    worth[new[list(worthwhile([Step(*step) for step in steps[new].tolist()], gains[new]))]] = True
    return worth


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


def _candidates(database: MiningDatabase, chance: Chance, grown: Grown, beam: Beam, *, conditions: bool) -> _Candidates:
    """Steps with enough support: conditions on what the pattern has, if wanted, and edges with and without any."""
    weights = np.ones((database.num_graphs, 1))
    known: list[tuple[Step, float, float]] = []
    if conditions and (database.num_marks or database.num_edge_marks):
        graph = database.rows.graph[grown.embeddings[:, 0]]
        for step, marks, shares in condition_places(database, chance, grown):
            holds = totals_by_mark(marks, graph, weights, shares.size)[:, 0]
            name = "need" if step.start == step.end else "edge_need"
            met = np.flatnonzero(holds >= beam.min_support).tolist()
            known += [(step._replace(**{name: 1 << bit}), holds[bit], shares[bit]) for bit in met]
    if len(grown.shape.edges) >= beam.max_edges:
        return _Candidates.of(known, known=True)
    ways = Ways.of(database, grown, beam, weights)
    if not database.num_marks and not database.num_edge_marks:
        free = len(ways.steps)
        return _Candidates(ways.steps, ways.totals[:, 0], np.ones(free), np.zeros(free, bool))
    new = [
        (step, totals[0], _share(chance, step))
        for k in range(len(ways.steps))
        for step, totals in ways.with_conditions(k, weights)
        if totals[0] >= beam.min_support
    ]
    return _Candidates.joined([_Candidates.of(known, known=True), _Candidates.of(new, known=False)])


def _share(chance: Chance, step: Step) -> float:
    """Share of edges, or of nodes, that meet the condition of a step."""
    if step.edge_need:
        return float(chance.share_of_edge_marks(step.edge)[step.edge_need.bit_length() - 1])
    return float(chance.share_of_marks(step.label)[step.need.bit_length() - 1]) if step.need else 1.0


def _expected(chance: Chance, grown: Grown, candidates: _Candidates, used: Ints, each: bool) -> Floats:
    """What chance expects of steps of one pattern, as :func:`rwkplus.loops.growing.expected_ways` tells it."""
    steps, _, shares, known = candidates
    places = Places.of(chance, grown.shape, steps[:, :4], shares, known)
    graph, ends = chance.database.rows.graph, (chance.degree, chance.ends)
    return np.stack(expected_ways(graph, *ends, grown.embeddings, used, places, chance.directed, each))


def marks_at(database: MiningDatabase, grown: Grown, step: Step) -> Ints:
    """Marks of the node or edge of a pattern that a step is about, in each embedding, beyond those needed."""
    shape, rows = grown.shape, database.rows
    if step.start == step.end:
        return np.asarray(rows.marks[grown.embeddings[:, step.start]] & ~np.int64(shape.needs[step.start]))
    need = shape.edge_needs[shape.edges.index(step[:3])]
    ends = rows.indptr, rows.neighbor, rows.edge_label, rows.edge_marks
    marks = joined_marks(*ends, grown.embeddings, *step[:3], need)
    return np.asarray(marks & ~np.int64(need))


def condition_places(database: MiningDatabase, chance: Chance, grown: Grown) -> Iterator[tuple[Step, Ints, Floats]]:
    """Where a pattern may get a condition: the step, the marks of each embedding there, and what chance expects."""
    shape = grown.shape
    if database.num_marks:
        for i, (label, need) in enumerate(zip(shape.labels, shape.needs, strict=True)):
            step = Step(i, i, -1, label)
            yield step, marks_at(database, grown, step), chance.share_of_marks(label, need)
    if database.num_edge_marks:
        for (i, j, edge), need in zip(shape.edges, shape.edge_needs, strict=True):
            step = Step(i, j, edge, -1)
            yield step, marks_at(database, grown, step), chance.share_of_edge_marks(edge, need)


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
        ahead = [(_hope(database, e), e) for e in extensions(database, chance, front, beam)]
        ahead.sort(key=lambda pair: -pair[0])
        promising = first_of_each_shape((extension for _, extension in ahead), 2 * beam.width)
        carried = [
            rated_block(database, extension.carry_out(database, beam.max_per_graph, rng)) for extension in promising
        ]
        front = sorted(carried, key=lambda grown: -grown.score)[: beam.width]


def _hope(database: MiningDatabase, extension: Extension) -> float:
    """Score if the embeddings that can be extended hold their share of the occurrences."""
    grown = extension.base
    rows, _ = extending(database, grown, extension.step)
    share = np.count_nonzero(np.bincount(rows)) / len(grown.embeddings)
    return share * grown.score * extension.surprise / max(grown.surprise, 1e-9)  # 0 where all edges are alike


def rated_block(database: MiningDatabase, grown: Grown) -> Grown:
    """Score a grown pattern as a building block."""
    occurrences = int(disjoint(database, used_entries(database, grown.shape, grown.embeddings)).sum())
    cost = LABEL_COST * (grown.shape.size + len(grown.shape.edges))
    return replace(grown, score=occurrences * grown.surprise - cost)

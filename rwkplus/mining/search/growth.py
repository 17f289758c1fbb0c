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

from rwkplus.loops.embeddings import (
    NONE,
    Floats,
    Groups,
    Growth,
    Ints,
    group_by_kind,
    grow_embeddings,
    joined_marks,
    totals_by_mark,
)
from rwkplus.mining.search.chance import Chance, SpareEnds, evidence
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
    """Choose at most ``most`` items of each group at random; the order stays."""
    if np.bincount(group).max(initial=0) <= most:
        return np.arange(group.size)
    shuffled = np.lexsort((rng.random(group.size), group))
    begin = np.searchsorted(group[shuffled], group[shuffled])
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
        ahead = [extension for grown in front for extension in extensions(database, chance, grown, beam)]
        ahead.sort(key=lambda extension: -extension.score)
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
    """Ways to extend a pattern by an edge, sorted by kind: those that lead to the same shape."""

    database: MiningDatabase
    growth: Growth
    groups: Groups
    steps: list[Step]  # one for every kind
    graph: Ints  # of every way

    @classmethod
    def of(
        cls, database: MiningDatabase, grown: Grown, beam: Beam, weights: Floats, only: Step | None = None
    ) -> "Ways":
        """List them, or those of one step only."""
        shape, rows = grown.shape, database.rows
        growth = grow_embeddings(rows, grown.embeddings, shape.edge_array)
        if shape.size >= beam.max_size:
            growth = Growth(*(part[growth.node < 0] for part in growth))
        label = np.where(growth.node < 0, 0, rows.label[growth.node])
        edge = rows.edge_label[growth.entry]
        bases = (shape.size + 1, database.num_edge_labels, database.num_labels)
        kind = ((growth.start * bases[0] + growth.end) * bases[1] + edge) * bases[2] + label
        if only is not None:
            wanted = ((only.start * bases[0] + only.end) * bases[1] + only.edge) * bases[2] + only.label
            like = np.flatnonzero(kind == wanted)
            growth, kind = Growth(*(part[like] for part in growth)), kind[like]
        graph = rows.graph[grown.embeddings.max(1)][growth.row]
        groups = group_by_kind(kind, graph, weights)
        rest, label = np.divmod(groups.kinds, bases[2])
        rest, edge = np.divmod(rest, bases[1])
        start, end = np.divmod(rest, bases[0])
        steps = [Step(*part) for part in np.column_stack([start, end, edge, label]).tolist()]
        return cls(database, growth, groups, steps, graph)

    def members(self, k: int) -> Ints:
        """Ways of a kind."""
        return self.groups.order[self.groups.bounds[k] : self.groups.bounds[k + 1]]

    def _totals_by_mark(self, k: int, weights: Floats) -> tuple[Floats, Floats]:
        """For every mark of the new edges, and of the new nodes, what :func:`group_by_kind` adds up."""
        rows, members = self.database.rows, self.members(k)
        edge_marks = rows.edge_marks[self.growth.entry[members]] if rows.edge_marks.size else NONE
        new = rows.marks.size and self.growth.node[members[0]] >= 0
        marks = rows.marks[self.growth.node[members]] if new else NONE
        graph = self.graph[members]
        sizes = (self.database.num_edge_marks, self.database.num_marks if new else 0)
        return tuple(  # type: ignore[return-value]
            totals_by_mark(part, graph, weights, size) for part, size in zip((edge_marks, marks), sizes, strict=True)
        )

    def with_conditions(self, k: int, weights: Floats) -> Iterator[tuple[int, Step, Floats]]:
        """The step of a kind, and the same with each condition; with what :func:`group_by_kind` adds up."""
        yield k, self.steps[k], self.groups.totals[k]
        for name, totals in zip(("edge_need", "need"), self._totals_by_mark(k, weights), strict=True):
            for bit in np.flatnonzero(totals[:, 0]).tolist():
                yield k, self.steps[k]._replace(**{name: 1 << bit}), totals[bit]

    def extending(self, k: int, step: Step) -> tuple[Ints, Ints | None]:
        """Embeddings that the ways of a kind extend, once each, and their new nodes, where these meet conditions."""
        rows, members = self.database.rows, self.members(k)
        if step.edge_need:
            members = members[rows.edge_marks[self.growth.entry[members]] & step.edge_need == step.edge_need]
        if step.need:
            members = members[rows.marks[self.growth.node[members]] & step.need == step.need]
        row, node = self.growth.row[members], self.growth.node[members]
        if rows.edge_marks.size:  # parallel edges that differ in marks only
            first = np.unique(row * rows.label.size + node + 1, return_index=True)[1]
            row, node = row[first], node[first]
        return row, None if node.size and node[0] < 0 else node


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
    """An extension by an edge that may be worth it."""

    kind: int
    step: Step
    holds: float  # graphs
    share: float  # of edges and nodes that meet its conditions


def extensions(
    database: MiningDatabase,
    chance: Chance,
    grown: Grown,
    beam: Beam,
    used: Ints | None = None,
    only: Step | None = None,
) -> Iterator[Extension]:
    """Every extension of a pattern by one step, with the evidence for it.

    ``used (count, n, directions)`` tells how many of the pattern's edges each node has; all of them by default.
    ``only`` asks for one extension.
    """
    shape = grown.shape
    ends = np.broadcast_to(shape.ends, (*grown.embeddings.shape, shape.ends.shape[1])) if used is None else used
    graph = database.rows.graph[grown.embeddings.max(1)]
    spare = SpareEnds(chance, shape, grown.embeddings, ends, graph)
    if only is None and used is None:
        yield from _conditions(database, chance, grown, beam, spare)
    if len(shape.edges) >= beam.max_edges:
        return
    ways = Ways.of(database, grown, beam, np.ones((database.num_graphs, 1)), only)
    candidates = _candidates(ways, chance, beam)
    if not candidates:
        return
    kinds, steps, holds, _ = zip(*candidates, strict=True)
    graphs, in_graph, at_embedding = _expected(candidates, chance, spare)
    gains = evidence(np.array(holds), graphs, in_graph, beam.fidelity) - _choice_cost(database, shape)
    surprise = grown.surprise - np.log(np.maximum(at_embedding, 1e-9))
    for n in worthwhile(steps, gains):
        score = grown.score + float(gains[n])
        extend = partial(ways.extending, kinds[n], steps[n])
        yield Extension(grown, steps[n], int(holds[n]), score, float(surprise[n]), extend)


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


def _candidates(ways: Ways, chance: Chance, beam: Beam) -> list[_Candidate]:
    """Extensions by an edge with enough support, with and without conditions."""
    database, weights = ways.database, np.ones((ways.database.num_graphs, 1))
    candidates = []
    for k in np.flatnonzero(ways.groups.totals[:, 0] >= beam.min_support).tolist():
        candidates.append(_Candidate(k, ways.steps[k], float(ways.groups.totals[k, 0]), 1.0))
        if not database.num_marks and not database.num_edge_marks:
            continue
        for _, step, totals in ways.with_conditions(k, weights):
            if (step.need or step.edge_need) and totals[0] >= beam.min_support:
                candidates.append(_Candidate(k, step, float(totals[0]), _share(chance, step)))
    return candidates


def _share(chance: Chance, step: Step) -> float:
    """Share of edges, or of nodes, that meet the one condition of a step."""
    if step.edge_need:
        return float(chance.share_of_edge_marks(step.edge)[step.edge_need.bit_length() - 1])
    return float(chance.share_of_marks(step.label)[step.need.bit_length() - 1])


def _expected(candidates: list[_Candidate], chance: Chance, spare: SpareEnds) -> tuple[Floats, Floats, Floats]:
    """What chance expects of candidates; those at the same positions are asked about at a time."""
    places: dict[tuple[int, int, int], list[int]] = {}
    for n, (_, step, *_) in enumerate(candidates):
        places.setdefault((step.start, step.end, chance.direction(step.edge)), []).append(n)
    graphs, in_graph, at_embedding = np.empty((3, len(candidates)))
    for (i, j, _), numbers in places.items():
        steps = np.array([candidates[n].step for n in numbers])
        shares = np.array([candidates[n].share for n in numbers])
        if j < spare.shape.size:
            expected = spare.of_new_edges(i, j, steps[:, 2], shares)
        else:
            expected = spare.of_new_nodes(i, steps[:, 2], steps[:, 3], shares)
        graphs[numbers], in_graph[numbers], at_embedding[numbers] = expected
    return graphs, in_graph, at_embedding


def _conditions(
    database: MiningDatabase, chance: Chance, grown: Grown, beam: Beam, spare: SpareEnds
) -> Iterator[Extension]:
    """Extensions by a condition on a node or an edge that the pattern has."""
    weights = np.ones((database.num_graphs, 1))
    graph = database.rows.graph[grown.embeddings.max(1)]
    for step, marks, shares in condition_places(database, chance, grown):
        holds = totals_by_mark(marks, graph, weights, shares.size)[:, 0]
        expected = spare.of_conditions(step.start, step.end, shares)
        gains = evidence(holds, expected.graphs, expected.in_graph, beam.fidelity) - _choice_cost(database, grown.shape)
        surprise = grown.surprise - np.log(np.maximum(expected.at_embedding, 1e-9))
        for bit in np.flatnonzero((holds >= beam.min_support) & (gains > 0)).tolist():
            name = "need" if step.start == step.end else "edge_need"
            score, support = grown.score + float(gains[bit]), int(holds[bit])
            own, extend = step._replace(**{name: 1 << bit}), partial(meeting, marks, bit)
            yield Extension(grown, own, support, score, float(surprise[bit]), extend)


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
        ahead = [(_hope(e), e) for grown in front for e in extensions(database, chance, grown, beam)]
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

"""Beam search along real embeddings: patterns grow edge by edge and never stop occurring.

Maximal patterns are ranked by the evidence for their edges, building blocks by what they save.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rwkplus.loops.embeddings import Growth, Ints, group_by_kind, grow_embeddings
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


@dataclass(frozen=True)
class Extension:
    """One edge more for a grown pattern, not yet carried out."""

    base: Grown
    shape: Shape
    support: int
    score: float
    surprise: float
    rows: Ints
    nodes: Ints | None

    def carry_out(self, graph: Ints, max_per_graph: int, rng: np.random.Generator) -> Grown:
        """Extend the embeddings; where a graph has more than ``max_per_graph``, a random part of them goes on."""
        embeddings = self.base.embeddings[self.rows]
        if self.nodes is not None:
            embeddings = np.column_stack([embeddings, self.nodes])
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


def grow_patterns(
    database: MiningDatabase, chance: Chance, front: list[Grown], beam: Beam, seed: int
) -> Iterator[Grown]:
    """Yield the patterns of the beam, level by level: those of one edge in front, then those with two, ...

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
        best: dict[tuple[int, int, int], Extension] = {}
        for grown in front:
            for extension in extensions(database, chance, grown, beam):
                known = best.get(extension.shape.fingerprint)
                if known is None or known.score < extension.score:
                    best[extension.shape.fingerprint] = extension
        ranked = sorted(best.values(), key=lambda extension: -extension.score)[: beam.width]
        front = [extension.carry_out(database.rows.graph, beam.max_per_graph, rng) for extension in ranked]


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
    forward = np.flatnonzero(database.direction == 0 if database.directed else first <= second)
    groups = group_by_kind(kind[forward], rows.graph[database.source[forward]], database.num_graphs)
    grown = []
    for k in np.flatnonzero(groups.graphs >= min_support).tolist():
        (a, edge), b = (
            divmod(groups.kinds[k].item() // labels, database.num_edge_labels),
            groups.kinds[k].item() % labels,
        )
        entries = forward[groups.order[groups.bounds[k] : groups.bounds[k + 1]]]
        embeddings = np.column_stack([database.source[entries], rows.neighbor[entries]])
        both = 2 if a != b or database.directed else 1
        surprise = -float(np.log(len(entries) * both / rows.neighbor.size))
        shape = Shape((a, b), ((0, 1, edge),), database.directed)
        grown.append(Grown(shape, embeddings, int(groups.graphs[k]), 0.0, surprise))
    return grown


def _choice_cost(database: MiningDatabase, shape: Shape) -> float:
    """Nats charged for one more edge: the logarithm of the number of extensions one could have chosen."""
    new_nodes = shape.size * database.num_labels
    closing = shape.size * (shape.size - 1) / 2
    return float(np.log(database.num_edge_labels * (new_nodes + closing)))


def extensions(
    database: MiningDatabase, chance: Chance, grown: Grown, beam: Beam, used: Ints | None = None
) -> Iterator[Extension]:
    """Every extension of a pattern by one edge, with the evidence for it.

    ``used (count, n)`` tells how many of the pattern's edges each node has; all of them by default.
    """
    shape, rows = grown.shape, database.rows
    if len(shape.edges) >= beam.max_edges:
        return
    growth = grow_embeddings(rows, grown.embeddings, shape.edge_array)
    if shape.size >= beam.max_size:
        growth = Growth(*(part[growth.node < 0] for part in growth))
    row, start, end, entry, node = growth
    if not row.size:
        return
    edge = rows.edge_label[entry]
    label = np.where(node < 0, 0, rows.label[node])
    kind = ((start * (shape.size + 1) + end) * database.num_edge_labels + edge) * database.num_labels + label
    graph = rows.graph[grown.embeddings.max(1)]
    groups = group_by_kind(kind, graph[row], database.num_graphs)
    if used is None:
        used = np.broadcast_to(shape.ends, (*grown.embeddings.shape, shape.ends.shape[1]))
    cost = _choice_cost(database, shape)
    spare = SpareEnds(chance, shape, grown.embeddings, used, graph)
    for k in np.flatnonzero(groups.graphs >= beam.min_support).tolist():
        members = groups.order[groups.bounds[k] : groups.bounds[k + 1]]
        first, support = members[0], int(groups.graphs[k])
        i, j, e, to = int(start[first]), int(end[first]), int(edge[first]), int(label[first])
        closes = j < shape.size
        expected = spare.of_new_edge(i, j, e) if closes else spare.of_new_node(i, e, to)
        gain = evidence(support, expected.graphs, expected.in_graph, beam.fidelity) - cost
        yield Extension(
            grown,
            shape.with_edge(i, j, e) if closes else shape.with_node(i, e, to),
            support,
            grown.score + gain,
            grown.surprise - float(np.log(max(expected.at_embedding, 1e-9))),
            row[members],
            None if closes else node[members],
        )


def grow_blocks(database: MiningDatabase, chance: Chance, front: list[Grown], beam: Beam, seed: int) -> Iterator[Grown]:
    """Yield candidates for the pattern that explains most, level by level; the best so far go on growing.

    A block's score is the number of occurrences that share no edge, times the surprise of one under the
    configuration model, which is what a reader saves who knows the block, minus the cost of writing it down.
    """
    rng = np.random.default_rng(seed)
    front = [rated_block(database, grown) for grown in front]
    while front:
        yield from front
        ahead: dict[tuple[int, int, int], tuple[float, Extension]] = {}
        for grown in front:
            for extension in extensions(database, chance, grown, beam):
                hope = _hope(grown, extension)
                known = ahead.get(extension.shape.fingerprint)
                if known is None or known[0] < hope:
                    ahead[extension.shape.fingerprint] = (hope, extension)
        promising = sorted(ahead.values(), key=lambda pair: -pair[0])[: 2 * beam.width]
        carried = [
            rated_block(database, extension.carry_out(database.rows.graph, beam.max_per_graph, rng))
            for _, extension in promising
        ]
        front = sorted(carried, key=lambda grown: -grown.score)[: beam.width]


def _hope(grown: Grown, extension: Extension) -> float:
    """Score if the embeddings that can be extended hold their share of the occurrences."""
    share = np.unique(extension.rows).size / len(grown.embeddings)
    return share * grown.score * extension.surprise / max(grown.surprise, 1e-9)  # 0 where all edges are alike


def rated_block(database: MiningDatabase, grown: Grown) -> Grown:
    """Score a grown pattern as a building block."""
    occurrences = int(disjoint(database, used_entries(database, grown.shape, grown.embeddings)).sum())
    cost = LABEL_COST * (grown.shape.size + len(grown.shape.edges))
    return replace(grown, score=occurrences * grown.surprise - cost)

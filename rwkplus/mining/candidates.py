"""Candidates beside those that growth finds: subgraphs sampled from the database, and hidden graphs decoded.

Growth climbs edge by edge and can miss what pays off only when complete, such as a ring. A sample sees rings
as a whole; gradient descent sees the database as a whole. Every candidate occurs: what has no support is dropped.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from rwkplus.mining.chance import Chance
from rwkplus.mining.database import MiningDatabase
from rwkplus.mining.growth import Beam, Grown, extensions, single_edges
from rwkplus.mining.shape import Shape
from rwkplus.ops.embeddings import find_embeddings

SAMPLES = 600
KEPT = 30
LARGEST_SAMPLE = 6


def sampled_shapes(database: MiningDatabase, beam: Beam, rng: np.random.Generator) -> list[Shape]:
    """Draw connected induced subgraphs of three to six nodes; return those met most often."""
    met: Counter[tuple[int, int, int]] = Counter()
    shapes: dict[tuple[int, int, int], Shape] = {}
    largest = min(LARGEST_SAMPLE, beam.max_size)
    if largest < 3 or not database.num_edges:
        return []
    for _ in range(SAMPLES):
        shape = _sample(database, int(rng.integers(3, largest, endpoint=True)), rng)
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


def rated_along_a_path(database: MiningDatabase, chance: Chance, shape: Shape, beam: Beam) -> Grown | None:
    """Grow a given shape edge by edge, so that it is judged like those that growth found; None without support."""
    grown, place = _first_edge(database, shape, beam)
    left = list(shape.edges[1:])
    while grown is not None and left:
        wanted = next(edge for edge in left if edge[0] in place or edge[1] in place)
        left.remove(wanted)
        grown = _step(database, chance, grown, shape, wanted, place, beam)
    return grown


def _first_edge(database: MiningDatabase, shape: Shape, beam: Beam) -> tuple[Grown | None, dict[int, int]]:
    i, j, edge = shape.edges[0]
    i, j = (i, j) if shape.labels[i] <= shape.labels[j] else (j, i)
    start = Shape((shape.labels[i], shape.labels[j]), ((0, 1, edge),))
    known = {grown.shape: grown for grown in single_edges(database, beam.min_support)}
    return known.get(start), {i: 0, j: 1}


def _step(
    database: MiningDatabase,
    chance: Chance,
    grown: Grown,
    shape: Shape,
    wanted: tuple[int, int, int],
    place: dict[int, int],
    beam: Beam,
) -> Grown | None:
    u, v, edge = wanted if wanted[0] in place else (wanted[1], wanted[0], wanted[2])
    closes = v in place
    if closes:
        target = grown.shape.with_edge(min(place[u], place[v]), max(place[u], place[v]), edge)
    else:
        target = grown.shape.with_node(place[u], edge, shape.labels[v])
        place[v] = grown.shape.size
    for extension in extensions(database, chance, grown, replace(beam, max_edges=len(shape.edges) + 1)):
        if extension.shape == target:
            return extension.carry_out(database.rows.graph, beam.max_per_graph, np.random.default_rng(0))
    return None


def _sample(database: MiningDatabase, size: int, rng: np.random.Generator) -> Shape:
    """One connected induced subgraph: begin at a random edge and add random neighbors."""
    rows = database.rows
    entry = int(rng.integers(rows.neighbor.size))
    nodes = [int(database.source[entry]), int(rows.neighbor[entry])]
    while len(nodes) < size:
        around = [rows.neighbor[rows.indptr[v] : rows.indptr[v + 1]] for v in nodes]
        border = np.setdiff1d(np.concatenate(around), nodes)
        if not border.size:
            break
        nodes.append(int(rng.choice(border)))
    place = {v: k for k, v in enumerate(nodes)}
    edges = {}
    for v in nodes:
        for p in range(rows.indptr[v], rows.indptr[v + 1]):
            w = int(rows.neighbor[p])
            if w in place and place[v] < place[w]:
                edges[place[v], place[w]] = int(rows.edge_label[p])
    return Shape(tuple(int(rows.label[v]) for v in nodes), tuple((i, j, e) for (i, j), e in sorted(edges.items())))

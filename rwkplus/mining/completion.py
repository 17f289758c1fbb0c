"""Distorted occurrences: what a pattern's incomplete copies say about edges that few complete ones show."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rwkplus.mining.chance import Chance, divergence
from rwkplus.mining.database import MiningDatabase
from rwkplus.mining.growth import Beam, Extension, Grown, extensions
from rwkplus.mining.shape import Shape
from rwkplus.ops.embeddings import Ints, find_embeddings

MISSING_SHARE = 0.25
"""Share of a pattern's edges that a distorted occurrence may lack."""

MAX_MISSING = 2
"""Edges that it may lack at most: there are as many ways to lack three as can be told apart in a minute."""

LIMIT = 500
"""Embeddings looked at per graph: a clique has factorially many, which all say the same."""


CONTRADICTION = 5.0
"""Nats of evidence against an edge that outweigh what distorted copies say for it."""


def complete(database: MiningDatabase, grown: Grown, beam: Beam) -> Grown:
    """Add edges that the distorted copies of a pattern support beyond chance, one after the other.

    A pattern of ten edges of which each copy lost a fifth is complete in one graph out of ten; its last edge
    is seen in few complete copies but in many incomplete ones.
    """
    chance = Chance.of(database)
    while True:
        embeddings, used = near_embeddings(database, grown.shape)
        loose = replace(grown, embeddings=embeddings)
        ahead = (more for more in extensions(database, chance, loose, beam, used) if more.score > grown.score)
        for extension in sorted(ahead, key=lambda extension: -extension.score):
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
    return share < beam.fidelity and grown.support * divergence(share, beam.fidelity) > CONTRADICTION


def exact_embeddings(database: MiningDatabase, shape: Shape, limit: int = -1) -> Ints:
    """Every embedding of a shape, columns in the order of its positions."""
    found = find_embeddings(database.rows, shape.plan, limit)
    embeddings = np.empty_like(found)
    embeddings[:, shape.search_order] = found
    return embeddings


def near_embeddings(database: MiningDatabase, shape: Shape) -> tuple[Ints, Ints]:
    """Embeddings of a shape or, in graphs without any, of as much of it as is there.

    Returns:
        Rows of nodes with -1 for missing positions, and how many of the shape's edges each node has there.
    """
    allowed = min(int(MISSING_SHARE * len(shape.edges)), MAX_MISSING)
    served = np.zeros(database.num_graphs, bool)
    parts, used_parts = [], []
    for missing in range(allowed + 1):
        if served.all():
            break
        newly = np.zeros_like(served)
        for smaller, positions in _smaller_shapes(shape, missing):
            found = exact_embeddings(database, smaller, LIMIT)
            graph = database.rows.graph[found[:, 0]]
            found = found[~served[graph]]
            newly[graph] = True
            embeddings, used = np.full((2, len(found), shape.size), -1)
            embeddings[:, positions] = found
            used[:, positions] = smaller.joined.sum(0)
            parts.append(embeddings)
            used_parts.append(used)
        served |= newly
    return np.concatenate(parts), np.concatenate(used_parts)


def _smaller_shapes(shape: Shape, missing: int) -> Iterator[tuple[Shape, list[int]]]:
    """Connected parts with ``missing`` edges less, and the positions they keep."""
    seen = {frozenset(range(len(shape.edges)))}
    for _ in range(missing):
        seen = {kept - {k} for kept in seen for k in kept}
    for kept in sorted(seen, key=sorted):
        edges = [shape.edges[k] for k in sorted(kept)]
        positions = sorted({v for i, j, _ in edges for v in (i, j)})
        place = {v: p for p, v in enumerate(positions)}
        smaller = Shape(tuple(shape.labels[v] for v in positions), tuple((place[i], place[j], e) for i, j, e in edges))
        if smaller.size >= 2 and smaller.is_connected:
            yield smaller, positions

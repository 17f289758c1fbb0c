"""Building blocks: small patterns that together explain as much of the database as possible."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rwkplus.mining.chance import Chance
from rwkplus.mining.cover import disjoint, used_entries
from rwkplus.mining.database import MiningDatabase
from rwkplus.mining.growth import Beam, Extension, Grown, extensions, single_edges

LABEL_COST = 2.0
"""Nats to write down one node or edge of a block."""


def grow_blocks(database: MiningDatabase, beam: Beam, seed: int) -> Iterator[Grown]:
    """Yield candidates for the pattern that explains most, level by level; the best so far go on growing.

    A block's score is the number of occurrences that share no edge, times the surprise of one under the
    configuration model, which is what a reader saves who knows the block, minus the cost of writing it down.
    """
    rng = np.random.default_rng(seed)
    chance = Chance.of(database)
    front = [rated_block(database, grown) for grown in single_edges(database, beam.min_support)]
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

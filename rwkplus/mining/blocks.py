"""Building blocks: small patterns that together explain as much of the database as possible."""

from dataclasses import replace

import numpy as np

from rwkplus.mining.chance import Chance
from rwkplus.mining.cover import disjoint, used_entries
from rwkplus.mining.database import MiningDatabase
from rwkplus.mining.growth import Beam, Extension, Grown, extensions, single_edges

LABEL_COST = 2.0
"""Nats to write down one node or edge of a block."""


def best_block(database: MiningDatabase, beam: Beam, min_size: int, seed: int) -> Grown | None:
    """Find the pattern that explains most: occurrences that share no edge, times the surprise of one.

    The surprise of an occurrence under the configuration model is what a reader saves who knows the block;
    writing the block down costs. None where no block of at least ``min_size`` nodes saves anything.
    """
    rng = np.random.default_rng(seed)
    chance = Chance.of(database)
    front = [_rated(database, grown) for grown in single_edges(database, beam.min_support)]
    best: Grown | None = None
    while front:
        for grown in front:
            if grown.shape.size >= min_size and grown.score > (best.score if best else 0.0):
                best = grown
        ahead: dict[tuple[int, int, int], tuple[float, Extension]] = {}
        for grown in front:
            for extension in extensions(database, chance, grown, beam):
                hope = _hope(grown, extension)
                known = ahead.get(extension.shape.fingerprint)
                if known is None or known[0] < hope:
                    ahead[extension.shape.fingerprint] = (hope, extension)
        promising = sorted(ahead.values(), key=lambda pair: -pair[0])[: 2 * beam.width]
        carried = [_rated(database, extension.carry_out(beam.max_embeddings, rng)) for _, extension in promising]
        front = sorted(carried, key=lambda grown: -grown.score)[: beam.width]
    return best


def _hope(grown: Grown, extension: Extension) -> float:
    """Score if the embeddings that can be extended hold their share of the occurrences."""
    share = np.unique(extension.rows).size / len(grown.embeddings)
    return share * grown.score * extension.surprise / grown.surprise


def _rated(database: MiningDatabase, grown: Grown) -> Grown:
    occurrences = int(disjoint(database, used_entries(database, grown.shape, grown.embeddings)).sum())
    cost = LABEL_COST * (grown.shape.size + len(grown.shape.edges))
    return replace(grown, score=occurrences * grown.surprise - cost)

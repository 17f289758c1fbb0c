"""Patterns one after the other: find the best, take away what it explains, go on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rwkplus.mining.blocks import grow_blocks, rated_block
from rwkplus.mining.candidates import rated_along_a_path, sampled_shapes
from rwkplus.mining.chance import Chance
from rwkplus.mining.completion import complete, near_embeddings
from rwkplus.mining.cover import covered, used_entries
from rwkplus.mining.database import MiningDatabase
from rwkplus.mining.growth import Beam, Grown, grow_patterns
from rwkplus.mining.shape import Shape

Criterion = Literal["maximal", "blocks"]

FINALISTS = 3
NEARLY = 0.9
"""A larger block must save a tenth more than a smaller one: blocks are to be read."""

CONTROL_GRAPHS = 100
"""Graphs that a control rewires: the evidence that chance makes up hardly depends on their number."""


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

    def best(self, database: MiningDatabase) -> Grown | None:
        """Return the best pattern by the criterion, or None where there is nothing to gain."""
        pool = self._pool(database)
        if self.criterion == "maximal":
            pool = [complete(database, grown, self.beam) for grown in self._finalists(pool)]
        fitting = [grown for grown in pool if self._fits(grown)]
        best = max(fitting, key=lambda grown: grown.score, default=None)
        if best is None or self.criterion == "maximal":
            return best
        nearly = [grown for grown in fitting if grown.score >= NEARLY * best.score]
        return min(nearly, key=lambda grown: (grown.shape.size, -grown.score))

    def _fits(self, grown: Grown) -> bool:
        return grown.shape.size >= self.min_size and grown.score > 0

    def _finalists(self, pool: list[Grown]) -> list[Grown]:
        """The best that are large enough, and smaller ones that are better: completion may make them larger."""
        ranked = sorted(pool, key=lambda grown: -grown.score)
        fitting = [grown for grown in ranked if self._fits(grown)]
        return fitting[:FINALISTS] + [grown for grown in ranked[:FINALISTS] if not self._fits(grown)]

    def _pool(self, database: MiningDatabase) -> list[Grown]:
        """Grow, sample and take what was given: every candidate occurs and is judged alike."""
        blocks = self.criterion == "blocks"
        grow = grow_blocks if blocks else grow_patterns
        pool = {grown.shape.fingerprint: grown for grown in grow(database, self.beam, self.seed)}
        chance = Chance.of(database)
        sampled = sampled_shapes(database, self.beam, np.random.default_rng(self.seed)) if self.sample else []
        for shape in (*sampled, *self.given):
            if shape.fingerprint not in pool:
                grown = rated_along_a_path(database, chance, shape, self.beam)
                if grown is not None:
                    pool[shape.fingerprint] = rated_block(database, grown) if blocks else grown
        return list(pool.values())

    def one_after_the_other(self, database: MiningDatabase, threshold: float) -> Iterator[Grown]:
        """Yield patterns, each found where the ones before leave something unexplained.

        Every maximal pattern must beat the ``threshold`` of chance. Of blocks the first must: if the database has
        any structure, the others say how the rest of it is put together.
        """
        while (best := self.best(database)) is not None and best.score > threshold:
            yield best
            threshold = 0.0 if self.criterion == "blocks" else threshold
            embeddings, _ = near_embeddings(database, best.shape)
            database = database.without_edges(covered(database, used_entries(database, best.shape, embeddings)))

    def control(self, database: MiningDatabase, repeats: int) -> NDArray[np.float64]:
        """Return the best scores on databases rewired at random: what chance alone achieves."""
        rng = np.random.default_rng(self.seed)
        chosen = np.sort(rng.permutation(database.num_graphs)[:CONTROL_GRAPHS])
        part = database.graphs_subset(chosen)
        best = (self.best(part.shuffled(rng)) for _ in range(repeats))
        return np.array([0.0 if grown is None else grown.score for grown in best])


def control_threshold(scores: NDArray[np.float64]) -> float:
    """Return the score that chance exceeds about once in a hundred times, from a fitted Gumbel distribution.

    Likelihood ratios under chance exceed ``s`` nats with probability ``exp(-s)`` at most, so that the scale of their
    maximum is about 1; a few controls may by accident vary less.
    """
    if scores.size < 2:
        return float(scores.max(initial=0.0))
    scale = max(float(scores.std(ddof=1)) * np.sqrt(6) / np.pi, 1.0)
    location = float(scores.mean()) - np.euler_gamma * scale
    return max(float(location - scale * np.log(-np.log(0.99))), 0.0)

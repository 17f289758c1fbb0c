"""Patterns one after the other: find the best, take away what it explains, go on."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rwkplus.mining.blocks import best_block
from rwkplus.mining.completion import complete, near_embeddings
from rwkplus.mining.cover import covered, used_entries
from rwkplus.mining.database import MiningDatabase
from rwkplus.mining.growth import Beam, Grown, grow_patterns

Criterion = Literal["maximal", "blocks"]

FINALISTS = 3
CONTROL_GRAPHS = 100
"""Graphs that a control rewires: the evidence that chance makes up hardly depends on their number."""


@dataclass(frozen=True)
class Search:
    """What to look for, and how."""

    criterion: Criterion
    beam: Beam
    min_size: int
    seed: int

    def best(self, database: MiningDatabase) -> Grown | None:
        """Return the best pattern by the criterion, or None where there is nothing to gain."""
        if self.criterion == "blocks":
            return best_block(database, self.beam, self.min_size, self.seed)
        seen = {grown.shape.fingerprint: grown for grown in grow_patterns(database, self.beam, self.seed)}
        finalists = sorted(seen.values(), key=lambda grown: -grown.score)[:FINALISTS]
        candidates = [complete(database, grown, self.beam) for grown in finalists]
        fitting = [grown for grown in candidates if grown.shape.size >= self.min_size and grown.score > 0]
        return max(fitting, key=lambda grown: grown.score, default=None)

    def one_after_the_other(self, database: MiningDatabase, threshold: float) -> Iterator[Grown]:
        """Yield patterns above ``threshold``, each found where the ones before leave something unexplained."""
        while True:
            best = self.best(database)
            if best is None or best.score <= threshold:
                return
            yield best
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
    """Return the score that chance exceeds about once in twenty times, from a fitted Gumbel distribution."""
    if scores.size < 2:
        return float(scores.max(initial=0.0))
    scale = float(scores.std(ddof=1)) * np.sqrt(6) / np.pi
    location = float(scores.mean()) - np.euler_gamma * scale
    return max(float(location - scale * np.log(-np.log(0.95))), 0.0)

"""The parameters of a miner, checked."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rwkplus.errors import GraphError, ParameterError, RWKPlusWarning
from rwkplus.mining.database import MiningDatabase
from rwkplus.mining.reading import Coloring
from rwkplus.mining.search import Criterion
from rwkplus.ops.embeddings import Ints
from rwkplus.types import check_choice, check_integer, seed_of

MAX_AUTO_PATTERNS = 20
DEFAULT_SIZES = {"maximal": (3, 12), "blocks": (3, 6)}
CANDIDATES = ("grown", "sampled", "gradient")


@dataclass(frozen=True)
class MinerSettings:
    """What a miner was asked for."""

    fewest: int
    most: int
    open_ended: bool  # whether the number of patterns was left open
    sizes: tuple[int, int]
    search_graphs: int
    seed: int

    @classmethod
    def of(cls, miner: Any) -> "MinerSettings":  # noqa: ANN401
        """Check the parameters of a :class:`rwkplus.mining.PatternMiner`."""
        check_choice("criterion", miner.criterion, Criterion)
        check_choice("colors", miner.colors, Coloring)
        if isinstance(miner.candidates, str) or not {"grown"} <= set(miner.candidates) <= set(CANDIDATES):
            raise ParameterError(
                f"candidates must list 'grown' and may list 'sampled' and 'gradient', got {miner.candidates!r}."
            )
        for name, least in (("n_colors", 1), ("search_graphs", 2), ("beam_width", 1), ("n_controls", 0)):
            check_integer(name, getattr(miner, name), least)
        if not 0 < miner.fidelity <= 1:
            raise ParameterError(f"fidelity must lie above 0 and at most at 1, got {miner.fidelity!r}.")
        number = _range("n_patterns", miner.n_patterns, 1, (1, MAX_AUTO_PATTERNS))
        open_ended = not isinstance(miner.n_patterns, int | np.integer)
        sizes = _range("pattern_size", miner.pattern_size, 2, DEFAULT_SIZES[miner.criterion])
        fewest, most = number[0] if open_ended else 1, number[1]
        return cls(fewest, most, open_ended, sizes, int(miner.search_graphs), seed_of(miner.random_state))

    @property
    def max_edges(self) -> int:
        """Edges of a pattern: few more than nodes, lest dense graphs take forever, but no wanted size is left out."""
        low, high = self.sizes
        return max(high + 6, low * (low - 1) // 2)

    def check_against(self, database: MiningDatabase) -> None:
        """Refuse databases in which there is nothing to find; warn where little is."""
        if database.num_graphs < 2:
            raise GraphError(
                "there is only one graph: patterns are what several graphs share. Cut it into neighborhoods, "
                "one graph around every node, for instance with torch_geometric.utils.k_hop_subgraph."
            )
        if not database.num_edges:
            raise GraphError("no graph has an edge: there are no patterns to find.")
        largest = int(np.bincount(database.rows.graph).max())
        if self.sizes[0] > largest:
            raise ParameterError(
                f"pattern_size asks for at least {self.sizes[0]} nodes, but the largest graph has {largest}."
            )
        if database.num_graphs < self.most and not self.open_ended:
            warnings.warn(
                f"{self.most} patterns are more than the {database.num_graphs} graphs: most will say little.",
                RWKPlusWarning,
                stacklevel=3,
            )

    def chosen_graphs(self, database: MiningDatabase) -> Ints:
        """Graphs to search in, ascending."""
        order = np.random.default_rng(self.seed).permutation(database.num_graphs)
        return np.sort(order[: self.search_graphs])


def _range(name: str, given: int | Sequence[int] | str, least: int, auto: tuple[int, int]) -> tuple[int, int]:
    if isinstance(given, str):
        if given != "auto":
            raise ParameterError(f"{name} must be a number, a range or 'auto', got {given!r}.")
        return auto
    ends = (given, given) if isinstance(given, int | np.integer) else tuple(given)
    if len(ends) != 2 or not all(isinstance(end, int | np.integer) for end in ends) or not least <= ends[0] <= ends[1]:
        raise ParameterError(f"{name} must be at least {least}, or a range such as (3, 8); got {given!r}.")
    return int(ends[0]), int(ends[1])

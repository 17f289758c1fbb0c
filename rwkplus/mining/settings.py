"""The parameters of a miner, checked."""

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np

from rwkplus.errors import GraphError, ParameterError, RWKPlusWarning
from rwkplus.mining.database import MiningDatabase
from rwkplus.mining.search import Criterion
from rwkplus.ops.embeddings import Ints
from rwkplus.types import check_choice, check_integer, check_share, is_positive_integer, seed_of

MAX_AUTO_PATTERNS = 20
DEFAULT_SIZES = {"maximal": (3, 12), "blocks": (3, 6)}
SMALLEST = {"maximal": 3, "blocks": 2}
"""Nodes; of a single edge, labels and degrees explain all, so that there is no evidence for it."""
CANDIDATES = ("grown", "sampled", "gradient")
LARGEST_HIDDEN = 6
"""Nodes of a hidden graph, which candidates from gradient descent are decoded from."""
Coloring = Literal["auto", "structural"]


@dataclass(frozen=True)
class MinerSettings:
    """What a miner was asked for."""

    fewest: int
    most: int
    open_ended: bool  # whether the number of patterns was left open
    sizes: tuple[int, int]
    search_graphs: int
    controlled: bool  # whether chance sets a threshold
    seed: int

    @classmethod
    def of(cls, miner: Any) -> "MinerSettings":  # noqa: ANN401
        """Check the parameters of a :class:`rwkplus.mining.PatternMiner`."""
        check_choice("criterion", miner.criterion, Criterion)
        check_choice("colors", miner.colors, Coloring)
        listed = isinstance(miner.candidates, Collection) and not isinstance(miner.candidates, str)
        if not listed or not {"grown"} <= set(miner.candidates) <= set(CANDIDATES):
            raise ParameterError(
                f"candidates must list 'grown' and may list 'sampled' and 'gradient', got {miner.candidates!r}."
            )
        for name, least in (("n_colors", 1), ("search_graphs", 2), ("beam_width", 1), ("n_controls", 0)):
            check_integer(name, getattr(miner, name), least)
        check_share("fidelity", miner.fidelity)
        if miner.fidelity == 0:
            raise ParameterError(f"fidelity must lie above 0 and at most at 1, got {miner.fidelity!r}.")
        number = _range("n_patterns", miner.n_patterns, 1, (1, MAX_AUTO_PATTERNS))
        open_ended = not isinstance(miner.n_patterns, Integral)
        sizes = _range("pattern_size", miner.pattern_size, SMALLEST[miner.criterion], DEFAULT_SIZES[miner.criterion])
        if "gradient" in miner.candidates and sizes[0] > LARGEST_HIDDEN:
            raise ParameterError(
                f"candidates from gradient descent have up to {LARGEST_HIDDEN} nodes, pattern_size asks for "
                f"{sizes[0]}: leave 'gradient' out."
            )
        fewest, most = number[0] if open_ended else 1, number[1]
        controlled = miner.n_controls > 0
        return cls(fewest, most, open_ended, sizes, int(miner.search_graphs), controlled, seed_of(miner.random_state))

    @property
    def max_edges(self) -> int:
        """Edges of a pattern: few more than nodes, lest dense graphs take forever, but no wanted size is left out."""
        low, high = self.sizes
        return max(high + 6, low * (low - 1) // 2)

    @property
    def why_none(self) -> str:
        """What it means that no pattern was found."""
        if self.controlled:
            return (
                "no pattern beats chance: rewiring the graphs at random gives scores as high. Are the node labels "
                "informative? Small graphs often rewire into themselves: n_controls=0 finds patterns without comparing."
            )
        low, high = self.sizes
        return (
            f"no pattern of {low if low == high else f'{low} to {high}'} nodes occurs more than labels and degrees "
            "explain. Are the node labels informative? pattern_size may allow other sizes."
        )

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
    ends = tuple(given) if isinstance(given, Collection) else (given, given)
    if len(ends) != 2 or not all(map(is_positive_integer, ends)) or not least <= ends[0] <= ends[1]:
        raise ParameterError(f"{name} must be at least {least}, or a range such as (3, 8); got {given!r}.")
    return int(ends[0]), int(ends[1])

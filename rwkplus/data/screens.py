"""Anti-cancer screens as anomaly detection: many inactive compounds, few active ones."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.data.registry import SCREENS, load
from rwkplus.errors import ParameterError
from rwkplus.table import GraphTable


class Screen(NamedTuple):
    """Compounds with 1 for the active, rare ones."""

    graphs: GraphTable
    y: NDArray[np.int64]
    rate: float
    """Share of actives in the published screen, which the draw keeps."""
    undrawn: GraphTable
    """The other actives."""


def load_screen(name: str, seed: int = 0) -> Screen:
    """Make the rare-actives task out of a balanced screen: all inactives, and as many actives as the rate allows.

    Args:
        name: One of :data:`rwkplus.data.registry.SCREENS`.
        seed: Seed of the draw of actives.
    """
    if name not in SCREENS:
        raise ParameterError(f"there is no screen {name!r}; known are {', '.join(SCREENS)}.")
    graphs, (total, actives) = load(f"{name}_balanced"), SCREENS[name]
    rate = actives / total
    y = np.asarray(graphs.y, dtype=np.int64)
    index = rare_class(y, rate, seed)
    undrawn = np.setdiff1d(np.arange(len(graphs)), index)
    return Screen(graphs[index], y[index], rate, graphs[undrawn])


def rare_class(y: Sequence[int] | NDArray[np.int64], rate: float, seed: int) -> NDArray[np.int64]:
    """Choose all members of class 0 and so many of class 1 that these are a share ``rate`` of both, ascending."""
    y = np.asarray(y)
    if not 0 < rate < 1:
        raise ParameterError(f"rate must be between 0 and 1, got {rate}.")
    common, rare = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
    wanted = round(common.size * rate / (1 - rate))
    if not 1 <= wanted <= rare.size:
        raise ParameterError(
            f"a rate of {rate:.1%} beside {common.size} graphs of class 0 needs {wanted} of class 1, which has "
            f"{rare.size}. Choose another rate."
        )
    drawn = np.random.default_rng(seed).choice(rare, wanted, replace=False)
    return np.sort(np.concatenate([common, drawn]))

"""The two walk recurrences, one step at a time: Algorithm 1 (RWK+) and its end-matching relative (RWK-)."""

from collections.abc import Callable, Iterator

from jaxtyping import Float
from torch import Tensor

from rwkplus.functional.propagate import Propagate

Normalize = Callable[[Tensor, int], Tensor]
"""Maps the walks ``(N, K, M)`` of a step, counted from 1, such as :class:`rwkplus.nn.StepNorm`."""


def walk_steps(
    y0: Float[Tensor, "N K M ..."],
    propagate: Propagate,
    steps: int,
    *,
    match_all: bool = True,
    start: Float[Tensor, "N #K M S"] | None = None,
    normalize: Normalize | None = None,
) -> Iterator[Float[Tensor, "N K M ..."]]:
    r"""Yield the matched walks :math:`Y^{(1)}, \ldots, Y^{(t)}` one step at a time.

    A generator, so that a caller wanting only the last step keeps one tensor alive.

    Args:
        y0: Similarity of every node to every hidden node.
        propagate: One step of both walkers, :math:`Y \mapsto A_G Y A_H^\top`.
        steps: Longest walk, counted in edges.
        match_all: Match the colors of every node of a walk (RWK+, Eq. 9) or only of its two
            ends (RWK-, Eq. 6).
        start: Where walks may begin, one column per choice; everywhere by default.
        normalize: ``normalize(y, step)`` is applied between lines 4 and 5, StepNorm's place.
    """
    y = y0 if start is None else y0 * start
    for step in range(1, steps + 1):
        y = propagate(y)  # line 4: A_G Y A_H^T
        if normalize is not None:
            y = normalize(y, step)
        matched = y0 * y  # line 5
        yield matched
        if match_all:
            y = y0 * matched  # line 6: intermediate nodes are matched twice (s^2 in Eq. 10)

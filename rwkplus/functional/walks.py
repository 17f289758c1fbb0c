"""The two walk recurrences, one step at a time: Algorithm 1 (RWK+) and its end-matching relative (RWK-)."""

from collections.abc import Callable, Iterator, Sequence

from jaxtyping import Float
from torch import Tensor

from rwkplus.functional.propagate import Propagate

Normalize = Callable[[Tensor, int], Tensor]
"""Maps the walks ``(N, K, M)`` of a step, counted from 1, such as :class:`rwkplus.nn.StepNorm`."""


def walk_steps(
    y0: Float[Tensor, "N K M ..."] | Sequence[Float[Tensor, "_ K M ..."]],
    propagate: Propagate | Sequence[Propagate],
    steps: int,
    *,
    match_all: bool = True,
    start: Float[Tensor, "N #K M S"] | None = None,
    normalize: Normalize | None = None,
) -> Iterator[Float[Tensor, "N K M ..."]]:
    r"""Yield the matched walks :math:`Y^{(1)}, \ldots, Y^{(t)}` one step at a time.

    A generator, so that a caller wanting only the last step keeps one tensor alive.

    Args:
        y0: Similarity of every node to every hidden node. A list, where other nodes stand for all others after each
            step: of those at first, after one step, and so on.
        propagate: One step of both walkers, :math:`Y \mapsto A_G Y A_H^\top`; a list of all steps likewise.
        steps: Longest walk, counted in edges.
        match_all: Match the colors of every node of a walk (RWK+, Eq. 9) or only of its two
            ends (RWK-, Eq. 6).
        start: Where walks may begin, one column per choice; everywhere by default.
        normalize: ``normalize(y, step)`` is applied between lines 4 and 5, StepNorm's place.
    """
    first, *later = [y0] * (steps + 1) if isinstance(y0, Tensor) else y0
    moves = [propagate] * steps if callable(propagate) else propagate
    y = first if start is None else first * start
    for step, (move, similarity) in enumerate(zip(moves, later, strict=True), 1):
        y = move(y)  # line 4: A_G Y A_H^T
        if normalize is not None:
            y = normalize(y, step)
        matched = similarity * y  # line 5
        yield matched
        if match_all:
            y = similarity * matched  # line 6: intermediate nodes are matched twice (s^2 in Eq. 10)

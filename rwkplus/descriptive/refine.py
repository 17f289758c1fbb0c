"""Discrete refinement of hidden graphs: steepest ascent over single changes, with random kicks.

All single changes of all restarts are scored as one bank of hidden graphs. The objective never falls.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rwkplus.descriptive.walk_database import WalkDatabase
from rwkplus.functional.objectives import RIDGE, explained_fraction
from rwkplus.types import Callback, Progress

GAIN = 1e-9
"""Smaller gains are rounding errors of float64."""

EXPLAINED = 1 / (1 + RIDGE) - 1e-8
"""The largest value of the objective: where it is reached nothing is left to find."""

BLOCK = 1_000_000
"""Numbers to hold at a time when single changes are scored: what fits a cache is fastest."""


@dataclass(frozen=True)
class DiscreteBanks:
    """``R`` banks of ``k`` hidden graphs with edges that are there or not and one color per node."""

    edges: Tensor  # (R, k, M(M-1)/2), bool: upper triangle, row by row
    colors: Tensor  # (R, k, M): numbers of colors

    def __getitem__(self, rows: Tensor) -> "DiscreteBanks":
        return DiscreteBanks(self.edges[rows], self.colors[rows])

    def dense(self, database: WalkDatabase) -> tuple[Tensor, Tensor]:
        """Features ``(..., M, D)`` and adjacencies ``(..., M, M)``."""
        x = database.colors[self.colors]
        return x, adjacency(self.edges.to(x.dtype), self.colors.size(-1))

    def changed(self, rows: Tensor, banks: "DiscreteBanks") -> "DiscreteBanks":
        """Return a copy with some rows replaced."""
        edges, colors = self.edges.clone(), self.colors.clone()
        edges[rows], colors[rows] = banks.edges, banks.colors
        return DiscreteBanks(edges, colors)


@dataclass(frozen=True)
class Kicks:
    """What each restart tries after it has come to a standstill, drawn beforehand: ``(kicks, R, ...)``."""

    chosen: Tensor  # (kicks, R): the hidden graph that is kicked
    fresh: Tensor  # (kicks, R), bool: replace it, or change a few edges and colors
    edges: Tensor  # (kicks, R, M(M-1)/2), bool
    colors: Tensor  # (kicks, R, M)
    flipped: Tensor  # (kicks, R, M(M-1)/2), bool
    repainted: Tensor  # (kicks, R, M), bool

    @classmethod
    def draw(
        cls, generators: list[np.random.Generator], kicks: int, n_patterns: int, size: int, num_colors: int
    ) -> "Kicks":
        """Draw the kicks of each restart from its own generator: half are fresh graphs, half change three things."""
        pairs, share = size * (size - 1) // 2, 3 / max(size * (size - 1) / 2 + size, 3)
        parts = [
            (
                rng.integers(n_patterns, size=kicks),
                rng.random(kicks) < 0.5,
                rng.random((kicks, pairs)) < 0.5,
                rng.integers(num_colors, size=(kicks, size)),
                rng.random((kicks, pairs)) < share,
                rng.random((kicks, size)) < share,
            )
            for rng in generators
        ]
        return cls(*(torch.from_numpy(np.stack(part, 1)) for part in zip(*parts, strict=True)))

    def apply(self, i: int, banks: DiscreteBanks, rows: Tensor) -> DiscreteBanks:
        """Kick the banks of the restarts ``rows`` for the ``i``-th time."""
        at = torch.arange(rows.numel()), self.chosen[i, rows]
        fresh = self.fresh[i, rows].unsqueeze(1)
        edges, colors = banks.edges.clone(), banks.colors.clone()
        edges[at] = torch.where(fresh, self.edges[i, rows], edges[at] ^ self.flipped[i, rows])
        colors[at] = torch.where(fresh | self.repainted[i, rows], self.colors[i, rows], colors[at])
        return DiscreteBanks(edges, colors)


def adjacency(edges: Tensor, size: int) -> Tensor:
    """Symmetric adjacencies ``(..., M, M)`` from weights of the upper triangle.

    >>> adjacency(torch.tensor([1, 0, 1]), 3)  # a path, from its upper triangle
    tensor([[0, 1, 0],
            [1, 0, 1],
            [0, 1, 0]])
    """
    upper = torch.triu_indices(size, size, offset=1)
    adj = edges.new_zeros(*edges.shape[:-1], size, size)
    adj[..., upper[0], upper[1]] = edges
    return adj + adj.mT


def refine(
    database: WalkDatabase, banks: DiscreteBanks, kicks: Kicks, callback: Callback | None = None
) -> tuple[DiscreteBanks, Tensor]:
    """Improve every bank by single changes, then by kicks that are kept only where they help.

    A bank that explains everything is not kicked. ``callback`` is called after the first ascent and after every kick
    (phase ``"kicks"``).

    Returns:
        The refined banks and their explained fractions ``(R,)``, never below those of ``banks``.
    """
    total = kicks.chosen.size(0)

    def tell(done: int) -> None:
        if callback is not None:
            callback(Progress("kicks", done, total, {"explained": float(score.max())}))

    best, score = climb(database, banks, database.objective(*banks.dense(database)))
    tell(0)
    for i in range(total):
        rows = (score < EXPLAINED).nonzero().squeeze(1)
        if not rows.numel():
            break
        kicked = kicks.apply(i, best[rows], rows)
        kicked, reached = climb(database, kicked, database.objective(*kicked.dense(database)))
        better = reached > score[rows] + GAIN
        best = best.changed(rows[better], kicked[better])
        score = score.index_put((rows[better],), reached[better])
        tell(i + 1)
    return best, score


def climb(database: WalkDatabase, banks: DiscreteBanks, score: Tensor) -> tuple[DiscreteBanks, Tensor]:
    """Take the best single change of every bank until none helps."""
    rows = torch.arange(score.numel())
    size, num_colors = banks.colors.size(-1), len(database.colors)
    changes = banks.colors.size(1) * (banks.edges.size(-1) + size * (num_colors - 1))
    block = max(1, BLOCK // max(changes * (database.cost * size + size**4), 1))
    while rows.numel():
        moved = []
        for part in rows.split(block):
            candidates, owner = single_changes(banks[part], num_colors)
            reached, chosen = changed_objective(database, banks[part], candidates, owner).max(1)
            better = reached > score[part] + GAIN
            at, chosen, part = better.nonzero().squeeze(1), chosen[better], part[better]
            edges, colors = banks.edges.clone(), banks.colors.clone()
            edges[part, owner[chosen]] = candidates.edges[at, chosen]
            colors[part, owner[chosen]] = candidates.colors[at, chosen]
            banks, score = DiscreteBanks(edges, colors), score.index_put((part,), reached[better])
            moved.append(part)
        rows = torch.cat(moved)
    return banks, score


def single_changes(banks: DiscreteBanks, num_colors: int) -> tuple[DiscreteBanks, Tensor]:
    """All hidden graphs one edge or color away, ``(R, n, ...)``, and the place in the bank each is for: ``(n,)``.

    >>> bank = DiscreteBanks(torch.tensor([[[True]]]), torch.tensor([[[0, 1]]]))
    >>> changed, _ = single_changes(bank, num_colors=2)
    >>> changed.edges.flatten(), changed.colors
    (tensor([False,  True,  True]), tensor([[[0, 1],
             [1, 1],
             [0, 0]]]))
    """
    restarts, k, pairs = banks.edges.shape
    size = banks.colors.size(-1)
    count = pairs + size * (num_colors - 1)
    edges = banks.edges.unsqueeze(2).repeat(1, 1, count, 1)
    colors = banks.colors.unsqueeze(2).repeat(1, 1, count, 1)
    pair = torch.arange(pairs)
    edges[:, :, pair, pair] = ~edges[:, :, pair, pair]
    recolored = torch.arange(count - pairs)
    node, shift = recolored // max(num_colors - 1, 1), recolored % max(num_colors - 1, 1) + 1
    at = (slice(None), slice(None), pairs + recolored, node)
    colors[at] = (colors[at] + shift) % num_colors
    owner = torch.arange(k).repeat_interleave(count)
    return DiscreteBanks(edges.view(restarts, k * count, pairs), colors.view(restarts, k * count, size)), owner


def changed_objective(database: WalkDatabase, banks: DiscreteBanks, candidates: DiscreteBanks, owner: Tensor) -> Tensor:
    """Objective of every bank when each candidate, alone, takes the place ``owner`` in it: ``(R, n)``."""
    restarts, n = candidates.edges.shape[:2]
    x, adj = banks.dense(database)
    new_x, new_adj = candidates.dense(database)
    old = zip(
        database.loadings(x.flatten(0, 1), adj.flatten(0, 1)),
        database.gram(x.unsqueeze(2), adj.unsqueeze(2), x.unsqueeze(1), adj.unsqueeze(1)),
        strict=True,
    )
    new = zip(
        database.loadings(new_x.flatten(0, 1), new_adj.flatten(0, 1)),
        database.gram(new_x.unsqueeze(2), new_adj.unsqueeze(2), x.unsqueeze(1), adj.unsqueeze(1)),
        database.gram(new_x, new_adj, new_x, new_adj),
        strict=True,
    )
    i, fractions = torch.arange(n), []
    for (loading, gram), (new_loading, crossed, norm) in zip(old, new, strict=True):
        k_gw = loading.view(-1, restarts, 1, x.size(1)).permute(1, 2, 0, 3).repeat(1, n, 1, 1)
        k_gw[:, i, :, owner] = new_loading.view(-1, restarts, n).permute(2, 1, 0)
        k_ww = gram.unsqueeze(1).repeat(1, n, 1, 1)
        k_ww[:, i, owner, :] = crossed
        k_ww[:, i, :, owner] = crossed.transpose(0, 1)
        k_ww[:, i, owner, owner] = norm
        fractions.append(explained_fraction(k_gw, k_ww))
    return torch.stack(fractions).mean(0)

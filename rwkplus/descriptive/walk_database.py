"""A graph database as the explained fraction sees it: kernels with any bank of hidden graphs, graph by graph."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rwkplus.descriptive.palette import PaintedGraphs
from rwkplus.descriptive.walk_features import Floats, WalkFeatures
from rwkplus.functional.explained import (
    explained_fraction,
    pair_closed_walks,
    pair_walks,
    sequence_closed_walks,
)
from rwkplus.functional.kernels import rwk_plus

Term = dict[int, float]
"""Kinds of walks that one explained fraction reads side by side, each with the weight of its kernel.

Kinds are numbered: open walks of 0 to ``steps`` edges, then closed walks by length."""


@dataclass(frozen=True)
class WalkDatabase(ABC):
    """What is common to every form of a database: colors, kinds of walks, and the objective."""

    colors: Tensor  # (C, D)
    steps: int
    closed: tuple[int, ...]  # lengths of closed walks
    terms: tuple[Term, ...]

    @abstractmethod
    def loadings(self, hidden_x: Tensor, hidden_adj: Tensor) -> list[Tensor]:
        """Per term, kernels of a bank ``(K, M, D)``, ``(K, M, M)`` with the database: ``(r, K)``.

        Scaled so that sums of squares over the rows, within the span of a bank, are mean explained fractions.
        """

    @abstractmethod
    def to(self, dtype: torch.dtype) -> Self:
        """Return the database in another precision."""

    @property
    @abstractmethod
    def cost(self) -> int:
        """Numbers that one hidden node needs in :meth:`loadings`; for choosing the size of blocks."""

    def gram(self, x: Tensor, adj: Tensor, other_x: Tensor, other_adj: Tensor) -> list[Tensor]:
        """Per term, kernels of aligned pairs of hidden graphs; leading dimensions broadcast."""
        kinds = [*pair_walks(x, adj, other_x, other_adj, self.steps)]
        if self.closed:
            kinds += [*pair_closed_walks(x, adj, other_x, other_adj, self.closed)]
        return [combined(kinds, term) for term in self.terms]

    def objective(self, hidden_x: Tensor, hidden_adj: Tensor) -> Tensor:
        """Explained fraction of ``R`` banks of ``k`` hidden graphs ``(R, k, M, D)``, ``(R, k, M, M)``: ``(R,)``.

        The mean over terms; differentiable.
        """
        banks, k = hidden_x.shape[:2]
        loadings = self.loadings(hidden_x.flatten(0, 1), hidden_adj.flatten(0, 1))
        grams = self.gram(
            hidden_x.unsqueeze(2), hidden_adj.unsqueeze(2), hidden_x.unsqueeze(1), hidden_adj.unsqueeze(1)
        )
        fractions = [
            explained_fraction(loading.view(-1, banks, k).transpose(0, 1), gram)
            for loading, gram in zip(loadings, grams, strict=True)
        ]
        return torch.stack(fractions).mean(0)


def combined(kinds: Sequence[Tensor], term: Term) -> Tensor:
    """Sum the kinds of a term by their weights."""
    parts = [kinds[kind] * weight for kind, weight in term.items()]
    return torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]


def choose_terms(norms: Sequence[Floats], steps: int, closed: Sequence[int]) -> tuple[Term, ...]:
    """One term per length of open and closed walks that occur, and one that sees all lengths side by side.

    A term alone reads only directions: of one color there is but one sequence of each length, and every graph
    explains it. Side by side, the numbers of walks of each length count as well: how fast walks multiply, how many
    return. There every length of open walks has the same mean norm, and closed walks the weight of open ones.
    """
    singles: list[Term] = [{kind: 1.0} for kind in range(1, len(norms)) if norms[kind].any()]
    weight = {kind: 1 / float(norms[kind].mean()) for kind in range(steps + 1) if norms[kind].any()}
    together = dict(weight)
    for i, length in enumerate(closed):
        together[steps + 1 + i] = weight.get(min(length, steps), 1.0)
    return (*singles, together)


@dataclass(frozen=True)
class PlainWalks(WalkDatabase):
    """Every node, edge and graph by itself: the plain way, and the oracle of the compressed one."""

    x: Tensor  # (N, D)
    edge_index: Tensor
    edge_weight: Tensor | None
    batch: Tensor
    cycles: tuple[Tensor, ...]  # per length, nodes of closed walks up to rotation and reversal: (S, L)
    returns: tuple[Tensor, ...]  # how often each is walked: (S,)
    scale: Tensor  # (terms, B): root of the share of each graph in the mean, over the root of its norm

    @classmethod
    def of(cls, graphs: PaintedGraphs, steps: int, closed: tuple[int, ...]) -> "PlainWalks":
        """Keep the graphs as they are; only their own norms are counted beforehand."""
        features = WalkFeatures.of(graphs, steps, closed)
        terms = choose_terms(features.norms, steps, closed)
        nodes = WalkFeatures.of_nodes(graphs, closed)
        arrays = graphs.arrays
        return cls(
            graphs.colors,
            steps,
            closed,
            terms,
            graphs.colors[torch.from_numpy(arrays.label)],
            torch.from_numpy(np.stack([arrays.source, arrays.target])),
            None if arrays.weight is None else torch.from_numpy(arrays.weight),
            torch.from_numpy(arrays.graph),
            tuple(torch.from_numpy(cycles) for cycles, _ in nodes),
            tuple(torch.from_numpy(counts) for _, counts in nodes),
            torch.from_numpy(np.stack([row_scale(features.norms, term) for term in terms])),
        )

    def loadings(self, hidden_x: Tensor, hidden_adj: Tensor) -> list[Tensor]:
        """See :class:`WalkDatabase`; one row per graph."""
        num_graphs = self.scale.size(1)
        scores = rwk_plus(
            self.x,
            self.edge_index,
            self.batch,
            hidden_x,
            hidden_adj,
            steps=self.steps,
            edge_weight=self.edge_weight,
            include_zero_step=True,
            num_graphs=num_graphs,
        )
        kinds = [*scores]
        y0 = torch.einsum("nd,kmd->nkm", self.x, hidden_x)
        for cycles, count in zip(self.cycles, self.returns, strict=True):
            walked = sequence_closed_walks(y0, hidden_adj, cycles) * count.unsqueeze(1)
            kinds.append(walked.new_zeros(num_graphs, walked.size(1)).index_add(0, self.batch[cycles[:, 0]], walked))
        return [combined(kinds, term) * scale.unsqueeze(1) for term, scale in zip(self.terms, self.scale, strict=True)]

    def to(self, dtype: torch.dtype) -> "PlainWalks":
        """Return the database in another precision."""
        return replace(
            self,
            colors=self.colors.to(dtype),
            x=self.x.to(dtype),
            edge_weight=None if self.edge_weight is None else self.edge_weight.to(dtype),
            returns=tuple(count.to(dtype) for count in self.returns),
            scale=self.scale.to(dtype),
        )

    @property
    def cost(self) -> int:
        """See :class:`WalkDatabase`."""
        return self.edge_index.size(1) + self.x.size(0)


def row_scale(norms: Sequence[Floats], term: Term) -> NDArray[np.float64]:
    """Factor of every graph's kernels: its share in the mean over graphs that have walks of the term, normalized."""
    norm = np.sum([weight * norms[kind] for kind, weight in term.items()], axis=0)
    there = norm > 0
    scale: NDArray[np.float64] = np.where(there, 1 / np.sqrt(np.where(there, norm, 1) * max(there.sum(), 1)), 0)
    return scale

r"""A graph database as the explained fraction sees it: kernels with any bank of hidden graphs, compressed.

The objective reads a database only through the matrices :math:`\sum_G \phi(G) \phi(G)^\top / K_{GG}` over color
sequences. Nodes of one color therefore merge into prefixes of sequences, graphs with equal walk features merge, and
a root of that matrix, of rank ``r``, stands for all graphs: :math:`K_{GW}` becomes ``r`` rows instead of one per graph.
The compressed size does not grow with the database, and the compression is exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from rwkplus.descriptive.views import PaintedGraphs
from rwkplus.functional.objectives import (
    PrefixLevel,
    explained_fraction,
    pair_closed_walks,
    pair_walks,
    sequence_closed_walks,
    sequence_walks,
)
from rwkplus.kernels.walk_sequences import Level, SequenceTree, count_walks
from rwkplus.table.arrays import Ints

Floats = NDArray[np.float64]
RANK_TOLERANCE = 1e-10
"""Singular values below this share of the largest are rounding errors."""

Term = dict[int, float]
"""Kinds of walks that one explained fraction reads side by side, each with the weight of its kernel.

Kinds are numbered: open walks of 0 to ``steps`` edges, then closed walks by length."""


@dataclass(frozen=True)
class WalkDatabase:
    """Color sequences instead of nodes, a root of their second moments instead of graphs, and the objective."""

    colors: Tensor  # (C, D)
    steps: int
    closed: tuple[int, ...]  # lengths of closed walks
    terms: tuple[Term, ...]
    prefixes: tuple[PrefixLevel, ...]
    sequences: tuple[PrefixLevel, ...]
    cycles: tuple[Tensor, ...]  # per closed length: (S, L)
    roots: tuple[dict[int, Tensor], ...]  # per term and kind: (r, S)

    @classmethod
    def of(cls, graphs: PaintedGraphs, steps: int, closed: tuple[int, ...]) -> Self:
        """Count walks by color sequence and compress; float64."""
        features = WalkFeatures.of(graphs, steps, closed)
        terms = _choose_terms(features.norms, steps, closed)
        return cls(
            graphs.colors,
            steps,
            closed,
            terms,
            tuple(_level(level) for level in features.tree.prefixes),
            tuple(_level(level) for level in features.tree.sequences[1:]),
            tuple(torch.from_numpy(cycles) for cycles in features.cycles),
            tuple(_root(features, term) for term in terms),
        )

    def to(self, dtype: torch.dtype) -> Self:
        """Return the database in another precision."""
        roots = tuple({kind: root.to(dtype) for kind, root in term.items()} for term in self.roots)
        return replace(self, colors=self.colors.to(dtype), roots=roots)

    @property
    def cost(self) -> int:
        """Numbers that one hidden node needs in :meth:`loadings`; for choosing the size of blocks."""
        return sum(level.prefix.numel() for level in (*self.prefixes, *self.sequences))

    def loadings(self, hidden_x: Tensor, hidden_adj: Tensor) -> list[Tensor]:
        """Per term, kernels of a bank ``(K, M, D)``, ``(K, M, M)`` with the database: ``(r, K)``.

        Scaled so that sums of squares over the rows, within the span of a bank, are mean explained fractions.
        """
        y0 = torch.einsum("cd,kmd->ckm", self.colors, hidden_x)
        kinds = [
            y0.square().sum(-1),
            *sequence_walks(y0, hidden_adj, self.prefixes, self.sequences),
            *(sequence_closed_walks(y0, hidden_adj, cycles) for cycles in self.cycles),
        ]
        return [reduce(add, (root @ kinds[kind] for kind, root in roots.items())) for roots in self.roots]

    def gram(self, x: Tensor, adj: Tensor, other_x: Tensor, other_adj: Tensor) -> list[Tensor]:
        """Per term, kernels of aligned pairs of hidden graphs; leading dimensions broadcast."""
        kinds = [*pair_walks(x, adj, other_x, other_adj, self.steps)]
        if self.closed:
            kinds += [*pair_closed_walks(x, adj, other_x, other_adj, self.closed)]
        return [_combined(kinds, term) for term in self.terms]

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


def _combined(kinds: Sequence[Tensor], term: Term) -> Tensor:
    """Sum the kinds of a term by their weights."""
    parts = [kinds[kind] * weight for kind, weight in term.items()]
    return torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]


def _choose_terms(norms: Sequence[Floats], steps: int, closed: Sequence[int]) -> tuple[Term, ...]:
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
class WalkFeatures:
    """Counts by kind of walk: open walks of 0 to ``steps`` edges, then closed walks by length."""

    tree: SequenceTree  # sequences of the open walks
    cycles: tuple[Ints, ...]  # per closed length, color sequences without the return: (S, L)
    counts: tuple[sparse.csr_matrix, ...]  # per kind: (B, S)
    norms: tuple[Floats, ...]  # per kind, the kernel of each graph with itself: (B,)

    @classmethod
    def of(cls, graphs: PaintedGraphs, steps: int, closed: Sequence[int]) -> "WalkFeatures":
        """Count open walks of up to ``steps`` edges and closed walks of the given lengths."""
        walks = count_walks(graphs.arrays, steps)
        # A column for every color, met or not.
        by_color = walks.counts[0] @ _joins(walks.tree.sequences[0].label, len(graphs.colors))
        open_counts = [by_color, *walks.counts[1:]]
        written = [np.arange(len(graphs.colors))[:, None], *(_written(walks.tree, i) for i in range(1, steps + 1))]
        gram = None if graphs.orthonormal else (graphs.colors @ graphs.colors.T).numpy()
        norms = [
            _norm(count, sequence, [2] if i == 0 else [1, *[2] * (i - 1), 1], gram)
            for i, (count, sequence) in enumerate(zip(open_counts, written, strict=True))
        ]
        cycles, counts = [], []
        if closed:
            returning = count_walks(graphs.arrays, max(closed), closed=True)
            for length in closed:
                sequence, count = _written(returning.tree, length)[:, :-1], returning.counts[length]
                distinct, place = canonical_cycles(sequence)
                cycles.append(distinct)
                counts.append(count @ _joins(place, len(distinct)))
                norms.append(_norm(count, sequence, [2] * length, gram))
        return cls(walks.tree, tuple(cycles), (*open_counts, *counts), tuple(norms))


def canonical_cycles(sequences: Ints) -> tuple[Ints, Ints]:
    """Merge cyclic sequences ``(S, L)`` that are rotations or reversals of one another.

    Returns one sequence per class ``(S', L)`` and the class of every sequence ``(S,)``. In an undirected graph all
    members of a class are walked equally often, and so they are in a hidden graph.

    >>> canonical_cycles(np.array([[1, 0, 0], [0, 0, 1], [0, 1, 2], [2, 1, 0]]))
    (array([[0, 0, 1],
            [0, 1, 2]]), array([0, 0, 1, 1]))
    """
    best, rows = sequences, np.arange(len(sequences))
    for way in (sequences, sequences[:, ::-1]):
        for shift in range(sequences.shape[1]):
            turned = np.roll(way, shift, 1)
            differs = (turned != best).argmax(1)
            best = np.where((turned[rows, differs] < best[rows, differs])[:, None], turned, best)
    distinct, place = np.unique(best, axis=0, return_inverse=True)
    return distinct, place.ravel()


def _joins(place: Ints, num_classes: int) -> sparse.csr_matrix:
    return sparse.csr_matrix((np.ones(place.size), (np.arange(place.size), place)), shape=(place.size, num_classes))


def _written(tree: SequenceTree, length: int) -> Ints:
    """Colors of all sequences of ``length`` edges: ``(S, length + 1)``."""
    before = np.empty((1, 0), np.int64)
    for level in (*tree.prefixes[:length], tree.sequences[length]):
        before = np.concatenate([before[level.prefix], level.label[:, None]], 1)
    return before


def _norm(counts: sparse.csr_matrix, sequences: Ints, powers: Sequence[int], gram: Floats | None) -> Floats:
    """Kernel of every graph with itself: the ends of a walk are matched once, all other nodes twice."""
    if gram is None:
        return np.asarray(counts.multiply(counts).sum(1), float).ravel()
    similar = np.ones((len(sequences), len(sequences)))
    for column, power in zip(sequences.T, powers, strict=True):
        similar *= gram[np.ix_(column, column)] ** power
    return np.asarray(counts.multiply(counts @ similar).sum(1), float).ravel()


def _level(level: Level) -> PrefixLevel:
    return PrefixLevel(torch.from_numpy(level.prefix), torch.from_numpy(level.label))


def _root(features: WalkFeatures, term: Term) -> dict[int, Tensor]:
    """Root of the second moments of the graphs' features, cut by kind of walk."""
    scale = _row_scale(features.norms, term)
    parts = [features.counts[kind].toarray() * weight for kind, weight in term.items()]
    # Graphs with equal features are merged; a row that stands for n graphs counts n times in squares.
    rows, count = np.unique(np.concatenate(parts, 1) * scale[:, None], axis=0, return_counts=True)
    _, singular, right = np.linalg.svd(rows * np.sqrt(count)[:, None], full_matrices=False)
    kept = singular > RANK_TOLERANCE * singular.max(initial=0)
    root = right[kept] * singular[kept, None]
    cuts = np.cumsum([part.shape[1] for part in parts])[:-1]
    return {kind: torch.from_numpy(part) for kind, part in zip(term, np.split(root, cuts, 1), strict=True)}


def _row_scale(norms: Sequence[Floats], term: Term) -> NDArray[np.float64]:
    """Factor of every graph's kernels: its share in the mean over graphs that have walks of the term, normalized."""
    norm = np.sum([weight * norms[kind] for kind, weight in term.items()], axis=0)
    there = norm > 0
    scale: NDArray[np.float64] = np.where(there, 1 / np.sqrt(np.where(there, norm, 1) * max(there.sum(), 1)), 0)
    return scale

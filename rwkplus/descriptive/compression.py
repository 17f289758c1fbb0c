r"""Exact compression of a graph database for the explained fraction: its size does not grow with the database.

The objective reads a database only through the matrices :math:`\sum_G \phi(G) \phi(G)^\top / K_{GG}` over color
sequences. Nodes of one color therefore merge into prefixes of sequences, graphs with equal walk features merge, and
a root of that matrix, of rank ``r``, stands for all graphs: :math:`K_{GW}` becomes ``r`` rows instead of one per graph.
"""

from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import torch
from torch import Tensor

from rwkplus.descriptive.palette import PaintedGraphs
from rwkplus.descriptive.walk_database import Term, WalkDatabase, choose_terms, row_scale
from rwkplus.descriptive.walk_features import Floats, WalkFeatures
from rwkplus.functional.explained import PrefixLevel, sequence_closed_walks, sequence_walks
from rwkplus.kernels.walk_sequences import Level

RANK_TOLERANCE = 1e-10
"""Singular values below this share of the largest are rounding errors."""


@dataclass(frozen=True)
class CompressedWalks(WalkDatabase):
    """Color sequences instead of nodes, and a root of their second moments instead of graphs."""

    prefixes: tuple[PrefixLevel, ...]
    sequences: tuple[PrefixLevel, ...]
    cycles: tuple[Tensor, ...]  # per closed length: (S, L)
    roots: tuple[dict[int, Tensor], ...]  # per term and kind: (r, S)

    @classmethod
    def of(cls, graphs: PaintedGraphs, steps: int, closed: tuple[int, ...]) -> "CompressedWalks":
        """Count walks by color sequence and compress; float64."""
        features = WalkFeatures.of(graphs, steps, closed)
        terms = choose_terms(features.norms, steps, closed)
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

    def loadings(self, hidden_x: Tensor, hidden_adj: Tensor) -> list[Tensor]:
        """See :class:`WalkDatabase`; one row per dimension of the database's walk features."""
        y0 = torch.einsum("cd,kmd->ckm", self.colors, hidden_x)
        kinds = [
            y0.square().sum(-1),
            *sequence_walks(y0, hidden_adj, self.prefixes, self.sequences),
            *(sequence_closed_walks(y0, hidden_adj, cycles) for cycles in self.cycles),
        ]
        return [reduce(add, (root @ kinds[kind] for kind, root in roots.items())) for roots in self.roots]

    def to(self, dtype: torch.dtype) -> "CompressedWalks":
        """Return the database in another precision."""
        roots = tuple({kind: root.to(dtype) for kind, root in term.items()} for term in self.roots)
        return replace(self, colors=self.colors.to(dtype), roots=roots)

    @property
    def cost(self) -> int:
        """See :class:`WalkDatabase`."""
        return sum(level.prefix.numel() for level in (*self.prefixes, *self.sequences))


def _level(level: Level) -> PrefixLevel:
    return PrefixLevel(torch.from_numpy(level.prefix), torch.from_numpy(level.label))


def _root(features: WalkFeatures, term: Term) -> dict[int, Tensor]:
    """Root of the second moments of the graphs' features, cut by kind of walk."""
    scale = row_scale(features.norms, term)
    parts = [features.counts[kind].toarray() * weight for kind, weight in term.items()]
    rows = _distinct_rows(np.concatenate(parts, 1) * scale[:, None])
    _, singular, right = np.linalg.svd(rows, full_matrices=False)
    kept = singular > RANK_TOLERANCE * singular.max(initial=0)
    root = right[kept] * singular[kept, None]
    cuts = np.cumsum([part.shape[1] for part in parts])[:-1]
    return {kind: torch.from_numpy(part) for kind, part in zip(term, np.split(root, cuts, 1), strict=True)}


def _distinct_rows(rows: Floats) -> Floats:
    """Merge graphs with equal features; a row that stands for n graphs counts n times in squares."""
    distinct, count = np.unique(rows, axis=0, return_counts=True)
    merged: Floats = distinct * np.sqrt(count)[:, None]
    return merged

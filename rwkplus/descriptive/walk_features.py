"""Explicit walk features of painted graphs: how often each graph walks along each color sequence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rwkplus.descriptive.palette import PaintedGraphs
from rwkplus.kernels.walk_sequences import SequenceTree, count_walks
from rwkplus.table.arrays import Ints

Floats = NDArray[np.float64]


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
        open_counts = [_by_color(graphs, walks.counts[0], walks.tree), *walks.counts[1:]]
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

    @staticmethod
    def of_nodes(graphs: PaintedGraphs, closed: Sequence[int]) -> list[tuple[Ints, Floats]]:
        """Per length, the nodes of all closed walks up to rotation and reversal, and how often each is walked."""
        if not closed:
            return []
        arrays = graphs.arrays
        numbered = replace(arrays, label=np.arange(arrays.num_nodes), num_labels=arrays.num_nodes)
        returning = count_walks(numbered, max(closed), closed=True)
        found = []
        for length in closed:
            distinct, place = canonical_cycles(_written(returning.tree, length)[:, :-1])
            counts = np.asarray((returning.counts[length] @ _joins(place, len(distinct))).sum(0)).ravel()
            found.append((distinct, counts))
        return found


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


def _by_color(graphs: PaintedGraphs, counts: sparse.csr_matrix, tree: SequenceTree) -> sparse.csr_matrix:
    """Number of nodes of each color: a column for every color, met or not."""
    label = tree.sequences[0].label
    columns = sparse.csr_matrix((np.ones(label.size), (np.arange(label.size), label)), (label.size, len(graphs.colors)))
    return counts @ columns


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

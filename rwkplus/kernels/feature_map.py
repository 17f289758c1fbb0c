"""Explicit feature maps: graphs to sparse vectors whose inner products are the kernel."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rwkplus.errors import ParameterError
from rwkplus.kernels.gram import finite
from rwkplus.kernels.hashing import hashes
from rwkplus.kernels.node_colors import ColorCounts, ColorTable, count_colors, merge_colors
from rwkplus.kernels.sequence_tree import SequenceTree, merge
from rwkplus.kernels.sequences import WalkCounts, count_walks
from rwkplus.table.arrays import GraphArrays, Ints
from rwkplus.table.blocks import ReadGraphs, map_blocks
from rwkplus.types import Assignment, KernelName

Vocabulary = SequenceTree | ColorTable
BLOCK_NODES = 250_000
"""Nodes counted at a time: bounds memory, and is the unit of work for joblib."""


@dataclass(frozen=True)
class FeatureMap:
    """A walk kernel on labelled graphs in explicit form. Holds choices, learns nothing."""

    kernel: KernelName
    steps: int
    weights: NDArray[np.float64]  # (steps + 1,)
    closed: bool
    assignment: Assignment
    hash_width: int | None = None

    def fit(self, graphs: ReadGraphs, n_jobs: int | None) -> tuple[Vocabulary | None, sparse.csr_matrix]:
        """Collect the vocabulary of ``graphs``, unless features are hashed, and map them: ``(B, F)``."""
        if self.hash_width is not None:
            return None, self.transform(graphs, None, n_jobs)[0]
        counted = list(map_blocks(partial(count_block, how=self), graphs, BLOCK_NODES, n_jobs))
        vocabulary = _merge([block.tree for block in counted])
        return vocabulary, stacked(self._placed(counted.pop(0), vocabulary) for _ in range(len(counted)))

    def transform(
        self, graphs: ReadGraphs, vocabulary: Vocabulary | None, n_jobs: int | None
    ) -> tuple[sparse.csr_matrix, NDArray[np.float64]]:
        """Map later graphs; features outside the vocabulary only show in the squared norms ``(B,)``."""
        mapped = map_blocks(partial(_map_block, how=self, vocabulary=vocabulary), graphs, BLOCK_NODES, n_jobs)
        norms: list[NDArray[np.float64]] = []

        def features() -> Iterator[sparse.csr_matrix]:
            for rows, squared in mapped:
                norms.append(squared)
                yield rows

        return stacked(features()), np.concatenate(norms)

    def used_levels(self) -> list[int]:
        """Lengths of walks that have a weight."""
        return np.flatnonzero(self.weights).tolist()

    def columns(
        self, counted: WalkCounts | ColorCounts, vocabulary: Vocabulary | None, graphs: GraphArrays
    ) -> sparse.csr_matrix:
        """Features of counted walks: by their place in the vocabulary, or folded."""
        if self.hash_width is not None:
            return self._folded(counted, self.hash_width, graphs)
        assert vocabulary is not None
        return self._placed(counted, vocabulary)

    def _placed(self, counted: WalkCounts | ColorCounts, vocabulary: Vocabulary) -> sparse.csr_matrix:
        levels = list(vocabulary.locate(counted.tree))  # type: ignore[arg-type]
        sizes = level_sizes(vocabulary)
        return sparse.hstack(
            [
                _rearranged(counted.counts[i], levels[i], sizes[i], float(np.sqrt(self.weights[i])))
                for i in self.used_levels()
            ],
            format="csr",
        )

    def _folded(self, counted: WalkCounts | ColorCounts, width: int, graphs: GraphArrays) -> sparse.csr_matrix:
        """Fold features into ``width`` columns; random signs keep inner products right on average."""
        hashed = list(hashes(counted.tree, graphs))
        rows, columns, values = [], [], []
        for i in self.used_levels():
            counts = counted.counts[i].tocoo()
            sign = np.where(hashed[i] >> np.uint64(63), -1.0, 1.0) * np.sqrt(self.weights[i])
            rows.append(counts.row)
            columns.append((hashed[i] % np.uint64(width)).astype(np.int64)[counts.col])
            values.append(counts.data * sign[counts.col])
        # Entries that meet are summed here; adding matrices would need memory of the order of the width.
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return sparse.csr_matrix(entries, shape=(counted.counts[0].shape[0], width))

    def squared_norms(self, counted: WalkCounts | ColorCounts) -> NDArray[np.float64]:
        """Squared length of the features of each graph, known or not: ``(B,)``."""
        with np.errstate(over="ignore"):
            norms: NDArray[np.float64] = np.sum(
                [self.weights[i] * np.asarray(counted.counts[i].power(2).sum(1)).ravel() for i in self.used_levels()],
                axis=0,
            )
        return norms


def level_sizes(vocabulary: Vocabulary) -> list[int]:
    """Number of features of each walk length."""
    if isinstance(vocabulary, ColorTable):
        return [keys.size for keys in vocabulary.keys]
    return [level.prefix.size for level in vocabulary.sequences]


def count_block(graphs: ReadGraphs, how: FeatureMap) -> WalkCounts | ColorCounts:
    """Count the walks or walk colors of a block of graphs."""
    return _counted(graphs.arrays(), how)


def _map_block(
    graphs: ReadGraphs, how: FeatureMap, vocabulary: Vocabulary | None
) -> tuple[sparse.csr_matrix, NDArray[np.float64]]:
    """Features of a block of graphs, and their squared lengths."""
    arrays = graphs.arrays()
    counted = _counted(arrays, how)
    return how.columns(counted, vocabulary, arrays), how.squared_norms(counted)


def stacked(blocks: Iterator[sparse.csr_matrix]) -> sparse.csr_matrix:
    """Put blocks of rows below one another; each is given up once it has been copied."""
    data, indices, sizes, width = [], [], [np.zeros(1, np.int64)], 0
    for block in blocks:
        data.append(finite(block.data))
        indices.append(block.indices)
        sizes.append(np.diff(block.indptr).astype(np.int64))
        width = block.shape[1]
    indptr = np.concatenate(sizes).cumsum()
    if len(data) == 1:
        return sparse.csr_matrix((data[0], indices[0], indptr), shape=(indptr.size - 1, width))
    values, columns = _joined(data), _joined(indices)
    return sparse.csr_matrix((values, columns, indptr), shape=(indptr.size - 1, width))


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate arrays, freeing each as soon as it is copied."""
    whole = np.empty(sum(part.size for part in parts), parts[0].dtype)
    start = 0
    while parts:
        part = parts.pop(0)
        whole[start : start + part.size] = part
        start += part.size
    return whole


def _counted(graphs: GraphArrays, how: FeatureMap) -> WalkCounts | ColorCounts:
    if how.kernel != "node-centric":
        return count_walks(graphs, how.steps, match_all=how.kernel == "rwk+", closed=how.closed)
    if graphs.weight is not None:
        raise ParameterError(
            "the node-centric kernel compares walk colors and cannot use edge weights. Leave them out on purpose with "
            "ignore=('edge_weight',), or use kernel='rwk+'."
        )
    if how.closed:
        raise ParameterError("walks='closed' is for kernel='rwk+' and 'rwk-'; node-centric colors are open walks.")
    return count_colors(graphs, how.steps, how.assignment)


def _merge(trees: Sequence[Vocabulary]) -> Vocabulary:
    if isinstance(trees[0], ColorTable):
        return merge_colors(trees)  # type: ignore[arg-type]
    return merge(trees)  # type: ignore[arg-type]


def _rearranged(counts: sparse.csr_matrix, place: Ints, width: int, factor: float) -> sparse.csr_matrix:
    """Move columns to their places in the vocabulary; unknown ones (place -1) are dropped."""
    columns = place[counts.indices]
    known = columns >= 0
    if known.all():
        indptr, columns, data = counts.indptr, columns, counts.data
    else:
        indptr = np.concatenate([[0], np.cumsum(known)])[counts.indptr]
        columns, data = columns[known], counts.data[known]
    matrix = sparse.csr_matrix((data * factor, columns, indptr), shape=(counts.shape[0], width))
    matrix.sort_indices()
    return matrix

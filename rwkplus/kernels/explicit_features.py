"""The explicit route: graphs become sparse vectors whose inner products are the kernel."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rwkplus.errors import ParameterError, Remedy
from rwkplus.kernels.gram_storage import Written, join_blocks, new_folder, open_features, write_block
from rwkplus.kernels.node_colors import ColorCounts, ColorTable, count_colors, merge_colors
from rwkplus.kernels.walk_estimator import finite
from rwkplus.kernels.walk_sequences import Level, SequenceTree, WalkCounts, count_walks, merge
from rwkplus.loops.random_streams import STEP, mix
from rwkplus.table import Reader
from rwkplus.table.arrays import Codes, Floats, GraphArrays, Ints, ReadGraphs, map_blocks
from rwkplus.types import Assignment, KernelName

Vocabulary = SequenceTree | ColorTable
BLOCK_NODES = 50_000
"""Nodes counted at a time: bounds memory, and is the unit of work for joblib."""
MERGED_TREES = 32
"""Vocabularies of blocks that are kept before they are made one."""
DENSE_SHARE = 0.03
"""Columns with a larger share of nonzeros go through BLAS, the others through scipy's sparse product."""


@dataclass(frozen=True)
class FeatureMap:
    """A walk kernel on labelled graphs in explicit form. Holds choices, learns nothing.

    >>> from rwkplus.table import GraphTable, Reader
    >>> from rwkplus.table.arrays import ReadGraphs
    >>> table = GraphTable.of(["CO", "CC"])
    >>> edges = FeatureMap("rwk+", 1, np.array([0.0, 1.0]), closed=False, assignment="optimal")
    >>> edges.fit(ReadGraphs(table, Reader.fit(table)), None)[1].toarray()  # C-C, C-O, O-C
    array([[0., 1., 1.],
           [2., 0., 0.]])
    """

    kernel: KernelName
    steps: int
    weights: NDArray[np.float64]  # (steps + 1,)
    closed: bool
    assignment: Assignment
    hash_width: int | None = None

    def learn(self, graphs: ReadGraphs, n_jobs: int | None) -> Vocabulary | None:
        """Collect the vocabulary of ``graphs``, unless features are hashed; one block is in memory at a time."""
        if self.hash_width is not None:
            return None
        trees = map_blocks(partial(_tree_of_block, how=self), graphs, BLOCK_NODES, n_jobs)
        found: list[Vocabulary] = []
        for tree in trees:
            found.append(tree)
            if len(found) == MERGED_TREES:
                found = [_merge(found)]
        return _merge(found)

    def fit(self, graphs: ReadGraphs, n_jobs: int | None) -> tuple[Vocabulary | None, sparse.csr_matrix]:
        """Collect the vocabulary of ``graphs``, unless features are hashed, and map them: ``(B, F)``."""
        if self.hash_width is not None:
            return None, self.transform(graphs, None, n_jobs)[0]
        counted = list(map_blocks(partial(count_block, how=self), graphs, BLOCK_NODES, n_jobs))
        vocabulary = _merge([block.tree for block in counted])
        entries = sum(block.counts[i].nnz for block in counted for i in self.used_levels())
        rows = (self._placed(counted.pop(0), vocabulary) for _ in range(len(counted)))
        return vocabulary, stacked(rows, entries)

    def write(
        self, graphs: ReadGraphs, vocabulary: Vocabulary | None, n_jobs: int | None, path: str | Path
    ) -> sparse.csr_matrix:
        """Map later graphs into a new folder: every process writes its own blocks."""
        with new_folder(path) as folder:
            store = partial(_store_block, how=self, vocabulary=vocabulary, folder=folder)
            join_blocks(map_blocks(store, graphs, BLOCK_NODES, n_jobs), folder)
        return open_features(path)

    def transform(
        self, graphs: ReadGraphs, vocabulary: Vocabulary | None, n_jobs: int | None
    ) -> tuple[sparse.csr_matrix, NDArray[np.float64]]:
        """Map later graphs; features outside the vocabulary only show in the squared norms ``(B,)``."""
        norms: list[NDArray[np.float64]] = []

        def features() -> Iterator[sparse.csr_matrix]:
            mapped = partial(_map_block, how=self, vocabulary=vocabulary)
            for rows, squared in map_blocks(mapped, graphs, BLOCK_NODES, n_jobs):
                norms.append(squared)
                yield rows

        return stacked(features()), np.concatenate(norms)

    def read_vocabulary(self, arrays: Mapping[str, NDArray[Any]], reader: Reader) -> Vocabulary | None:
        """Take a vocabulary out of a file, for graphs read by ``reader``; one that does not fit is refused."""
        vocabulary: Vocabulary | None = None
        if self.hash_width is None and self.kernel == "node-centric":
            vocabulary = ColorTable.from_arrays(arrays, self.steps)
        elif self.hash_width is None:
            num_edge_labels = len(reader.edges.names) if reader.edges.exists else 1
            vocabulary = SequenceTree.from_arrays(arrays, self.steps, len(reader.nodes.names), num_edge_labels)
        if set(arrays) != set({} if vocabulary is None else vocabulary.to_arrays()):
            raise ValueError("its vocabulary belongs to other parameters")
        return vocabulary

    def used_levels(self) -> list[int]:
        """Lengths of walks that have a weight.

        >>> FeatureMap("rwk+", 3, np.array([0.0, 1, 0, 1]), False, "optimal").used_levels()
        [1, 3]
        """
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
    """Number of features of each walk length.

    >>> from rwkplus.kernels import RandomWalkFeatures
    >>> level_sizes(RandomWalkFeatures(steps=2).fit(["CCO"]).vocabulary_)
    [2, 3, 5]
    """
    if isinstance(vocabulary, ColorTable):
        return [keys.size for keys in vocabulary.keys]
    return [level.prefix.size for level in vocabulary.sequences]


def count_block(graphs: ReadGraphs, how: FeatureMap) -> WalkCounts | ColorCounts:
    """Count the walks or walk colors of a block of graphs, in half the memory where that loses nothing."""
    counted = _counted(graphs.arrays(), how)
    for counts in counted.counts:
        with np.errstate(over="ignore"):
            small = counts.data.astype(np.float32)
        if np.array_equal(small, counts.data):
            counts.data = small
    return counted


def _map_block(
    graphs: ReadGraphs, how: FeatureMap, vocabulary: Vocabulary | None
) -> tuple[sparse.csr_matrix, NDArray[np.float64]]:
    """Features of a block of graphs, and their squared lengths."""
    arrays = graphs.arrays()
    counted = _counted(arrays, how)
    return how.columns(counted, vocabulary, arrays), how.squared_norms(counted)


def _tree_of_block(graphs: ReadGraphs, how: FeatureMap) -> Vocabulary:
    counted = count_block(graphs, how)
    for i in how.used_levels():
        finite(counted.counts[i].data)
    return counted.tree


def stacked(blocks: Iterator[sparse.csr_matrix], entries: int | None = None) -> sparse.csr_matrix:
    """Put blocks of rows below one another; ``entries`` tells how many there are, if that is known.

    Then the arrays are as large as needed from the start: blocks beside a copy of them would take twice the room.
    """
    if entries is None:
        parts = list(blocks)
        if len(parts) == 1:
            finite(parts[0].data)
            return parts[0]
        blocks, entries = (parts.pop(0) for _ in range(len(parts))), sum(part.nnz for part in parts)
    data, indices = np.empty(entries), np.empty(entries, np.int32)
    sizes, width, start = [np.zeros(1, np.int64)], 0, 0
    for block in blocks:
        stop = start + block.nnz
        data[start:stop], indices[start:stop] = finite(block.data), block.indices
        sizes.append(np.diff(block.indptr).astype(np.int64))
        width, start = block.shape[1], stop
    indptr = np.concatenate(sizes).cumsum()
    return sparse.csr_matrix((data[:start], indices[:start], indptr), shape=(indptr.size - 1, width))


def _store_block(graphs: ReadGraphs, how: FeatureMap, vocabulary: Vocabulary | None, folder: Path) -> Written:
    """Write the features of a block of graphs."""
    rows, _ = _map_block(graphs, how, vocabulary)
    finite(rows.data)
    return write_block(rows, folder, graphs.first)


def _counted(graphs: GraphArrays, how: FeatureMap) -> WalkCounts | ColorCounts:
    if how.kernel != "node-centric":
        return count_walks(graphs, how.steps, match_all=how.kernel == "rwk+", closed=how.closed)
    if graphs.weight is not None:
        raise ParameterError(
            "the node-centric kernel compares walk colors and cannot use edge weights.",
            Remedy("Leave them out: {ignore}.", ignore=("edge_weight",)),
            Remedy("Or use {kernel}.", kernel="rwk+"),
        )
    if how.closed:
        raise ParameterError(
            "closed walks belong to the kernels rwk+ and rwk-; node-centric colors are made of open walks.",
            Remedy("Use {walks}.", walks="open"),
            Remedy("Or use {kernel}.", kernel="rwk+"),
        )
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
    matrix = sparse.csr_matrix((data.astype(np.float64) * factor, columns, indptr), shape=(counts.shape[0], width))
    matrix.sort_indices()
    return matrix


def feature_gram(rows: sparse.csr_matrix, cols: sparse.csr_matrix) -> Floats:
    """Inner products of all pairs of sparse rows: ``(B, K)``.

    A few label sequences occur almost everywhere and most occur almost nowhere: the first make a
    dense block for BLAS, the rest one sparse product.

    >>> from scipy import sparse
    >>> rows = sparse.csr_matrix(np.array([[1.0, 0, 2], [0, 3, 1]]))
    >>> feature_gram(rows, rows)
    array([[ 5.,  2.],
           [ 2., 10.]])
    """
    share = cols.getnnz(axis=0) / max(cols.shape[0], 1)
    frequent = np.flatnonzero(share > DENSE_SHARE)
    dense_cols = cols[:, frequent].toarray()
    dense_rows = dense_cols if rows is cols else rows[:, frequent].toarray()
    with np.errstate(over="ignore", invalid="ignore"):  # finite() speaks up
        gram = dense_rows @ dense_cols.T
    rare = np.flatnonzero((share <= DENSE_SHARE) & (share > 0))
    if rare.size:
        sparse_cols = cols[:, rare]
        product = (sparse_cols if rows is cols else rows[:, rare]) @ sparse_cols.T
        coo = product.tocoo()
        gram[coo.row, coo.col] += coo.data
    return np.asarray(gram)


def hashes(vocabulary: SequenceTree | ColorTable, graphs: GraphArrays) -> Iterator[Codes]:
    """Yield, length by length, a 64-bit hash of every feature: the same sequence hashes alike everywhere.

    Args:
        vocabulary: The features.
        graphs: Graphs whose labels they are made of.
    """
    if isinstance(vocabulary, ColorTable):
        for step, keys in enumerate(vocabulary.keys):
            yield mix(keys.astype(np.uint64) + np.uint64(step) + STEP)
        return
    before = np.zeros(1, np.uint64)
    for length, level in enumerate(vocabulary.sequences):
        yield _extend(before, level, graphs)
        if length < len(vocabulary.prefixes):
            before = _extend(before, vocabulary.prefixes[length], graphs)


def _extend(before: Codes, level: Level, graphs: GraphArrays) -> Codes:
    hashed = before[level.prefix]
    for code in (graphs.edge_label_code[level.edge], graphs.label_code[level.label]):
        hashed = mix(hashed + (code + np.uint64(2)) + STEP)
    return hashed

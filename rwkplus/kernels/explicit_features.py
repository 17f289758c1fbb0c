"""The explicit route: graphs become sparse vectors whose inner products are the kernel."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rwkplus.errors import ParameterError, Remedy
from rwkplus.files import atomic_folder
from rwkplus.kernels.gram_storage import Written, join_blocks, open_features, write_block
from rwkplus.kernels.graph_kernel import finite
from rwkplus.kernels.node_colors import ColorTable, count_colors
from rwkplus.kernels.walk_sequences import Counted, SequenceTree, count_walks
from rwkplus.table import Reader
from rwkplus.table.arrays import Floats, GraphArrays, Ints, ReadGraphs, map_blocks
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
    >>> table = GraphTable.of(["CO", "CC"])
    >>> edges = FeatureMap("rwk+", 1, np.array([0.0, 1.0]), closed=False, assignment="optimal")
    >>> edges.fit(ReadGraphs(table, Reader.fit(table)), None)[1].toarray()  # C-C, C-O, O-C
    array([[0., 1., 1.],
           [2., 0., 0.]])
    """

    kernel: KernelName
    steps: int
    weights: Floats  # (steps + 1,)
    closed: bool
    assignment: Assignment
    hash_width: int | None = None

    def learn(self, graphs: ReadGraphs, n_jobs: int | None) -> Vocabulary | None:
        """Collect the vocabulary of ``graphs``, unless features are hashed; one block is in memory at a time."""
        if self.hash_width is not None:
            return None
        found: list[Any] = []
        for tree in map_blocks(self._tree_of, graphs, BLOCK_NODES, n_jobs):
            found.append(tree)
            if len(found) == MERGED_TREES:
                found = [tree.merged(found)]
        return found[0].merged(found)  # type: ignore[no-any-return]

    def fit(self, graphs: ReadGraphs, n_jobs: int | None) -> tuple[Vocabulary | None, sparse.csr_matrix]:
        """Collect the vocabulary of ``graphs``, unless features are hashed, and map them: ``(B, F)``."""
        if self.hash_width is not None:
            return None, self.transform(graphs, None, n_jobs)[0]
        counted = list(map_blocks(self._small_counts, graphs, BLOCK_NODES, n_jobs))
        trees: list[Any] = [block.tree for block in counted]
        vocabulary = trees[0].merged(trees)
        entries = sum(block.counts[i].nnz for block in counted for i in self.used_levels)
        rows = (self._placed(counted.pop(0), vocabulary) for _ in range(len(counted)))
        return vocabulary, _stacked(rows, entries)

    def transform(
        self, graphs: ReadGraphs, vocabulary: Vocabulary | None, n_jobs: int | None
    ) -> tuple[sparse.csr_matrix, Floats]:
        """Map later graphs; features outside the vocabulary only show in the squared norms ``(B,)``."""
        mapped = map_blocks(partial(self._mapped, vocabulary=vocabulary), graphs, BLOCK_NODES, n_jobs)
        rows, norms = map(list, zip(*mapped, strict=True))
        entries = sum(part.nnz for part in rows)
        return _stacked((rows.pop(0) for _ in range(len(rows))), entries), np.concatenate(norms)

    def write(
        self, graphs: ReadGraphs, vocabulary: Vocabulary | None, n_jobs: int | None, path: str | Path
    ) -> sparse.csr_matrix:
        """Map later graphs into a new folder: every process writes its own blocks."""
        with atomic_folder(path) as folder:
            store = partial(self._stored, vocabulary=vocabulary, folder=folder)
            join_blocks(map_blocks(store, graphs, BLOCK_NODES, n_jobs), folder)
        return open_features(path)

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

    @property
    def used_levels(self) -> list[int]:
        """Lengths of walks that have a weight.

        >>> FeatureMap("rwk+", 3, np.array([0.0, 1, 0, 1]), False, "optimal").used_levels
        [1, 3]
        """
        return np.flatnonzero(self.weights).tolist()

    def _counts(self, graphs: GraphArrays) -> Counted[Any]:
        if self.kernel != "node-centric":
            return count_walks(graphs, self.steps, match_all=self.kernel == "rwk+", closed=self.closed)
        if graphs.weight is not None:
            raise ParameterError(
                "the node-centric kernel compares walk colors and cannot use edge weights.",
                Remedy("Leave them out: {ignore}.", ignore=("edge_weight",)),
                Remedy("Or use {kernel}.", kernel="rwk+"),
            )
        if self.closed:
            raise ParameterError(
                "closed walks belong to the kernels rwk+ and rwk-; node-centric colors are made of open walks.",
                Remedy("Use {walks}.", walks="open"),
                Remedy("Or use {kernel}.", kernel="rwk+"),
            )
        return count_colors(graphs, self.steps, self.assignment)

    def _small_counts(self, graphs: ReadGraphs) -> Counted[Any]:
        """Count a block of graphs, in half the memory where that loses nothing."""
        counted = self._counts(graphs.arrays())
        for counts in counted.counts:
            with np.errstate(over="ignore"):
                small = counts.data.astype(np.float32)
            if np.array_equal(small, counts.data):
                counts.data = small
        return counted

    def _tree_of(self, graphs: ReadGraphs) -> Vocabulary:
        counted = self._counts(graphs.arrays())
        for i in self.used_levels:
            finite(counted.counts[i].data)
        return counted.tree  # type: ignore[no-any-return]

    def _mapped(self, graphs: ReadGraphs, vocabulary: Vocabulary | None) -> tuple[sparse.csr_matrix, Floats]:
        """Features of a block of graphs, and their squared lengths, known or not."""
        arrays = graphs.arrays()
        counted = self._counts(arrays)
        rows = self._folded(counted, arrays) if vocabulary is None else self._placed(counted, vocabulary)
        with np.errstate(over="ignore"):
            squares = [self.weights[i] * squared_norms(counted.counts[i]) for i in self.used_levels]
            return rows, np.sum(squares, axis=0)

    def _stored(self, graphs: ReadGraphs, vocabulary: Vocabulary | None, folder: Path) -> Written:
        """Write the features of a block of graphs."""
        rows, _ = self._mapped(graphs, vocabulary)
        finite(rows.data)
        return write_block(rows, folder, graphs.first)

    def _placed(self, counted: Counted[Any], vocabulary: Vocabulary) -> sparse.csr_matrix:
        """Features by their place in the vocabulary."""
        levels, sizes = list(vocabulary.locate(counted.tree)), vocabulary.sizes
        blocks = [
            _rearranged(counted.counts[i], levels[i], sizes[i], float(np.sqrt(self.weights[i])))
            for i in self.used_levels
        ]
        return sparse.hstack(blocks, format="csr")

    def _folded(self, counted: Counted[Any], graphs: GraphArrays) -> sparse.csr_matrix:
        """Fold features into ``hash_width`` columns; random signs keep inner products right on average."""
        assert self.hash_width is not None
        hashed = list(counted.tree.hashes(graphs))
        rows, columns, values = [], [], []
        for i in self.used_levels:
            counts = counted.counts[i].tocoo()
            sign = np.where(hashed[i] >> np.uint64(63), -1.0, 1.0) * np.sqrt(self.weights[i])
            rows.append(counts.row)
            columns.append((hashed[i] % np.uint64(self.hash_width)).astype(np.int64)[counts.col])
            values.append(counts.data * sign[counts.col])
        # Entries that meet are summed here; adding matrices would need memory of the order of the width.
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return sparse.csr_matrix(entries, shape=(counted.counts[0].shape[0], self.hash_width))


def squared_norms(rows: sparse.csr_matrix) -> Floats:
    """Squared lengths of sparse rows ``(B,)``.

    >>> squared_norms(sparse.csr_matrix([[3.0, 0.0, 4.0]]))
    array([25.])
    """
    return np.asarray(rows.power(2).sum(1)).ravel()


def _stacked(blocks: Iterator[sparse.csr_matrix], entries: int) -> sparse.csr_matrix:
    """Put blocks of rows below one another; there are at most ``entries``.

    The arrays are as large as needed from the start: blocks beside a copy of them would take twice the room.
    """
    data, indices = np.empty(entries), np.empty(entries, np.int32)
    sizes, width, start = [np.zeros(1, np.int64)], 0, 0
    for block in blocks:
        stop = start + block.nnz
        data[start:stop], indices[start:stop] = finite(block.data), block.indices
        sizes.append(np.diff(block.indptr).astype(np.int64))
        width, start = block.shape[1], stop
    indptr = np.concatenate(sizes).cumsum()
    return sparse.csr_matrix((data[:start], indices[:start], indptr), shape=(indptr.size - 1, width))


def _rearranged(counts: sparse.csr_matrix, place: Ints, width: int, factor: float) -> sparse.csr_matrix:
    """Move columns to their places in the vocabulary; unknown ones (place -1) are dropped."""
    columns, data, indptr = place[counts.indices], counts.data, counts.indptr
    known = columns >= 0
    if not known.all():
        indptr = np.concatenate([[0], np.cumsum(known)])[indptr]
        columns, data = columns[known], data[known]
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

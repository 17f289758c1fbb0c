"""The route over pairs, Algorithm 1 on blocks of graphs: for attributes, and for walks too long to write out."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from rwkplus.errors import NumericError, Remedy
from rwkplus.kernels.graph_kernel import finite
from rwkplus.loops.walk_loops import PackedGraphs, pair_scores, self_scores
from rwkplus.table.arrays import Floats, GraphArrays

BLOCK_NODES = 1_024
"""Nodes of the rows computed at a time: the unit of work for joblib."""

MAX_PAIR_CELLS = 2**28
"""Cells of Y for one pair of graphs: 2 GiB in float64, three of them are held."""


@dataclass(frozen=True)
class PairKernel:
    """A walk kernel computed pair by pair. Holds choices, learns nothing.

    >>> from rwkplus.table import GraphTable, Reader
    >>> table = GraphTable.of(["CC", "CCC"])
    >>> arrays = Reader.fit(table).read(table, labels=False)
    >>> PairKernel(match_all=True, weights=np.array([0.0, 1.0]), closed=False).diagonal(arrays, None)
    array([ 4., 16.])
    """

    match_all: bool
    weights: Floats  # (steps + 1,)
    closed: bool

    def row_blocks(
        self,
        rows: GraphArrays,
        cols: GraphArrays,
        n_jobs: int | None,
        *,
        symmetric: bool,
        skip: frozenset[tuple[int, int]],
    ) -> Iterator[tuple[int, int, int, Floats]]:
        """Yield ``(start, stop, first column, values)`` for blocks of rows, in order.

        With ``symmetric``, rows and columns are the same graphs and a block begins at its own first column.
        Blocks whose ``(start, stop)`` is in ``skip`` are left out.
        """
        _check_size(rows, cols)
        pending = [(i, j) for i, j in rows.blocks(BLOCK_NODES) if (i, j) not in skip]
        work = (
            delayed(_block)(self, rows.block(i, j), cols.block(i, cols.num_graphs) if symmetric else cols, symmetric)
            for i, j in pending
        )
        results = Parallel(n_jobs=n_jobs, return_as="generator")(work)
        for (i, j), values in zip(pending, results, strict=True):
            yield i, j, i if symmetric else 0, finite(values)

    def diagonal(self, graphs: GraphArrays, n_jobs: int | None) -> Floats:
        """Self-similarity of every graph."""
        _check_size(graphs, graphs)
        blocks = [graphs.block(i, j) for i, j in graphs.blocks(BLOCK_NODES)]
        return finite(np.concatenate(Parallel(n_jobs=n_jobs)(delayed(_diagonal)(self, block) for block in blocks)))


def _block(how: PairKernel, rows: GraphArrays, cols: GraphArrays, upper: bool) -> Floats:
    scores = pair_scores(_pack(rows), _pack(cols), how.weights.size - 1, how.match_all, how.closed, upper)
    with np.errstate(over="ignore", invalid="ignore"):  # finite() speaks up
        values = np.tensordot(how.weights[1:], scores, 1)
    if how.weights[0]:
        values += how.weights[0] * _zero_step(rows, cols)
    if upper:
        square = values[:, : rows.num_graphs]
        square += np.triu(square, 1).T - np.tril(square, -1)
    return values


def _diagonal(how: PairKernel, graphs: GraphArrays) -> Floats:
    scores = self_scores(_pack(graphs), how.weights.size - 1, how.match_all, how.closed)
    with np.errstate(over="ignore", invalid="ignore"):
        values: Floats = how.weights[1:] @ scores
    if how.weights[0]:
        values += how.weights[0] * np.diag(_zero_step(graphs, graphs))
    return values


def _pack(graphs: GraphArrays) -> PackedGraphs:
    value = np.ones((graphs.source.size, 1)) if graphs.edge_attr is None else graphs.edge_attr
    if graphs.weight is not None:
        value = value * graphs.weight[:, None]
    order = np.argsort(graphs.source, kind="stable")  # rows of Y stay in the cache; also keeps edges sorted by graph
    return PackedGraphs(
        graphs.node_ptr,
        graphs.edge_ptr,
        graphs.source[order],
        graphs.target[order],
        np.ascontiguousarray(value[order]),
        np.ascontiguousarray(graphs.x),
        np.ascontiguousarray(graphs.x.T),
    )


def _zero_step(rows: GraphArrays, cols: GraphArrays) -> Floats:
    """Sum of squared color similarities, from the second moments of the colors: never anything N x N."""
    return _moments(rows) @ _moments(cols).T


def _moments(graphs: GraphArrays) -> Floats:
    return np.stack([(part.T @ part).ravel() for part in np.split(graphs.x, graphs.node_ptr[1:-1])])


def _check_size(rows: GraphArrays, cols: GraphArrays) -> None:
    n, m = (int(np.diff(graphs.node_ptr).max()) for graphs in (rows, cols))
    if n * m > MAX_PAIR_CELLS:
        raise NumericError(
            f"a pair of graphs with {n} and {m} nodes needs {n * m * 24 / 2**30:.0f} GiB in Algorithm 1.",
            Remedy("Use labels and {route}, whose memory grows with one graph at a time.", route="explicit"),
            "Or compare large graphs with small landmarks (RandomWalkNystroem).",
        )

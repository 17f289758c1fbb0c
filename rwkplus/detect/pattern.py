"""Anomalies as graphs that mined patterns do not explain."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rwkplus.detect.base import GraphDetector
from rwkplus.detect.explanation import Explanation, explanations
from rwkplus.errors import GraphError, ParameterError
from rwkplus.files import from_json
from rwkplus.mining import PatternMiner
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.occurrences import explained
from rwkplus.saving import header_of, unpack
from rwkplus.table import GraphTable, Reader
from rwkplus.table.arrays import Floats, GraphArrays
from rwkplus.table.reader import check_nodes


class PatternDetector(GraphDetector):
    """Flag graphs with much that no mined pattern explains: the other side of :class:`rwkplus.mining.PatternMiner`.

    The score is the share of edges that lie in no occurrence of a pattern. Coarser than
    :class:`rwkplus.detect.SurpriseDetector`, and in the words of a handful of patterns.

    Args:
        contamination: Expected share of anomalies among the fitted graphs, above 0 and at most 0.5.
        miner: What mines the patterns; building blocks, as many as say something, by default.

    Attributes:
        miner_: The fitted miner; its ``patterns_`` are what is usual.

    Example:
        >>> from rwkplus.datasets import anomalous_molecules
        >>> graphs, _ = anomalous_molecules(100)
        >>> detector = PatternDetector(miner=PatternMiner(3, criterion="blocks", n_controls=0)).fit(graphs)
        >>> detector.explain(graphs[:1])[0].node_scores.shape == (graphs[0].num_nodes,)
        True
    """

    def __init__(self, contamination: float = 0.05, miner: PatternMiner | None = None) -> None:
        self.contamination = contamination
        self.miner = miner

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns that the miner leaves out."""
        return tuple(self.miner_.ignore)

    @property
    def _ignored_by_fit(self) -> tuple[str, ...]:
        return () if self.miner is None else tuple(getattr(self.miner, "ignore", ()))

    def _learn(self, table: GraphTable) -> Floats:
        if not (self.miner is None or isinstance(self.miner, PatternMiner)):
            raise ParameterError(f"miner must be a PatternMiner or None, got {self.miner!r}.")
        default = PatternMiner("auto", criterion="blocks", n_controls=3, random_state=0)
        self.miner_ = default if self.miner is None else clone(self.miner)
        self.miner_.fit(table)
        if self.miner_.interrupted_:
            raise KeyboardInterrupt
        if not self.miner_.patterns_:
            raise GraphError(
                "no patterns were found, so nothing is usual. SurpriseDetector (--detector surprise) needs none."
            )
        return self._scores(table)

    def _scores(self, table: GraphTable) -> Floats:
        arrays, source, unexplained = self._unexplained(table)
        edges = np.bincount(arrays.graph[source], minlength=arrays.num_graphs)
        left = np.bincount(arrays.graph[source], unexplained, arrays.num_graphs)
        return np.where(edges > 0, left / np.maximum(edges, 1), 1.0)

    def _explain(self, table: GraphTable) -> list[Explanation]:
        """A node is as unusual as many of its edges are unexplained; a node without edges is."""
        arrays, source, unexplained = self._unexplained(table)
        degree = np.bincount(source, minlength=arrays.num_nodes)
        left = np.bincount(source, unexplained, arrays.num_nodes)
        return explanations(table, arrays, np.where(degree > 0, left / np.maximum(degree, 1), 1.0))

    @property
    def label_reader(self) -> Reader:
        """How nodes and edges came by labels."""
        return self.miner_.reader_

    def _seen_by(self) -> Reader:
        return self.miner_.reader_

    def _unexplained(self, table: GraphTable) -> tuple[GraphArrays, NDArray[np.int64], NDArray[np.bool_]]:
        """The graphs, the first node of every directed edge, and whether no pattern explains the edge."""
        check_nodes(table)
        miner = self.miner_
        arrays = miner.reader_.read(table)
        database = MiningDatabase.of(arrays)
        shapes = (pattern.shape(miner.reader_) for pattern in miner.patterns_)
        return arrays, database.source, ~explained(database, shapes, miner.n_jobs)

    def _packed(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        learned, arrays = self.miner_._learned()
        given = None if self.miner is None else self.miner.get_params() | {"random_state": self.miner_.seed_}
        return {"miner": given, "fitted": header_of(self.miner_, learned)}, arrays

    def _unpack(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.miner = None if header["miner"] is None else PatternMiner(**from_json(header["miner"]))
        own = {name: arrays[name] for name in PatternMiner.stored_arrays}
        self.miner_ = unpack(PatternMiner, header["fitted"], own)
        if not self.miner_.patterns_:
            raise ValueError("it holds no patterns")

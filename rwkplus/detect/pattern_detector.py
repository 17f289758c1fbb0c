"""Anomalies as graphs that mined patterns do not explain."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rwkplus.detect.graph_detector import Explanation, GraphDetector, Scored, explanations, graph_digests
from rwkplus.errors import GraphError, ParameterError
from rwkplus.mining import PatternMiner
from rwkplus.mining.search.occurrences import explained
from rwkplus.saving import check_entries, header_of, unpack
from rwkplus.table import GraphTable, Reader
from rwkplus.table.arrays import GraphArrays


@dataclass(eq=False, repr=False)
class PatternDetector(GraphDetector):
    """Flag graphs with much that no mined pattern explains: the other side of :class:`rwkplus.mining.PatternMiner`.

    The score is the share of edges that lie in no occurrence of a pattern; between graphs of the same share, the number
    of such edges decides. Coarser than :class:`rwkplus.detect.SurpriseDetector`, and in the words of a handful of
    patterns.

    Args:
        contamination: Expected share of anomalies among the fitted graphs, above 0 and at most 0.5.
        miner: What mines the patterns; building blocks, as many as say something, by default.

    Attributes:
        miner_: The fitted miner; its ``patterns_`` are what is usual.
        fitted_scores_: :meth:`score_samples` of the fitted graphs ``(B,)``.
        offset_: Scores below it are anomalies.

    Example:
        >>> from rwkplus.datasets import anomalous_molecules
        >>> graphs, _ = anomalous_molecules(100)
        >>> detector = PatternDetector(miner=PatternMiner(3, criterion="blocks", n_controls=0)).fit(graphs)
        >>> detector.explain(graphs[:1])[0].node_scores.shape == (graphs[0].num_nodes,)
        True
    """

    contamination: float = 0.05
    miner: PatternMiner | None = None

    miner_: PatternMiner = field(init=False)

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns that the miner leaves out."""
        return () if self.miner is None else tuple(self.miner.ignore)

    @property
    def label_reader(self) -> Reader:
        """How the miner reads labels."""
        return self.miner_.reader_.labels

    def _check(self) -> None:
        super()._check()
        if not (self.miner is None or isinstance(self.miner, PatternMiner)):
            raise ParameterError(f"miner must be a PatternMiner or None, got {self.miner!r}.")

    @property
    def _rounding(self) -> float:
        return 0.0  # everything is explained

    def _learn(self, table: GraphTable) -> tuple[dict[str, Any], Scored]:
        blocks = PatternMiner("auto", criterion="blocks", n_controls=3, random_state=0)
        miner: PatternMiner = (blocks if self.miner is None else clone(self.miner)).fit(table)
        if miner.interrupted_:
            raise KeyboardInterrupt
        if not miner.patterns_:
            raise GraphError(
                "no patterns were found, so graphs cannot be compared with them.",
                "SurpriseDetector (--detector surprise) does not need patterns.",
            )
        return {"miner_": miner}, _scored(miner, table)

    def _scores(self, table: GraphTable) -> Scored:
        return _scored(self.miner_, table)

    def _explain(self, table: GraphTable) -> list[Explanation]:
        """A node is as unusual as many of its edges are unexplained; a node without edges is."""
        arrays, source, unexplained = _unexplained(self.miner_, table)
        degree = np.bincount(source, minlength=arrays.num_nodes)
        left = np.bincount(source, unexplained, arrays.num_nodes)
        return explanations(table, arrays, np.where(degree > 0, left / np.maximum(degree, 1), 1.0))

    def _model(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        learned, arrays = self.miner_._learned()
        return {"miner": header_of(self.miner_, learned)}, dict(arrays)

    def _restored_model(
        self, learned: dict[str, Any], arrays: dict[str, NDArray[Any]], num_graphs: int
    ) -> dict[str, Any]:
        check_entries(learned, "miner")
        miner = unpack(PatternMiner, learned["miner"], arrays)
        if not miner.patterns_:
            raise ValueError("it holds no patterns")
        return {"miner_": miner}


def _scored(miner: PatternMiner, table: GraphTable) -> Scored:
    arrays, source, unexplained = _unexplained(miner, table)
    edges = np.bincount(arrays.graph[source], minlength=arrays.num_graphs)
    left = np.bincount(arrays.graph[source], unexplained, arrays.num_graphs).astype(float)
    return Scored(np.where(edges > 0, left / np.maximum(edges, 1), 1.0), left, graph_digests(arrays))


def _unexplained(miner: PatternMiner, table: GraphTable) -> tuple[GraphArrays, NDArray[np.int64], NDArray[np.bool_]]:
    """The graphs, the first node of every directed edge, and whether no pattern explains the edge."""
    arrays = miner.reader_.labels.read(table)
    database = miner.reader_.read(table)
    shapes = (miner.reader_.shape(pattern) for pattern in miner.patterns_)
    return arrays, database.source, ~explained(database, shapes, miner.n_jobs)

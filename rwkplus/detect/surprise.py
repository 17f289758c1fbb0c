"""Anomalies as surprising neighborhoods: fast, exact to the node, and its own explanation."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from rwkplus.detect.base import GraphDetector
from rwkplus.detect.explanation import Explanation, explanations, highest_by_graph
from rwkplus.detect.surprise_table import (
    learn_levels,
    look_up,
    node_scores,
    pack_levels,
    unpack_levels,
    where_labelled,
)
from rwkplus.errors import ParameterError
from rwkplus.table import GraphTable, Reader
from rwkplus.table.arrays import Floats, GraphArrays, Ints, ReadGraphs, map_blocks
from rwkplus.table.reader import check_nodes
from rwkplus.types import UnknownLabel, check_choice, check_ignore, is_positive_integer, seed_of

BLOCK_NODES = 100_000
"""Nodes of the graphs that are scored at a time."""


class SurpriseDetector(GraphDetector):
    """Flag graphs with a node whose surroundings are improbable.

    What the walks of up to ``steps`` edges see from a node is its color. Where most graphs that share the shorter walks
    go on in one of a few ways, another way is a surprise; where all go on differently, it is none. A graph is as
    anomalous as its most surprising node, in nats.

    One pass over the graphs to fit, one look-up per node to score: databases of millions of graphs are fine. Walks do
    not notice where they return to, so rings of other lengths are no surprise as long as all colors are usual.

    Args:
        contamination: Expected share of anomalies among the fitted graphs, above 0 and at most 0.5.
        steps: Longest walk, counted in edges.
        n_colors: Classes to cut measurements on nodes or edges into; labels are used as they are.
        unknown_label: Labels that ``fit`` did not see are surprising (``"new"``), an ``"error"``, or no surprise
            (``"ignore"``), nor is anything that walks see beyond them.
        ignore: Columns to leave out on purpose, such as ``("edges.label",)``.
        random_state: Seed of the classes of measurements, scikit-learn's ``RandomState``, or None for a seed of chance.

        n_jobs: Parallel jobs that score graphs, through joblib; any joblib backend works, Dask and Ray included.

    Attributes:
        levels_: Colors met and their surprise, by number of steps.

    Example:
        >>> from rwkplus.datasets import anomalous_molecules
        >>> graphs, planted = anomalous_molecules()
        >>> detector = SurpriseDetector(contamination=0.05).fit(graphs)
        >>> found = detector.labels_.nonzero()[0]
        >>> len(found), sum(planted[i] is not None for i in found)
        (19, 15)
    """

    def __init__(
        self,
        contamination: float = 0.05,
        steps: int = 3,
        *,
        n_colors: int = 8,
        unknown_label: UnknownLabel = "new",
        ignore: Sequence[str] = (),
        random_state: int | RandomState | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.contamination = contamination
        self.steps = steps
        self.n_colors = n_colors
        self.unknown_label = unknown_label
        self.ignore = ignore
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check(self) -> None:
        if not is_positive_integer(self.steps):
            raise ParameterError(f"steps must be an integer of at least 1 (it counts edges), got {self.steps!r}.")
        if not is_positive_integer(self.n_colors):
            raise ParameterError(f"n_colors must be an integer of at least 1, got {self.n_colors!r}.")
        check_choice("unknown_label", self.unknown_label, UnknownLabel)
        check_ignore(self.ignore)

    def _learn(self, table: GraphTable) -> Floats:
        self._check()
        self.seed_ = seed_of(self.random_state)
        self.reader_ = Reader.fit_labels(table, self.ignore, n_classes=self.n_colors, seed=self.seed_)
        arrays = self.reader_.read(table)
        self.levels_, surprises = learn_levels(arrays, self.steps)
        return highest_by_graph(arrays, node_scores(arrays, surprises))

    def _scores(self, table: GraphTable) -> Floats:
        check_nodes(table)
        graphs = ReadGraphs(table, self.reader_, self.unknown_label)
        return np.concatenate(list(map_blocks(self._scores_of, graphs, BLOCK_NODES, self.n_jobs)))

    def _scores_of(self, graphs: ReadGraphs) -> Floats:
        arrays = graphs.arrays()
        return highest_by_graph(arrays, self._node_scores(arrays))

    def _explain(self, table: GraphTable) -> list[Explanation]:
        check_nodes(table)
        arrays = self.reader_.read(table, self.unknown_label)
        return explanations(table, arrays, self._node_scores(arrays))

    @property
    def label_reader(self) -> Reader:
        """How nodes and edges came by labels."""
        return self.reader_

    def _seen_by(self) -> Reader:
        return self.reader_

    def _node_scores(self, arrays: GraphArrays) -> Floats:
        surprises = look_up(self.levels_, arrays, self._new_edges(arrays))
        return node_scores(arrays, where_labelled(arrays, surprises) if self.unknown_label == "ignore" else surprises)

    def _new_edges(self, arrays: GraphArrays) -> Ints | None:
        """Edges of later graphs whose label was not there."""
        if arrays.edge_label is None:
            return None
        known = self.reader_.edges.seen
        seen = np.zeros(max(arrays.num_edge_labels, len(known)) + 1, bool)
        seen[: len(known)] = known
        seen[-1] = True  # the number of no label is -1
        return np.flatnonzero(~seen[arrays.edge_label])

    def _packed(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {"reader": self.reader_.to_dict()}, pack_levels(self.levels_)

    def _unpack(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self._check()
        self.seed_ = seed_of(self.random_state)
        self.reader_ = Reader.from_dict(header["reader"])
        self.levels_ = unpack_levels(arrays)
        if len(self.levels_) != self.steps + 1:
            raise ValueError("its tables are of other steps")

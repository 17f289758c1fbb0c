"""Graphs to labelled arrays, the same way when fitting and later."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rwkplus.graphs import Graphs, Schema
from rwkplus.graphs.arrays import GraphArrays, Ints, as_arrays
from rwkplus.graphs.labelled import named
from rwkplus.mining.reading import LabelReader
from rwkplus.types import UnknownLabel


@dataclass(frozen=True)
class LabelledReader:
    """How labels come about and what their numbers mean."""

    labels: LabelReader
    schema: Schema
    unknown_label: UnknownLabel

    @classmethod
    def learn(
        cls, graphs: Graphs, ignore: Sequence[str], unknown_label: UnknownLabel, n_colors: int, seed: int
    ) -> "tuple[LabelledReader, GraphArrays]":
        """Decide how to read the graphs, and read them; measurements are cut into ``n_colors`` classes."""
        labels, batch = LabelReader.learn(graphs, "auto", n_colors, ignore, seed)
        return cls(labels, Schema.of(named(batch)), unknown_label), as_arrays(batch, labels=True)

    def read(self, graphs: Graphs) -> GraphArrays:
        """Read later graphs."""
        batch = self.schema.conform(named(self.labels.read(graphs), self.schema), self.unknown_label)
        return as_arrays(batch, labels=True)

    def new_edges(self, arrays: GraphArrays) -> Ints | None:
        """Edges of later graphs whose label was not there."""
        if self.schema.edges is None or arrays.edge_label is None:
            return None
        seen = np.zeros(max(arrays.num_edge_labels, self.schema.edges.width) + 1, bool)
        seen[: self.schema.edges.width] = self.schema.edges.seen
        seen[-1] = True  # the number of no label is -1
        return np.nonzero(~seen[arrays.edge_label])[0]

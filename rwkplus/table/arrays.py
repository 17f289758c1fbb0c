"""Graphs as the loops read them: plain arrays, every undirected edge in both directions."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.uint64]


@dataclass(frozen=True)
class GraphArrays:
    """Graphs side by side; nodes and edges are sorted by graph and numbered from the block's first node."""

    node_ptr: Ints  # (B + 1,)
    edge_ptr: Ints  # (B + 1,)
    source: Ints  # (E,)
    target: Ints  # (E,)
    weight: Floats | None  # (E,)
    x: Floats  # (N, D); empty when only labels are wanted
    label: Ints  # (N,): number of the node label, -1 for none; empty for attributes
    edge_attr: Floats | None  # (E, C)
    edge_label: Ints | None  # (E,): number of the edge label, -1 for none
    num_labels: int
    num_edge_labels: int
    label_code: Codes  # (num_labels + 1,): see label_codes
    edge_label_code: Codes  # (num_edge_labels + 1,)

    @property
    def num_graphs(self) -> int:
        """Number of graphs."""
        return self.node_ptr.size - 1

    @property
    def num_nodes(self) -> int:
        """Number of nodes of all graphs."""
        return int(self.node_ptr[-1])

    @property
    def graph(self) -> Ints:
        """Graph of each node."""
        return np.repeat(np.arange(self.num_graphs), np.diff(self.node_ptr))

    def block(self, start: int, stop: int) -> "GraphArrays":
        """Cut out the graphs from ``start`` up to but excluding ``stop``."""
        nodes = slice(self.node_ptr[start], self.node_ptr[stop])
        edges = slice(self.edge_ptr[start], self.edge_ptr[stop])
        return replace(
            self,
            node_ptr=self.node_ptr[start : stop + 1] - nodes.start,
            edge_ptr=self.edge_ptr[start : stop + 1] - edges.start,
            source=self.source[edges] - nodes.start,
            target=self.target[edges] - nodes.start,
            weight=None if self.weight is None else self.weight[edges],
            x=self.x[nodes],
            label=self.label[nodes],
            edge_attr=None if self.edge_attr is None else self.edge_attr[edges],
            edge_label=None if self.edge_label is None else self.edge_label[edges],
        )

    def with_width(self, num_features: int, num_edge_features: int) -> "GraphArrays":
        """Keep only the first columns of node and edge features."""
        return replace(
            self,
            x=self.x[:, :num_features],
            edge_attr=None if self.edge_attr is None else self.edge_attr[:, :num_edge_features],
        )

    def blocks(self, max_nodes: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of graphs of at most ``max_nodes`` nodes together, or of one larger graph."""
        start = 0
        while start < self.num_graphs:
            stop = int(np.searchsorted(self.node_ptr, self.node_ptr[start] + max_nodes, side="right")) - 1
            stop = min(max(stop, start + 1), self.num_graphs)
            yield start, stop
            start = stop

"""A checked batch as numpy arrays that can be cut into blocks of whole graphs and sent to workers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Batch

from rwkplus.graphs.features import is_one_hot, label_numbers
from rwkplus.graphs.schema import NEW_NAMES

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
    label: Ints  # (N,): number of the node label, -1 for none; empty for continuous features
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
        return GraphArrays(
            node_ptr=self.node_ptr[start : stop + 1] - nodes.start,
            edge_ptr=self.edge_ptr[start : stop + 1] - edges.start,
            source=self.source[edges] - nodes.start,
            target=self.target[edges] - nodes.start,
            weight=None if self.weight is None else self.weight[edges],
            x=self.x[nodes],
            label=self.label[nodes],
            edge_attr=None if self.edge_attr is None else self.edge_attr[edges],
            edge_label=None if self.edge_label is None else self.edge_label[edges],
            num_labels=self.num_labels,
            num_edge_labels=self.num_edge_labels,
            label_code=self.label_code,
            edge_label_code=self.edge_label_code,
        )

    def with_width(self, num_features: int, num_edge_features: int) -> "GraphArrays":
        """Keep only the first columns of node and edge colors."""
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


def as_arrays(batch: Batch, *, labels: bool) -> GraphArrays:
    """Copy a batch into arrays, with node and edge colors as label numbers or as features.

    Args:
        batch: What :func:`rwkplus.graphs.as_batch` returned.
        labels: Read one-hot colors as label numbers.
    """
    num_graphs = batch.ptr.numel() - 1
    edge_graph = batch.batch[batch.edge_index[0]]
    num_edges = np.bincount(edge_graph.cpu().numpy(), minlength=num_graphs)
    x, edge_attr, weight = batch.x, batch.get("edge_attr"), batch.get("edge_weight")
    assert not labels or (is_one_hot(x) and (edge_attr is None or is_one_hot(edge_attr)))

    def floats(value: object) -> Floats:
        return value.detach().cpu().double().numpy()  # type: ignore[attr-defined, no-any-return]

    num_edge_labels = 1 if edge_attr is None else edge_attr.size(1)
    return GraphArrays(
        node_ptr=batch.ptr.cpu().numpy(),
        edge_ptr=np.concatenate([[0], num_edges.cumsum()]),
        source=batch.edge_index[0].cpu().numpy(),
        target=batch.edge_index[1].cpu().numpy(),
        weight=None if weight is None else floats(weight),
        x=np.empty((batch.x.size(0), 0)) if labels else floats(x),
        label=label_numbers(x).cpu().numpy() if labels else np.empty(0, np.int64),
        edge_attr=None if edge_attr is None or labels else floats(edge_attr),
        edge_label=label_numbers(edge_attr).cpu().numpy() if labels and edge_attr is not None else None,
        num_labels=x.size(1),
        num_edge_labels=num_edge_labels,
        label_code=label_codes(x.size(1), batch.get(NEW_NAMES["x"]) or ()),
        edge_label_code=label_codes(num_edge_labels, batch.get(NEW_NAMES["edge_attr"]) or ()),
    )


def label_codes(num_labels: int, new: Sequence[str]) -> Codes:
    """What hashes know labels by: their numbers, but for names that fitting did not see, which come last, the name.

    The number of such a label depends on what other graphs come with it, its name does not. One more entry, the last
    one, is for the label -1.
    """
    codes = np.arange(num_labels + 1, dtype=np.uint64)
    for i, name in enumerate(new, num_labels - len(new)):
        codes[i] = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")
    codes[-1] = np.iinfo(np.uint64).max
    return codes

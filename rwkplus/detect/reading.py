"""Graphs to labelled arrays, the same way when fitting and later."""

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
from torch_geometric.data import Batch

from rwkplus.graphs import Graphs, Schema
from rwkplus.graphs.arrays import GraphArrays, Ints, as_arrays
from rwkplus.graphs.features import is_one_hot
from rwkplus.mining.reading import LabelReader
from rwkplus.types import UnknownLabel

NAMES = {"x": "node_label_names", "edge_attr": "edge_label_names"}


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


def named(batch: Batch, fitted: Schema | None = None) -> Batch:
    """Name unnamed columns: by their numbers or, where as many were fitted, as those.

    So graphs with and without names can be compared; and where later graphs have no labels although fitted ones had,
    the number of columns differs, which is refused.
    """
    colors = {} if fitted is None else {"x": fitted.nodes, "edge_attr": fitted.edges}
    for field, names in NAMES.items():
        if batch.get(field) is None or batch.get(names) is not None:
            continue
        width, like = batch[field].size(1), colors.get(field)
        if like is None:
            batch[names] = tuple(map(str, range(width)))
        elif like.width == width:
            batch[names] = like.names
    return batch


def labelled_graphs(batch: Batch) -> list[nx.Graph]:
    """Graphs to look at: node and edge attribute ``label``, or the column of the largest measurement."""
    nodes = _names(batch, "x")
    edges = _names(batch, "edge_attr") if batch.get("edge_attr") is not None else None
    owner = batch.batch[batch.edge_index[0]].tolist()
    first = batch.ptr.tolist()
    graphs = [nx.Graph() for _ in first[1:]]
    for v, (i, label) in enumerate(zip(batch.batch.tolist(), nodes, strict=True)):
        graphs[i].add_node(v - first[i], label=label)
    for k, (u, v) in enumerate(batch.edge_index.t().tolist()):
        i = owner[k]
        graphs[i].add_edge(u - first[i], v - first[i], label=None if edges is None else edges[k])
    return graphs


def _names(batch: Batch, field: str) -> list[str]:
    columns = batch[field].argmax(1).tolist()
    names = batch.get(NAMES[field])
    if names is None or not is_one_hot(batch[field]):
        return [f"x{column}" for column in columns]
    return [names[column] for column in columns]

"""From whatever graphs the user has to labelled ones, the same way at fitting and later."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from torch import Tensor
from torch_geometric.data import Batch, Data

from rwkplus.errors import GraphError
from rwkplus.graphs import Graphs, Schema, as_batch, constant_features
from rwkplus.graphs.convert import as_data
from rwkplus.mining.color_classes import ColorClasses, structural_rows

Coloring = Literal["auto", "structural"]


@dataclass(frozen=True)
class LabelReader:
    """How nodes and edges come by labels: None where they bring their own."""

    nodes: ColorClasses | None
    edges: ColorClasses | None
    structural: bool
    ignore: tuple[str, ...]

    @classmethod
    def learn(
        cls, graphs: Graphs, colors: Coloring, n_colors: int, ignore: Sequence[str], seed: int
    ) -> "tuple[LabelReader, Batch]":
        """Decide how to read the graphs, and read them."""
        batch = checked_batch(graphs, ignore)
        schema = Schema.of(batch)
        if schema.weighted:
            raise GraphError(
                "these graphs have edge_weight, which is not read here. Leave it out, ignore=('edge_weight',), or give "
                "it as a measurement: edge_attr."
            )
        structural = colors == "structural"
        nodes = edges = None
        if structural:
            nodes = ColorClasses.learn(structural_rows(batch), n_colors, "s", seed)
        elif not schema.nodes.discrete:
            nodes = ColorClasses.learn(batch.x, n_colors, "c", seed)
        if schema.edges is not None and not schema.edges.discrete:
            edges = ColorClasses.learn(batch.edge_attr, n_colors, "e", seed)
        reader = cls(nodes, edges, structural, tuple(ignore))
        return reader, reader._labelled(batch)

    def read(self, graphs: Graphs) -> Batch:
        """Read later graphs."""
        return self._labelled(checked_batch(graphs, self.ignore))

    def _labelled(self, batch: Batch) -> Batch:
        if self.nodes is not None:
            rows = structural_rows(batch) if self.structural else batch.x
            batch.x, batch.node_label_names = _classes(self.nodes, rows, "x")
        if self.edges is not None and batch.get("edge_attr") is not None:
            batch.edge_attr, batch.edge_label_names = _classes(self.edges, batch.edge_attr, "edge_attr")
        return batch


def _classes(classes: ColorClasses, rows: Tensor, field: str) -> tuple[Tensor, tuple[str, ...]]:
    if rows.size(1) != classes.mean.size:
        raise GraphError(
            f"graph 0: {field} has {rows.size(1)} columns, the fitted graphs had {classes.mean.size}. "
            "Give both the same columns."
        )
    return classes.one_hot(rows)


def checked_batch(graphs: Graphs, ignore: Sequence[str]) -> Batch:
    """The door, wider by one: graphs without any node features are graphs of one color. But they have nodes."""
    items = as_data(graphs, ignore)
    if all(isinstance(item, Data) and item.get("x") is None for item in items):
        items = constant_features(items)
    batch = as_batch(items, ignore=ignore)
    empty = (batch.ptr.diff() == 0).nonzero()
    if empty.numel():
        raise GraphError(f"graph {int(empty[0])} has no nodes: there is nothing to learn from it or to judge.")
    return batch

"""How graphs are read before a network sees them, so that later graphs are read the same way."""

from collections.abc import Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Self

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from rwkplus.errors import GraphError
from rwkplus.graphs import Schema, as_batch, constant_features, one_hot_degree
from rwkplus.graphs.checks import NAMES
from rwkplus.graphs.convert import graph_list
from rwkplus.graphs.schema import Colors
from rwkplus.table import Graphs
from rwkplus.tasks.columns import LabelColumns
from rwkplus.types import UnknownLabel, check_choice

Features = Literal["auto", "given", "degree", "constant", "discrete"]


@dataclass(frozen=True)
class Inputs:
    """Node features, fields left out, and the meaning of all columns.

    Args:
        features: ``"given"`` reads ``x``; ``"degree"`` and ``"constant"`` make features from the structure;
            ``"discrete"`` reads ``x``, and ``edge_attr`` if it is of integers, as columns of label numbers.
        max_degree: Largest degree with a column of its own; larger ones share the last column.
        ignore: Fields left out on purpose.
        schema: Width and meaning of the columns.
        columns: For discrete nodes, the label numbers of ``x``.
        edge_columns: For discrete edges, those of ``edge_attr``.
    """

    features: Features
    max_degree: int | None
    ignore: tuple[str, ...]
    schema: Schema
    columns: LabelColumns | None = None
    edge_columns: LabelColumns | None = None

    @classmethod
    def of(cls, graphs: Graphs, features: Features = "auto", ignore: Sequence[str] = ()) -> tuple[Self, list[Data]]:
        """Read the graphs of a training run through the door.

        ``features="auto"`` reads ``x`` where graphs have it, as label numbers if it holds integers beyond 0 and 1, and
        makes one-hot degrees where they have not.
        """
        check_choice("features", features, Features)
        items = _graphs_of(graphs, ignore)
        if features == "auto":
            features = _guess(items)
        max_degree = None
        if features == "degree":
            max_degree = max(1, one_hot_degree(items)[0].x.size(1) - 1)
        batch = as_batch(_with_features(items, features, max_degree), ignore=ignore)
        schema = Schema.of(batch)
        if features != "discrete":
            return cls(features, max_degree, tuple(ignore), schema), _tensors_only(batch)
        discrete_edges = "edge_attr" in batch and all(_holds_integers(item.edge_attr) for item in items)
        edges = LabelColumns.of(batch, "edge_attr") if discrete_edges else None
        inputs = cls(features, None, tuple(ignore), _numbers(schema), LabelColumns.of(batch, "x"), edges)
        return inputs, inputs._cut(batch)

    def read(self, graphs: Graphs, unknown_label: UnknownLabel = "ignore") -> list[Data]:
        """Read later graphs: the same features, the same columns.

        Args:
            graphs: PyG or networkx graphs, see :func:`rwkplus.graphs.as_batch`.
            unknown_label: Blank labels that training did not see (``"ignore"``) or refuse them (``"error"``).
        """
        check_unknown(unknown_label)
        items = _with_features(_graphs_of(graphs, self.ignore), self.features, self.max_degree)
        batch = self.schema.conform(as_batch(items, ignore=self.ignore), unknown_label)
        for field, colors in (("x", self.schema.nodes), ("edge_attr", self.schema.edges)):
            if colors is not None:  # columns of unknown labels are blank by now
                batch[field] = batch[field][:, : colors.width]
        return self._cut(batch, unknown_label)

    def _cut(self, batch: Batch, unknown_label: UnknownLabel = "ignore") -> list[Data]:
        for columns in (self.columns, self.edge_columns):
            if columns is not None:
                batch[columns.field] = columns.read(batch, unknown_label)
        return _tensors_only(batch)

    @property
    def sizes(self) -> dict[str, Any]:
        """What networks may want to know beside the width of ``x``: categories of labels, width of ``edge_attr``."""
        sizes: dict[str, Any] = {}
        if self.columns is not None:
            sizes["categories"] = self.columns.categories
        if self.edge_columns is not None:
            sizes["edge_categories"] = self.edge_columns.categories
        elif self.schema.edges is not None:
            sizes["edge_channels"] = self.schema.edges.width
        return sizes

    def to_dict(self) -> dict[str, Any]:
        """JSON values that :meth:`from_dict` reads."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Read what :meth:`to_dict` wrote; any disorder in it is an error of its own."""
        schema = values["schema"]
        nodes, edges = _colors(schema["nodes"]), schema["edges"] and _colors(schema["edges"])
        return cls(
            features=values["features"],
            max_degree=values["max_degree"],
            ignore=tuple(values["ignore"]),
            schema=Schema(nodes, edges, bool(schema["weighted"])),
            columns=LabelColumns.from_dict(values.get("columns")),
            edge_columns=LabelColumns.from_dict(values.get("edge_columns")),
        )


def check_unknown(unknown_label: object) -> None:
    """Refuse ``"new"``, which kernels know: a network has no weights for labels that it has not seen."""
    check_choice("unknown_label", unknown_label, ("ignore", "error"))


def _graphs_of(graphs: Graphs, ignore: Sequence[str]) -> list[Data]:
    items = graph_list(graphs, ignore)
    if not all(isinstance(item, Data) for item in items):
        as_batch(items, ignore=ignore)  # says which one is no graph
    return items


def _guess(items: list[Data]) -> Features:
    given = [item.x for item in items if item.get("x") is not None]
    if not given:
        return "degree"
    integers = all(_holds_integers(x) for x in given)
    return "discrete" if integers and any(bool((x > 1).any()) for x in given) else "given"


def _holds_integers(values: object) -> bool:
    return isinstance(values, Tensor) and not values.is_floating_point()


def _label_numbers(items: list[Data]) -> list[Data]:
    """Copies whose integers pass the door, which takes bare integers for forgotten one-hot encoding."""
    changed = []
    for i, item in enumerate(items):
        if not _holds_integers(item.get("x")):
            raise GraphError(f"graph {i}: features='discrete' needs label numbers, columns of integers, in x.")
        item = copy(item)
        for field in ("x", "edge_attr"):
            if _holds_integers(item.get(field)):
                item[field] = item[field].double()
        changed.append(item)
    return changed


def _numbers(schema: Schema) -> Schema:
    """Columns that look like one-hot labels by accident are still columns of label numbers."""
    edges = schema.edges
    return replace(
        schema,
        nodes=replace(schema.nodes, discrete=False),
        edges=None if edges is None else replace(edges, discrete=False),
    )


def _tensors_only(batch: Batch) -> list[Data]:
    """Cut a checked batch into graphs with the network's type of numbers and without names, which cost time."""
    for field in ("x", "edge_attr", "edge_weight"):
        if batch.get(field) is not None and batch[field].is_floating_point():
            batch[field] = batch[field].to(torch.get_default_dtype())
    for field in NAMES:
        if field in batch:
            del batch[field]
    return graph_list(batch)


def _with_features(items: list[Data], features: Features, max_degree: int | None) -> list[Data]:
    if features == "degree":
        return one_hot_degree(items, max_degree)
    if features == "discrete":
        return _label_numbers(items)
    if features == "constant":
        return constant_features(items)
    return items


def _colors(values: dict[str, Any]) -> Colors:
    names = values["names"]
    colors = Colors(
        field=values["field"],
        width=values["width"],
        discrete=values["discrete"],
        names=None if names is None else tuple(names),
        seen=tuple(values["seen"]),
    )
    if len(colors.seen) != colors.width or (colors.names is not None and len(colors.names) != colors.width):
        raise ValueError(f"{colors.field} has {colors.width} columns, but other numbers of names or marks.")
    return colors

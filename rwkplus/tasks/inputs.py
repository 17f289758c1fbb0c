"""How a network reads graphs: by a fitted reader, with features made from the structure where there are none."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import msgspec
import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from rwkplus.errors import GraphError, Remedy
from rwkplus.io.pyg import holds_integers, pyg_items, with_binary_numbers
from rwkplus.table import Graphs, GraphTable, Reader, Text
from rwkplus.table.arrays import GraphArrays
from rwkplus.table.columns import Categories
from rwkplus.table.graph_table import degree_labels
from rwkplus.types import UnknownLabel, check_choice, check_ignore

Features = Literal["auto", "given", "degree", "constant", "discrete"]


@dataclass(frozen=True)
class Inputs:
    """Node features, columns left out, and the meaning of all others.

    Args:
        features: ``"given"`` reads labels as one-hot rows, followed by attributes; ``"discrete"`` reads the number of
            each label, column by column, for embeddings; ``"degree"`` and ``"constant"`` make features from the
            structure.
        max_degree: Largest degree with a column of its own; larger ones share the last column.
        ignore: Columns left out on purpose.
        reader: Reads later graphs as the fitted ones.
    """

    features: Features
    max_degree: int | None
    ignore: tuple[str, ...]
    reader: Reader

    @classmethod
    def fit(cls, table: GraphTable, features: Features = "auto", ignore: Sequence[str] = ()) -> Self:
        """Note what the graphs of a training run have.

        ``features="auto"`` reads what nodes have, column by column if these are integers of PyG beyond 0 and 1, and
        makes one-hot degrees where they have nothing.
        """
        check_choice("features", features, Features)
        check_ignore(ignore, table.names_to_ignore())
        table = table.without(ignore)
        if features == "auto":
            features = _guess(table)
        max_degree = len(degree_labels(table).names) - 1 if features == "degree" else None
        table = _with_features(table, features, max_degree)
        by_column: list[Literal["nodes", "edges"]] = []
        if features == "discrete":
            one_hot = any(isinstance(column, Categories) and column.one_hot for column in table.edges.values())
            by_column = ["nodes"] if one_hot else ["nodes", "edges"]
        return cls(features, max_degree, tuple(ignore), Reader.fit(table, by_column=by_column))

    def read(self, graphs: Graphs, unknown_label: UnknownLabel = "ignore") -> "GraphTensors":
        """Read graphs: the same features, the same columns.

        Args:
            graphs: Whatever :meth:`rwkplus.table.GraphTable.of` reads.
            unknown_label: Blank labels that training did not see (``"ignore"``) or refuse them (``"error"``).
        """
        check_unknown(unknown_label)
        table = as_table(graphs, self.ignore).without(self.ignore)
        table = _with_features(table, self.features, self.max_degree)
        nodes, edges = self.reader.nodes, self.reader.edges
        arrays = self.reader.read(table, unknown_label, labels=False).with_width(nodes.width, edges.width)
        return GraphTensors.of(arrays, discrete=bool(nodes.vocabularies), discrete_edges=bool(edges.vocabularies))

    @property
    def width(self) -> int:
        """Features of a node."""
        return self.reader.nodes.width

    @property
    def sizes(self) -> dict[str, Any]:
        """What networks may want to know beside the width of ``x``: categories of labels, width of ``edge_attr``."""
        sizes: dict[str, Any] = {}
        nodes, edges = self.reader.nodes, self.reader.edges
        if nodes.vocabularies:
            sizes["categories"] = nodes.categories
        if edges.vocabularies:
            sizes["edge_categories"] = edges.categories
        elif edges.exists:
            sizes["edge_channels"] = edges.width
        return sizes

    def to_dict(self) -> dict[str, Any]:
        """JSON values that :meth:`from_dict` reads."""
        own = {"features": self.features, "max_degree": self.max_degree, "ignore": list(self.ignore)}
        return own | {"reader": self.reader.to_dict()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Read what :meth:`to_dict` wrote; anything else raises ``ValueError``, ``KeyError`` or ``TypeError``."""
        try:
            form = msgspec.convert(values, _InputsForm)
        except msgspec.ValidationError as error:
            raise ValueError(f"it does not say how its graphs are read: {error}") from error
        reader = Reader.from_dict(form.reader)
        if (form.features == "degree") != (form.max_degree is not None):
            raise ValueError("it does not say which degrees it knows")
        if (form.features == "discrete") != bool(reader.nodes.vocabularies):
            raise ValueError("its features are not those of its nodes")
        return cls(form.features, form.max_degree, tuple(form.ignore), reader)


class _InputsForm(msgspec.Struct, forbid_unknown_fields=True):
    features: Literal["given", "degree", "constant", "discrete"]
    max_degree: int | None
    ignore: list[str]
    reader: dict[str, Any]


@dataclass(frozen=True)
class GraphTensors:
    """Graphs side by side, as networks read them; nodes are counted over all graphs."""

    node_ptr: Any  # (B + 1,)
    edge_ptr: Any  # (B + 1,)
    fields: dict[str, Tensor]

    @classmethod
    def of(cls, arrays: GraphArrays, *, discrete: bool, discrete_edges: bool) -> Self:
        """Turn arrays into tensors in torch's default type, numbers of labels into integers."""
        kind = torch.get_default_dtype()
        fields = {
            "x": torch.from_numpy(arrays.x).to(torch.long if discrete else kind),
            "edge_index": torch.from_numpy(np.stack([arrays.source, arrays.target])),
        }
        if arrays.edge_attr is not None:
            fields["edge_attr"] = torch.from_numpy(arrays.edge_attr).to(torch.long if discrete_edges else kind)
        if arrays.weight is not None:
            fields["edge_weight"] = torch.from_numpy(arrays.weight).to(kind)
        return cls(arrays.node_ptr, arrays.edge_ptr, fields)

    def __len__(self) -> int:
        return int(self.node_ptr.size - 1)

    def graphs(self) -> list[Data]:
        """The graphs one by one: views, no copies."""
        nodes, edges = np.diff(self.node_ptr).tolist(), np.diff(self.edge_ptr).tolist()
        first = torch.from_numpy(np.repeat(self.node_ptr[:-1], edges))
        parts = {
            field: value.split(nodes if field == "x" else edges)
            for field, value in self.fields.items()
            if field != "edge_index"
        }
        parts["edge_index"] = (self.fields["edge_index"] - first).split(edges, 1)
        return [Data(**dict(zip(parts, own, strict=True))) for own in zip(*parts.values(), strict=True)]


def as_table(graphs: Graphs, ignore: Sequence[str] = ()) -> GraphTable:
    """Read graphs in any form.

    Those of PyG keep the order of their edges, and their targets, which may be of any shape, are not looked at.
    """
    items = pyg_items(graphs)
    is_pyg = isinstance(items, list) and bool(items) and isinstance(items[0], Data | HeteroData)
    return GraphTable.of(items, ignore=tuple(ignore), **({"y": (), "directed": True} if is_pyg else {}))


def check_unknown(unknown_label: object) -> None:
    """Refuse ``"new"``, which kernels know: a network has no weights for labels that it has not seen."""
    check_choice("unknown_label", unknown_label, ("ignore", "error"))


def _guess(table: GraphTable) -> Features:
    described = [column for column in table.nodes.values() if not isinstance(column, Text)]
    if not described:
        return "degree"
    beyond = any(isinstance(column, Categories) and not set(column.names) <= {"0", "1"} for column in described)
    return "discrete" if beyond and holds_integers(table, "nodes") else "given"


def _with_features(table: GraphTable, features: Features, max_degree: int | None) -> GraphTable:
    """The graphs with nodes described as ``features`` says."""
    if features == "given":
        table = with_binary_numbers(table)
    described = [name for name, column in table.nodes.items() if not isinstance(column, Text)]
    if features in ("degree", "constant"):
        table = replace(table, nodes={name: column for name, column in table.nodes.items() if name not in described})
        return table if max_degree is None else table.with_columns(nodes={"degree": degree_labels(table, max_degree)})
    if not described and table.num_nodes:
        raise GraphError(
            "the nodes have neither labels nor attributes.",
            Remedy("Make features from the structure: {features}.", features="degree"),
        )
    numbers = [name for name in described if not isinstance(table.nodes[name], Categories)]
    if features == "discrete" and numbers:
        raise GraphError(
            f"features='discrete' reads labels, but column {numbers[0]!r} of the nodes holds numbers.",
            Remedy("Read both labels and numbers: {features}.", features="given"),
        )
    return table

"""How a network reads graphs: by a fitted reader, into tensors from which batches are cut."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.data import Batch, Data, HeteroData

from rwkplus.errors import GraphError, ParameterError, Remedy, RWKPlusError
from rwkplus.io.pyg import graph_list
from rwkplus.table import Graphs, GraphTable, Numbers, Reader, Text
from rwkplus.table.arrays import GraphArrays
from rwkplus.table.columns import Categories
from rwkplus.table.graph_table import degree_labels
from rwkplus.training.targets import Target, are_answers
from rwkplus.types import UnknownLabel, check_choice, check_ignore

Features = Literal["auto", "given", "degree", "constant", "discrete"]
Index = NDArray[np.int64]
EVALUATION_SIZE = 512
"""Graphs at a time where nothing is learned."""
FIELDS = ("x", "edge_attr", "edge_weight")


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

    Example:
        >>> inputs = Inputs.fit(as_table(["CCO", "CN"]), ignore=("edge_attr",))
        >>> inputs.features, inputs.width
        ('given', 3)
        >>> inputs.read(["OC"]).fields["x"]
        tensor([[0., 0., 1.],
                [1., 0., 0.]])
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

        >>> import networkx as nx
        >>> Inputs.fit(as_table([nx.path_graph(3)])).features
        'degree'
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

    def read(self, X: Graphs, unknown_label: UnknownLabel = "ignore") -> "GraphTensors":
        """Read graphs: the same features, the same columns.

        Args:
            X: Whatever :meth:`rwkplus.table.GraphTable.of` reads.
            unknown_label: Blank labels that training did not see (``"ignore"``) or refuse them (``"error"``).
        """
        check_unknown(unknown_label)
        table = as_table(X, self.ignore).without(self.ignore)
        table = _with_features(table, self.features, self.max_degree)
        nodes, edges = self.reader.nodes, self.reader.edges
        arrays = self.reader.read(table, unknown_label, labels=False).with_width(nodes.width, edges.width)
        return GraphTensors.of(arrays, discrete=bool(nodes.vocabularies), discrete_edges=bool(edges.vocabularies))

    def outputs(self, model: nn.Module, X: Graphs, unknown_label: UnknownLabel = "ignore") -> Tensor:
        """Outputs of a network for every graph ``(B, C)``, on the CPU."""
        store = transformed(self.read(X, unknown_label), model)
        return outputs_of(model, store, np.arange(len(store)))

    def judged(
        self, model: nn.Module, target: Target, X: Graphs, y: object, unknown_label: UnknownLabel = "ignore"
    ) -> tuple[Tensor, Tensor]:
        """Outputs of a network for graphs with known labels, and these, encoded."""
        items = as_items(X)
        labels = target.encode(read_labels(items, y, target.kind))
        return self.outputs(model, items, unknown_label), labels

    @property
    def width(self) -> int:
        """Features of a node."""
        return self.reader.nodes.width

    @property
    def sizes(self) -> dict[str, Any]:
        """What networks may want to know beside the width of ``x``: categories of labels, width of ``edge_attr``.

        >>> Inputs.fit(as_table(["CCO", "C=N"]), "discrete").sizes
        {'categories': [3], 'edge_categories': [2]}
        """
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
        """JSON values that :meth:`from_dict` reads.

        >>> inputs = Inputs.fit(as_table(["CCO", "CN"]))
        >>> Inputs.from_dict(inputs.to_dict()) == inputs
        True
        """
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
        if form.max_degree != (len(reader.nodes.names) - 1 if form.features == "degree" else None):
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
        """The graphs one by one: views, no copies.

        >>> [graph.num_nodes for graph in Inputs.fit(as_table(["CCO", "CN"])).read(["CCO", "CN"]).graphs()]
        [3, 2]
        """
        nodes, edges = np.diff(self.node_ptr).tolist(), np.diff(self.edge_ptr).tolist()
        first = torch.from_numpy(np.repeat(self.node_ptr[:-1], edges))
        parts = {
            field: value.split(nodes if field == "x" else edges)
            for field, value in self.fields.items()
            if field != "edge_index"
        }
        parts["edge_index"] = (self.fields["edge_index"] - first).split(edges, 1)
        return [Data(**dict(zip(parts, own, strict=True))) for own in zip(*parts.values(), strict=True)]


class GraphStore:
    """Graphs side by side in memory; a batch is one gather per field.

    The batches equal ``Batch.from_data_list`` of the same graphs, fields of transforms and their increments
    included. What cannot be gathered (nested or sparse fields) falls back to PyG's collation.

    Args:
        graphs: Graphs whose fields are tensors, one by one or side by side.

    Example:
        >>> store = GraphStore(Inputs.fit(as_table(["CCO", "CN"])).read(["CCO", "CN"]))
        >>> store.batch(np.array([1, 0])).ptr
        tensor([0, 2, 5])
    """

    def __init__(self, graphs: Sequence[Data] | GraphTensors) -> None:
        if isinstance(graphs, GraphTensors):
            self.base, self.graphs, self.node_ptr = Data, None, graphs.node_ptr
            self.fields = [_Field.cut(key, value, graphs) for key, value in graphs.fields.items()]
            return
        whole = Batch.from_data_list(list(graphs))
        self.base = type(graphs[0])
        self.node_ptr = _numpy(whole.ptr)
        fields = [_Field.of(key, whole, graphs[-1]) for key in graphs[0].keys()]  # noqa: SIM118
        self.fields = [field for field in fields if field is not None]
        self.graphs = None if len(self.fields) == len(fields) else [graph.clone() for graph in graphs]

    def __len__(self) -> int:
        return int(self.node_ptr.size - 1)

    def batch(self, index: Index) -> Batch:
        """Batch of the graphs ``index``, in this order."""
        if self.graphs is not None:
            return Batch.from_data_list([self.graphs[i] for i in index])
        batch = Batch(_base_cls=self.base)
        rows: dict[bytes, _Rows] = {}
        for field in self.fields:
            if field.layout not in rows:
                rows[field.layout] = _Rows(field.ptr, index)
            batch[field.key] = field.take(index, rows[field.layout])
        sizes = self.node_ptr[index + 1] - self.node_ptr[index]
        batch.batch = torch.from_numpy(np.repeat(np.arange(index.size), sizes))
        batch.ptr = torch.from_numpy(_starts(sizes, closed=True))
        batch._num_graphs = index.size
        return batch


class _Rows:
    """Where the parts of the chosen graphs lie in a collated tensor."""

    def __init__(self, ptr: Index, index: Index) -> None:
        self.sizes = ptr[index + 1] - ptr[index]
        first = np.repeat(ptr[index] - _starts(self.sizes), self.sizes)
        self.places = torch.from_numpy(first + np.arange(first.size))


class _Field:
    """One field of all graphs: the tensor, its cuts, and how much each graph raises the numbers of later ones."""

    def __init__(self, key: str, values: Tensor, dim: int, ptr: Index, step: Index | None) -> None:
        self.key, self.values, self.dim, self.ptr, self.step = key, values, dim, ptr, step
        self.layout = ptr.tobytes()  # fields cut alike share the gather
        self.offset = None if step is None else _starts(step)

    @classmethod
    def cut(cls, key: str, values: Tensor, graphs: GraphTensors) -> "_Field":
        """Read off graphs that lie side by side."""
        if key == "edge_index":
            return cls(key, values, 1, graphs.edge_ptr, np.diff(graphs.node_ptr))
        return cls(key, values, 0, graphs.node_ptr if key == "x" else graphs.edge_ptr, None)

    @classmethod
    def of(cls, key: str, whole: Batch, last: Data) -> "_Field | None":
        """Read off a collated batch, or None where the field is no plain tensor."""
        value, ptr, raised = whole[key], whole._slice_dict[key], whole._inc_dict[key]
        if type(value) is not Tensor or value.layout != torch.strided or value.is_nested:
            return None
        if not isinstance(ptr, Tensor) or (raised is not None and raised.dim() != 1):
            return None
        dim = last.__cat_dim__(key, last[key])
        step = None
        if raised is not None:
            step = np.diff(_numpy(raised), append=int(raised[-1]) + int(last.__inc__(key, last[key])))
        return cls(key, value, dim or 0, _numpy(ptr), step if step is not None and step.any() else None)

    def take(self, index: Index, rows: _Rows) -> Tensor:
        """Gather the parts of the chosen graphs and renumber what they refer to."""
        taken = self.values.index_select(self.dim, rows.places)
        if self.step is None or self.offset is None:
            return taken
        shift = torch.from_numpy(np.repeat(_starts(self.step[index]) - self.offset[index], rows.sizes))
        shape = [1] * taken.dim()
        shape[self.dim] = -1
        return taken.add_(shift.view(shape))


def _numpy(values: Tensor) -> Index:
    return values.cpu().numpy().astype(np.int64)


def _starts(sizes: Index, *, closed: bool = False) -> Index:
    """First place of each part; with ``closed`` also the end of the last."""
    starts = np.zeros(sizes.size + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts if closed else starts[:-1]


def transformed(tensors: GraphTensors, model: nn.Module) -> GraphStore:
    """Apply the network's transform, if it has one, to every graph; to all at once where it has a way to do so."""
    transform = getattr(model, "pre_transform", None)
    if transform is None:
        return GraphStore(tensors)
    batched = getattr(transform, "batched", None)
    return GraphStore(batched(tensors.graphs()) if batched else [transform(graph) for graph in tensors.graphs()])


@torch.inference_mode()
def outputs_of(model: nn.Module, store: GraphStore, index: Index) -> Tensor:
    """Outputs of the graphs ``index``, in evaluation mode, on the CPU: ``(len(index), C)``."""
    device = device_of(model)
    model.eval()
    parts = np.array_split(index, -(-index.size // EVALUATION_SIZE))
    return torch.cat([model(in_precision_of(model, store.batch(part)).to(device)).cpu() for part in parts])


def device_of(model: nn.Module) -> torch.device:
    """Where a network is; the CPU if it has no parameters.

    >>> device_of(nn.Linear(1, 1))
    device(type='cpu')
    """
    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))


def dtype_of(model: nn.Module) -> torch.dtype:
    """The type of a network's weights; torch's default if it has none.

    >>> dtype_of(nn.Linear(1, 1).double())
    torch.float64
    """
    return next((part.dtype for part in model.parameters()), torch.get_default_dtype())


def in_precision_of(model: nn.Module, data: Data) -> Data:
    """The same graph or batch, with floats in the type of the network's weights; it is changed in place.

    >>> in_precision_of(nn.Linear(1, 1), Data(x=torch.ones(2, 1, dtype=torch.float64))).x.dtype
    torch.float32
    """
    dtype = dtype_of(model)
    for field in FIELDS:
        value = data.get(field)
        if value is not None and value.is_floating_point():
            data[field] = value.to(dtype)
    return data


def as_items(X: Graphs) -> Any:  # noqa: ANN401
    """Graphs that can be read twice: those of PyG as a list of ``Data``, an iterator of others as a list.

    >>> as_items(iter(["CCO", "CN"]))
    ['CCO', 'CN']
    """
    if isinstance(X, Batch):
        return graph_list(X)
    if isinstance(X, str | Path | GraphTable | Data | HeteroData):
        return X
    items: Any = X
    try:
        items = X if hasattr(X, "__len__") else list(items)  # or what has only __getitem__, as torch's Subset
        return list(items) if isinstance(next(iter(items), None), Data) else items
    except TypeError:
        return X


def _is_pyg(items: object) -> bool:
    """Whether these are graphs of PyG, as :func:`as_items` returns them."""
    return isinstance(items, list) and bool(items) and isinstance(items[0], Data)


def as_table(X: Graphs, ignore: Sequence[str] = ()) -> GraphTable:
    """Read graphs in any form.

    Those of PyG keep the order of their edges, and their targets, which may be of any shape, are not looked at.

    >>> as_table(["CCO", "CN"]).num_nodes
    5
    """
    items = as_items(X)
    return GraphTable.of(items, ignore=tuple(ignore), **({"y": (), "directed": True} if _is_pyg(items) else {}))


def check_unknown(unknown_label: object) -> None:
    """Refuse ``"new"``, which kernels know: a network has no weights for labels that it has not seen."""
    check_choice("unknown_label", unknown_label, ("ignore", "error"))


def _guess(table: GraphTable) -> Features:
    described = [column for column in table.nodes.values() if not isinstance(column, Text)]
    if not described:
        return "degree"
    beyond = any(isinstance(column, Categories) and not set(column.names) <= {"0", "1"} for column in described)
    return "discrete" if beyond and _holds_integers(table, "nodes") else "given"


def _with_features(table: GraphTable, features: Features, max_degree: int | None) -> GraphTable:
    """The graphs with nodes described as ``features`` says."""
    if features == "given":
        table = _with_binary_numbers(table)
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


def read_labels(X: Graphs, y: object = None, task: str = "auto", table: GraphTable | None = None) -> NDArray[Any]:
    """One label, or one row of labels, per graph; a single column ``(B, 1)`` stays one only if it is a question.

    Args:
        X: The graphs, which have labels of their own where ``y`` is None.
        y: The labels.
        task: What the labels are for.
        table: The graphs as a table, where that is known already.

    Example:
        >>> read_labels(["CCO", "CN"], [[1], [0]])
        array([1, 0])
        >>> read_labels(["CCO", "CN"], [[1.0], [0.0]])  # a question
        array([[1.],
               [0.]])
    """
    items = as_items(X)
    try:
        labels = _as_array(y) if y is not None else _labels_in(items, table)
    except ValueError as error:
        if isinstance(error, RWKPlusError):
            raise
        raise ParameterError("y must hold as many labels for every graph.") from error
    size = len(as_table(items) if table is None else table)
    if labels.ndim not in (1, 2) or len(labels) != size:
        raise ParameterError(f"y must hold one label per graph: it has shape {labels.shape} for {size} graphs.")
    if labels.dtype == object:  # as pandas keeps names
        names = [isinstance(label, str) for label in labels.flat]
        labels = np.array(labels.tolist())
        if any(names) != all(names) or labels.dtype == object:
            raise ParameterError("y must hold numbers or names, all of one kind; some labels are missing or mixed.")
    is_question = task == "multitask" or (task == "auto" and are_answers(labels))
    return labels[:, 0] if labels.shape[1:] == (1,) and not is_question else labels


def _labels_in(items: Any, table: GraphTable | None) -> NDArray[Any]:  # noqa: ANN401
    """Labels that graphs carry; those of PyG may be tensors of any shape."""
    if _is_pyg(items):
        return np.array([_label(i, item) for i, item in enumerate(items)])
    found = (as_table(items) if table is None else table).y
    if found is None:
        raise GraphError("the graphs have no labels y.", "Give y=[...], one label per graph.")
    return found


def _label(i: int, item: Data) -> NDArray[Any]:
    label = item.get("y")
    if label is None:
        raise GraphError(f"graph {i} has no label y.", "Give y=[...], one label per graph.")
    values = _as_array(label)
    return values.reshape(-1)[0] if values.size == 1 and values.ndim < 2 else values.reshape(-1)


def _as_array(y: object) -> NDArray[Any]:
    return y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)


def _holds_integers(table: GraphTable, side: str) -> bool:
    """Whether nodes or edges of a table have nothing but what were columns of integers in ``x`` or ``edge_attr``."""
    field = "x" if side == "nodes" else "edge_attr"
    described = {n: c for n, c in getattr(table, side).items() if not isinstance(c, Text) and n != table.weight}
    return bool(described) and all(
        isinstance(column, Categories) and not column.one_hot and name.removeprefix(field).isdecimal() | (name == field)
        and all(label.removeprefix("-").isdecimal() for label in column.names)
        for name, column in described.items()
    )  # fmt: skip


def _with_binary_numbers(table: GraphTable) -> GraphTable:
    """Let columns of integers that are but 0 and 1 be numbers, side by side in one column as in PyG."""
    for side, field in (("nodes", "x"), ("edges", "edge_attr")):
        columns = getattr(table, side)
        coded = [name for name, column in columns.items() if isinstance(column, Categories)]
        if _holds_integers(table, side) and all(set(columns[name].names) <= {"0", "1"} for name in coded):
            rows = np.stack([columns[name].values() == "1" for name in coded], 1).astype(np.float64)
            kept = {name: column for name, column in columns.items() if name not in coded}
            changed: Any = {side: {**kept, field: Numbers(rows)}}
            table = replace(table, **changed)
    return table

"""Graphs as a network reads them: by a fitted reader, into tensors from which batches are cut; and their labels."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, TypedDict, Unpack, cast

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.data import Batch, Data, HeteroData

from rwkplus.datasets.splits import Index, plain_folds, stratified_folds
from rwkplus.errors import GraphError, ParameterError, Remedy
from rwkplus.io.pyg import graph_list
from rwkplus.table import Graphs, GraphTable, Numbers, Reader, Text
from rwkplus.table.columns import Categories
from rwkplus.training import targets
from rwkplus.training.targets import Classes, ClassName, Target, make_target, read_labels
from rwkplus.types import Balance, Features, Loss, Task, Unknown, check_choice, check_ignore

EVALUATION_SIZE = 512
"""Graphs at a time where nothing is learned."""
FIELDS = ("x", "edge_attr", "edge_weight")


@dataclass(frozen=True)
class Inputs:
    """Node features, columns left out, and the meaning of all others: ``reader`` reads later graphs as the fitted ones.

    Degrees above ``max_degree`` share its column. For ``features``, see :class:`rwkplus.training.GraphClassifier`.

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
        max_degree = None
        if features == "degree":
            max_degree = len(cast(Categories, table.with_degrees().nodes["degree"]).names) - 1
        table = _with_features(table, features, max_degree)
        by_column: list[Literal["nodes", "edges"]] = []
        if features == "discrete":
            one_hot = any(isinstance(column, Categories) and column.one_hot for column in table.edges.values())
            by_column = ["nodes"] if one_hot else ["nodes", "edges"]
        return cls(features, max_degree, tuple(ignore), Reader.fit(table, by_column=by_column))

    def read(self, X: Graphs, unknown_label: Unknown = "ignore") -> "GraphTensors":
        """Read graphs: the same features, the same columns; floats in torch's default type."""
        check_choice("unknown_label", unknown_label, Unknown)
        table = _with_features(as_table(X, self.ignore).without(self.ignore), self.features, self.max_degree)
        arrays = self.reader.read(table, unknown_label, labels=False)
        nodes, edges, floats = self.reader.nodes, self.reader.edges, torch.get_default_dtype()
        fields = {
            "x": torch.from_numpy(arrays.x[:, : nodes.width]).to(torch.long if nodes.vocabularies else floats),
            "edge_index": torch.from_numpy(np.stack([arrays.source, arrays.target])),
        }
        if arrays.edge_attr is not None:
            colors = torch.from_numpy(arrays.edge_attr[:, : edges.width])
            fields["edge_attr"] = colors.to(torch.long if edges.vocabularies else floats)
        if arrays.weight is not None:
            fields["edge_weight"] = torch.from_numpy(arrays.weight).to(floats)
        return GraphTensors(arrays.node_ptr, arrays.edge_ptr, fields)

    def outputs(self, model: nn.Module, X: Graphs, unknown_label: Unknown = "ignore") -> Tensor:
        """Outputs of a network for every graph ``(B, C)``, on the CPU."""
        store = self.read(X, unknown_label).store(model)
        return outputs_of(model, store, np.arange(len(store)))

    def judged(
        self, model: nn.Module, target: Target, X: Graphs, y: object, unknown_label: Unknown = "ignore"
    ) -> tuple[Tensor, Tensor]:
        """Outputs of a network for graphs with known labels, and these, encoded."""
        table, labels = read(X, y, target.kind, self.ignore)
        return self.outputs(model, table, unknown_label), target.encode(labels)

    @property
    def width(self) -> int:
        """Features of a node."""
        return self.reader.nodes.width

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

    node_ptr: Index  # (B + 1,)
    edge_ptr: Index  # (B + 1,)
    fields: dict[str, Tensor]

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

    def store(self, model: nn.Module) -> "GraphStore":
        """Apply the network's transform, if it has one, to every graph; to all at once where it has a way to do so."""
        transform = getattr(model, "pre_transform", None)
        if transform is None:
            return GraphStore(self)
        batched = getattr(transform, "batched", None)
        return GraphStore(batched(self.graphs()) if batched else [transform(graph) for graph in self.graphs()])


class GraphStore:
    """Graphs side by side in memory; a batch is one gather per field.

    The batches equal ``Batch.from_data_list`` of the same graphs, fields of transforms and their increments
    included. What cannot be gathered (nested or sparse fields) falls back to PyG's collation.

    Example:
        >>> store = GraphStore(Inputs.fit(as_table(["CCO", "CN"])).read(["CCO", "CN"]))
        >>> store.batch(np.array([1, 0])).ptr
        tensor([0, 2, 5])
    """

    def __init__(self, graphs: Sequence[Data] | GraphTensors) -> None:
        self.base, self.graphs = Data, None
        if isinstance(graphs, GraphTensors):
            self.node_ptr, edges = graphs.node_ptr, graphs.edge_ptr
            self.fields = [
                _Field(key, value, 1, edges, np.diff(self.node_ptr))
                if key == "edge_index"
                else _Field(key, value, 0, self.node_ptr if key == "x" else edges, None)
                for key, value in graphs.fields.items()
            ]
            return
        whole = Batch.from_data_list(list(graphs))
        self.base, self.node_ptr = type(graphs[0]), _numpy(whole.ptr)
        fields = [_Field.of(key, whole, graphs[-1]) for key in graphs[0].keys()]  # noqa: SIM118
        self.fields = [field for field in fields if field is not None]
        if len(self.fields) < len(fields):
            self.graphs = [graph.clone() for graph in graphs]

    def __len__(self) -> int:
        return int(self.node_ptr.size - 1)

    def batch(self, index: Index) -> Batch:
        """Batch of the graphs ``index``, in this order."""
        if self.graphs is not None:
            return Batch.from_data_list([self.graphs[i] for i in index])
        batch = Batch(_base_cls=self.base)
        places: dict[bytes, tuple[Index, Tensor]] = {}
        for field in self.fields:
            if field.layout not in places:
                sizes = field.ptr[index + 1] - field.ptr[index]
                first = np.repeat(field.ptr[index] - _starts(sizes), sizes)
                places[field.layout] = sizes, torch.from_numpy(first + np.arange(first.size))
            batch[field.key] = field.take(index, *places[field.layout])
        sizes = self.node_ptr[index + 1] - self.node_ptr[index]
        batch.batch = torch.from_numpy(np.repeat(np.arange(index.size), sizes))
        batch.ptr = torch.from_numpy(np.append(_starts(sizes), sizes.sum()))
        batch._num_graphs = index.size
        return batch


class _Field:
    """One field of all graphs: the tensor, its cuts, and how much each graph raises the numbers of later ones."""

    def __init__(self, key: str, values: Tensor, dim: int, ptr: Index, step: Index | None) -> None:
        self.key, self.values, self.dim, self.ptr, self.step = key, values, dim, ptr, step
        self.layout = ptr.tobytes()  # fields cut alike share the gather
        self.offset = None if step is None else _starts(step)

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

    def take(self, index: Index, sizes: Index, places: Tensor) -> Tensor:
        """Gather the parts of the chosen graphs and renumber what they refer to."""
        taken = self.values.index_select(self.dim, places)
        if self.step is None or self.offset is None:
            return taken
        shift = torch.from_numpy(np.repeat(_starts(self.step[index]) - self.offset[index], sizes))
        shape = [1] * taken.dim()
        shape[self.dim] = -1
        return taken.add_(shift.view(shape))


def _numpy(values: Tensor) -> Index:
    return values.cpu().numpy().astype(np.int64)


def _starts(sizes: Index) -> Index:
    """First place of each part."""
    return np.cumsum(sizes) - sizes


@torch.inference_mode()
def outputs_of(model: nn.Module, store: GraphStore, index: Index) -> Tensor:
    """Outputs of the graphs ``index``, in evaluation mode, on the CPU: ``(len(index), C)``."""
    device = device_of(model)
    model.eval()
    parts = np.array_split(index, -(-index.size // EVALUATION_SIZE))
    return torch.cat([model(in_precision_of(model, store.batch(part)).to(device)).cpu() for part in parts])


def device_of(model: nn.Module) -> torch.device:
    """Where a network is; the CPU if it has no parameters."""
    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))


def dtype_of(model: nn.Module) -> torch.dtype:
    """The type of a network's weights; torch's default if it has none."""
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


def read(X: Graphs, y: object, task: str, ignore: Sequence[str]) -> tuple[GraphTable, NDArray[Any]]:
    """Graphs in any form as a table, and their labels: ``y``, or those that they carry.

    >>> table, labels = read(["CCO", "CN"], ["alcohol", "amine"], "auto", ())
    >>> table.num_nodes, labels.tolist()
    (5, ['alcohol', 'amine'])
    """
    items = _as_items(X)
    table = as_table(items, ignore)
    if not len(table):
        raise GraphError("there are no graphs: give at least one.")
    if y is None:
        y = [_label(i, item) for i, item in enumerate(items)] if _is_pyg(items) else table.y
    if y is None:
        raise GraphError("the graphs have no labels y.", "Give y=[...], one label per graph.")
    return table, read_labels(y, len(table), task)


def as_table(X: Graphs, ignore: Sequence[str] = ()) -> GraphTable:
    """Read graphs in any form.

    Those of PyG keep the order of their edges, and their targets, which may be of any shape, are not looked at.

    >>> as_table(["CCO", "CN"]).num_nodes
    5
    """
    items = _as_items(X)
    return GraphTable.of(items, ignore=tuple(ignore), **({"y": (), "directed": True} if _is_pyg(items) else {}))


def _as_items(X: Graphs) -> Any:  # noqa: ANN401
    """Graphs that can be read twice: those of PyG as a list of ``Data``, an iterator of others as a list."""
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
    """Whether these are graphs of PyG, as :func:`_as_items` returns them."""
    return isinstance(items, list) and bool(items) and isinstance(items[0], Data)


def _label(i: int, item: Data) -> NDArray[Any]:
    """The label of a graph of PyG, a tensor of any shape."""
    label = item.get("y")
    if label is None:
        raise GraphError(f"graph {i} has no label y.", "Give y=[...], one label per graph.")
    values = label.detach().cpu().numpy() if isinstance(label, Tensor) else np.asarray(label)
    return values.reshape(-1)[0] if values.size == 1 and values.ndim < 2 else values.reshape(-1)


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
        return table if max_degree is None else table.with_degrees(max_degree)
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


class DatasetOptions(TypedDict, total=False):
    """Keyword arguments of :class:`GraphDataset`."""

    task: Task
    features: Features
    ignore: Sequence[str]
    loss: Loss
    balance: Balance
    positive: ClassName | None


class GraphDataset:
    """A database for supervised learning, read once and shared by all folds and trials.

    Args:
        X: Graphs in any form that :meth:`rwkplus.table.GraphTable.of` reads.
        y: One label per graph, or a row of them; those that the graphs carry by default.
        task: ``"classification"``, ``"regression"``, ``"counting"``, ``"multitask"``, or ``"auto"``, see
            :func:`rwkplus.training.targets.make_target`.
        features: Node features for graphs without any; see :class:`GraphClassifier`.
        ignore: Columns to leave out on purpose.
        loss: For regression, the ``"squared"`` or the ``"absolute"`` error, which learns medians.
        balance: For classes of different frequency, ``"logits"`` learns as if all were as frequent (logit adjustment).
        positive: Of two classes the one that ``positive_f1``, ``roc_auc`` and their like are about; the second one by
            default.

    Example:
        >>> data = GraphDataset(["CCO", "CC", "OCCO", "CCC"], ["alcohol", "alkane", "alcohol", "alkane"])
        >>> len(data), data.task, data.inputs.width
        (4, 'classification', 2)
    """

    def __init__(
        self,
        X: Graphs,
        y: object = None,
        *,
        task: Task = "auto",
        features: Features = "auto",
        ignore: Sequence[str] = (),
        loss: Loss = "squared",
        balance: Balance = "none",
        positive: ClassName | None = None,
    ) -> None:
        check_choice("loss", loss, Loss)
        check_choice("balance", balance, Balance)
        self.table, self.y = read(X, y, task, ignore)
        self.inputs = Inputs.fit(self.table, features, ignore)
        self.tensors = self.inputs.read(self.table)
        whole = make_target(self.y, task)
        _check_goal(whole, loss, balance, positive)
        self.whole = whole = whole.about(positive) if isinstance(whole, Classes) else whole
        self.task: Task = task if task != "auto" else whole.kind  # type: ignore[assignment]
        self.loss, self.balance = loss, balance
        self.positive = whole.positive if isinstance(whole, Classes) else None
        self.classes: Index | None = whole.encode(self.y).numpy() if isinstance(whole, Classes) else None
        self._stores: list[tuple[object, GraphStore]] = []

    @classmethod
    def of(cls, X: "Graphs | GraphDataset", y: object = None, **options: Unpack[DatasetOptions]) -> "GraphDataset":
        """Read graphs, unless they have been read already."""
        if not isinstance(X, GraphDataset):
            return cls(X, y, **options)
        if y is not None or options:
            raise ParameterError("a GraphDataset has labels, task, features and ignore of its own: give them there.")
        return X

    def __len__(self) -> int:
        return len(self.y)

    @property
    def graphs(self) -> list[Data]:
        """The graphs as the network reads them, one by one."""
        return self.tensors.graphs()

    @cached_property
    def digest(self) -> str:
        """Of all that is in the graphs, to tell databases apart."""
        digest = hashlib.sha256(repr(self.inputs).encode())
        digest.update(self.tensors.node_ptr.tobytes() + self.tensors.edge_ptr.tobytes())
        for name, value in self.tensors.fields.items():
            digest.update(f"{name} {tuple(value.shape)}".encode() + value.contiguous().numpy().tobytes())
        return digest.hexdigest()

    @property
    def width(self) -> int:
        """Outputs that a network needs."""
        return self.whole.width

    def target(self, train: Index) -> Target:
        """Meaning of outputs; classes of the whole database, scaling of the training part alone.

        >>> GraphDataset(["C", "CC", "CCC"], [1.0, 2.0, 9.0]).target(np.array([0, 1])).center
        (1.5,)
        """
        target = self.whole
        if isinstance(target, targets.Numbers):
            return targets.Numbers.of(self.y[train], centered=self.task != "counting", error=self.loss)
        if isinstance(target, Classes) and self.balance == "logits":
            counts = np.bincount(target.encode(self.y[train]).numpy(), minlength=target.width)
            return replace(target, prior=tuple((np.maximum(counts, 1) / counts.sum()).tolist()))
        return target

    def folds(self, folds: int, seed: int) -> list[tuple[Index, Index]]:
        """Seeded folds of training and test graphs, by class where there are classes.

        >>> data = GraphDataset(["C", "CC", "O", "OO"], ["a", "a", "b", "b"])
        >>> [test.size for _, test in data.folds(2, seed=0)]
        [2, 2]
        """
        if self.classes is None:
            return plain_folds(len(self), folds, seed)
        names = np.array(self.whole.names)  # type: ignore[attr-defined]
        return stratified_folds(names[self.classes], folds, seed)

    def store(self, model: nn.Module) -> GraphStore:
        """Graphs as the network wants them; a transform is applied once, for all networks that have the same."""
        transform = getattr(model, "pre_transform", None)
        for known, store in self._stores:
            if _same_transform(known, transform):
                return store
        store = self.tensors.store(model)
        self._stores.append((transform, store))
        return store


def _check_goal(target: Target, loss: Loss, balance: Balance, positive: ClassName | None) -> None:
    """Refuse a choice that means nothing for such labels."""
    choices = (
        ("loss", loss, "squared", targets.Numbers, "numbers"),
        ("balance", balance, "none", Classes, "classes"),
        ("positive", positive, None, Classes, "classes"),
    )
    for name, value, usual, kind, things in choices:
        if value != usual and not isinstance(target, kind):
            raise ParameterError(
                f"{name}={value!r} is for {things}, but these labels are for {target.kind}: leave it out."
            )


def _same_transform(first: object, second: object) -> bool:
    """Whether two transforms do the same for sure: one object, or one class with the same plain arguments."""
    if first is second:
        return True
    arguments = [getattr(transform, "__dict__", {}) for transform in (first, second)]
    plain = all(isinstance(value, bool | int | float | str | None) for value in arguments[0].values())
    return type(first) is type(second) and plain and arguments[0] == arguments[1]

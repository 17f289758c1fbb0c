"""Graphs with labels, read once and shared by all folds and trials."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.data import Data

from rwkplus.data.splits import Index, plain_folds, stratified_folds
from rwkplus.errors import GraphError, ParameterError, Remedy, RWKPlusError
from rwkplus.io.pyg import pyg_items
from rwkplus.models.registry import parameters_of
from rwkplus.table import Graphs, GraphTable
from rwkplus.tasks.batches import GraphStore
from rwkplus.tasks.inputs import Features, GraphTensors, Inputs, as_table
from rwkplus.tasks.targets import Balance, Classes, ClassName, Loss, Numbers, Target, Task, are_answers, make_target
from rwkplus.types import check_choice


class GraphDataset:
    """A database for supervised learning.

    Args:
        graphs: PyG or networkx graphs, see :func:`rwkplus.io.pyg.as_batch`.
        y: One label per graph, or a row of them; ``graph.y`` by default.
        task: ``"classification"``, ``"regression"``, ``"counting"``, ``"multitask"``, or ``"auto"``, see
            :func:`rwkplus.tasks.targets.make_target`.
        features: Node features for graphs without any; see :class:`rwkplus.tasks.inputs.Inputs`.
        ignore: Fields to leave out on purpose.
        loss: For regression, the ``"squared"`` or the ``"absolute"`` error, which learns medians.
        balance: For classes of different frequency, ``"logits"`` learns as if all were as frequent (logit adjustment).
        positive: Of two classes the one that ``positive_f1``, ``roc_auc`` and their like are about; the second one by
            default.
    """

    def __init__(
        self,
        graphs: Graphs,
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
        items = pyg_items(graphs)
        self.table = as_table(items, ignore)
        self.inputs = Inputs.fit(self.table, features, ignore)
        self.tensors = self.inputs.read(self.table)
        self.y = read_labels(items, y, task, self.table)
        whole = make_target(self.y, task)
        _check_goal(whole, loss, balance, positive)
        self.whole = whole = whole.about(positive) if isinstance(whole, Classes) else whole
        self.task: Task = task if task != "auto" else whole.kind  # type: ignore[assignment]
        self.loss, self.balance = loss, balance
        self.positive = whole.positive if isinstance(whole, Classes) else None
        self.classes: Index | None = whole.encode(self.y).numpy() if isinstance(whole, Classes) else None
        self._stores: list[tuple[object, GraphStore]] = []

    @classmethod
    def of(
        cls,
        graphs: "Graphs | GraphDataset",
        y: object = None,
        *,
        task: Task = "auto",
        features: Features = "auto",
        ignore: Sequence[str] = (),
    ) -> "GraphDataset":
        """Read graphs, unless they have been read already."""
        if isinstance(graphs, GraphDataset):
            if y is not None or (task, features, tuple(ignore)) != ("auto", "auto", ()):
                raise ParameterError(
                    "a GraphDataset has labels, task, features and ignore of its own: give them there."
                )
            return graphs
        return cls(graphs, y, task=task, features=features, ignore=ignore)

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
        """Meaning of outputs; classes of the whole database, scaling of the training part alone."""
        target = self.whole
        if isinstance(target, Numbers):
            return Numbers.of(self.y[train], "std" if self.task == "counting" else "standard", self.loss)
        if isinstance(target, Classes) and self.balance == "logits":
            counts = np.bincount(target.encode(self.y[train]).numpy(), minlength=target.width)
            return replace(target, prior=tuple((np.maximum(counts, 1) / counts.sum()).tolist()))
        return target

    def folds(self, folds: int, seed: int) -> list[tuple[Index, Index]]:
        """Seeded folds of training and test graphs, by class where there are classes."""
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
        store = transformed(self.tensors, model)
        self._stores.append((transform, store))
        return store


def _check_goal(target: Target, loss: Loss, balance: Balance, positive: ClassName | None) -> None:
    """Refuse a choice that means nothing for such labels."""
    if loss != "squared" and not isinstance(target, Numbers):
        raise ParameterError(f"loss={loss!r} is for numbers, but these labels are for {target.kind}: leave it out.")
    for name, value, usual in (("balance", balance, "none"), ("positive", positive, None)):
        if value != usual and not isinstance(target, Classes):
            raise ParameterError(
                f"{name}={value!r} is for classes, but these labels are for {target.kind}: leave it out."
            )


def transformed(tensors: GraphTensors, model: nn.Module) -> GraphStore:
    """Apply the network's transform, if it has one, to every graph; to all at once where it has a way to do so."""
    transform = getattr(model, "pre_transform", None)
    if transform is None:
        return GraphStore(tensors)
    batched = getattr(transform, "batched", None)
    return GraphStore(batched(tensors.graphs()) if batched else [transform(graph) for graph in tensors.graphs()])


def _same_transform(first: object, second: object) -> bool:
    """Whether two transforms do the same for sure: one object, or one class with the same plain arguments."""
    if first is second:
        return True
    arguments = [getattr(transform, "__dict__", {}) for transform in (first, second)]
    plain = all(isinstance(value, bool | int | float | str | None) for value in arguments[0].values())
    return type(first) is type(second) and plain and arguments[0] == arguments[1]


def fitted_params(inputs: Inputs, model: str | type[nn.Module], params: Mapping[str, Any]) -> dict[str, Any]:
    """Add what can be read off the graphs, categories of labels and width of edge features, to a network's parameters.

    Only those that the network has and nobody gave.
    """
    known = parameters_of(model)
    given = {"edge_channels", "edge_categories"} if {"edge_channels", "edge_categories"} & params.keys() else set()
    return {name: size for name, size in inputs.sizes.items() if name in known and name not in given} | dict(params)


def check_fields(inputs: Inputs, model: nn.Module) -> None:
    """Refuse what the network declares not to read, and label numbers that it has no room for."""
    reader, sizes = inputs.reader, inputs.sizes
    _check_categories(inputs, "categories", "x", model)
    if "edge_attr" in getattr(model, "reads", ()):
        _check_categories(inputs, "edge_categories", "edge_attr", model)
    width, needed = getattr(model, "edge_channels", None), sizes.get("edge_channels")
    if width is not None and needed not in (None, width):
        raise GraphError(f"edge_attr needs edge_channels={needed} but the network was made for {width}.")
    reads = getattr(model, "reads", None)
    for field, present in (("edge_attr", reader.edges.exists), ("edge_weight", reader.weighted)):
        if reads is not None and present and field not in reads:
            raise GraphError(
                f"the graphs have {field}, which {type(model).__name__} does not read as it is.",
                Remedy("Leave it out: {ignore}.", ignore=(field,)),
                *(_edge_remedies(inputs, model) if field == "edge_attr" else ()),
            )


def _edge_remedies(inputs: Inputs, model: nn.Module) -> Iterator[Remedy]:
    """Parameters with which the network would read what edges have."""
    known = parameters_of(type(model))
    sizes = {name: size for name, size in inputs.sizes.items() if name.startswith("edge") and name in known}
    if "edge_dim" in known:
        sizes = {"edge_dim": inputs.reader.edges.width}
    if sizes:
        yield Remedy("Or give the network {model_params}.", model_params=sizes)


def _check_categories(inputs: Inputs, name: str, field: str, model: nn.Module) -> None:
    needed, room = inputs.sizes.get(name), getattr(model, name, None)
    if needed is None:
        return
    if room is None:
        raise GraphError(
            f"{field} holds label numbers, which {type(model).__name__} does not read as it is.",
            f"Give the model gnn {name}={needed}.",
            *([Remedy("Or read them as one-hot labels: {features}.", features="given")] if field == "x" else []),
        )
    if len(room) != len(needed) or any(r < n for r, n in zip(room, needed, strict=True)):
        raise GraphError(f"{field} needs {name}={needed} but the network was made for {list(room)}.")


def read_labels(graphs: Graphs, y: object = None, task: str = "auto", table: GraphTable | None = None) -> NDArray[Any]:
    """One label, or one row of labels, per graph; a single column ``(B, 1)`` stays one only if it is a question.

    Args:
        graphs: The graphs, which have labels of their own where ``y`` is None.
        y: The labels.
        task: What the labels are for.
        table: The graphs as a table, where that is known already.
    """
    items = pyg_items(graphs)
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
    if isinstance(items, list) and items and isinstance(items[0], Data):
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

"""Graphs with labels, read once and shared by all folds and trials, and the batches of an epoch."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from rwkplus.datasets.splits import Index, plain_folds, stratified_folds
from rwkplus.errors import GraphError, ParameterError, Remedy
from rwkplus.models.registry import build, parameters_of
from rwkplus.table import Graphs
from rwkplus.tensors import rank_and_world, share_of_batches
from rwkplus.training.inputs import Features, GraphStore, Inputs, as_items, as_table, read_labels, transformed
from rwkplus.training.loop import derived_seed, isolated
from rwkplus.training.targets import Balance, Classes, ClassName, Loss, Numbers, Target, Task, make_target
from rwkplus.types import check_choice

Model = str | type[nn.Module]


class GraphDataset:
    """A database for supervised learning.

    Args:
        X: Graphs in any form that :meth:`rwkplus.table.GraphTable.of` reads.
        y: One label per graph, or a row of them; those that the graphs carry by default.
        task: ``"classification"``, ``"regression"``, ``"counting"``, ``"multitask"``, or ``"auto"``, see
            :func:`rwkplus.training.targets.make_target`.
        features: Node features for graphs without any; see :class:`rwkplus.training.inputs.Inputs`.
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
        items = as_items(X)
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
        X: "Graphs | GraphDataset",
        y: object = None,
        *,
        task: Task = "auto",
        features: Features = "auto",
        ignore: Sequence[str] = (),
    ) -> "GraphDataset":
        """Read graphs, unless they have been read already."""
        if isinstance(X, GraphDataset):
            if y is not None or (task, features, tuple(ignore)) != ("auto", "auto", ()):
                raise ParameterError(
                    "a GraphDataset has labels, task, features and ignore of its own: give them there."
                )
            return X
        return cls(X, y, task=task, features=features, ignore=ignore)

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
        if isinstance(target, Numbers):
            return Numbers.of(self.y[train], "std" if self.task == "counting" else "standard", self.loss)
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


def _same_transform(first: object, second: object) -> bool:
    """Whether two transforms do the same for sure: one object, or one class with the same plain arguments."""
    if first is second:
        return True
    arguments = [getattr(transform, "__dict__", {}) for transform in (first, second)]
    plain = all(isinstance(value, bool | int | float | str | None) for value in arguments[0].values())
    return type(first) is type(second) and plain and arguments[0] == arguments[1]


class Batches:
    """Batches as even as possible, divided among the processes of a run.

    A fixed batch size would leave a last batch of any size, down to the single graph that BatchNorm refuses and
    to fewer graphs than processes; here sizes differ by one at most. The order depends on the seed and the
    attribute ``epoch`` alone, so that a resumed run sees what an uninterrupted one would have seen.

    Args:
        store: The graphs.
        index: Which of them.
        batch_size: Most graphs per batch, over all processes.
        y: Encoded label of every graph of ``index``, ``(len(index), ...)``; becomes ``batch.y``.
        seed: Seed of the order; None keeps the order, and the batches.

    Example:
        >>> data = GraphDataset(["C" * n for n in range(1, 8)], range(7), task="regression")
        >>> [batch.num_graphs for batch in Batches(GraphStore(data.tensors), np.arange(7), batch_size=3)]
        [3, 2, 2]
    """

    def __init__(
        self, store: GraphStore, index: Index, batch_size: int, y: Tensor | None = None, seed: int | None = None
    ) -> None:
        self.store = store
        self.index = np.asarray(index, np.int64)
        self.y = y
        self.seed = seed
        self.epoch = 0
        self.num_batches = -(-self.index.size // batch_size)
        self._kept: list[Batch] | None = None

    def __len__(self) -> int:
        return self.num_batches

    def __iter__(self) -> Iterator[Batch]:
        if self.seed is not None:
            order = torch.randperm(self.index.size, generator=_generator(self.seed, self.epoch)).numpy()
            return (self._batch(part) for part in self._parts(order))
        if self._kept is None:
            self._kept = [self._batch(part) for part in self._parts(np.arange(self.index.size))]
        return (copy(batch) for batch in self._kept)  # networks may write into what they get

    def _batch(self, part: Index) -> Batch:
        batch = self.store.batch(self.index[part])
        if self.y is not None:
            batch.y = self.y[torch.from_numpy(part)]
        return batch

    def _parts(self, order: Index) -> list[Index]:
        return share_of_batches(order, self.num_batches, *rank_and_world(), things="graphs")


def _generator(*numbers: int) -> torch.Generator:
    """A generator of its own for what these numbers name."""
    return torch.Generator().manual_seed(derived_seed(*numbers))


def new_network(data: GraphDataset, model: Model, params: Mapping[str, Any], seed: int = 0) -> nn.Module:
    """Build a network for a database, unless it would leave columns of the graphs unread.

    >>> data = GraphDataset(["C", "CC", "O", "OO"], [0, 0, 1, 1], ignore=("edge_attr",))
    >>> type(new_network(data, "gin", {"layers": 1})).__name__
    'GIN'
    """
    with isolated(seed):
        network = build(model, data.inputs.width, data.width, fitted_params(data.inputs, model, params))
    check_fields(data.inputs, network)
    return network


def fitted_params(inputs: Inputs, model: str | type[nn.Module], params: Mapping[str, Any]) -> dict[str, Any]:
    """Add what can be read off the graphs, categories of labels and width of edge features, to a network's parameters.

    Only those that the network has and nobody gave.

    >>> inputs = Inputs.fit(as_table(["CCO", "C=N"]), "discrete")
    >>> fitted_params(inputs, "gnn", {"layers": 2})
    {'categories': [3], 'edge_categories': [2], 'layers': 2}
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
            columns = _edge_columns(inputs) if field == "edge_attr" else []
            raise GraphError(
                f"the edges have {' and '.join(map(repr, columns)) or field}, which {type(model).__name__} does not "
                "read as it is.",
                Remedy("Leave it out: {ignore}.", ignore=tuple(f"edges.{name}" for name in columns) or (field,)),
                *(_edge_remedies(inputs, model) if field == "edge_attr" else ()),
            )


def _edge_columns(inputs: Inputs) -> list[str]:
    """Columns of edges as the user calls them; none where they are those of PyG, which are called ``edge_attr``."""
    edges = inputs.reader.edges
    names = [*edges.labels, *(name for name, _ in edges.attributes)]
    return [] if all(name.startswith("edge_attr") for name in names) else names


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
        if room is not None and (field == "x" or inputs.reader.edges.exists):
            raise GraphError(
                f"the network has {name}={list(room)} for label numbers, but {field} holds features.",
                *([Remedy("Read labels as numbers: {features}.", features="discrete")] if field == "x" else []),
            )
        return
    if room is None:
        raise GraphError(
            f"{field} holds label numbers, which {type(model).__name__} does not read as it is.",
            f"Give the model gnn {name}={needed}.",
            *([Remedy("Or read them as one-hot labels: {features}.", features="given")] if field == "x" else []),
        )
    if len(room) != len(needed) or any(r < n for r, n in zip(room, needed, strict=True)):
        raise GraphError(f"{field} needs {name}={needed} but the network was made for {list(room)}.")

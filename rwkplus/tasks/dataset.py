"""Graphs with labels, read once and shared by all folds and trials."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.data import Data

from rwkplus.data.splits import Index, plain_folds, stratified_folds
from rwkplus.errors import GraphError, ParameterError, RWKPlusError
from rwkplus.graphs import Graphs
from rwkplus.graphs.convert import graph_list
from rwkplus.tasks.batches import GraphStore
from rwkplus.tasks.inputs import Features, Inputs
from rwkplus.tasks.targets import Classes, Target, Task, make_target


class GraphDataset:
    """A database for supervised learning.

    Args:
        graphs: Whatever the door accepts.
        y: One label per graph; ``graph.y`` by default.
        task: ``"classification"``, ``"regression"``, ``"counting"``, ``"multitask"``, or ``"auto"``.
        features: Node features for graphs without any; see :class:`rwkplus.tasks.inputs.Inputs`.
        ignore: Fields to leave out on purpose.
    """

    def __init__(
        self,
        graphs: Graphs,
        y: object = None,
        *,
        task: Task = "auto",
        features: Features = "auto",
        ignore: Sequence[str] = (),
    ) -> None:
        items = graph_list(graphs)
        self.inputs, self.graphs = Inputs.of(items, features, ignore)
        self.y = read_labels(items, y)
        self.whole = whole = make_target(self.y, task)
        self.task: Task = task if task != "auto" else whole.kind  # type: ignore[assignment]
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

    def __getstate__(self) -> dict[str, Any]:
        """Copies for other processes: a view of the large tensor behind all graphs would drag it along."""
        return vars(self) | {"graphs": [graph.clone() for graph in self.graphs]}

    @property
    def width(self) -> int:
        """Outputs that a network needs."""
        return self.whole.width

    def target(self, train: Index) -> Target:
        """Meaning of outputs; classes of the whole database, scaling of the training part alone."""
        if self.task in ("regression", "counting"):
            return make_target(self.y[train], self.task)
        return self.whole

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
        store = transformed(self.graphs, model)
        self._stores.append((transform, store))
        return store


def transformed(graphs: Sequence[Data], model: nn.Module) -> GraphStore:
    """Apply the network's transform, if it has one, to every graph."""
    transform = getattr(model, "pre_transform", None)
    return GraphStore(graphs if transform is None else [transform(graph) for graph in graphs])


def _same_transform(first: object, second: object) -> bool:
    """Whether two transforms do the same for sure: one object, or one class with the same plain arguments."""
    if first is second:
        return True
    arguments = [getattr(transform, "__dict__", {}) for transform in (first, second)]
    plain = all(isinstance(value, bool | int | float | str | None) for value in arguments[0].values())
    return type(first) is type(second) and plain and arguments[0] == arguments[1]


def check_fields(inputs: Inputs, model: nn.Module) -> None:
    """Refuse fields that the network declares not to read."""
    reads = getattr(model, "reads", None)
    if reads is None:
        return
    schema = inputs.schema
    for field, present in (("edge_attr", schema.edges is not None), ("edge_weight", schema.weighted)):
        if present and field not in reads:
            raise GraphError(
                f"the graphs have {field}, which {type(model).__name__} does not read as it is. Leave it out: "
                f"ignore=({field!r},), on the command line --ignore {field}."
            )


def read_labels(items: Sequence[Any], y: object = None) -> NDArray[Any]:
    """One label, or one row of labels, per graph."""
    try:
        labels = np.array([_label(i, item) for i, item in enumerate(items)]) if y is None else _as_array(y)
    except ValueError as error:
        if isinstance(error, RWKPlusError):
            raise
        raise ParameterError("y must hold as many labels for every graph.") from error
    if labels.ndim not in (1, 2) or len(labels) != len(items):
        raise ParameterError(f"y must hold one label per graph: it has shape {labels.shape} for {len(items)} graphs.")
    if labels.dtype == object:
        raise ParameterError("y must hold numbers or names, all of one kind; some labels are missing or mixed.")
    return labels


def _label(i: int, item: object) -> NDArray[Any]:
    label = item.get("y") if isinstance(item, Data) else None
    if label is None:
        raise GraphError(f"graph {i} has no label y. Give y=[...], one label per graph.")
    values = _as_array(label).reshape(-1)
    return values[0] if values.size == 1 else values


def _as_array(y: object) -> NDArray[Any]:
    return y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)

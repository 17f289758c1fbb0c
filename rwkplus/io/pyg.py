"""Graphs of PyG: one-hot rows and integers are labels, other rows are attributes; and back (extra: ``nn``)."""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.utils import degree, unbatch, unbatch_edge_index

from rwkplus.errors import GraphError
from rwkplus.io.pyg_checks import INTEGERS, MEANINGFUL, NAMES, USED, check_alike, check_fields, fields_of
from rwkplus.io.rows import integer_labels
from rwkplus.io.sources import ReadOptions
from rwkplus.table import Categories, Column, Graphs, GraphTable, Numbers, Reader, Text
from rwkplus.table.arrays import merge_directions
from rwkplus.table.columns import pointers, target_column
from rwkplus.table.reader import ID_COLUMNS, directed_edges
from rwkplus.types import check_ignore, check_integer

ACCEPTED = ("ignore", "y", "directed")
WEIGHT = "edge_weight"


def from_pyg(graphs: Any, options: ReadOptions = ReadOptions()) -> GraphTable:  # noqa: ANN401
    """Read ``Data`` objects, a ``Batch`` or a data set.

    ``x`` and ``edge_attr`` are labels where their rows are one-hot, with the names in ``node_label_names`` and
    ``edge_label_names`` if there are such, or where they hold integers; all else is attributes. ``edge_weight`` is the
    weight. Edges that all have their reverse are undirected, unless ``directed`` says to keep them as they are listed.

    Example:
        >>> graph = Data(x=torch.tensor([[6], [8]]), edge_index=torch.tensor([[0, 1], [1, 0]]))
        >>> from_pyg([graph])
        GraphTable: 1 undirected graph, 2 nodes, 1 edge
          nodes  x: 2 labels (6, 8)
    """
    options.check("graphs of PyG", ACCEPTED)
    items = graph_list(graphs)
    whole = _Collated.of(items, options.ignore, need_x=False)
    whole.check_finite()
    edges, weight = whole.columns("edge_attr"), None
    if whole.edge_weight is not None:
        edges[WEIGHT], weight = Numbers(_array(whole.edge_weight)), WEIGHT
    table = GraphTable(
        node_ptr=pointers(whole.num_nodes.cpu().numpy()),
        edge_ptr=pointers(whole.num_edges.cpu().numpy()),
        source=whole.edge_index[0].cpu().numpy(),
        target=whole.edge_index[1].cpu().numpy(),
        graphs=_graph_columns(items, options),
        nodes={**_ids(items), **whole.columns("x")},
        edges=edges,
        directed=True,
    )
    table = options.mark_columns(table if options.directed else merge_directions(table))
    return replace(table, weight=weight).without(options.ignore)


def to_pyg(table: GraphTable) -> list[Data]:
    """Make graphs of PyG: labels as one-hot rows, followed by attributes; an undirected edge in both directions.

    >>> graph = Data(x=torch.tensor([[6], [8]]), edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> to_pyg(from_pyg([graph]))[0].x
    tensor([[1., 0.],
            [0., 1.]])
    """
    reader = Reader.fit(table)
    arrays = reader.read(table, labels=False)
    _, _, source, target = directed_edges(table)
    first = np.repeat(arrays.node_ptr[:-1], np.diff(arrays.edge_ptr))
    ends = torch.from_numpy(np.stack([source - first, target - first]))
    kind = torch.get_default_dtype()
    rows: dict[str, tuple[Tensor, Any]] = {}
    if reader.nodes.exists:
        rows["x"] = torch.from_numpy(arrays.x).to(kind), arrays.node_ptr
    if arrays.edge_attr is not None:
        rows["edge_attr"] = torch.from_numpy(arrays.edge_attr).to(kind), arrays.edge_ptr
    if arrays.weight is not None:
        rows["edge_weight"] = torch.from_numpy(arrays.weight).to(kind), arrays.edge_ptr
    names = {
        NAMES[field]: colors.names
        for field, colors in (("x", reader.nodes), ("edge_attr", reader.edges))
        if colors.exists and colors.discrete and not colors.unnamed
    }
    graphs = []
    for i in range(len(table)):
        part = slice(int(arrays.edge_ptr[i]), int(arrays.edge_ptr[i + 1]))
        data = Data(edge_index=ends[:, part].clone())
        for field, (values, ptr) in rows.items():  # clones: a view would drag the whole set along when pickled
            data[field] = values[int(ptr[i]) : int(ptr[i + 1])].clone()
        data.num_nodes = int(arrays.node_ptr[i + 1] - arrays.node_ptr[i])
        for field, value in names.items():
            data[field] = value
        graphs.append(data)
    _set_targets(graphs, table)
    return graphs


def as_batch(graphs: Graphs, *, ignore: Sequence[str] = ()) -> Batch:
    """Return ``graphs`` as one ``Batch``, or say which graph is wrong and why.

    Args:
        graphs: PyG ``Data`` objects, a PyG dataset or a ``Batch``, whose ``x``, ``edge_attr`` and ``edge_weight`` are
            taken as they are; or whatever else :meth:`rwkplus.table.GraphTable.of` reads, with labels as one-hot rows.
        ignore: Fields to leave out on purpose, for instance ``("edge_attr",)``.

    Returns:
        A batch with ``x``, ``edge_index``, ``batch``, ``ptr`` and, where given, ``edge_attr``,
        ``edge_weight``, ``node_label_names`` and ``edge_label_names``; a copy, never a view.

    Example:
        >>> import networkx as nx
        >>> graph = nx.Graph([("a", "b")])
        >>> nx.set_node_attributes(graph, {"a": "C", "b": "O"}, "label")
        >>> as_batch([graph]).x
        tensor([[1., 0.],
                [0., 1.]])
    """
    check_ignore(ignore)
    whole = _Collated.of(graph_list(graphs, ignore), ignore)
    assert whole.x is not None
    ptr = torch.cat([whole.num_nodes.new_zeros(1), whole.num_nodes.cumsum(0)])
    owner = whole.owner("edge_attr")
    whole.x = whole.floats("x")
    batch = Batch(x=whole.x, edge_index=whole.edge_index + ptr[owner], batch=whole.owner("x"), ptr=ptr)
    if whole.edge_attr is not None:
        batch.edge_attr = whole.edge_attr = whole.floats("edge_attr")
    if whole.edge_weight is not None:
        weight = whole.edge_weight
        batch.edge_weight = whole.edge_weight = weight if weight.is_floating_point() else weight.to(batch.x.dtype)
    for field, names in whole.names.items():
        batch[NAMES[field]] = names
    whole.check_finite()
    return batch


def graph_list(graphs: Graphs, ignore: Sequence[str] = ()) -> list[Any]:
    """Return graphs in any form as a list of PyG's, which are not yet checked; labels mean the same in all.

    >>> import networkx as nx
    >>> [graph.num_nodes for graph in graph_list([nx.path_graph(3), nx.path_graph(2)])]
    [3, 2]
    """
    if isinstance(graphs, Batch):
        return _unbatched(graphs)
    if isinstance(graphs, Data | HeteroData):
        raise GraphError(f"got a single {type(graphs).__name__}: put it into a list, [graph].")
    if not isinstance(graphs, str | Path | GraphTable) and not hasattr(graphs, "shape"):
        try:
            items: list[Any] = list(graphs)  # type: ignore[call-overload] # or what has only __getitem__, as torch's Subset
        except TypeError:
            items = []
        if items and isinstance(items[0], Data | HeteroData):
            return items
        graphs = items if isinstance(graphs, Iterator) else graphs
    return GraphTable.of(graphs, ignore=tuple(ignore)).to_pyg()


def one_hot_degree(graphs: Graphs, max_degree: int | None = None) -> list[Data]:
    """Give every node its out-degree as a one-hot label; degrees above ``max_degree`` share the last column.

    Example:
        >>> import networkx as nx
        >>> [graph.x.shape for graph in one_hot_degree([nx.path_graph(3), nx.star_graph(4)])]
        [torch.Size([3, 5]), torch.Size([5, 5])]
    """
    if max_degree is not None:
        check_integer("max_degree", max_degree, 1)
    items = [copy(graph) for graph in graph_list(graphs)]
    whole = _Collated.of(items, ("x", *NAMES.values()), need_x=False)
    first = whole.num_nodes.cumsum(0) - whole.num_nodes
    degrees = degree(whole.edge_index[0] + first[whole.owner("edge_attr")], int(whole.num_nodes.sum()), torch.long)
    cap = max_degree or (int(degrees.max()) if degrees.numel() else 1)
    rows = torch.nn.functional.one_hot(degrees.clamp(max=cap), cap + 1).to(torch.get_default_dtype())
    for graph, own in zip(items, rows.split(whole.num_nodes.tolist()), strict=True):
        graph.x = own.clone()
        graph.node_label_names = (*map(str, range(cap)), f"{cap}+" if max_degree else str(cap))
    return items


def is_one_hot(colors: Tensor) -> bool:
    """Whether every row is one-hot or zero (a zero row matches nothing).

    >>> is_one_hot(torch.eye(2)), is_one_hot(torch.ones(1, 2))
    (True, False)
    """
    return bool((((colors == 0) | (colors == 1)).all()) and (colors.sum(-1) <= 1).all())


def label_numbers(colors: Tensor) -> Tensor:
    """Column of the one in each one-hot row, -1 for zero rows.

    >>> label_numbers(torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]))
    tensor([ 1,  0, -1])
    """
    if colors.size(1) == 0:
        return torch.full((colors.size(0),), -1, dtype=torch.long, device=colors.device)
    highest, column = colors.max(-1)
    return torch.where(highest > 0, column, -1)


@dataclass
class _Collated:
    """Checked graphs side by side; edges name the nodes of their own graph."""

    num_nodes: Tensor  # (B,)
    num_edges: Tensor  # (B,)
    edge_index: Tensor  # (2, E)
    x: Tensor | None  # (N, D)
    edge_attr: Tensor | None  # (E, C)
    edge_weight: Tensor | None  # (E,)
    names: dict[str, tuple[str, ...]]
    integers: frozenset[str]
    called: list[object]  # names of graphs, for errors

    @classmethod
    def of(cls, items: Sequence[Any], ignore: Sequence[str], *, need_x: bool = True) -> "_Collated":
        """Put graphs together, or say which of them is wrong and why."""
        if isinstance(items[0], Data):
            check_ignore(ignore, items[0].keys())
        records = [fields_of(i, item, ignore) for i, item in enumerate(items)]
        described = need_x or any(record.get("x") is not None for record in records)
        if not described:
            for item, record in zip(items, records, strict=True):
                record["x"] = _blank_rows(item)
        for i, record in enumerate(records):
            check_fields(i, record)
            check_alike(i, record, records[0])
        first, device = records[0], records[0]["x"].device
        parts = {field: [r[field] for r in records] for field in USED if first.get(field) is not None}
        if "edge_weight" in parts:
            parts["edge_weight"] = [weight.flatten() for weight in parts["edge_weight"]]
        values = {field: torch.cat(own, 1 if field == "edge_index" else 0) for field, own in parts.items()}
        attr = values.get("edge_attr")
        whole = cls(
            num_nodes=torch.tensor([r["x"].size(0) for r in records], device=device),
            num_edges=torch.tensor([r["edge_index"].size(1) for r in records], device=device),
            edge_index=values["edge_index"].long(),
            x=values["x"] if described else None,
            edge_attr=attr.unsqueeze(-1) if attr is not None and attr.dim() == 1 else attr,
            edge_weight=values.get("edge_weight"),
            names={field: tuple(first[own]) for field, own in NAMES.items() if first.get(own) is not None},
            integers=frozenset(field for field, own in parts.items() if all(part.dtype in INTEGERS for part in own)),
            called=[record.get("name") for record in records],
        )
        whole._check_ends()
        return whole

    def owner(self, field: str) -> Tensor:
        """Graph of every row of a field."""
        sizes = self.num_nodes if field == "x" else self.num_edges
        return torch.repeat_interleave(torch.arange(sizes.numel(), device=sizes.device), sizes)

    def floats(self, field: str) -> Tensor:
        """A field as floats; integers that look like numbers of labels are refused."""
        value: Tensor = getattr(self, field)
        if value.is_floating_point():
            return value
        other = ((value != 0) & (value != 1)).nonzero()
        if other.numel():
            row, column = other[0].tolist()
            raise GraphError(
                f"graph {int(self.owner(field)[row])}: {field} holds integers such as {int(value[row, column])}, "
                "which look like label numbers.",
                "One-hot encode them with rwkplus.GraphTable.of(graphs).to_pyg(), or call .float() on them if they are "
                "measurements.",
            )
        return value.to(torch.get_default_dtype())

    def columns(self, field: str) -> dict[str, Column]:
        """Labels or attributes in a field, as columns of a table."""
        values: Tensor | None = getattr(self, field)
        if values is None:
            return {}
        if self._holds_codes(field, values):
            rows = values.detach().cpu().numpy()
            several = rows.shape[1] > 1
            return {f"{field}{k}" if several else field: integer_labels(column) for k, column in enumerate(rows.T)}
        names = self.names.get(field)
        if names is not None and len(names) != values.size(1):
            raise GraphError(f"{NAMES[field]} has {len(names)} names but {field} has {values.size(1)} columns.")
        if is_one_hot(values):
            codes = label_numbers(values).cpu().numpy()
            column = Categories.numbered(codes, names or map(str, range(values.size(1))), one_hot=True)
            return {field if names is None else "label": column}
        if names is None or set(names) & set(ID_COLUMNS):
            return {field: Numbers(_array(values))}
        return {name: Numbers(_array(values[:, k])) for k, name in enumerate(names)}

    def _holds_codes(self, field: str, values: Tensor) -> bool:
        """Whether a field holds integers in all graphs, each column labels of its own, and not one-hot rows.

        That only one column of several is in use says nothing: single bonds are rows ``1, 0, 0`` of three labels.
        """
        if field not in self.integers:
            return False
        if not bool(((values == 0) | (values == 1)).all()):
            return True
        if field in self.names:
            return False
        one_hot = values.size(1) > 1 and bool((values.sum(1) == 1).all())
        return not one_hot or int(values.any(0).sum()) < 2

    def _check_ends(self) -> None:
        owner = self.owner("edge_attr")
        wrong = ((self.edge_index < 0) | (self.edge_index >= self.num_nodes[owner])).any(0)
        if wrong.any():
            edge = int(wrong.nonzero()[0])
            i = int(owner[edge])
            raise GraphError(
                f"graph {i}: edge_index names the edge {tuple(self.edge_index[:, edge].tolist())} but the graph has "
                f"{int(self.num_nodes[i])} nodes, numbered from 0."
            )

    def check_finite(self) -> None:
        """Numbers must be numbers."""
        for field in ("x", "edge_attr", "edge_weight"):
            value: Tensor | None = getattr(self, field)
            if value is None or bool(torch.isfinite(value).all()):
                continue
            row = int((~torch.isfinite(value)).view(value.size(0), -1).any(1).nonzero()[0])
            i = int(self.owner(field)[row])
            name = "" if self.called[i] is None else f" ({self.called[i]!r})"
            raise GraphError(
                f"graph {i}{name}: {field} contains nan, inf or numbers too large for {value.dtype}.",
                "Impute or remove such values first.",
            )


def _blank_rows(item: Data) -> Tensor:
    """Equal rows for the nodes of a graph that has no features."""
    edge_index = item.get("edge_index")
    try:
        return torch.ones(item.num_nodes or 0, 1, device=None if edge_index is None else edge_index.device)
    except (RuntimeError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise GraphError("num_nodes of a graph is no number of nodes that fits into memory.") from error


def _unbatched(batch: Batch) -> list[Data]:
    try:
        graphs: list[Data] = batch.to_data_list() if hasattr(batch, "_slice_dict") else _cut(batch)
    except Exception as error:
        raise GraphError(
            "the Batch cannot be taken apart into graphs: build it with Batch.from_data_list(graphs)."
        ) from error
    for field in (*USED, *MEANINGFUL, *NAMES.values()):
        if graphs and batch.get(field) is not None and graphs[0].get(field) is None:
            raise GraphError(
                f"{field} was added to the Batch later, and PyG does not know which part belongs to which graph.",
                "Add it to the graphs before Batch.from_data_list(graphs).",
            )
    return graphs


def _cut(batch: Batch) -> list[Data]:
    """Cut a batch without PyG's slices, such as one that :func:`as_batch` made."""
    if bool((batch.batch.diff() < 0).any()):
        raise GraphError("the nodes are not sorted by graph.")
    num_graphs, owner = batch.ptr.numel() - 1, batch.batch[batch.edge_index[0]]
    order = owner.argsort(stable=True)
    parts = {
        "x": unbatch(batch.x, batch.batch, 0, num_graphs),
        "edge_index": unbatch_edge_index(batch.edge_index[:, order], batch.batch, num_graphs),
    }
    for field in ("edge_attr", "edge_weight"):
        if batch.get(field) is not None:
            parts[field] = unbatch(batch[field][order], owner[order], 0, num_graphs)
    names = {field: batch[field] for field in NAMES.values() if batch.get(field) is not None}
    return [Data(**{field: part[i] for field, part in parts.items()}, **names) for i in range(num_graphs)]


def _array(values: Tensor) -> Any:  # noqa: ANN401
    return values.detach().cpu().double().numpy()


def _ids(items: Sequence[Data]) -> dict[str, Column]:
    names = [item.get("node_names") for item in items]
    if any(own is None for own in names):
        return {}
    return {"id": Text.of(name for own in names for name in own)}


def _graph_columns(items: Sequence[Data], options: ReadOptions) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    for name in ("name", "smiles"):
        values = [item.get(name) for item in items]
        if all(isinstance(value, str) for value in values):
            columns[name] = Text.of(values)
    for target in options.targets:
        values = [_target(item.get(target)) for item in items]
        if any(value is not None for value in values):
            columns[target] = target_column(target, values)
    return columns


def _target(value: Any) -> Any:  # noqa: ANN401
    if not isinstance(value, Tensor) or value.layout != torch.strided or value.is_nested or value.is_meta:
        return value
    return value.item() if value.numel() == 1 else value.detach().cpu().flatten().tolist()


def _set_targets(graphs: Iterable[Data], table: GraphTable) -> None:
    y = table.y
    for i, graph in enumerate(graphs):
        if "name" in table.graphs:
            graph.name = str(table.graph_id(i))
        if "id" in table.nodes:
            graph.node_names = table.node_ids(i)
        if y is not None:
            graph.y = _tensor_of(y[i])


def _tensor_of(target: Any) -> Any:  # noqa: ANN401
    """A target as PyG has it: one number is ``(1,)``, several are ``(1, tasks)``; names of classes stay names."""
    values = np.asarray(target)
    if values.dtype.kind not in "iufb":
        return target.tolist() if isinstance(target, np.ndarray) else target
    tensor = torch.as_tensor(np.array(values)).view(1, *[-1] * values.ndim)
    return tensor.to(torch.get_default_dtype()) if tensor.is_floating_point() else tensor

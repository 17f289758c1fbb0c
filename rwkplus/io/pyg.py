"""Graphs of PyG: one-hot rows and integers are labels, other rows are attributes; and back (extra: ``nn``)."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from rwkplus.errors import GraphError
from rwkplus.graphs.convert import as_batch, graph_list
from rwkplus.graphs.features import constant_features, is_one_hot, label_numbers
from rwkplus.io.sources import ReadOptions
from rwkplus.table import Categories, Column, GraphTable, Numbers, Reader, Text
from rwkplus.table.arrays import once
from rwkplus.table.columns import target_column
from rwkplus.table.reader import directed_edges
from rwkplus.types import check_ignore

TAKES = ("ignore", "y")
NAMES = {"x": "node_label_names", "edge_attr": "edge_label_names"}
WEIGHT = "edge_weight"
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def from_pyg(graphs: Any, options: ReadOptions = ReadOptions()) -> GraphTable:  # noqa: ANN401, B008
    """Read ``Data`` objects, a ``Batch`` or a data set.

    ``x`` and ``edge_attr`` are labels where their rows are one-hot, with the names in ``node_label_names`` and
    ``edge_label_names`` if there are such, or where they hold integers; all else is attributes. ``edge_weight`` is the
    weight. Edges that all have their reverse are undirected.
    """
    options.check("graphs of PyG", TAKES)
    items = _without(graph_list(graphs), options.ignore)
    integers = {field for field in NAMES if _are_codes(items, field)}
    batch = as_batch([_floats(item, integers) for item in _with_features(items)])
    ptr = batch.ptr.cpu().numpy()
    owner = batch.batch[batch.edge_index[0]].cpu().numpy()
    source, target = batch.edge_index.cpu().numpy() - ptr[owner]
    has_x = not _featureless(items)
    edges = _columns(batch, "edge_attr", integers)
    weight = None
    if batch.get("edge_weight") is not None:
        edges[WEIGHT], weight = Numbers(_array(batch.edge_weight)), WEIGHT
    table = GraphTable(
        ptr,
        np.concatenate([[0], np.bincount(owner, minlength=ptr.size - 1).cumsum()]),
        source,
        target,
        _graph_columns(items, options),
        {**_ids(items), **(_columns(batch, "x", integers) if has_x else {})},
        edges,
        directed=True,
    )
    return replace(options.applied(once(table)), weight=weight).without(options.ignore)


def to_pyg(table: GraphTable) -> list[Data]:
    """Make graphs of PyG: labels as one-hot rows, followed by attributes; an undirected edge in both directions."""
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


def _set_targets(graphs: Sequence[Data], table: GraphTable) -> None:
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


def _featureless(items: Sequence[Any]) -> bool:
    return all(isinstance(item, Data) and item.get("x") is None for item in items)


def _with_features(items: Sequence[Any]) -> Sequence[Any]:
    """The graphs as :func:`rwkplus.graphs.as_batch` wants them; those without features are all alike to it."""
    try:
        return constant_features(list(items)) if _featureless(items) else items
    except (RuntimeError, TypeError, ValueError, OverflowError) as error:
        raise GraphError("num_nodes of a graph is no number of nodes that fits into memory.") from error


def _without(items: Sequence[Any], ignore: Sequence[str]) -> Sequence[Any]:
    """The graphs without fields that are left out on purpose."""
    if not ignore or not isinstance(items[0], Data):
        return items
    check_ignore(ignore, items[0].keys())
    copies = [copy(item) for item in items]
    for item in copies:
        for field in ignore if isinstance(item, Data) else ():
            if field == "x":
                item.num_nodes = item.num_nodes  # as it was
            if field in item:
                del item[field]
    return copies


def _are_codes(items: Sequence[Any], field: str) -> bool:
    """Whether a field holds integers in all graphs, each column labels of its own, and not one-hot rows.

    That only one column of several is in use says nothing: single bonds are rows ``1, 0, 0`` of three labels.
    """
    values = [item.get(field) for item in items if isinstance(item, Data)]
    if not values or not all(isinstance(v, Tensor) and v.dtype in INTEGERS and v.dim() in (1, 2) for v in values):
        return False
    if any(_is_odd(v) for v in values):
        return False
    binary = all(bool(((v == 0) | (v == 1)).all()) for v in values)
    if binary and any(item.get(NAMES[field]) is not None for item in items if isinstance(item, Data)):
        return False
    one_hot = binary and all(v.dim() == 2 and v.size(1) > 1 and bool((v.sum(1) == 1).all()) for v in values)
    return not one_hot or len({column for v in values for column in v.any(0).nonzero().flatten().tolist()}) < 2


def _is_odd(value: Tensor) -> bool:
    """Whether a tensor has no plain numbers to look at."""
    return value.layout != torch.strided or value.is_nested or value.is_meta


def _floats(item: Any, fields: set[str]) -> Any:  # noqa: ANN401
    """A copy whose codes pass for numbers."""
    if not fields:
        return item
    item = item.clone()
    for field in fields:
        item[field] = item[field].double()
    return item


def _columns(batch: Batch, field: str, integers: set[str]) -> dict[str, Column]:
    values = batch.get(field)
    if values is None:
        return {}
    if field in integers:
        rows = _array(values).astype(np.int64)
        parts = [(field if rows.shape[1] == 1 else f"{field}{k}", column) for k, column in enumerate(rows.T)]
        return {name: Categories.of(column.tolist()) for name, column in parts}
    if not is_one_hot(values):
        return {field: Numbers(_array(values))}
    names = batch.get(NAMES[field])
    if names is not None and len(names) != values.size(1):
        raise GraphError(f"{NAMES[field]} has {len(names)} names but {field} has {values.size(1)} columns.")
    codes = label_numbers(values).cpu().numpy()
    column = Categories.numbered(codes, names or map(str, range(values.size(1))), one_hot=True)
    return {field if names is None else "label": column}


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
    if not isinstance(value, Tensor) or _is_odd(value):
        return value
    return value.item() if value.numel() == 1 else value.detach().cpu().flatten().tolist()

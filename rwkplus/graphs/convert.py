"""Graphs for networks: whatever the user has becomes one checked PyG ``Batch``, or an error says what is wrong."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.utils import unbatch, unbatch_edge_index

from rwkplus.errors import GraphError
from rwkplus.graphs.checks import MEANINGFUL, NAMES, USED, check_alike, check_fields, check_finite
from rwkplus.table import Graphs, GraphTable
from rwkplus.types import check_ignore


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
    records = _records(graphs, ignore)
    for i, record in enumerate(records):
        check_fields(i, record)
        check_alike(i, record, records[0])
    batch = _concatenate(records)
    check_finite(batch, [record.get("name") for record in records])
    return batch


def graph_list(graphs: Graphs, ignore: Sequence[str] = ()) -> list[Any]:
    """Return graphs in any form as a list of PyG's, which are not yet checked; labels mean the same in all."""
    if isinstance(graphs, Batch):
        graphs = _unbatched(graphs)
    elif isinstance(graphs, Data | HeteroData):
        raise GraphError(f"got a single {type(graphs).__name__}: put it into a list, [graph].")
    items = _items(graphs)
    if items and isinstance(items[0], Data | HeteroData):
        return items
    return GraphTable.of(items if isinstance(graphs, Iterator) else graphs, ignore=tuple(ignore)).to_pyg()


def _items(graphs: Graphs) -> list[Any]:
    """What may be a list of PyG's graphs; nothing where it cannot be one."""
    if isinstance(graphs, str | Path | GraphTable) or hasattr(graphs, "shape"):
        return []
    try:
        return list(graphs)  # type: ignore[call-overload,no-any-return] # or what has only __getitem__, as torch's Subset
    except TypeError:
        return []


def _records(graphs: Graphs, ignore: Sequence[str]) -> list[dict[str, Any]]:
    """One plain dictionary of fields per graph."""
    items = graph_list(graphs, ignore)
    if isinstance(items[0], Data):
        check_ignore(ignore, items[0].keys())
    return [_record(i, item, ignore) for i, item in enumerate(items)]


def _unbatched(batch: Batch) -> list[Data]:
    try:
        graphs: list[Data] = batch.to_data_list() if hasattr(batch, "_slice_dict") else _cut(batch)
    except Exception as error:
        raise GraphError(
            "the Batch cannot be taken apart into graphs: build it with Batch.from_data_list(graphs)."
        ) from error
    for field in (*USED, *MEANINGFUL, *NAMES):
        if graphs and batch.get(field) is not None and graphs[0].get(field) is None:
            raise GraphError(
                f"{field} was added to the Batch later, and PyG does not know which part belongs to which graph. "
                "Add it to the graphs before Batch.from_data_list(graphs)."
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
    names = {field: batch[field] for field in NAMES if batch.get(field) is not None}
    return [Data(**{field: part[i] for field, part in parts.items()}, **names) for i in range(num_graphs)]


def _record(i: int, item: object, ignore: Sequence[str]) -> dict[str, Any]:
    if isinstance(item, HeteroData):
        raise GraphError(f"graph {i} is a HeteroData: call .to_homogeneous() first and keep its types as x.")
    if not isinstance(item, Data):
        raise GraphError(
            f"graph {i} is a {type(item).__name__}: expected torch_geometric Data or networkx graphs, all of one kind."
        )
    record = {key: value for key, value in item.to_dict().items() if key not in ignore}
    for field in MEANINGFUL:
        if record.get(field) is not None:
            raise GraphError(
                f"graph {i}: field {field!r} is not read by rwkplus and would be lost. Move it into x, edge_attr "
                f"or edge_weight, or say that it may be left out: ignore=({field!r},)."
            )
    return record


def _concatenate(records: list[dict[str, Any]]) -> Batch:
    device = records[0]["x"].device
    num_nodes = torch.tensor([r["x"].size(0) for r in records], device=device)
    num_edges = torch.tensor([r["edge_index"].size(1) for r in records], device=device)
    edge_index = torch.cat([r["edge_index"] for r in records], 1).long()
    owner = torch.repeat_interleave(torch.arange(len(records), device=device), num_edges)
    wrong = ((edge_index < 0) | (edge_index >= num_nodes[owner])).any(0)
    if wrong.any():
        edge = int(wrong.nonzero()[0])
        i = int(owner[edge])
        raise GraphError(
            f"graph {i}: edge_index names the edge {tuple(edge_index[:, edge].tolist())} but the graph has "
            f"{int(num_nodes[i])} nodes, numbered from 0."
        )
    ptr = torch.cat([num_nodes.new_zeros(1), num_nodes.cumsum(0)])
    node_owner = torch.repeat_interleave(torch.arange(len(records), device=device), num_nodes)
    batch = Batch(
        x=_as_float("x", torch.cat([r["x"] for r in records]), node_owner),
        edge_index=edge_index + ptr[owner],
        batch=node_owner,
        ptr=ptr,
    )
    if records[0].get("edge_attr") is not None:
        edge_attr = torch.cat([r["edge_attr"] for r in records])
        edge_attr = edge_attr.unsqueeze(-1) if edge_attr.dim() == 1 else edge_attr
        batch.edge_attr = _as_float("edge_attr", edge_attr, owner)
    if records[0].get("edge_weight") is not None:
        weight = torch.cat([r["edge_weight"].flatten() for r in records])
        batch.edge_weight = weight if weight.is_floating_point() else weight.to(batch.x.dtype)
    for field in NAMES:
        if records[0].get(field) is not None:
            batch[field] = tuple(records[0][field])
    return batch


def _as_float(field: str, value: Tensor, owner: Tensor) -> Tensor:
    if value.is_floating_point():
        return value
    other = ((value != 0) & (value != 1)).nonzero()
    if other.numel():
        row, column = other[0].tolist()
        raise GraphError(
            f"graph {int(owner[row])}: {field} holds integers such as {int(value[row, column])}, which look like "
            f"label numbers. One-hot encode them with rwkplus.graphs.one_hot(graphs, {field!r}), or call .float() "
            "on them if they are measurements."
        )
    return value.to(torch.get_default_dtype())

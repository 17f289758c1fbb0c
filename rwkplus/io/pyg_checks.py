"""What is checked of every graph of PyG; each error names the graph, the field and what to do (extra: ``nn``)."""

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from rwkplus.errors import GraphError, Remedy

USED = ("x", "edge_index", "edge_attr", "edge_weight")
"""Fields of ``Data`` that are read."""
NAMES = {"x": "node_label_names", "edge_attr": "edge_label_names"}
"""Fields with the names of one-hot columns."""
NAME_FIELDS = tuple(NAMES.values())
MEANINGFUL = (
    "pos", "z", "node_attr", "node_label", "node_labels", "node_type",
    "edge_label", "edge_labels", "edge_type", "edge_color", "weight",
)  # fmt: skip
"""Fields that by convention describe nodes or edges, which are not read: refused rather than dropped."""
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16, *INTEGERS, torch.bool)
NO_EDGES = "A graph without edges has torch.empty(2, 0, dtype=torch.long)."


def fields_of(i: int, item: object, ignore: Sequence[str]) -> dict[str, Any]:
    """The fields of one graph that are not left out.

    >>> sorted(fields_of(0, Data(x=torch.eye(2), edge_attr=torch.ones(1)), ignore=("edge_attr",)))
    ['x']
    """
    if isinstance(item, HeteroData):
        raise GraphError(f"graph {i} is a HeteroData.", "Call .to_homogeneous() first and keep its types as x.")
    if not isinstance(item, Data):
        raise GraphError(
            f"graph {i} is a {type(item).__name__}: expected torch_geometric Data or networkx graphs, all of one kind."
        )
    record = {key: value for key, value in item.to_dict().items() if key not in ignore}
    for field in MEANINGFUL:
        if record.get(field) is not None:
            raise GraphError(
                f"graph {i}: field {field!r} is not read by rwkplus and would be lost.",
                Remedy(
                    "Move it into x, edge_attr or edge_weight, or say that it may be left out: {ignore}.",
                    ignore=(field,),
                ),
            )
    return record


def check_fields(i: int, record: dict[str, Any]) -> None:
    """Check type and shape of every field of one graph; no arithmetic on values yet."""
    x, edge_index = record.get("x"), record.get("edge_index")
    if x is None:
        raise GraphError(
            f"graph {i} has no node features x.",
            "Add some first, for instance with rwkplus.GraphTable.of(graphs).with_degrees().to_pyg().",
        )
    _check_dense(i, "x", x, dims=(2,))
    if edge_index is None:
        raise GraphError(f"graph {i} has no edge_index.", NO_EDGES)
    _check_dense(i, "edge_index", edge_index, dims=(2,))
    if edge_index.size(0) != 2 or edge_index.is_floating_point() or edge_index.dtype == torch.bool:
        raise GraphError(
            f"graph {i}: edge_index must be integers of shape (2, num_edges), got {edge_index.dtype} "
            f"of shape {tuple(edge_index.shape)}."
        )
    _check_num_nodes(i, record.get("num_nodes"), x.size(0))
    for field in ("edge_attr", "edge_weight"):
        value = record.get(field)
        if value is not None:
            _check_dense(i, field, value, (1, 2))
            _check_per_edge(i, field, value, edge_index.size(1))


def _check_num_nodes(i: int, declared: Any, rows: int) -> None:  # noqa: ANN401
    try:
        agrees = declared is None or operator.index(declared) == rows
    except Exception:  # whatever else was put there
        agrees = False
    if not agrees:
        raise GraphError(f"graph {i}: num_nodes is {declared!r} but x has {rows} rows.", "One row per node is needed.")


def _check_dense(i: int, field: str, value: object, dims: tuple[int, ...]) -> None:
    if not isinstance(value, Tensor):
        raise GraphError(f"graph {i}: {field} is a {type(value).__name__}, expected a torch.Tensor.")
    if value.layout != torch.strided or value.is_nested or value.is_meta or value.dtype not in DTYPES:
        raise GraphError(
            f"graph {i}: {field} must be a dense tensor of real numbers with data, got {value.dtype} with "
            f"{value.layout} on {value.device}.",
            "Convert it first, for instance with .to_dense(), .float() or .long().",
        )
    if value.dim() not in dims:
        raise GraphError(f"graph {i}: {field} must have {dims[-1]} dimensions, got shape {tuple(value.shape)}.")


def _check_per_edge(i: int, field: str, value: Tensor, num_edges: int) -> None:
    if value.size(0) != num_edges:
        raise GraphError(
            f"graph {i}: {field} has {value.size(0)} rows but edge_index has {num_edges} edges.",
            "Undirected edges are listed twice and need their row twice.",
        )
    if field == "edge_weight" and value.dim() == 2 and value.size(1) != 1:
        raise GraphError(
            f"graph {i}: edge_weight must hold one number per edge, got shape {tuple(value.shape)}.",
            "Several numbers per edge belong into edge_attr.",
        )


def check_alike(i: int, record: dict[str, Any], first: dict[str, Any]) -> None:
    """Every graph must have the fields and widths of graph 0: a missing field is never guessed."""
    for field in USED:
        value, expected = record.get(field), first.get(field)
        if (value is None) != (expected is None):
            has, lacks = (i, 0) if expected is None else (0, i)
            raise GraphError(
                f"graph {has} has {field} but graph {lacks} has not.",
                Remedy("Give it to every graph, or leave it out: {ignore}.", ignore=(field,)),
            )
        if value is None or expected is None:
            continue
        if field in ("x", "edge_attr") and value.shape[1:] != expected.shape[1:]:
            raise GraphError(
                f"graph {i}: {field} has shape {tuple(value.shape)} but graph 0 has {tuple(expected.shape)}.",
                "All graphs need the same number of columns; were labels one-hot encoded graph by graph?",
            )
        if value.device != first["x"].device:
            raise GraphError(
                f"graph {i}: {field} is on {value.device} but x of graph 0 is on {first['x'].device}.",
                "Move all graphs with .to(device).",
            )
    for field in NAMES.values():
        _check_names(i, field, record.get(field), first.get(field))


def _check_names(i: int, field: str, names: object, expected: object) -> None:
    if names is expected and i > 0:  # the usual case, and cheap
        return
    words = isinstance(names, tuple | list) and all(isinstance(name, str) for name in names)
    if names is not None and not (words and len(set(names)) == len(names)):  # type: ignore[call-overload, arg-type]
        raise GraphError(f"graph {i}: {field} must be a tuple of distinct strings, got {names!r}.")
    if names != expected:
        raise GraphError(f"graph {i}: {field} differs from graph 0.", "Build all graphs with one vocabulary.")

"""Tables as JSON values and arrays, for files that hold more than graphs."""

from typing import Any

import numpy as np

from rwkplus.table.columns import Array, Categories, Column, Numbers, Text
from rwkplus.table.graph_table import ARRAYS, SIDES, GraphTable


def pack_table(table: GraphTable) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return what :func:`unpack_table` needs; text is words, numbers and tuples of them, or is put into words."""
    arrays = {f"graphs.{name}": np.ascontiguousarray(getattr(table, name)) for name in ARRAYS}
    header: dict[str, Any] = {"directed": table.directed, "weight": table.weight, "targets": list(table.targets)}
    header["columns"] = {side: {} for side in SIDES}
    for side in SIDES:
        for name, column in getattr(table, side).items():
            key = f"graphs.{side}.{name}"
            about: dict[str, Any] = {"kind": column.kind}
            if isinstance(column, Categories):
                arrays[key] = column.codes
                about |= {"names": list(column.names), "one_hot": column.one_hot}
            elif isinstance(column, Numbers):
                arrays[key] = column.numbers
            else:
                about["texts"] = [_plain(text) for text in column.texts.tolist()]
            header["columns"][side][name] = about
    return header, arrays


def unpack_table(header: dict[str, Any], arrays: dict[str, Array]) -> GraphTable:
    """Read what :func:`pack_table` returned; anything else raises ``KeyError``, ``TypeError`` or ``ValueError``.

    >>> table = GraphTable.of(["CCO", "N#N"])
    >>> unpack_table(*pack_table(table)) == table
    True
    """
    parts: dict[str, Any] = {name: arrays[f"graphs.{name}"] for name in ARRAYS}
    if any(part.dtype.kind != "i" or part.ndim != 1 for part in parts.values()):
        raise ValueError("its graphs are not made of whole numbers")
    given = header["columns"]
    if not isinstance(given, dict) or not all(isinstance(own, dict) for own in given.values()):
        raise TypeError("its columns have no names")
    parts |= {
        side: {name: _column(about, arrays.get(f"graphs.{side}.{name}")) for name, about in given[side].items()}
        for side in SIDES
    }
    weight, targets, directed = header["weight"], tuple(header["targets"]), bool(header["directed"])
    table = GraphTable(**parts, directed=directed, weight=weight, targets=targets)
    check_table(table)
    return table


def check_table(table: GraphTable) -> None:
    """Raise ``ValueError`` where the parts of a table do not fit together.

    >>> check_table(GraphTable(*map(np.array, ([0, 2], [0, 1], [0], [7]))))
    Traceback (most recent call last):
    ...
    ValueError: its edges name nodes that are not there
    """
    ptrs = (table.node_ptr, table.edge_ptr)
    ascending = all(ptr.size and ptr[0] == 0 and (np.diff(ptr) >= 0).all() for ptr in ptrs)
    sizes = {table.edge_ptr[-1], table.source.size, table.target.size} if ascending else set()
    if len(sizes) != 1 or table.node_ptr.size != table.edge_ptr.size:
        raise ValueError("its graphs do not fit together")
    most = np.diff(table.node_ptr)[table.edge_graph]
    for ends in (table.source, table.target):
        if (ends < 0).any() or (ends >= most).any():
            raise ValueError("its edges name nodes that are not there")
    _check_columns(table)
    if not set(table.targets) <= set(table.graphs):
        raise ValueError("it names columns that are not there")
    weight = None if table.weight is None else table.edges.get(table.weight)
    if table.weight is not None and not (isinstance(weight, Numbers) and weight.width == 1):
        raise ValueError("its weights are no numbers")


def _check_columns(table: GraphTable) -> None:
    """Raise ``ValueError`` where a column has too many or too few rows, or labels without a name."""
    for side, size in (("graphs", len(table)), ("nodes", table.num_nodes), ("edges", table.num_edges)):
        for name, column in getattr(table, side).items():
            codes = column.codes if isinstance(column, Categories) else np.zeros(0, np.int8)
            outside = codes.size and (codes.min() < -1 or codes.max() >= len(column.names))
            if len(column) != size or outside:
                raise ValueError(f"its column {name!r} does not fit its {side}")


def _plain(text: object) -> object:
    """What JSON has for an id or name."""
    if isinstance(text, np.generic):
        text = text.item()
    if isinstance(text, tuple):
        return [_plain(part) for part in text]
    return text if text is None or isinstance(text, str | int | float) else str(text)


def tuples(text: object) -> object:
    """An id or name as it was before JSON made lists of its tuples."""
    return tuple(tuples(part) for part in text) if isinstance(text, list) else text


def _column(about: dict[str, Any], values: Array | None) -> Column:
    kind = about["kind"]
    if kind == "Text":
        return Text.of(map(tuples, about["texts"]))
    if values is None:
        raise KeyError("a column")
    if kind == "Numbers" and values.dtype.kind in "iuf" and values.ndim in (1, 2):
        return Numbers(values)
    names = about["names"]
    if kind != "Categories" or values.dtype.kind != "i" or values.ndim != 1 or len(set(names)) != len(names):
        raise ValueError("its columns are of no known kind")
    if not all(isinstance(name, str) for name in names):
        raise TypeError("its labels have no names")
    return Categories.numbered(values, names, one_hot=bool(about["one_hot"]))

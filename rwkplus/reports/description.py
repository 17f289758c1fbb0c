"""What is in a database of graphs, as far as one wants to know before working with it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import RWKPlusError
from rwkplus.kernels.node_colors import node_colors
from rwkplus.loops.random_streams import mix
from rwkplus.table import Categories, Column, Graphs, GraphTable, Numbers, Reader
from rwkplus.table.arrays import classes_of, parallel_edges
from rwkplus.table.graph_table import SIDES

SHOWN = 8
"""Labels of a column, and pairs of equal graphs, that are counted one by one."""
STEPS = 4
"""Edges of the walks that tell graphs apart."""
MOST_CLASSES = 20


def describe_graphs(X: Graphs) -> dict[str, Any]:
    """Facts about graphs: sizes, degrees, columns, targets, duplicates, and what kernels and miners would compare.

    Two graphs count as duplicates where they have as many edges, and the same labels along all walks of up to four
    edges from every node, whatever the order of their nodes; numbers are not compared.

    Example:
        >>> facts = describe_graphs(["CCO", "OCC", "C"])
        >>> facts["graphs"], facts["nodes"]["largest"], facts["duplicates"]
        (3, 3, {'graphs': 2, 'examples': [[0, 1]]})
    """
    table = GraphTable.of(X)
    parallel, degree = parallel_edges(table), _degrees(table)
    return {
        "graphs": len(table),
        "directed": table.directed,
        "nodes": _sizes(np.diff(table.node_ptr)),
        "edges": _sizes(np.diff(table.edge_ptr)),
        "degree": _sizes(degree),
        "unconnected_nodes": int((degree == 0).sum()),
        "loops": int((table.source == table.target).sum()),
        "graphs_with_parallel_edges": int(parallel.sum()),
        "columns": [facts for side in SIDES for facts in _columns(table, side)],
        "targets": [_target(table, name) for name in table.targets],
        "duplicates": _duplicates(table),
        "compared": _compared(table),
    }


def _degrees(table: GraphTable) -> NDArray[np.int64]:
    """Edges at every node, in both directions; a loop counts twice."""
    first = table.node_ptr[:-1][table.edge_graph]
    ends = np.concatenate([first + table.source, first + table.target])
    return np.bincount(ends, minlength=table.num_nodes)


def _sizes(numbers: NDArray[np.int64]) -> dict[str, Any]:
    if not numbers.size:
        return {"total": 0, "smallest": 0, "median": 0, "mean": 0.0, "largest": 0}
    return {
        "total": int(numbers.sum()),
        "smallest": int(numbers.min()),
        "median": float(np.median(numbers)),
        "mean": float(numbers.mean()),
        "largest": int(numbers.max()),
    }


def _columns(table: GraphTable, side: str) -> Iterator[dict[str, Any]]:
    for name, column in getattr(table, side).items():
        facts = {"of": side, "name": name, "kind": _kind(table, side, name, column)}
        yield facts | {"missing": int(column.missing.sum())} | _values(column)


def _kind(table: GraphTable, side: str, name: str, column: Column) -> str:
    if side == "graphs" and name in table.targets:
        return "target"
    if side == "edges" and name == table.weight:
        return "weight"
    return {"Categories": "labels", "Numbers": "numbers", "Text": "ids"}[column.kind]


def _values(column: Column) -> dict[str, Any]:
    if isinstance(column, Categories):
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.names))
        order = np.argsort(-counts, kind="stable")[:SHOWN]
        return {"labels": len(column.names), "counts": {column.names[k]: int(counts[k]) for k in order if counts[k]}}
    if isinstance(column, Numbers):
        known = column.matrix()[~column.missing]
        if column.width > 1 or not known.size:
            return {"width": column.width}
        return {"lowest": float(known.min()), "mean": float(known.mean()), "highest": float(known.max())}
    return {"distinct": len({text for text in column.texts.tolist() if text is not None})}


def _target(table: GraphTable, name: str) -> dict[str, Any]:
    """Classes with their counts, or a range of numbers."""
    column = table.graphs[name]
    counted = Counter(value for value in classes_of(replace(table, targets=(name,))) or () if value is not None)
    facts = {"name": name, "missing": int(column.missing.sum())}
    if counted and (len(counted) <= MOST_CLASSES or not isinstance(column, Numbers)):
        return facts | {"classes": {str(value): count for value, count in counted.most_common()}}
    return facts | _values(column)


def _duplicates(table: GraphTable) -> dict[str, Any]:
    """How many graphs have an equal, and some groups of them."""
    numbers = [f"{side}.{name}" for side in SIDES[1:] for name, own in getattr(table, side).items()
               if isinstance(own, Numbers)]  # fmt: skip
    labels = table.without(numbers)
    if not table.num_nodes:
        return {"graphs": 0, "examples": []}
    arrays = Reader.fit_labels(labels, (), n_classes=1).read(labels)
    keys = [mix(np.diff(table.edge_ptr).astype(np.uint64)) + mix(np.diff(table.node_ptr).astype(np.uint64))]
    for colors in node_colors(arrays, STEPS):
        total = np.zeros(len(table), np.uint64)
        np.add.at(total, arrays.graph, mix(colors.astype(np.uint64)))
        keys.append(total)
    _, place, count = np.unique(np.stack(keys, 1), axis=0, return_inverse=True, return_counts=True)
    place = place.ravel()
    several = np.flatnonzero(count > 1)
    firsts = [np.flatnonzero(place == k)[:SHOWN].tolist() for k in several[:SHOWN]]
    examples = sorted([[table.graph_id(i) for i in group] for group in firsts], key=str)
    return {"graphs": int(count[several].sum()), "examples": examples}


def _compared(table: GraphTable) -> dict[str, Any]:
    """What kernels, miners and detectors would make of the columns."""
    try:
        reader = Reader.fit(table)
    except RWKPlusError as error:
        return {"error": str(error)}
    return {
        side: {"labels": list(colors.labels), "numbers": [name for name, _ in colors.attributes]}
        for side, colors in (("nodes", reader.nodes), ("edges", reader.edges))
    }

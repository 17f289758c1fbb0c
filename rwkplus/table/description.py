"""What is in a table, in words: for ``repr`` and for notebooks."""

from html import escape
from typing import TYPE_CHECKING

from rwkplus.table.columns import Categories, Column, Numbers

if TYPE_CHECKING:
    from rwkplus.table.graph_table import GraphTable

SHOWN = 6
"""Labels that a description lists."""


def in_words(table: "GraphTable") -> str:
    """Numbers of graphs, nodes and edges, and a line for every column."""
    lines = [_headline(table)]
    for side, columns in _sides(table).items():
        parts = [f"{name}: {_about(table, side, name)}" for name in columns]
        lines += [f"  {side if i == 0 else '':6} {part}" for i, part in enumerate(parts)]
    return "\n".join(lines)


def in_html(table: "GraphTable") -> str:
    """The same as a table for notebooks."""
    rows = "".join(
        f"<tr><td>{side}</td><td><b>{escape(name)}</b></td><td>{escape(_about(table, side, name))}</td></tr>"
        for side, columns in _sides(table).items()
        for name in columns
    )
    return f"<div><p>{escape(_headline(table))}</p><table>{rows}</table></div>"


def _sides(table: "GraphTable") -> dict[str, tuple[str, ...]]:
    return {"graphs": tuple(table.graphs), "nodes": tuple(table.nodes), "edges": tuple(table.edges)}


def _headline(table: "GraphTable") -> str:
    graphs = _counted(len(table), f"{'directed' if table.directed else 'undirected'} graph")
    return f"GraphTable: {graphs}, {_counted(table.num_nodes, 'node')}, {_counted(table.num_edges, 'edge')}"


def _about(table: "GraphTable", side: str, name: str) -> str:
    """One column in words."""
    column: Column = getattr(table, side)[name]
    if isinstance(column, Categories):
        more = ", ..." if len(column.names) > SHOWN else ""
        text = f"{_counted(len(column.names), 'label')} ({', '.join(column.names[:SHOWN])}{more})"
    elif isinstance(column, Numbers):
        text = _range(column)
        if side == "edges" and name == table.weight:
            text += ", weight"
    else:
        text = "ids" if name == "id" else "names" if name == "name" else "text, taken for ids and not compared"
    if side == "graphs" and name in table.targets:
        text += ", target"
    missing = int(column.missing.sum())
    return f"{text}, {missing:,} missing" if missing else text


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _range(column: Numbers) -> str:
    if column.width != 1:
        return f"{column.width} numbers"
    known = column.numbers.ravel()[~column.missing]
    if not known.size:
        return "numbers"
    low, high = known.min(), known.max()
    return f"numbers, {low:g} to {high:g}" if low < high else f"numbers, all {low:g}"

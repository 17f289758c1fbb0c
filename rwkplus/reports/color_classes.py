"""What the classes stand for into which measurements are cut."""

from html import escape

from rwkplus.mining.color_classes import ColorClasses
from rwkplus.mining.reading import LabelReader

SHOWN = 8
"""Columns whose typical values are listed."""


def color_class_legend(reader: LabelReader) -> str:
    """Typical values of the classes of nodes and of edges, as HTML; nothing where they bring labels of their own."""
    of_nodes = "log degree and chances that a walk returns" if reader.structural else "the columns of x"
    parts = (("Node", reader.nodes, of_nodes), ("Edge", reader.edges, "the columns of edge_attr"))
    return "".join(_legend(kind, classes, what) for kind, classes, what in parts if classes is not None)


def _legend(kind: str, classes: ColorClasses, what: str) -> str:
    rows = "".join(
        f"<dt>{escape(name)}</dt><dd>{', '.join(f'{value:.3g}' for value in center[:SHOWN])}"
        f"{' ...' if center.size > SHOWN else ''}</dd>"
        for name, center in zip(classes.names, classes.typical, strict=True)
    )
    return f"<details><summary>{kind} classes: typical values of {what}</summary><dl>{rows}</dl></details>"

"""What the classes stand for into which attributes are cut."""

from html import escape

from rwkplus.table import Reader
from rwkplus.table.intervals import AttributeClasses

SHOWN = 8
"""Columns whose typical values are listed."""


def color_class_legend(reader: Reader) -> str:
    """Typical values of the classes of nodes and of edges, as HTML; nothing where they bring labels of their own."""
    place = "log degree and chances that a walk returns"
    return "".join(
        _legend(kind, classes, place if colors.structural else classes.column)
        for kind, colors in (("Node", reader.nodes), ("Edge", reader.edges))
        for classes in colors.classes
    )


def _legend(kind: str, classes: AttributeClasses, what: str) -> str:
    rows = "".join(
        f"<dt>{escape(name)}</dt><dd>{', '.join(f'{value:.3g}' for value in center[:SHOWN])}"
        f"{' ...' if center.size > SHOWN else ''}</dd>"
        for name, center in zip(classes.names, classes.typical, strict=True)
    )
    return f"<details><summary>{kind} classes: typical values of {what}</summary><dl>{rows}</dl></details>"

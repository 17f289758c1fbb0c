"""How graphs are read, as JSON values and arrays."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rwkplus.graphs import Schema
from rwkplus.graphs.schema import Colors
from rwkplus.mining.color_classes import ColorClasses
from rwkplus.mining.reading import LabelReader

CLASSES = ("mean", "scale", "centers")


def pack_reader(reader: LabelReader, schema: Schema) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what :func:`unpack_reader` needs."""
    classes = {"nodes": reader.nodes, "edges": reader.edges}
    header = {
        "schema": asdict(schema),
        "structural": reader.structural,
        "classes": {
            name: None if part is None else {"prefix": part.prefix, "reach": part.reach}
            for name, part in classes.items()
        },
    }
    arrays = {
        f"{name}.{field}": getattr(part, field)
        for name, part in classes.items()
        if part is not None
        for field in CLASSES
    }
    return header, arrays


def unpack_reader(
    header: dict[str, Any], arrays: dict[str, NDArray[Any]], ignore: Sequence[str]
) -> tuple[LabelReader, Schema]:
    """Read what :func:`pack_reader` returned; ``ignore`` is a parameter of whoever reads."""
    schema = header["schema"]
    nodes, weighted = _colors(schema["nodes"], "x"), schema["weighted"]
    if nodes is None or not isinstance(weighted, bool):
        raise ValueError("it does not say what its graphs had")
    parts = {name: _classes(name, values, arrays) for name, values in header["classes"].items()}
    reader = LabelReader(parts["nodes"], parts["edges"], bool(header["structural"]), tuple(ignore))
    return reader, Schema(nodes, _colors(schema["edges"], "edge_attr"), weighted)


def _colors(values: dict[str, Any] | None, field: str) -> Colors | None:
    if values is None:
        return None
    names = values["names"]
    colors = Colors(**{**values, "names": None if names is None else tuple(names), "seen": tuple(values["seen"])})
    lengths = {colors.width, len(colors.seen), colors.width if colors.names is None else len(colors.names)}
    known = all(isinstance(value, bool) for value in (colors.discrete, *colors.seen))
    named = all(isinstance(name, str) for name in colors.names or ())
    if colors.field != field or not isinstance(colors.width, int) or len(lengths) > 1 or not (known and named):
        raise ValueError("its labels do not fit together")
    return colors


def _classes(name: str, values: dict[str, Any] | None, arrays: dict[str, NDArray[Any]]) -> ColorClasses | None:
    if values is None:
        return None
    mean, scale, centers = (arrays[f"{name}.{field}"] for field in CLASSES)
    if not mean.shape == scale.shape == centers.shape[1:] or not np.isfinite([*mean, *scale, *centers.ravel()]).all():
        raise ValueError("its classes of measurements do not fit together")
    return ColorClasses(str(values["prefix"]), mean, scale, centers, float(values["reach"]))

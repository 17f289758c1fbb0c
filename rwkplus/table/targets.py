"""Targets of whole graphs as learners want them."""

from typing import Any

import numpy as np

from rwkplus.table.columns import is_missing
from rwkplus.table.graph_table import GraphTable


def classes_of(table: GraphTable) -> list[Any] | None:
    """Class of every graph, a whole number or a name, None for one whose class is missing; None if there are none.

    Several targets are questions of their own, and numbers of which some are not whole are no classes.
    """
    y = table.y
    if y is None or y.ndim != 1:
        return None
    known = np.array([not is_missing(value) for value in y.tolist()], dtype=bool)
    if y.dtype.kind == "f" and (known.all() or (y[known] != np.round(y[known])).any()):
        return None
    classes = np.full(y.size, None, dtype=object)
    classes[known] = y[known].astype(np.int64) if y.dtype.kind == "f" else y[known]
    return classes.tolist()  # type: ignore[no-any-return]

"""Frequent subgraphs by gSpan (package gspan-mining), and those of them that tell most of classes by chi-squared."""

import contextlib
import io
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import chi2

from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.occurrences import Shape, find_occurrences

Code = list[tuple[int, int, tuple[str, str, str]]]


class Frequent(NamedTuple):
    """Frequent subgraphs, the graphs that have each, and whether these are all."""

    shapes: list[Shape]
    presence: NDArray[np.float64]  # (B, k)
    complete: bool


def frequent_subgraphs(database: MiningDatabase, support: float, most_nodes: int, patience: float) -> Frequent:
    """List frequent subgraphs of at least two nodes; after so many seconds, those that have been found by then."""
    from gspan_mining.gspan import gSpan  # type: ignore[import-untyped]

    deadline = time.monotonic() + patience
    codes: list[Code] = []
    where: list[list[int]] = []

    class Collecting(gSpan):  # type: ignore[misc]
        """Keeps codes instead of printing them."""

        def _report(self, projected: Any) -> None:  # noqa: ANN401
            codes.append([(e.frm, e.to, e.vevlb) for e in self._DFScode])
            where.append(sorted({p.gid for p in projected}))
            if time.monotonic() > deadline:
                raise TimeoutError

    complete = True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graphs.txt"
        path.write_text(_as_text(database))
        least = max(2, round(support * database.num_graphs))
        miner = Collecting(str(path), min_support=least, min_num_vertices=2, max_num_vertices=most_nodes)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                miner.run()
        except TimeoutError:
            complete = False
    presence = np.zeros((database.num_graphs, len(codes)))
    for k, graphs in enumerate(where):
        presence[graphs, k] = 1
    return Frequent([_shape(code) for code in codes], presence, complete)


def most_telling(frequent: Frequent, y: NDArray[np.int64], count: int) -> list[Shape]:
    """Those with the highest chi-squared statistic; of several that the same graphs have, the first."""
    if not frequent.shapes:
        return []
    _, first = np.unique(frequent.presence, axis=1, return_index=True)
    scores = np.nan_to_num(chi2(frequent.presence[:, first], y)[0])
    return [frequent.shapes[k] for k in first[np.argsort(-scores, kind="stable")[:count]]]


def presence_of(shapes: list[Shape], database: MiningDatabase) -> NDArray[np.float64]:
    """Which graphs have which shapes: ``(B, k)``."""
    has = np.zeros((database.num_graphs, len(shapes)))
    for k, shape in enumerate(shapes):
        has[database.rows.graph[find_occurrences(database, shape).rows[:, 0]], k] = 1
    return has


def _as_text(database: MiningDatabase) -> str:
    """Graphs in gSpan's format; nodes are numbered within their graph."""
    rows = database.rows
    first = np.searchsorted(rows.graph, np.arange(database.num_graphs + 1))
    lines = []
    for graph, (begin, end) in enumerate(zip(first[:-1].tolist(), first[1:].tolist(), strict=True)):
        lines.append(f"t # {graph}")
        lines += [f"v {v - begin} {rows.label[v]}" for v in range(begin, end)]
        for v in range(begin, end):
            for k in range(rows.indptr[v], rows.indptr[v + 1]):
                if v < rows.neighbor[k]:
                    lines.append(f"e {v - begin} {rows.neighbor[k] - begin} {rows.edge_label[k]}")
    return "\n".join([*lines, "t # -1\n"])


def _shape(code: Code) -> Shape:
    """A DFS code as a shape with the same numbers of labels."""
    labels: dict[int, int] = {}
    edges = []
    for start, end, (first, edge, second) in code:
        for v, label in ((start, first), (end, second)):
            if str(label) != "-1":
                labels[v] = int(label)
        edges.append((min(start, end), max(start, end), int(edge)))
    return Shape(tuple(labels[v] for v in range(len(labels))), tuple(edges))

r"""How surprising the walks around a node are, given what the shorter ones already told.

The color of a node after ``i`` steps refines its color after ``i - 1`` (:mod:`rwkplus.kernels.node_colors`). Among the
graphs that have the coarser color, some finer ones are common and some are rare. The surprise of a finer color is
:math:`-\log p`, where p is the share of occurrences, one per graph and color, whose finer color is at most as frequent:
a tail probability, so that a rare color says little where all are rare. A later graph is counted as one more, which
makes its p-value comparable with those of the fitted graphs and gives colors never seen before their chance, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rwkplus.kernels.node_colors import node_colors
from rwkplus.table.arrays import Floats, GraphArrays, Ints


class Level(NamedTuple):
    """Colors of one number of steps."""

    key: Ints  # (C,): ascending hashes
    known: Floats  # (C,): surprise of a later node of this color
    unknown: Floats  # (C of the level before,): surprise of a later node whose color is new, by its coarser color


def pack_levels(levels: Sequence[Level]) -> dict[str, NDArray[Any]]:
    """Return what :func:`unpack_levels` needs."""
    return {f"level.{i}.{name}": value for i, level in enumerate(levels) for name, value in level._asdict().items()}


def unpack_levels(arrays: Mapping[str, NDArray[Any]]) -> list[Level]:
    """Read what :func:`pack_levels` returned; raises ``KeyError`` or ``ValueError`` on anything else."""
    count = sum(name.startswith("level.") for name in arrays) // len(Level._fields)
    levels = [Level(*(arrays[f"level.{i}.{name}"] for name in Level._fields)) for i in range(count)]
    before = 1
    for level in levels:
        size = level.key.size
        if size == 0 or [part.shape for part in level] != [(size,), (size,), (before,)]:
            raise ValueError("its tables do not fit together")
        if level.key.dtype != np.int64 or (np.diff(level.key) <= 0).any():
            raise ValueError("its tables are not in order")
        if not all(np.isfinite(part).all() for part in level):
            raise ValueError("its tables hold no numbers")
        before = size
    return levels


def learn_levels(graphs: GraphArrays, steps: int) -> tuple[list[Level], list[Floats]]:
    """Count the colors of ``graphs``; return the table and, per step, the surprise of their own nodes ``(N,)``."""
    levels, surprises = [], []
    coarser = np.zeros(graphs.num_nodes, np.int64)
    for colors in node_colors(graphs, steps):
        key, color = np.unique(colors, return_inverse=True)
        count = np.bincount(np.unique(graphs.graph * key.size + color) % key.size)  # graphs that have it
        parent = np.zeros(key.size, np.int64)
        parent[color] = coarser
        total = np.bincount(parent, count)
        at_most = _Tails(parent, count)
        parents = np.arange(total.size)
        known = _surprise(at_most(parent, count + 1) + 1, total[parent] + 1)
        unknown = _surprise(at_most(parents, np.ones_like(parents)) + 1, total + 1)
        levels.append(Level(key, known, unknown))
        surprises.append(_surprise(at_most(parent, count), total[parent])[color])
        coarser = color
    return levels, surprises


def look_up(levels: Sequence[Level], graphs: GraphArrays, new_edges: Ints | None = None) -> Iterator[Floats]:
    """Yield, step by step, the surprise of the nodes of later graphs ``(N,)``.

    Args:
        levels: What was learned.
        graphs: The later graphs.
        new_edges: Edges with a label that was not there. Colors of one step are many, so that a new one is little
            surprise; but such a label surprises as a new label of a node does.
    """
    coarser = np.zeros(graphs.num_nodes, np.int64)
    for step, (level, colors) in enumerate(zip(levels, node_colors(graphs, len(levels) - 1), strict=True)):
        place = np.minimum(np.searchsorted(level.key, colors), level.key.size - 1)
        known = level.key[place] == colors
        new = np.where(coarser >= 0, level.unknown[coarser], 0.0)  # news only once: what follows from it is none
        surprise = np.where(known, level.known[place], new)
        if step == 1 and new_edges is not None:
            for ends in (graphs.source, graphs.target):
                at = ends[new_edges]
                surprise[at] = np.maximum(surprise[at], levels[0].unknown[0])
        yield surprise
        coarser = np.where(known, place, -1)


def where_labelled(graphs: GraphArrays, surprises: Iterator[Floats]) -> Iterator[Floats]:
    """Blank the surprise of nodes whose walks meet a node or edge without a label: they do not see all there is."""
    blind = graphs.label < 0
    lost = np.zeros(graphs.source.size, bool) if graphs.edge_label is None else graphs.edge_label < 0
    for step, surprise in enumerate(surprises):
        if step > 0:
            blind[graphs.source[lost | blind[graphs.target]]] = True
        yield np.where(blind, 0.0, surprise)


def node_scores(graphs: GraphArrays, surprises: Iterator[Floats] | Sequence[Floats]) -> Floats:
    """Add up the surprise that begins at each node ``(N,)``.

    Walks carry a surprise on: one step later the neighbors of an odd node look odd. Of every node's surprise, only
    what exceeds the neighbors' earlier surprise counts.
    """
    total = np.zeros(graphs.num_nodes)
    earlier = np.zeros(graphs.num_nodes)
    for surprise in surprises:
        carried = np.zeros(graphs.num_nodes)
        np.maximum.at(carried, graphs.source, earlier[graphs.target])
        total += np.maximum(surprise - carried, 0)
        earlier = np.maximum(earlier, surprise)
    return total


class _Tails:
    """Counts of siblings, added up over those that have at most a given count."""

    def __init__(self, parent: Ints, count: Ints) -> None:
        order = np.lexsort((count, parent))
        self.base = int(count.max()) + 2
        self.rank = parent[order] * self.base + count[order]
        self.sums = np.concatenate([[0], np.cumsum(count[order])])

    def __call__(self, parent: Ints, count: Ints) -> Ints:
        first = np.searchsorted(self.rank, parent * self.base)
        last = np.searchsorted(self.rank, parent * self.base + count, side="right")
        return np.asarray(self.sums[last] - self.sums[first])


def _surprise(part: Ints, whole: Ints) -> Floats:
    return np.asarray(-np.log(part / whole)) + 0.0

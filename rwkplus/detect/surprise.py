r"""Anomalies as surprising neighborhoods: fast, exact to the node, and its own explanation.

The color of a node after ``i`` steps refines its color after ``i - 1`` (:mod:`rwkplus.kernels.node_colors`). Among the
graphs that have the coarser color, some finer ones are common and some are rare. The surprise of a finer color is
:math:`-\log p`, where p is the share of occurrences, one per graph and color, whose finer color is at most as frequent:
a tail probability, so that a rare color says little where all are rare. A later graph is counted as one more, which
makes its p-value comparable with those of the fitted graphs and gives colors never seen before their chance, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from rwkplus.detect.graph_detector import (
    Explanation,
    GraphDetector,
    Scored,
    explanations,
    graph_digests,
    highest_by_graph,
)
from rwkplus.kernels.node_colors import node_colors
from rwkplus.saving import array, check_entries
from rwkplus.table import GraphTable, Reader
from rwkplus.table.arrays import Floats, GraphArrays, Ints, ReadGraphs, map_blocks
from rwkplus.types import UnknownLabel, check_choice, check_integer, seed_of

BLOCK_NODES = 100_000
"""Nodes of the graphs that are scored at a time."""


class Level(NamedTuple):
    """Colors of one number of steps."""

    key: Ints  # (C,): ascending hashes
    known: Floats  # (C,): surprise of a later node of this color
    unknown: Floats  # (C of the level before,): surprise of a later node whose color is new, by its coarser color


@dataclass(eq=False, repr=False)
class SurpriseDetector(GraphDetector):
    """Flag graphs with a node whose surroundings are improbable.

    What the walks of up to ``steps`` edges see from a node is its color. Where most graphs that share the shorter walks
    go on in one of a few ways, another way is a surprise; where all go on differently, it is none. A graph is as
    anomalous as its most surprising node, in nats; between equals, the surprise of all their nodes together decides.

    One pass over the graphs to fit, one look-up per node to score: databases of millions of graphs are fine. Walks do
    not notice where they return to, so rings of other lengths are no surprise as long as all colors are usual.

    Args:
        contamination: Expected share of anomalies among the fitted graphs, above 0 and at most 0.5.
        steps: Longest walk, counted in edges.
        n_colors: Classes to cut measurements on nodes or edges into; labels are used as they are.
        unknown_label: Labels that ``fit`` did not see are surprising (``"new"``), an ``"error"``, or no surprise
            (``"ignore"``), nor is anything that walks see beyond them.
        ignore: Columns to leave out on purpose, such as ``("edges.label",)``.
        random_state: Seed of the classes of measurements, a ``RandomState``, or None for others every time.
        n_jobs: Parallel jobs that score graphs, through joblib; any joblib backend works, Dask and Ray included.

    Attributes:
        levels_: Colors met and their surprise, by number of steps.
        fitted_scores_: :meth:`score_samples` of the fitted graphs ``(B,)``.
        offset_: Scores below it are anomalies.

    Example:
        >>> from rwkplus.datasets import anomalous_molecules
        >>> graphs, planted = anomalous_molecules()
        >>> found = np.flatnonzero(SurpriseDetector(contamination=0.05).fit_predict(graphs) == -1)
        >>> len(found), sum(planted[i] is not None for i in found)
        (20, 15)
    """

    contamination: float = 0.05
    steps: int = 3
    _: KW_ONLY
    n_colors: int = 8
    unknown_label: UnknownLabel = "new"
    ignore: Sequence[str] = ()
    random_state: int | RandomState | None = 0
    n_jobs: int | None = None

    levels_: list[Level] = field(init=False)

    def _check(self) -> None:
        super()._check()
        check_integer("steps", self.steps, 1)
        check_integer("n_colors", self.n_colors, 1)
        check_choice("unknown_label", self.unknown_label, UnknownLabel)

    def _learn(self, table: GraphTable) -> tuple[dict[str, Any], Scored]:
        seed = seed_of(self.random_state)
        reader = Reader.fit_labels(table, self.ignore, n_classes=self.n_colors, seed=seed)
        arrays = reader.read(table)
        levels, surprises = learn_levels(arrays, self.steps)
        return {"seed_": seed, "reader_": reader, "levels_": levels}, _scored(arrays, node_scores(arrays, surprises))

    @property
    def _rounding(self) -> float:
        return 0.0  # no node is surprising

    def _scores(self, table: GraphTable) -> Scored:
        graphs = ReadGraphs(table, self.reader_, self.unknown_label)
        return Scored.joined(list(map_blocks(self._scores_of, graphs, BLOCK_NODES, self.n_jobs)))

    def _scores_of(self, graphs: ReadGraphs) -> Scored:
        arrays = graphs.arrays()
        return _scored(arrays, self._node_scores(arrays))

    def _explain(self, table: GraphTable) -> list[Explanation]:
        arrays = self.reader_.read(table, self.unknown_label)
        return explanations(table, arrays, self._node_scores(arrays))

    def _node_scores(self, arrays: GraphArrays) -> Floats:
        surprises = look_up(self.levels_, arrays, self._new_edges(arrays))
        return node_scores(arrays, _where_labelled(arrays, surprises) if self.unknown_label == "ignore" else surprises)

    def _new_edges(self, arrays: GraphArrays) -> Ints | None:
        """Edges of later graphs whose label was not there."""
        if arrays.edge_label is None:
            return None
        known = self.reader_.edges.seen
        seen = np.zeros(max(arrays.num_edge_labels, len(known)) + 1, bool)
        seen[: len(known)] = known
        seen[-1] = True  # the number of no label is -1
        return np.flatnonzero(~seen[arrays.edge_label])

    def _model(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        tables = enumerate(self.levels_)
        arrays = {f"level.{i}.{name}": part for i, level in tables for name, part in level._asdict().items()}
        return {"reader": self.reader_.to_dict()}, arrays

    def _restored_model(
        self, learned: dict[str, Any], arrays: dict[str, NDArray[Any]], num_graphs: int
    ) -> dict[str, Any]:
        check_entries(learned, "reader")
        reader = Reader.from_dict(learned["reader"])
        if not reader.nodes.names:
            raise ValueError("its graphs have no labels")
        if len(arrays) != len(Level._fields) * (self.steps + 1):
            raise ValueError("its tables are of other steps")
        return {"seed_": seed_of(self.random_state), "reader_": reader, "levels_": _levels(arrays, self.steps)}


def learn_levels(graphs: GraphArrays, steps: int) -> tuple[list[Level], list[Floats]]:
    """Count the colors of ``graphs``; return the table and, per step, the surprise of their own nodes ``(N,)``.

    >>> table = GraphTable.of(["CC", "CC", "CO"])
    >>> arrays = Reader.fit(table).read(table)
    >>> learn_levels(arrays, 1)[1][0].round(2)  # three graphs have a C, one has an O
    array([0.  , 0.  , 0.  , 0.  , 0.  , 1.39])
    """
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

    Colors of one step are many, so that a new one is little surprise; but a label of ``new_edges``, which was not
    there, surprises as a new label of a node does.

    >>> table = GraphTable.of(["CC", "CC", "CO"])
    >>> arrays = Reader.fit(table).read(table)
    >>> levels, _ = learn_levels(arrays, 1)
    >>> next(look_up(levels, arrays)).round(2)
    array([0.  , 0.  , 0.  , 0.  , 0.  , 0.92])
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


def _where_labelled(graphs: GraphArrays, surprises: Iterator[Floats]) -> Iterator[Floats]:
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

    >>> table = GraphTable.of(["CC", "CC", "CO"])
    >>> arrays = Reader.fit(table).read(table)
    >>> node_scores(arrays, learn_levels(arrays, 1)[1]).round(2)
    array([0.  , 0.  , 0.  , 0.  , 0.  , 1.39])
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


def _scored(arrays: GraphArrays, surprises: Floats) -> Scored:
    """The most surprising node decides, then the surprise of all nodes together."""
    together = np.bincount(arrays.graph, surprises, arrays.num_graphs).astype(float)
    return Scored(highest_by_graph(arrays, surprises), together, graph_digests(arrays))


def _levels(arrays: Mapping[str, NDArray[Any]], steps: int) -> list[Level]:
    """Tables out of a file, all of it checked."""
    levels, before = [], 1
    for i in range(steps + 1):
        key = array(arrays, f"level.{i}.key", "i", 1)
        known, unknown = (array(arrays, f"level.{i}.{name}", "f", 1) for name in ("known", "unknown"))
        if key.size == 0 or (known.size, unknown.size) != (key.size, before):
            raise ValueError("its tables do not fit together")
        if (np.diff(key) <= 0).any():
            raise ValueError("its tables are not in order")
        levels.append(Level(key, known, unknown))
        before = key.size
    return levels

"""The miner by gradient: hidden graphs of a kernel convolution network, trained, decoded and counted."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from inspect import signature
from typing import Any, Literal, NamedTuple, Self

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from rwkplus.descriptive.gradient import explained_patterns
from rwkplus.descriptive.rwk_cn import DescriptiveKCN
from rwkplus.errors import GraphError, ParameterError, Remedy, RWKPlusWarning
from rwkplus.loops.embeddings import Ints
from rwkplus.mining.base_miner import Miner, MinerOutput
from rwkplus.mining.contrast import Targets
from rwkplus.mining.miner import LARGEST_HIDDEN, Tally, check_edges, with_contrasts
from rwkplus.mining.reading import PatternReader
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.occurrences import Shape
from rwkplus.table import Graphs, GraphTable, Reader
from rwkplus.types import Callback, check_choice, check_integer, check_jobs, seed_of

MiningObjective = Literal["explained", "similarity"]
OWN = ("n_patterns", "pattern_size", "steps", "n_restarts", "first_restart", "epochs", "random_state", "ignore")
"""Arguments of the network that are arguments of the miner, or of no use to it."""
PARAMS = {
    "explained": ("closed", "kicks", "view"),
    "similarity": tuple(name for name in signature(DescriptiveKCN).parameters if name not in OWN),
}
"""What ``model_params`` may hold, by objective."""
EDGE = 0.5
"""Weight above which a learned edge of RWK+CN is one of the pattern."""

BANKS, RESTARTS, GRAPHS = 4, 8, 60
"""Candidates for others: hidden graphs that are trained together, how often, and graphs to train on."""


@dataclass(eq=False, repr=False)
class GradientMiner(Miner):
    """Learn the patterns of a database by gradient, as hidden graphs of a kernel convolution network (RWK+CN).

    Hidden graphs see the database as a whole and need not occur in it. So that they can be compared with those of
    :class:`rwkplus.mining.PatternMiner`, they come as the same patterns with exact supports: of every hidden graph of
    the best restart the largest connected part. Supports are what tells real patterns from averages of many graphs.

    Args:
        n_patterns: Hidden graphs.
        pattern_size: Nodes of a hidden graph; some may stay without edges, and are then no part of the pattern.
        objective: ``"explained"``: the share of the database's walks that all hidden graphs explain together, with
            local search at the end. ``"similarity"``: RWK+CN as in the paper, whose hidden graphs are each similar to
            the database (its Eq. 3).
        steps: Longest walk, counted in edges.
        n_restarts: Initializations that are trained side by side; the best by the objective is taken.
        epochs: Steps of gradient descent.
        n_colors: Classes to cut attributes into.
        model_params: Further arguments, by objective, of :func:`rwkplus.descriptive.explained_patterns` (such as
            ``{"kicks": 0}``) or of the network of the paper (such as ``{"diversity": 100.0}``).
        output: What :meth:`transform` returns: ``"similarity"``, ``"count"`` or ``"presence"`` of patterns.
        ignore: Columns to leave out on purpose, such as ``("edges.label",)``.
        random_state: Seed, scikit-learn's ``RandomState``, or None to draw one.
        n_jobs: Parallel jobs that count occurrences, through joblib.

    Attributes:
        patterns_: The patterns, the best first. Their ``score`` is the share of the walks that a pattern explains by
            itself, or its similarity to the database.
        explained_: Share of all edges that the first 1, 2, ... patterns cover.
        training_: What the best restart has reached by epoch: the explained share of the walks, or the loss.
        restarts_: What every restart has reached in the end.
        edge_weights_: Edges of the hidden graphs before they were decoded ``(k, M, M)``.
        color_weights_: Their labels ``(k, M, C)``.

    Example:
        >>> triangle = nx.cycle_graph(3)
        >>> nx.set_node_attributes(triangle, dict(enumerate("abc")), "label")
        >>> miner = GradientMiner(1, 3, n_restarts=4, epochs=60).fit([triangle] * 6)
        >>> [(sorted(pattern.labels), pattern.support) for pattern in miner.patterns_]
        [(['a', 'b', 'c'], 6)]
    """

    stored_arrays = Miner.stored_arrays | {"training_": 1, "restarts_": 1, "edge_weights_": 3, "color_weights_": 3}

    n_patterns: int = 4
    pattern_size: int = 4
    _: KW_ONLY
    objective: MiningObjective = "explained"
    steps: int = 3
    n_restarts: int = 20
    epochs: int = 150
    n_colors: int = 8
    model_params: Mapping[str, Any] | None = None
    output: MinerOutput = "similarity"
    ignore: Sequence[str] = ()
    random_state: int | np.random.RandomState | None = 0
    n_jobs: int | None = None

    def fit(self, X: Graphs, y: Sequence[object] | None = None, *, callback: Callback | None = None) -> Self:
        """Train on ``X``, decode and count.

        Args:
            X: Graphs in any form that :meth:`rwkplus.table.GraphTable.of` reads; undirected, without edge labels.
            y: Classes of the graphs, which do not guide training; patterns tell how classes differ in them.
            callback: Called in training, with the phase ``"epochs"`` and, while patterns are refined, ``"kicks"``.
        """
        self._check()
        seed = seed_of(self.random_state)
        table = self._table(X)
        reader = Reader.fit_labels(table, self.ignore, n_classes=self.n_colors, seed=seed)
        _check_no_edge_labels(reader)
        database = MiningDatabase.of(reader.read(table))
        check_edges(database)
        targets = None if y is None else Targets.told(y, database.num_graphs)
        train = _explained if self.objective == "explained" else _similar
        hidden = train(self, reader.labelled(table), seed, callback)
        tally = Tally(PatternReader(reader, directed=False), table, database, self.objective, self.n_jobs)
        patterns = [tally.count(shape, score) for shape, score in hidden.shapes(reader.nodes.names)]
        if not patterns:
            warnings.warn(RWKPlusWarning("no hidden graph has an edge, so there are no patterns."), stacklevel=2)
        absent = sum(not pattern.support for pattern in patterns)
        if absent:
            warnings.warn(
                RWKPlusWarning(f"{absent} of {len(patterns)} patterns occur in no graph: they are averages of many."),
                stacklevel=2,
            )
        self.patterns_ = with_contrasts(patterns, targets)
        self.reader_, self.seed_ = tally.reader, seed
        self.explained_ = np.cumsum([pattern.gain for pattern in patterns])
        self.training_, self.restarts_ = hidden.training, hidden.restarts
        self.edge_weights_, self.color_weights_ = hidden.edge_weights, hidden.color_weights
        return self

    def _check(self) -> None:
        check_choice("objective", self.objective, MiningObjective)
        check_choice("output", self.output, MinerOutput)
        for name, least in (("n_patterns", 1), ("pattern_size", 2), ("steps", 1), ("n_restarts", 1), ("n_colors", 1)):
            check_integer(name, getattr(self, name), least)
        check_integer("epochs", self.epochs, 0)
        check_jobs(self.n_jobs)
        if self.model_params is not None and not isinstance(self.model_params, Mapping):
            raise ParameterError(f"model_params must map names to values, got {self.model_params!r}.")
        known = PARAMS[self.objective]
        for name in self.model_params or {}:
            if name not in known:
                raise ParameterError(
                    f"model_params has {name!r}, which the objective {self.objective!r} does not know: it knows "
                    f"{', '.join(known)}."
                )

    def _restore(self, learned: dict[str, Any], arrays: dict[str, Any]) -> None:
        self._check()
        super()._restore(learned, arrays)
        shape = (self.n_patterns, self.pattern_size)
        if self.edge_weights_.shape != (*shape, self.pattern_size) or self.color_weights_.shape[:2] != shape:
            raise ValueError("its hidden graphs have another size than its parameters say")


class _Hidden(NamedTuple):
    """Hidden graphs of the best restart."""

    adjacency: Ints  # (k, M, M), zeros and ones
    labels: list[list[str]]
    scores: NDArray[np.float64]  # (k,)
    edge_weights: NDArray[np.float64]  # (k, M, M)
    color_weights: NDArray[np.float64]  # (k, M, C)
    training: NDArray[np.float64]  # (epochs,)
    restarts: NDArray[np.float64]  # (R,)

    def shapes(self, names: Sequence[str]) -> list[tuple[Shape, float]]:
        """Largest connected parts that have an edge, each once, the best first, and their scores."""
        found: dict[tuple[int, int, int], tuple[Shape, float]] = {}
        for k in np.argsort(-self.scores, kind="stable").tolist():
            numbers = [names.index(label) for label in self.labels[k]]
            shape = _largest_part(self.adjacency[k], numbers)
            if shape.edges:
                found.setdefault(shape.fingerprint, (shape, float(self.scores[k])))
        return list(found.values())


def _explained(miner: GradientMiner, graphs: GraphTable, seed: int, callback: Callback | None) -> _Hidden:
    found = explained_patterns(
        graphs,
        miner.n_patterns,
        miner.pattern_size,
        n_restarts=miner.n_restarts,
        steps=miner.steps,
        epochs=miner.epochs,
        random_state=seed,
        callback=callback,
        **(miner.model_params or {}),
    )
    best = found.best
    return _Hidden(
        found.adjacency[best],
        found.labels(best),
        found.alone[best],
        found.edge_weights[best],
        found.color_weights[best],
        found.history,
        found.explained,
    )


def _similar(miner: GradientMiner, graphs: GraphTable, seed: int, callback: Callback | None) -> _Hidden:
    network = DescriptiveKCN(
        miner.n_patterns,
        miner.pattern_size,
        steps=miner.steps,
        n_restarts=miner.n_restarts,
        epochs=miner.epochs,
        random_state=seed,
        **(miner.model_params or {}),
    )
    if tuple(network.views)[:1] != ("labels",):
        raise ParameterError(
            f"the first of the views must be 'labels', which patterns are named by; got {network.views!r}.",
            Remedy("Put it first: {model_params}.", model_params={"views": ("labels", *network.views)}),
        )
    network.fit(graphs, callback=callback)
    best = network.best_
    weights = network.weights_[best].astype(float)
    off_diagonal = ~np.eye(miner.pattern_size, dtype=bool)
    return _Hidden(
        ((weights > EDGE) & off_diagonal).astype(np.int64),
        network.labels(best),
        network.similarity_[best].astype(float),
        weights,
        network.colors_[best].astype(float),
        network.history_[:, best],
        network.losses_,
    )


def decoded_shapes(
    labelled: GraphTable, chosen: Ints, sizes: tuple[int, int], seed: int
) -> tuple[list[Shape], NDArray[np.float64]]:
    """Candidates for :class:`rwkplus.mining.PatternMiner`: hidden graphs of each size, trained on some of the graphs.

    Returns:
        Distinct connected shapes without edge labels, and the explained share of walks by epoch of the largest size.
    """
    some = np.sort(np.random.default_rng(seed).permutation(chosen)[:GRAPHS])
    graphs = labelled[some].to_pyg()
    found: dict[tuple[int, int, int], Shape] = {}
    history: NDArray[np.float64] = np.empty(0)
    for size in range(max(3, sizes[0]), min(sizes[1], LARGEST_HIDDEN) + 1):
        trained = explained_patterns(
            graphs, BANKS, size, n_restarts=RESTARTS, epochs=80, kicks=0, random_state=seed, ignore=("edge_attr",)
        )
        history = trained.history
        for adjacency, colors in zip(trained.adjacency, trained.colors, strict=True):
            for adj, labels in zip(adjacency, colors, strict=True):
                shape = Shape(tuple(map(int, labels)), _edges(adj))
                if shape.edges and shape.is_connected:
                    found.setdefault(shape.fingerprint, shape)
    return list(found.values()), history


def _edges(adjacency: Ints) -> tuple[tuple[int, int, int], ...]:
    return tuple((i, j, 0) for i, j in np.argwhere(np.triu(adjacency, 1)).tolist())


def _largest_part(adjacency: Ints, labels: Sequence[int]) -> Shape:
    """The largest connected part of a hidden graph, the first of equals."""
    parts: list[list[int]] = [sorted(part) for part in nx.connected_components(nx.from_numpy_array(adjacency))]
    part = max(parts, key=len)
    return Shape(tuple(labels[v] for v in part), _edges(adjacency[np.ix_(part, part)]))


def _check_no_edge_labels(reader: Reader) -> None:
    columns = [*reader.edges.labels, *(name for name, _ in reader.edges.attributes)]
    if columns:
        raise GraphError(
            f"the edges have {' and '.join(map(repr, columns))}, which hidden graphs do not learn.",
            Remedy("Leave them out: {ignore}.", ignore=tuple(f"edges.{name}" for name in columns)),
        )

"""The pattern miner: graphs in, a handful of readable patterns out."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rwkplus.errors import GraphError, ParameterError, RWKPlusWarning
from rwkplus.graphs import Graphs, Schema, as_batch
from rwkplus.graphs.arrays import as_arrays
from rwkplus.kernels import RandomWalkKernel
from rwkplus.mining.completion import exact_embeddings
from rwkplus.mining.cover import covered, used_entries
from rwkplus.mining.database import MiningDatabase
from rwkplus.mining.growth import Beam, Grown
from rwkplus.mining.occurrences import distinct_occurrences
from rwkplus.mining.patterns import Occurrence, Pattern
from rwkplus.mining.search import Criterion, Search, control_threshold

MAX_AUTO_PATTERNS = 20
DEFAULT_SIZES = {"maximal": (3, 12), "blocks": (3, 6)}


class PatternMiner(TransformerMixin, BaseEstimator):
    """Mine the patterns that describe a database of labelled graphs, without supervision.

    Patterns grow along their real occurrences, edge by edge, as long as an edge occurs beyond what labels and
    degrees explain by chance. After each pattern, what it explains is taken away, so that the next says
    something new. Supports are exact.

    Args:
        n_patterns: How many patterns at most, or ``"auto"`` for as many as beat chance.
        pattern_size: Number of nodes, as a number, a range ``(3, 8)`` or ``"auto"``.
        criterion: ``"maximal"``: patterns as large as the evidence carries, tolerant to distorted copies.
            ``"blocks"``: small building blocks that together explain most of the edges.
        fidelity: Share of its occurrences in which every edge of a maximal pattern should be present.
        search_graphs: Graphs looked at while searching; supports always count all graphs.
        beam_width: Patterns kept at every size; more is slower and more thorough.
        n_controls: Rewired databases mined to learn what chance achieves; 0 to skip.
        ignore: Fields of the graphs to leave out on purpose, such as ``("edge_attr",)``.
        random_state: Seed; the same seed gives the same patterns.

    Attributes:
        patterns_: The patterns, in the order they were found.
        control_: Best scores on rewired databases.
        threshold_: Score a pattern had to beat.
        explained_: Share of all edges that the first 1, 2, ... patterns cover.

    Example:
        >>> from rwkplus.data import load
        >>> miner = PatternMiner(1, criterion="blocks", n_controls=0).fit(load("functional-groups"))
        >>> miner.patterns_[0].labels, miner.patterns_[0].support
        (('C', 'C', 'C', 'C', 'C', 'C'), 200)
    """

    def __init__(
        self,
        n_patterns: int | str = 6,
        pattern_size: int | Sequence[int] | str = "auto",
        *,
        criterion: Criterion = "maximal",
        fidelity: float = 0.7,
        search_graphs: int = 300,
        beam_width: int = 30,
        n_controls: int = 10,
        ignore: Sequence[str] = (),
        random_state: int | None = None,
    ) -> None:
        self.n_patterns = n_patterns
        self.pattern_size = pattern_size
        self.criterion = criterion
        self.fidelity = fidelity
        self.search_graphs = search_graphs
        self.beam_width = beam_width
        self.n_controls = n_controls
        self.ignore = ignore
        self.random_state = random_state

    def fit(self, graphs: Graphs, y: object = None, on_pattern: Callable[[], None] | None = None) -> Self:
        """Mine ``graphs``. Interrupted by Ctrl-C, it keeps the patterns found so far.

        Args:
            graphs: Anything the door accepts, with discrete labels; undirected.
            y: Not used.
            on_pattern: Called after every pattern.
        """
        wanted, sizes = self._check_parameters()
        batch = as_batch(graphs, ignore=self.ignore)
        self.schema_ = Schema.of(batch)
        if not self.schema_.discrete or self.schema_.weighted:
            what = "edge_weight" if self.schema_.weighted else "continuous x or edge_attr"
            raise GraphError(
                f"patterns are made of labels, these graphs have {what}. Use one-hot labels, "
                "or leave fields out on purpose with ignore=."
            )
        database = MiningDatabase.of(as_arrays(batch, labels=True))
        if not database.num_edges:
            raise GraphError("no graph has an edge: there are no patterns to find.")
        seed = 0 if self.random_state is None else int(self.random_state)
        chosen = np.sort(np.random.default_rng(seed).permutation(database.num_graphs)[: self.search_graphs])
        beam = Beam(self.beam_width, sizes[1], sizes[1] + 6, max(2, min(3, chosen.size)), self.fidelity)
        search = Search(self.criterion, beam, sizes[0], seed)
        sample = database.graphs_subset(chosen)
        self.patterns_: list[Pattern] = []
        self.control_, self.threshold_ = np.empty(0), 0.0
        try:
            self.control_ = search.control(sample, self.n_controls)
            self.threshold_ = control_threshold(self.control_)
            self._collect(search, sample, database, wanted, on_pattern or (lambda: None))
        except KeyboardInterrupt:
            warnings.warn(f"interrupted: {len(self.patterns_)} patterns so far.", RWKPlusWarning, stacklevel=2)
        if not self.patterns_:
            warnings.warn(
                "no pattern beats chance: rewiring the graphs at random gives scores as high. "
                "Are the node labels informative?",
                RWKPlusWarning,
                stacklevel=2,
            )
        self.explained_ = np.cumsum([pattern.gain for pattern in self.patterns_])
        return self

    def transform(self, graphs: Graphs) -> NDArray[np.float64]:
        """Return the similarity of each graph to each pattern: the cosine of their walks, ``(B, k)``."""
        check_is_fitted(self, "explained_")
        if not self.patterns_:
            raise GraphError("no patterns were found, so there is nothing to compare with.")
        kernel = RandomWalkKernel("rwk+", steps=3, normalize=True, ignore=self.ignore)
        kernel.fit([pattern.to_networkx() for pattern in self.patterns_])
        return kernel.transform(graphs)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _collect(
        self, search: Search, sample: MiningDatabase, database: MiningDatabase, wanted: int, tell: Callable[[], None]
    ) -> None:
        explained = np.zeros(database.rows.neighbor.size, bool)
        for grown in search.one_after_the_other(sample, self.threshold_):
            embeddings = exact_embeddings(database, grown.shape)
            used = covered(database, used_entries(database, grown.shape, embeddings))
            gain = float((used & ~explained).mean())
            explained |= used
            self.patterns_.append(self._pattern(database, grown, embeddings, float(used.mean()), gain))
            tell()
            if len(self.patterns_) == wanted:
                return

    def _pattern(
        self, database: MiningDatabase, grown: Grown, embeddings: NDArray[np.int64], edge_coverage: float, gain: float
    ) -> Pattern:
        nodes, edges = self.schema_.nodes, self.schema_.edges
        first_node = np.searchsorted(database.rows.graph, np.arange(database.num_graphs))
        rows = distinct_occurrences(grown.shape, embeddings)
        graph = database.rows.graph[rows[:, 0]]
        local = rows - first_node[graph][:, None]
        return Pattern(
            labels=tuple(nodes.name(label) for label in grown.shape.labels),
            edges=tuple((i, j, None if edges is None else edges.name(edge)) for i, j, edge in grown.shape.edges),
            criterion=self.criterion,
            score=grown.score,
            support=np.unique(graph).size,
            num_graphs=database.num_graphs,
            occurrences=tuple(Occurrence(g, tuple(row)) for g, row in zip(graph.tolist(), local.tolist(), strict=True)),
            node_coverage=np.unique(rows).size / database.rows.label.size,
            edge_coverage=edge_coverage,
            gain=gain,
        )

    def _check_parameters(self) -> tuple[int, tuple[int, int]]:
        if self.criterion not in get_args(Criterion):
            raise ParameterError(f"criterion must be 'maximal' or 'blocks', got {self.criterion!r}.")
        wanted = MAX_AUTO_PATTERNS if self.n_patterns == "auto" else self.n_patterns
        if not isinstance(wanted, int | np.integer) or wanted < 1:
            raise ParameterError(f"n_patterns must be a whole number of at least 1 or 'auto', got {self.n_patterns!r}.")
        if not 0 < self.fidelity <= 1:
            raise ParameterError(f"fidelity must lie above 0 and at most at 1, got {self.fidelity!r}.")
        return int(wanted), self._sizes()

    def _sizes(self) -> tuple[int, int]:
        given = self.pattern_size
        if isinstance(given, str):
            if given != "auto":
                raise ParameterError(f"pattern_size must be a number, a range or 'auto', got {given!r}.")
            return DEFAULT_SIZES[self.criterion]
        sizes = (given, given) if isinstance(given, int | np.integer) else tuple(given)
        if len(sizes) != 2 or not 2 <= sizes[0] <= sizes[1]:
            raise ParameterError(f"pattern_size must be at least 2, or a range such as (3, 8); got {given!r}.")
        return int(sizes[0]), int(sizes[1])

"""The pattern miner: graphs in, a handful of readable patterns out."""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rwkplus.errors import GraphError, ParameterError, RWKPlusWarning
from rwkplus.kernels import RandomWalkKernel
from rwkplus.mining.candidates import labelled_shapes
from rwkplus.mining.contrast import are_real_targets, class_contrasts
from rwkplus.mining.cover import covered, explained, used_entries
from rwkplus.mining.database import MiningDatabase
from rwkplus.mining.growth import Beam
from rwkplus.mining.occurrences import find_occurrences
from rwkplus.mining.patterns import Pattern
from rwkplus.mining.search import Criterion, Search, control_threshold
from rwkplus.mining.settings import Coloring, MinerSettings
from rwkplus.mining.shape import Shape
from rwkplus.table import Graphs, GraphTable, Reader
from rwkplus.types import check_ignore

LITTLE_GAIN = 0.01
"""Share of edges below which a pattern adds too little for a reader who left their number open."""


class PatternMiner(TransformerMixin, BaseEstimator):
    """Mine the patterns that describe a database of graphs, without supervision.

    Candidates come from growth along real occurrences, from sampling and, if wanted, from gradient descent; all
    are judged alike, by how much their edges occur beyond what labels and degrees explain by chance. After each
    pattern, what it explains is taken away, so that the next says something new. Supports are exact.

    Args:
        n_patterns: How many patterns at most, a range ``(2, 8)``, or ``"auto"``. Beyond the lower end, a pattern must
            save description length beyond chance and explain another hundredth of all edges.
        pattern_size: Number of nodes, as a number, a range ``(3, 8)`` or ``"auto"``: a pattern grows as long as that
            saves description length, and has up to six edges more than the most nodes allowed. Where this is less than
            a clique of the fewest nodes has, it may have as many: a single number finds cliques, too.
        criterion: ``"maximal"``: patterns as large as the evidence carries, tolerant to distorted copies.
            ``"blocks"``: small building blocks that together explain most of the edges.
        colors: ``"auto"``: one-hot labels as they are, measurements cut into classes, one color where there are no
            node features. ``"structural"``: classes of nodes by their place in the graph.
        n_colors: Classes to cut measurements and structural colors into.
        candidates: Where candidates come from: ``"grown"`` always, ``"sampled"`` and ``"gradient"`` if listed.
        fidelity: Share of its occurrences in which every edge of a maximal pattern should be present.
        search_graphs: Graphs looked at while searching; supports always count all graphs.
        beam_width: Patterns kept at every size; more is slower and more thorough.
        n_controls: Rewired databases mined to learn what chance achieves; 0 to skip.
        ignore: Columns to leave out on purpose, such as ``("edges.label",)``.
        random_state: Seed, scikit-learn's ``RandomState``, or None for a seed of chance; the same seed gives the same
            patterns.
        n_jobs: Parallel jobs that count occurrences, through joblib.

    Attributes:
        patterns_: The patterns, in the order they were found.
        control_: Best scores on rewired databases.
        threshold_: Score a pattern had to beat.
        explained_: Share of all edges that the first 1, 2, ... patterns cover.
        saved_: Nats of description length that the first 1, 2, ... patterns save.
        training_: Explained share of walk features by epoch, where candidates come from gradients.
        interrupted_: Whether ``fit`` was stopped by Ctrl-C, so that more patterns may be there.

    Example:
        >>> from rwkplus.datasets import load_graphs
        >>> miner = PatternMiner(1, criterion="blocks", n_controls=0).fit(load_graphs("functional-groups"))
        >>> miner.patterns_[0].labels, miner.patterns_[0].support
        (('C', 'C', 'C', 'C', 'C', 'C'), 200)
    """

    explained_: NDArray[np.float64]

    def __init__(
        self,
        n_patterns: int | Sequence[int] | str = 6,
        pattern_size: int | Sequence[int] | str = "auto",
        *,
        criterion: Criterion = "maximal",
        colors: Coloring = "auto",
        n_colors: int = 8,
        candidates: Sequence[str] = ("grown", "sampled"),
        fidelity: float = 0.7,
        search_graphs: int = 300,
        beam_width: int = 30,
        n_controls: int = 10,
        ignore: Sequence[str] = (),
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_patterns = n_patterns
        self.pattern_size = pattern_size
        self.criterion = criterion
        self.colors = colors
        self.n_colors = n_colors
        self.candidates = candidates
        self.fidelity = fidelity
        self.search_graphs = search_graphs
        self.beam_width = beam_width
        self.n_controls = n_controls
        self.ignore = ignore
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self, graphs: Graphs, y: Sequence[object] | None = None, on_pattern: Callable[[], None] | None = None
    ) -> Self:
        """Mine ``graphs``. Interrupted by Ctrl-C, it keeps the patterns found so far, if there are any.

        Args:
            graphs: PyG or networkx graphs; undirected.
            y: Classes of the graphs. They do not guide the search; patterns tell how classes differ in them. Real
                targets, numbers of which some are not whole, have no classes to tell apart.
            on_pattern: Called after every pattern.
        """
        if hasattr(self, "explained_"):
            del self.explained_  # lest half of a new fit looks like a fit
        settings = MinerSettings.of(self)
        self.seed_ = settings.seed
        table = self._table(graphs)
        structural = self.colors == "structural"
        self.reader_ = Reader.fit_labels(
            table, self.ignore, n_classes=self.n_colors, structural=structural, seed=settings.seed
        )
        database = MiningDatabase.of(self.reader_.read(table))
        settings.check_against(database)
        if y is not None and len(y) != database.num_graphs:
            raise ParameterError(f"y has {len(y)} entries for {database.num_graphs} graphs: give one for each.")
        classes = None if y is None or are_real_targets(y) else y
        if classes is not None:
            class_contrasts([], classes)  # refuses what cannot be contrasted, before the work
        self.patterns_: list[Pattern] = []
        self.control_, self.threshold_, self.training_ = np.empty(0), 0.0, np.empty(0)
        self.interrupted_ = False
        try:
            self._mine(settings, database, table, on_pattern or (lambda: None))
        except KeyboardInterrupt:
            if not self.patterns_:
                raise
            self.interrupted_ = True
            warnings.warn(f"interrupted: {len(self.patterns_)} patterns so far.", RWKPlusWarning, stacklevel=2)
        if not self.patterns_:
            warnings.warn(settings.why_none, RWKPlusWarning, stacklevel=2)
        if classes is not None and self.patterns_:
            contrasts = class_contrasts([pattern.graphs for pattern in self.patterns_], classes)
            self.patterns_ = [p.with_contrast(c) for p, c in zip(self.patterns_, contrasts, strict=True)]
        self.saved_ = np.cumsum([pattern.score for pattern in self.patterns_])
        self.explained_ = np.cumsum([pattern.gain for pattern in self.patterns_])
        return self

    def fit_transform(self, graphs: Graphs, y: Sequence[object] | None = None) -> NDArray[np.float64]:
        """Mine, and return the similarities of the same graphs, which are read only once."""
        table = self._table(graphs)
        return self.fit(table, y).transform(table)

    def transform(self, graphs: Graphs) -> NDArray[np.float64]:
        """Return the similarity of each graph to each pattern: the cosine of their walks, ``(B, k)``."""
        self._check_patterns()
        kernel = RandomWalkKernel("rwk+", steps=3, normalize=True)
        kernel.fit([pattern.to_networkx() for pattern in self.patterns_])
        return kernel.transform(self.reader_.labelled(self._table(graphs)))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Names of the columns of :meth:`transform`: the patterns, in their order."""
        self._check_patterns()
        return np.array([f"pattern{k}" for k in range(len(self.patterns_))], dtype=object)

    def score(self, graphs: Graphs, y: object = None) -> float:
        """Return the share of the edges of ``graphs`` that lie in an occurrence of a pattern, between 0 and 1.

        On graphs that were not mined, this tells how well the patterns describe what they have not seen.
        """
        self._check_patterns()
        database = MiningDatabase.of(self.reader_.read(self._table(graphs)))
        marked = explained(database, (pattern.shape(self.reader_) for pattern in self.patterns_), self.n_jobs)
        return float(marked.mean()) if marked.size else 0.0

    def save(self, path: str | Path) -> Path:
        """Write everything fitted into one file of the safetensors format, whole or not at all."""
        from rwkplus.mining.files import save_miner

        check_is_fitted(self, "explained_")
        return save_miner(self, path)

    @classmethod
    def load(cls, path: str | Path) -> "PatternMiner":
        """Read what :meth:`save` wrote; nothing in the file is executed."""
        from rwkplus.mining.files import load_miner

        return load_miner(cls(), path)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _repr_html_(self) -> str:
        """Patterns as pictures, once there are any."""
        if not hasattr(self, "explained_") or not self.patterns_:
            return f"<code>{type(self).__name__}</code>"
        return '<div style="display:flex;flex-wrap:wrap">' + "".join(p._repr_html_() for p in self.patterns_) + "</div>"

    def _mine(
        self, settings: MinerSettings, database: MiningDatabase, table: GraphTable, tell: Callable[[], None]
    ) -> None:
        chosen = settings.chosen_graphs(database)
        sample = database.graphs_subset(chosen)
        given: list[Shape] = []
        if "gradient" in self.candidates:
            from rwkplus.descriptive.decoded import decoded_shapes

            labelled = self.reader_.labelled(table)
            shapes, self.training_ = decoded_shapes(labelled, chosen, settings.sizes, settings.seed)
            given = list(labelled_shapes(sample, shapes))
        beam = Beam(self.beam_width, settings.sizes[1], settings.max_edges, max(2, min(3, chosen.size)), self.fidelity)
        search = Search(self.criterion, beam, settings.sizes[0], settings.seed, "sampled" in self.candidates, given)
        self.control_ = search.control(sample, self.n_controls)
        self.threshold_ = control_threshold(self.control_)
        self._collect(search, sample, database, table, settings, tell)

    def _collect(
        self,
        search: Search,
        sample: MiningDatabase,
        database: MiningDatabase,
        table: GraphTable,
        settings: MinerSettings,
        tell: Callable[[], None],
    ) -> None:
        before = np.zeros(database.rows.neighbor.size, bool)
        for grown in search.one_after_the_other(sample, self.threshold_):
            found = find_occurrences(database, grown.shape, self.n_jobs)
            used = covered(database, used_entries(database, grown.shape, found.rows))
            gain = float((used & ~before).mean())
            if settings.open_ended and len(self.patterns_) >= settings.fewest and gain < LITTLE_GAIN:
                return
            before |= used
            self.patterns_.append(
                Pattern.of(
                    self.reader_,
                    grown.shape,
                    database,
                    found,
                    table,
                    criterion=self.criterion,
                    score=grown.score,
                    edge_coverage=float(used.mean()),
                    gain=gain,
                )
            )
            tell()
            if len(self.patterns_) == settings.most:
                return

    def _table(self, graphs: Graphs) -> GraphTable:
        check_ignore(self.ignore)
        return GraphTable.of(graphs, ignore=tuple(self.ignore))

    def _check_patterns(self) -> None:
        check_is_fitted(self, "explained_")
        if not self.patterns_:
            raise GraphError("no patterns were found, so there is nothing to compare with.")

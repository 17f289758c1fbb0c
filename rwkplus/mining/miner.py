"""The pattern miner: graphs in, a handful of readable patterns out."""

import functools
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import GraphError, ParameterError, Remedy, RWKPlusWarning, is_interrupt
from rwkplus.loops.embeddings import Ints
from rwkplus.mining.base_miner import Miner, MinerOutput
from rwkplus.mining.contrast import Targets, class_contrasts, mean_differences
from rwkplus.mining.patterns import Pattern
from rwkplus.mining.reading import PatternReader
from rwkplus.mining.search.database import MiningDatabase
from rwkplus.mining.search.greedy import Controls, Search, labelled_shapes
from rwkplus.mining.search.growth import Beam, Grown
from rwkplus.mining.search.guided import GuidedSearch, Rounds, SizedControls
from rwkplus.mining.search.large_graph import BlockSearch, LargeSearch
from rwkplus.mining.search.occurrences import Found, Shape, covered, find_occurrences, used_entries
from rwkplus.mining.search.whole_graph import count_whole
from rwkplus.table import Graphs, GraphTable
from rwkplus.table.columns import counted
from rwkplus.types import (
    Callback,
    Coloring,
    Criterion,
    Progress,
    check_choice,
    check_ignore,
    check_integer,
    check_jobs,
    check_share,
    is_positive_integer,
    seed_of,
)

LITTLE_GAIN = 0.01
"""Share of edges below which a pattern adds too little for a reader who left their number open."""
MAX_AUTO_PATTERNS = 20
DEFAULT_SIZES = {"maximal": (3, 12), "blocks": (3, 6), "contrast": (2, 12)}
SMALLEST = {"maximal": 3, "blocks": 2, "contrast": 2}
"""Nodes; of a single edge, labels and degrees explain all, so that there is no evidence for it."""
CANDIDATES = ("grown", "sampled", "gradient")
FEWEST_IN_CLASS = 3
FEWEST_TARGETS = 4
SEARCHED = (300, 6_000)
"""Graphs to search in: fewest and most by default. In a large database, few graphs are another choice each time."""
WIDER = 30
"""Times as many patterns are kept of every size where more graphs than the fewest are a sample of others."""
CONTRASTED = 6
"""Times as many graphs are searched for contrasts: rare classes need many others beside them."""
LARGEST_HIDDEN = 6
"""Nodes of a hidden graph, which candidates from gradient descent are decoded from."""


class PatternMiner(Miner):
    """Mine the patterns that describe a database of graphs, without supervision.

    Candidates come from growth along real occurrences, from sampling and, if wanted, from gradient descent; all
    are judged alike, by how much their edges occur beyond what labels and degrees explain by chance. After each
    pattern, what it explains is taken away, so that the next says something new. Supports are exact. The direction of
    edges is part of a pattern where graphs are directed, and a column of single numbers, such as an amount, is cut into
    intervals that a pattern may ask for on some of its nodes or edges.

    A single graph may be large: patterns are then what it has many copies of, counted as occurrences and by their
    minimum image (:attr:`rwkplus.mining.Pattern.mni`). Maximal patterns are grown from short cycles, and from paths,
    that occur more often than chance makes them; a tree with few copies cannot be told from chance in a large graph.
    Building blocks are searched for in neighborhoods of random nodes.

    Args:
        n_patterns: How many patterns at most, a range ``(2, 8)``, or ``"auto"``. Beyond the lower end, a pattern must
            save description length beyond chance and explain another hundredth of all edges.
        pattern_size: Number of nodes, as a number, a range ``(3, 8)`` or ``"auto"``: a pattern grows as long as that
            saves description length, and has up to six edges more than the most nodes allowed. Where this is less than
            a clique of the fewest nodes has, it may have as many: a single number finds cliques, too.
        criterion: ``"maximal"``: patterns as large as the evidence carries, tolerant to distorted copies.
            ``"blocks"``: small building blocks that together explain most of the edges. ``"contrast"``: patterns that
            tell most of ``y``: which one class has more often, or which go with a high or low target; each is searched
            for among graphs that those before do not tell apart, as in a decision tree. Large patterns have more rivals
            and must tell more. Nodes and edges that nine tenths of the graphs with a pattern share are added to it.
        colors: ``"auto"``: labels; all nodes are alike where there are none. ``"structural"``: classes of nodes by
            their place in the graph.
        n_colors: Classes to cut structural colors, and columns of several numbers a row, into.
        candidates: Where candidates come from: ``"grown"`` always, ``"sampled"`` and ``"gradient"`` if listed.
        fidelity: Share of its occurrences in which every edge of a maximal pattern should be present.
        search_graphs: Graphs looked at while searching; supports always count all graphs. ``"auto"``: 300, and of more
            than 12,000 graphs one in forty, up to 6,000. Where more than 300 are looked at, but not all, the smallest
            is taken of maximal patterns that score nearly alike, lest it depend on the choice of graphs which is best.
            Contrasts look at six times 300.
            Of a single graph, it is the number of neighborhoods that building blocks are searched for in.
        beam_width: Patterns kept at every size; more is slower and more thorough. It is up to thirty times as many
            where more than 300 graphs are looked at, but not all.
        n_controls: Rewired databases, or databases with permuted ``y`` for contrasts, mined to learn what chance
            achieves: at most so many, fewer where that is clear before; 0 to skip, and contrasts then have no
            corrected p-value. Every further part of the graphs that contrasts are searched in has as many.
        max_seconds: Time after which the search stops, with the patterns found so far. In one large graph, counting
            stops, too: counts of the last pattern are then lower bounds, and its occurrences are not all.
        output: What :meth:`transform` gives for each pattern: the ``"similarity"`` of a graph to it, the ``"count"`` of
            its occurrences or its ``"presence"``.
        ignore: Columns to leave out on purpose, such as ``("edges.label",)``.
        random_state: Seed, scikit-learn's ``RandomState``, or None to draw one; the same seed gives the same patterns.
        n_jobs: Parallel jobs that mine controls and count occurrences, through joblib.

    Attributes:
        patterns_: The patterns, in the order they were found.
        control_: Best scores on rewired databases.
        threshold_: Score a pattern had to beat; of contrasts the largest, small ones had to beat less.
        explained_: Share of all edges that the first 1, 2, ... patterns cover.
        saved_: Nats of description length that the first 1, 2, ... patterns save.
        training_: Explained share of walk features by epoch, where candidates come from gradients.
        interrupted_: Whether ``fit`` was stopped by Ctrl-C or after ``max_seconds``: more patterns may be there.

    Example:
        >>> from rwkplus.datasets import load_graphs
        >>> miner = PatternMiner(1, criterion="blocks", n_controls=0).fit(load_graphs("functional-groups"))
        >>> miner.patterns_[0].labels, miner.patterns_[0].support
        (('C', 'C', 'C', 'C', 'C', 'C'), 200)
    """

    stored_arrays = Miner.stored_arrays | {"control_": 1, "training_": 1, "saved_": 1}

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
        search_graphs: int | Literal["auto"] = "auto",
        beam_width: int = 30,
        n_controls: int = 10,
        max_seconds: float | None = None,
        output: MinerOutput = "similarity",
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
        self.max_seconds = max_seconds
        self.output = output
        self.ignore = ignore
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Graphs, y: Sequence[object] | None = None, *, callback: Callback | None = None) -> Self:
        """Mine ``X``. Interrupted by Ctrl-C, it keeps the patterns found so far, if there are any.

        Args:
            X: Graphs in any form that :meth:`rwkplus.table.GraphTable.of` reads.
            y: Classes of the graphs, or real targets: numbers of which some are not whole. They guide the search of
                contrasts; all patterns tell how classes or targets differ in them. Graphs with a missing one are left
                out of that.
            callback: Called after every control (phase ``"controls"``) and every pattern (``"patterns"``).

        >>> import networkx as nx
        >>> triangle = nx.cycle_graph(3)
        >>> nx.set_node_attributes(triangle, dict(enumerate("abc")), "label")
        >>> told = lambda step: print(step.phase, step.done, step.values["support"])
        >>> miner = PatternMiner(1, criterion="blocks", n_controls=0).fit([triangle] * 6, callback=told)
        patterns 1 6
        """
        settings = _Settings.of(self)
        table = GraphTable.of(X, ignore=tuple(self.ignore))
        read = Targets.of if self.criterion == "contrast" else Targets.told
        targets = None if y is None else read(y, len(table))
        guiding = settings.guiding(targets)
        reader = PatternReader.fit(
            table,
            self.ignore,
            n_classes=self.n_colors,
            structural=self.colors == "structural",
            seed=settings.seed,
        )
        database = reader.read(table)
        settings.check_against(database)
        if guiding is not None:
            plan = self._guided(settings, database, guiding)
        elif database.num_graphs == 1:
            plan = self._in_one_graph(settings, database)
        else:
            plan = self._unguided(settings, database, reader, table)
        kind = Controls if guiding is None else functools.partial(SizedControls, freedom=len(guiding.classes) or 2)
        controls = kind(plan.control, self.n_controls, self.n_jobs, callback, settings.deadline)
        controls.begin()
        tally = Tally(reader, table, database, self.criterion, self.n_jobs, settings.deadline)
        patterns, interrupted = _collected(plan.found(controls), tally, settings, callback)
        if not interrupted:
            controls.finish()
        if interrupted:
            found = counted(len(patterns), "pattern")
            warnings.warn(f"stopped early: {found} so far.", RWKPlusWarning, stacklevel=2)
        elif not patterns:
            warnings.warn(settings.why_none, stacklevel=2)
        self.patterns_ = with_contrasts(patterns, targets, plan.chances)
        self.reader_, self.seed_, self.interrupted_ = reader, settings.seed, interrupted
        self.control_, self.threshold_, self.training_ = controls.scores, controls.threshold, plan.training
        self.saved_ = np.cumsum([pattern.score for pattern in patterns])
        self.explained_ = np.cumsum([pattern.gain for pattern in patterns])
        return self

    def _unguided(
        self, settings: "_Settings", database: MiningDatabase, reader: PatternReader, table: GraphTable
    ) -> "_Plan":
        """Search for what occurs beyond chance, in some of the graphs."""
        chosen = settings.chosen_graphs(database)
        sample = database.graphs_subset(chosen)
        given, training = self._given(settings, sample, reader, table, chosen)
        beam, of_many = settings.beam(self, chosen.size), SEARCHED[0] < chosen.size < database.num_graphs
        if of_many:
            beam = replace(beam, most=WIDER * beam.width)
        sampled = "sampled" in self.candidates
        search = Search(self.criterion, beam, settings.sizes[0], settings.seed, sampled, given, of_many)
        found = functools.partial(search.one_after_the_other, sample)
        return _Plan(found, functools.partial(search.control, sample), training)

    def _in_one_graph(self, settings: "_Settings", database: MiningDatabase) -> "_Plan":
        """Search for what occurs beyond chance: maximal patterns everywhere, blocks in some neighborhoods."""
        if "gradient" in self.candidates:
            raise ParameterError(
                "candidates by gradient are made from many graphs, and there is only one.",
                Remedy("Leave them out: {candidates}.", candidates=("grown", "sampled")),
            )
        search: LargeSearch | BlockSearch
        if self.criterion == "maximal":
            search = LargeSearch(settings.beam(self, 1), settings.sizes[0], settings.seed)
        else:
            around = SEARCHED[0] if settings.search_graphs == "auto" else settings.search_graphs
            beam = settings.beam(self, around)
            blocks = Search("blocks", beam, settings.sizes[0], settings.seed, "sampled" in self.candidates)
            search = BlockSearch(blocks, around)
        found = functools.partial(search.one_after_the_other, database)
        return _Plan(found, functools.partial(search.control, database), np.empty(0))

    def _guided(self, settings: "_Settings", database: MiningDatabase, targets: Targets) -> "_Plan":
        """Search for what tells targets apart."""
        search = GuidedSearch(settings.beam(self, database.num_graphs), settings.sizes[0], settings.seed)
        rounds = Rounds(search, database, targets, settings.contrasted)
        return _Plan(rounds.patterns, rounds.control, np.empty(0), rounds.chances)

    def _given(
        self, settings: "_Settings", sample: MiningDatabase, reader: PatternReader, table: GraphTable, chosen: Ints
    ) -> tuple[list[Shape], NDArray[np.float64]]:
        """Candidates from gradient descent, where they are wanted, and how its training went."""
        if "gradient" not in self.candidates:
            return [], np.empty(0)
        if sample.directed:
            raise ParameterError(
                "candidates by gradient are undirected, and these graphs are directed.",
                Remedy("Leave them out: {candidates}.", candidates=("grown", "sampled")),
            )
        from rwkplus.descriptive.gradient_miner import decoded_shapes  # needs PyTorch

        shapes, training = decoded_shapes(reader.labels.labelled(table), chosen, settings.sizes, settings.seed)
        return list(labelled_shapes(sample, shapes)), training

    def _learned(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        learned, arrays = super()._learned()
        return learned | {"threshold": self.threshold_, "interrupted": self.interrupted_}, arrays

    def _restore(self, learned: dict[str, Any], arrays: dict[str, Any]) -> None:
        _Settings.of(self)
        threshold, interrupted = learned.pop("threshold"), learned.pop("interrupted")
        super()._restore(learned, arrays)
        if not isinstance(interrupted, bool) or not isinstance(threshold, float) or not 0 <= threshold < np.inf:
            raise ValueError("its threshold is no number, or it is unclear whether it was interrupted")
        if self.saved_.size != len(self.patterns_):
            raise ValueError("it saves description length by other patterns than it holds")
        self.threshold_, self.interrupted_ = threshold, interrupted


class _Plan(NamedTuple):
    """How to come by patterns."""

    found: Callable[[Any], Iterable[Grown]]
    control: Callable[[int], Any]
    training: NDArray[np.float64]
    chances: Sequence[float] | None = None  # of each pattern found, that chance tells as much, where it is known


def _collected(
    found: Iterable[Grown], tally: "Tally", settings: "_Settings", callback: Callback | None
) -> tuple[list[Pattern], bool]:
    """Count patterns as they are found, until there are enough; and whether Ctrl-C came before that."""
    patterns: list[Pattern] = []
    try:
        for grown in found:
            pattern = tally.count(grown.shape, grown.score)
            counts = settings.criterion == "blocks" or (settings.criterion == "maximal" and pattern.mni is None)
            little = counts and pattern.gain < LITTLE_GAIN
            if settings.open_ended and len(patterns) >= settings.fewest and little:
                return patterns, False
            patterns.append(pattern)
            if callback is not None:
                total = None if settings.open_ended else settings.most
                values = {"score": pattern.score, "support": pattern.support, "gain": pattern.gain}
                callback(Progress("patterns", len(patterns), total, values))
            if len(patterns) == settings.most:
                return patterns, False
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            raise
        if not patterns:
            raise KeyboardInterrupt from error
        return patterns, True
    return patterns, time.monotonic() > settings.deadline


def with_contrasts(
    patterns: list[Pattern], targets: Targets | None, honest: Sequence[float] | None = None
) -> list[Pattern]:
    """Patterns that tell how classes or targets differ in them, where there are any.

    ``honest`` are corrected p-values of patterns that were chosen by these targets; nan where chance was not asked.
    """
    if targets is None or not patterns:
        return patterns
    targets.warn_of_missing()
    supports = [pattern.graphs for pattern in patterns]
    corrected = None if honest is None else [None if np.isnan(q) else float(q) for q in honest].__getitem__
    if targets.classes:
        contrasts = class_contrasts(supports, targets, corrected)
        return [replace(pattern, contrast=part) for pattern, part in zip(patterns, contrasts, strict=True)]
    differences = mean_differences(supports, targets, corrected)
    return [replace(pattern, difference=part) for pattern, part in zip(patterns, differences, strict=True)]


class Tally:
    """Counts patterns in all graphs, one after the other, and the edges that each covers beyond those before it."""

    def __init__(
        self,
        reader: PatternReader,
        table: GraphTable,
        database: MiningDatabase,
        criterion: str,
        n_jobs: int | None,
        deadline: float = np.inf,
    ) -> None:
        self.reader = reader
        self.table = table
        self.database = database
        self.criterion = criterion
        self.n_jobs = n_jobs
        self.deadline = deadline
        self.before = np.zeros(database.rows.neighbor.size, bool)

    def count(self, shape: Shape, score: float) -> Pattern:
        """The pattern of a shape, with its exact support."""
        if self.database.num_graphs == 1:
            whole = count_whole(self.database, shape, self.deadline)
            pattern = self._pattern(shape, score, whole.found, whole.covered)
            share = float(whole.nodes.mean())
            return replace(pattern, mni=whole.mni, num_occurrences=whole.times, node_coverage=share)
        found = find_occurrences(self.database, shape, self.n_jobs)
        used = covered(self.database, used_entries(self.database, shape, found.rows))
        return self._pattern(shape, score, found, used)

    def _pattern(self, shape: Shape, score: float, found: Found, used: NDArray[np.bool_]) -> Pattern:
        gain = float((used & ~self.before).mean())
        self.before |= used
        judged = {"criterion": self.criterion, "score": float(score)}
        shares = {"edge_coverage": float(used.mean()), "gain": gain}
        return self.reader.pattern(shape, self.database, found, self.table, **judged, **shares)


@dataclass(frozen=True)
class _Settings:
    """What a miner was asked for."""

    fewest: int
    most: int
    open_ended: bool  # whether the number of patterns was left open
    sizes: tuple[int, int]
    search_graphs: int | Literal["auto"]
    controlled: bool  # whether chance sets a threshold
    seed: int
    criterion: str
    deadline: float

    @classmethod
    def of(cls, miner: Any) -> "_Settings":  # noqa: ANN401
        """Check the parameters of a :class:`rwkplus.mining.PatternMiner`."""
        check_choice("criterion", miner.criterion, Criterion)
        check_choice("colors", miner.colors, Coloring)
        listed = isinstance(miner.candidates, Collection) and not isinstance(miner.candidates, str)
        if not listed or not {"grown"} <= set(miner.candidates) <= set(CANDIDATES):
            raise ParameterError(
                f"candidates must list 'grown' and may list 'sampled' and 'gradient', got {miner.candidates!r}."
            )
        for name, least in (("n_colors", 1), ("beam_width", 1), ("n_controls", 0)):
            check_integer(name, getattr(miner, name), least)
        if miner.search_graphs != "auto":
            check_integer("search_graphs", miner.search_graphs, 2)
        check_choice("output", miner.output, MinerOutput)
        check_jobs(miner.n_jobs)
        check_ignore(miner.ignore)
        seconds = miner.max_seconds
        if seconds is not None and (
            isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0
        ):
            raise ParameterError(f"max_seconds must be a number above 0; got {seconds!r}.")
        check_share("fidelity", miner.fidelity)
        if miner.fidelity == 0:
            raise ParameterError(f"fidelity must lie above 0 and at most at 1, got {miner.fidelity!r}.")
        number = _range("n_patterns", miner.n_patterns, 1, (1, MAX_AUTO_PATTERNS))
        open_ended = not isinstance(miner.n_patterns, Integral)
        sizes = _range("pattern_size", miner.pattern_size, SMALLEST[miner.criterion], DEFAULT_SIZES[miner.criterion])
        if "gradient" in miner.candidates and sizes[0] > LARGEST_HIDDEN:
            raise ParameterError(
                f"candidates by gradient have up to {LARGEST_HIDDEN} nodes, pattern_size asks for {sizes[0]}.",
                Remedy("Leave them out: {candidates}.", candidates=("grown", "sampled")),
            )
        fewest, most = number[0] if open_ended else 1, number[1]
        seed, deadline = seed_of(miner.random_state), time.monotonic() + float("inf" if seconds is None else seconds)
        graphs, controlled = miner.search_graphs, miner.n_controls > 0
        return cls(fewest, most, open_ended, sizes, graphs, controlled, seed, miner.criterion, deadline)

    def guiding(self, targets: Targets | None) -> Targets | None:
        """The targets that guide the search, if it is a guided one."""
        if self.criterion != "contrast":
            return None
        if targets is None:
            raise ParameterError(
                "a search for contrasts needs a class or a target of every graph.",
                Remedy("Give {y}, one for each graph.", y=...),
                Remedy("Or search without: {criterion}.", criterion="maximal"),
            )
        if not targets.classes and targets.known.size < FEWEST_TARGETS:
            raise ParameterError(f"{targets.known.size} graphs have a target: a contrast needs {FEWEST_TARGETS}.")
        sizes = np.bincount(targets.values[targets.known]) if targets.classes else np.zeros(0)
        small = int((sizes < FEWEST_IN_CLASS).sum())
        if targets.classes and sizes.size - small < 2:
            largest = np.sort(sizes)[::-1]
            raise ParameterError(
                f"y has {sizes.size} classes, the largest with {largest[0]} and {largest[1]} graphs: a contrast needs "
                f"two with at least {FEWEST_IN_CLASS}."
            )
        if small:
            warnings.warn(
                f"{small} of {sizes.size} classes of y have fewer than {FEWEST_IN_CLASS} graphs: they are left out of "
                "the search.",
                RWKPlusWarning,
                stacklevel=3,
            )
        return targets

    @property
    def contrasted(self) -> int:
        """Graphs to look at for contrasts."""
        return CONTRASTED * (SEARCHED[0] if self.search_graphs == "auto" else self.search_graphs)

    def beam(self, miner: Any, num_graphs: int) -> Beam:  # noqa: ANN401
        """How to search among so many graphs."""
        support = max(2, min(3, num_graphs))
        return Beam(miner.beam_width, self.sizes[1], self.max_edges, support, miner.fidelity, deadline=self.deadline)

    @property
    def max_edges(self) -> int:
        """Edges of a pattern: few more than nodes, lest dense graphs take forever, but no wanted size is left out."""
        low, high = self.sizes
        return max(high + 6, low * (low - 1) // 2)

    @property
    def why_none(self) -> RWKPlusWarning:
        """What it means that no pattern was found."""
        if self.criterion == "contrast":
            return RWKPlusWarning(
                "no pattern tells more of y than chance does: permuting y gives scores as high."
                if self.controlled
                else "no pattern tells anything of y."
            )
        if self.controlled:
            return RWKPlusWarning(
                "no pattern occurs more often than by chance: randomly rewired graphs give scores as high.",
                "Are the node labels informative?",
                Remedy(
                    "Small graphs often rewire into themselves: use {n_controls} to skip the comparison.",
                    n_controls=0,
                ),
            )
        low, high = self.sizes
        return RWKPlusWarning(
            f"no pattern of {low if low == high else f'{low} to {high}'} nodes occurs more often than labels and "
            "degrees explain.",
            "Are the node labels informative?",
            Remedy("To allow other sizes, use {pattern_size}.", pattern_size=...),
        )

    def check_against(self, database: MiningDatabase) -> None:
        """Refuse databases in which there is nothing to find; warn where little is."""
        check_edges(database)
        largest = int(np.bincount(database.rows.graph).max())
        if self.sizes[0] > largest:
            raise ParameterError(
                f"pattern_size asks for at least {self.sizes[0]} nodes, but the largest graph has {largest}.",
                Remedy("Ask for fewer, such as {pattern_size}.", pattern_size=largest),
            )
        if 1 < database.num_graphs < self.most and not self.open_ended:
            warnings.warn(
                f"{self.most} patterns are more than the {database.num_graphs} graphs: most will say little.",
                RWKPlusWarning,
                stacklevel=3,
            )

    def chosen_graphs(self, database: MiningDatabase) -> Ints:
        """Graphs to search in, ascending."""
        order = np.random.default_rng(self.seed).permutation(database.num_graphs)
        few, many = SEARCHED
        most = min(max(few, order.size // 40), many) if self.search_graphs == "auto" else self.search_graphs
        return np.sort(order[:most])


def check_edges(database: MiningDatabase) -> None:
    """Refuse graphs without edges, in which there is nothing to find."""
    if not database.num_edges:
        raise GraphError("no graph has an edge: there are no patterns to find.")


def _range(name: str, given: int | Sequence[int] | str, least: int, auto: tuple[int, int]) -> tuple[int, int]:
    if isinstance(given, str):
        if given != "auto":
            raise ParameterError(f"{name} must be a number, a range or 'auto', got {given!r}.")
        return auto
    ends = tuple(given) if isinstance(given, Collection) else (given, given)
    if len(ends) != 2 or not all(map(is_positive_integer, ends)) or not least <= ends[0] <= ends[1]:
        raise ParameterError(f"{name} must be at least {least}, or a range such as 3 to 8, upwards; got {given!r}.")
    return int(ends[0]), int(ends[1])

"""What all detectors share: scores and offset in scikit-learn's sign, fitted graphs recognized, unusual nodes told."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple, Self

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from rwkplus.drawing import ExplanationDisplay, ScoresDisplay, graphs_to_draw
from rwkplus.errors import ParameterError
from rwkplus.loops.random_streams import STEP, mix
from rwkplus.loops.walk_loops import hash_graphs
from rwkplus.saving import Savable, array
from rwkplus.table import Graphs, GraphTable, Reader
from rwkplus.table.arrays import Codes, Floats, GraphArrays, Ints, check_any_graphs, check_nodes
from rwkplus.table.checks import UNIFORM_LABEL
from rwkplus.types import check_ignore

PROMINENT = 0.5
"""A node is unusual if its score is at least this share of the highest in its graph."""
DIGITS = 9
"""Digits of the second score that count: sums of the same numbers in another order are equal."""
JUST_BELOW = -np.finfo(np.float64).tiny
"""What :meth:`GraphDetector.decision_function` says where the second score alone makes an anomaly."""


class Explanation(NamedTuple):
    """The unusual nodes of one graph, by their ids, or by their numbers where they have none.

    >>> why = Explanation(np.array([0.2, 3.0]), nodes=("b",), part=("a", "b"), ids=("a", "b"))
    >>> why.scores, why.strength
    ({'a': 0.2, 'b': 3.0}, {'a': 0.5, 'b': 1.0})
    """

    node_scores: Floats  #: (n,): how unusual each node is, by the detector's own measure
    nodes: tuple[Any, ...]  #: the unusual ones
    part: tuple[Any, ...]  #: those and their neighbors: what to look at
    ids: tuple[Any, ...]  #: all nodes of the graph, in the order of the scores

    @property
    def scores(self) -> dict[Any, float]:
        """How unusual each node is, by its id."""
        return dict(zip(self.ids, self.node_scores.tolist(), strict=True))

    @property
    def strength(self) -> dict[Any, float]:
        """How strongly to draw each node of the part, between 0 and 1."""
        unusual = set(self.nodes)
        return {v: 1.0 if v in unusual else 0.5 for v in self.part}


class Judgments(NamedTuple):
    """What a detector says of some graphs."""

    scores: Floats  #: (B,): as :meth:`GraphDetector.score_samples`, the lower, the more anomalous
    flagged: NDArray[np.bool_]  #: (B,): which of them are anomalies


class Scored(NamedTuple):
    """Graphs as a detector scores them: here, higher is more anomalous."""

    first: Floats  # (B,)
    second: Floats  # (B,): decides between graphs of the same first score
    digest: Codes  # (B,)

    def take(self, chosen: Ints) -> "Scored":
        """Some of the graphs, in this order."""
        return Scored(self.first[chosen], self.second[chosen], self.digest[chosen])

    @classmethod
    def joined(cls, parts: Sequence["Scored"]) -> "Scored":
        """Put blocks of graphs behind one another."""
        return cls(*(np.concatenate(part) for part in zip(*parts, strict=True)))


class GraphDetector(OutlierMixin, Savable, BaseEstimator, ABC):
    """Base of the detectors, which follow scikit-learn throughout.

    **Signs.** :meth:`score_samples` and :meth:`decision_function` are *low* for anomalies; :meth:`predict` and
    :meth:`fit_predict` say -1 for anomalies and 1 for all others. :class:`rwkplus.detect.PyODDetector` is for those who
    need PyOD's signs.

    **Fitted graphs** are judged by the others, without themselves, also later on: they are recognized by a digest of
    what the detector sees of them, so that ``fit(X).predict(X)`` equals ``fit_predict(X)``.

    **How many are flagged.** ``round(contamination * n)`` of ``n`` fitted graphs, the most anomalous ones. Where graphs
    at this border have equal scores, a second score decides, which every detector names; those that are equal by both
    are left unflagged together, and a graph that does not differ from the others is never flagged. So there may be
    fewer anomalies than asked for, never more.

    Attributes:
        fitted_scores_: :meth:`score_samples` of the fitted graphs ``(B,)``.
        offset_: Scores below it are anomalies. It is the score of the most anomalous fitted graph that is not flagged.
    """

    contamination: float
    ignore: Sequence[str]

    seed_: int
    reader_: Reader
    fitted_scores_: Floats
    offset_: float
    _fitted: Scored  # of all fitted graphs, in their order
    _known: Scored  # of the distinct ones among them, in the order of their digests
    _border: tuple[float, float]  # anomalies have a higher first score, or the same and a higher second score

    def fit(self, X: Graphs, y: object = None) -> Self:
        """Learn what is usual in the graphs ``X``; a share ``contamination`` of them are taken for anomalies.

        >>> from rwkplus.detect import SurpriseDetector
        >>> SurpriseDetector().fit(["CCC"] * 9).offset_
        0.0
        """
        self._check()
        table = self._table(X)
        check_any_graphs(table)
        check_nodes(table)
        learned, scored = self._learn(table)
        self.__dict__.update(learned | self._settled(scored))
        return self

    def score_samples(self, X: Graphs) -> Floats:
        """How usual graphs are: the lower, the more anomalous ``(B,)``.

        >>> from rwkplus.detect import SurpriseDetector
        >>> SurpriseDetector().fit(["CCC"] * 9).score_samples(["CCC", "CCO"]).round(2)
        array([ 0.  , -2.3])
        """
        return self.judge(X).scores

    def decision_function(self, X: Graphs) -> Floats:
        """``score_samples - offset_``: negative for anomalies ``(B,)``.

        Graphs of just the score ``offset_`` are at 0, or barely below where the second score makes them anomalies.

        >>> from rwkplus.detect import SurpriseDetector
        >>> SurpriseDetector().fit(["CCC"] * 9).decision_function(["CCC", "CCO"]).round(2)
        array([ 0. , -2.3])
        """
        judged = self.judge(X)
        difference = judged.scores - self.offset_
        return np.where(judged.flagged & (difference == 0), JUST_BELOW, difference)

    def predict(self, X: Graphs) -> Ints:
        """-1 for anomalies, 1 for the others ``(B,)``.

        >>> from rwkplus.detect import SurpriseDetector
        >>> SurpriseDetector().fit(["CCC"] * 9).predict(["CCC", "CCO"])
        array([ 1, -1])
        """
        return np.where(self.judge(X).flagged, -1, 1)

    def fit_predict(self, X: Graphs, y: object = None) -> Ints:
        """Fit and judge the same graphs, each by the others: -1 for anomalies, 1 for the rest ``(B,)``.

        >>> from rwkplus.detect import SurpriseDetector
        >>> SurpriseDetector(0.2).fit_predict(["CCC"] * 4 + ["CCO"])
        array([ 1,  1,  1,  1, -1])
        """
        return np.where(self.fit_judge(X, y).flagged, -1, 1)

    def judge(self, X: Graphs) -> Judgments:
        """Score graphs and tell which are anomalies, in one pass.

        >>> from rwkplus.detect import SurpriseDetector
        >>> SurpriseDetector().fit(["CCC"] * 9).judge(["CCC", "CCO"]).flagged
        array([False,  True])
        """
        table = self._later(X)
        check_nodes(table)
        found = self._scores(table)
        place = np.minimum(np.searchsorted(self._known.digest, found.digest), self._known.digest.size - 1)
        again = self._known.digest[place] == found.digest
        first = np.where(again, self._known.first[place], found.first)
        second = np.where(again, self._known.second[place], np.round(found.second, DIGITS))
        return Judgments(0.0 - first, _beyond(self._border, first, second))

    def fit_judge(self, X: Graphs, y: object = None) -> Judgments:
        """Fit and judge the same graphs, each by the others: what :meth:`judge` would say, without a second pass.

        >>> from rwkplus.detect import SurpriseDetector
        >>> SurpriseDetector(0.2).fit_judge(["CCC"] * 4 + ["CCO"]).flagged
        array([False, False, False, False,  True])
        """
        fitted = self.fit(X, y)._fitted
        return Judgments(0.0 - fitted.first, _beyond(self._border, fitted.first, fitted.second))

    def explain(self, X: Graphs) -> list[Explanation]:
        """Tell which nodes make each graph unusual, whether it is flagged or not.

        >>> from rwkplus.detect import SurpriseDetector
        >>> SurpriseDetector().fit(["CCC"] * 9).explain(["CCO"])[0].nodes
        (2,)
        """
        table = self._later(X)
        check_nodes(table)
        return self._explain(table)

    def plot(self, X: Graphs, ax: Any = None) -> ScoresDisplay:  # noqa: ANN401
        """Draw a histogram of the scores of graphs with the threshold (extra: ``plot``).

        Args:
            X: Graphs in any form.
            ax: Axes to draw into; by default those of a new figure.

        Returns:
            The display, with ``figure_`` and ``ax_``.
        """
        return ScoresDisplay.from_estimator(self, X).plot(ax)

    def plot_explanations(self, X: Graphs, axes: Any = None) -> ExplanationDisplay:  # noqa: ANN401
        """Draw graphs, the most anomalous ones first, with their unusual parts (extra: ``plot``).

        Args:
            X: Graphs in any form; of more than twelve the most anomalous ones are drawn.
            axes: Axes for each graph; by default those of a new figure.

        Returns:
            The display, with ``figure_`` and ``axes_``.
        """
        return ExplanationDisplay.from_estimator(self, X).plot(axes)

    @property
    def explains(self) -> bool:
        """Whether :meth:`explain` can tell anything of graphs such as the fitted ones."""
        return True

    @property
    def label_reader(self) -> Reader:
        """How nodes and edges came by the labels that a fitted detector sees."""
        return self.reader_

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns that are left out on purpose."""
        return tuple(self.ignore)

    def labelled(self, X: Graphs) -> list[nx.Graph]:
        """Return graphs with the labels that the detector sees, for pictures; with empty ones where there are none.

        >>> from rwkplus.detect import SurpriseDetector
        >>> SurpriseDetector().fit(["CC", "CO"]).labelled(["CCO"])[0].nodes(data="label")
        NodeDataView({0: 'C', 1: 'C', 2: 'O'}, data='label')
        """
        table, reader = self._later(X), self.label_reader
        drawn = graphs_to_draw(reader.labelled(table))
        if reader.nodes.names == UNIFORM_LABEL:
            for graph in drawn:
                nx.set_node_attributes(graph, "", "label")
        return drawn

    def which_are_flagged(self, judged: Judgments) -> str:
        """Say which scores make an anomaly, positive as people read them.

        >>> from rwkplus.detect import SurpriseDetector
        >>> detector = SurpriseDetector().fit(["CCC"] * 9)
        >>> detector.which_are_flagged(detector.judge(["CCC", "CCO"]))
        'scores above 0'
        """
        threshold = f"{0.0 - self.offset_:.3g}"
        of_equals = (judged.scores[judged.flagged] == self.offset_).any()
        return f"scores above {threshold}" + (f", and the most unusual of those at {threshold}" if of_equals else "")

    def _html_repr(self) -> str:
        """For notebooks: scikit-learn's diagram with the parameters and, once fitted, what was found."""
        diagram: str = estimator_html_repr(self)
        if not hasattr(self, "offset_"):
            return diagram
        scores = self._fitted.first
        flagged = _beyond(self._border, scores, self._fitted.second)
        told = f"{flagged.sum():,} of the {scores.size:,} fitted graphs are anomalies"
        return f"{diagram}<p>{told}: {self.which_are_flagged(Judgments(0.0 - scores, flagged))}</p>"

    def _settled(self, scored: Scored) -> dict[str, Any]:
        """What follows from the scores of the fitted graphs: all attributes that detectors share."""
        scored = scored._replace(second=np.round(scored.second, DIGITS))
        order = np.lexsort((scored.second, scored.first, scored.digest))
        digest = scored.digest[order]
        begins = np.concatenate([[True], digest[1:] != digest[:-1]])
        # Twins have each other: one of them may have been a reference, and rounding may tell them apart.
        known = scored.take(order[begins])
        place = np.searchsorted(known.digest, scored.digest)
        fitted = known.take(place)
        count = round(self.contamination * fitted.first.size)
        last = np.lexsort((fitted.second, fitted.first))[-1 - count]
        border = (float(fitted.first[last]), float(fitted.second[last]))
        if border[0] <= self._rounding:
            border = (self._rounding, np.inf)
        return {
            "_fitted": fitted,
            "_known": known,
            "_border": border,
            "fitted_scores_": 0.0 - fitted.first,
            "offset_": 0.0 - border[0],
        }

    def _learned(self) -> tuple[dict[str, Any], Mapping[str, NDArray[Any]]]:
        learned, arrays = self._model()
        return learned, arrays | {f"fitted.{name}": part for name, part in self._fitted._asdict().items()}

    def _restore(self, learned: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self._check()
        kinds = {"first": "f", "second": "f", "digest": "u"}
        fitted = Scored(**{name: array(arrays, f"fitted.{name}", kind, 1) for name, kind in kinds.items()})
        if len({part.size for part in fitted}) != 1 or not fitted.first.size:
            raise ValueError("its scores do not fit together")
        own = {name: part for name, part in arrays.items() if not name.startswith("fitted.")}
        if len(arrays) - len(own) != len(kinds):
            raise ValueError("it holds other arrays than a detector needs")
        model = self._restored_model(learned, own, fitted.first.size)
        self.__dict__.update(model | self._settled(fitted))

    def _check(self) -> None:
        """Refuse impossible parameters; detectors with more of them add theirs."""
        contamination, ignore = self.contamination, getattr(self, "ignore", ())
        if isinstance(contamination, bool) or not isinstance(contamination, Real) or not 0 < contamination <= 0.5:
            raise ParameterError(
                f"contamination is the expected share of anomalies, above 0 and at most 0.5; got {contamination!r}."
            )
        check_ignore(ignore)

    def _table(self, X: Graphs) -> GraphTable:
        return GraphTable.of(X, ignore=self.ignored)

    def _later(self, X: Graphs) -> GraphTable:
        check_is_fitted(self)
        return self._table(X)

    @property
    def _rounding(self) -> float:
        """First scores up to this may be those of graphs that do not differ from the others at all."""
        return -np.inf

    @abstractmethod
    def _learn(self, table: GraphTable) -> tuple[dict[str, Any], Scored]:
        """Learn from graphs: attributes to keep, and the graphs scored as if the others were all there is."""

    @abstractmethod
    def _scores(self, table: GraphTable) -> Scored:
        """Score later graphs."""

    @abstractmethod
    def _explain(self, table: GraphTable) -> list[Explanation]: ...

    @abstractmethod
    def _model(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What was learned, scores of the fitted graphs aside, as JSON values and arrays."""

    @abstractmethod
    def _restored_model(
        self, learned: dict[str, Any], arrays: dict[str, NDArray[Any]], num_graphs: int
    ) -> dict[str, Any]:
        """Attributes from what :meth:`_model` returned, all of it checked; ``num_graphs`` were fitted."""


def highest_by_graph(graphs: GraphArrays, values: Floats) -> Floats:
    """Largest value of the nodes of each graph ``(B,)``, 0 for graphs without nodes."""
    highest = np.zeros(graphs.num_graphs)
    np.maximum.at(highest, graphs.graph, values)
    return highest


def explanations(table: GraphTable, graphs: GraphArrays, node_scores: Floats) -> list[Explanation]:
    """Cut the scores of all nodes ``(N,)`` into graphs and choose the unusual nodes of each."""
    highest = highest_by_graph(graphs, node_scores)
    unusual = (node_scores > 0) & (node_scores >= PROMINENT * highest[graphs.graph])
    part = unusual.copy()
    part[graphs.source[unusual[graphs.target]]] = True
    part[graphs.target[unusual[graphs.source]]] = True
    found = []
    for i, (a, b) in enumerate(zip(graphs.node_ptr[:-1].tolist(), graphs.node_ptr[1:].tolist(), strict=True)):
        ids = tuple(table.node_ids(i))
        found.append(Explanation(node_scores[a:b], _marked(ids, unusual[a:b]), _marked(ids, part[a:b]), ids))
    return found


def graph_digests(graphs: GraphArrays) -> Codes:
    """A number for each graph ``(B,)``: the same for the same nodes and edges, in any company and every process.

    Labels count by their names, attributes by their values; the order of the nodes matters, that of the edges does not.

    >>> table = GraphTable.of(["CCO", "CCN", "CCO"])
    >>> arrays = Reader.fit(table).read(table)
    >>> digests = graph_digests(arrays)
    >>> digests[0] == digests[2], digests[0] == digests[1]
    (np.True_, np.False_)
    """
    nodes = graphs.label_code[graphs.label] if graphs.label.size else _cells(graphs.x)
    edges = np.zeros(graphs.source.size, np.uint64)
    if graphs.edge_label is not None:
        edges = graphs.edge_label_code[graphs.edge_label]
    if graphs.edge_attr is not None:
        edges = edges + _cells(graphs.edge_attr)
    if graphs.weight is not None:
        edges = edges + mix(_bits(graphs.weight))
    return np.asarray(hash_graphs(graphs.node_ptr, graphs.edge_ptr, graphs.source, graphs.target, nodes, edges))


def _cells(values: Floats) -> Codes:
    """A number for each row; cells of 0 do not count, so that columns which others bring change nothing."""
    total = np.zeros(len(values), np.uint64)
    for k in range(values.shape[1]):
        column = values[:, k]
        total += np.where(column != 0, mix(_bits(column) + mix(np.full(1, k, np.uint64) + STEP)), np.uint64(0))
    return total


def _bits(values: Floats) -> Codes:
    return np.ascontiguousarray(values, np.float64).view(np.uint64)


def _beyond(border: tuple[float, float], first: Floats, second: Floats) -> NDArray[np.bool_]:
    return np.asarray((first > border[0]) | ((first == border[0]) & (second > border[1])))


def _marked(ids: tuple[Any, ...], marked: NDArray[np.bool_]) -> tuple[Any, ...]:
    return tuple(ids[k] for k in np.flatnonzero(marked))

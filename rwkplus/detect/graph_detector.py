"""What all detectors share: scores and offset in scikit-learn's sign, fitted graphs recognized, unusual nodes told."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from rwkplus.drawing import graphs_to_draw
from rwkplus.errors import ParameterError
from rwkplus.loops.random_streams import STEP, mix
from rwkplus.loops.walks import hash_graphs
from rwkplus.saving import Savable, array
from rwkplus.table import Graphs, GraphTable, Reader
from rwkplus.table.arrays import Codes, Floats, GraphArrays, Ints
from rwkplus.table.reader import ALIKE
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
    >>> why.scores
    {'a': 0.2, 'b': 3.0}
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
        """How strongly to draw each node of the part, between 0 and 1.

        >>> Explanation(np.array([0.2, 3.0]), nodes=("b",), part=("a", "b"), ids=("a", "b")).strength
        {'a': 0.5, 'b': 1.0}
        """
        unusual = set(self.nodes)
        return {v: 1.0 if v in unusual else 0.5 for v in self.part}


class Judgments(NamedTuple):
    """What a detector says of some graphs.

    >>> Judgments(np.array([-0.5, -4.0]), np.array([False, True])).flagged.sum()
    np.int64(1)
    """

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
        """Put blocks of graphs behind one another.

        >>> block = Scored(np.ones(2), np.zeros(2), np.zeros(2, np.uint64))
        >>> len(Scored.joined([block, block]).first)
        4
        """
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
    fitted_scores_: Floats
    offset_: float
    _fitted: Scored  # of all fitted graphs, in their order
    _known: Scored  # of the distinct ones among them, in the order of their digests
    _border: tuple[float, float]  # anomalies have a higher first score, or the same and a higher second score

    def fit(self, X: Graphs, y: object = None) -> Self:
        """Learn what is usual in the graphs ``X``; a share ``contamination`` of them are taken for anomalies.

        >>> import networkx as nx
        >>> from rwkplus.detect import SurpriseDetector
        >>> rings, star = [nx.cycle_graph(n) for n in (4, 5, 6) * 6], nx.star_graph(4)
        >>> SurpriseDetector(0.05).fit([*rings, star]).offset_
        0.0
        """
        check_contamination(self.contamination)
        learned, scored = self._learn(self._table(X, self._ignored_by_fit))
        self.__dict__.update(learned | self._settled(scored))
        return self

    def score_samples(self, X: Graphs) -> Floats:
        """How usual graphs are: the lower, the more anomalous ``(B,)``.

        >>> import networkx as nx
        >>> from rwkplus.detect import SurpriseDetector
        >>> rings, star = [nx.cycle_graph(n) for n in (4, 5, 6) * 6], nx.star_graph(4)
        >>> SurpriseDetector().fit(rings).score_samples([rings[0], star]).round(2)
        array([ 0.  , -2.94])
        """
        return self.judge(X).scores

    def decision_function(self, X: Graphs) -> Floats:
        """``score_samples - offset_``: negative for anomalies ``(B,)``.

        Graphs of just the score ``offset_`` are at 0, or barely below where the second score makes them anomalies.

        >>> import networkx as nx
        >>> from rwkplus.detect import SurpriseDetector
        >>> rings, star = [nx.cycle_graph(n) for n in (4, 5, 6) * 6], nx.star_graph(4)
        >>> SurpriseDetector().fit(rings).decision_function([rings[0], star]).round(2)
        array([ 0.  , -2.94])
        """
        judged = self.judge(X)
        difference = judged.scores - self.offset_
        return np.where(judged.flagged & (difference == 0), JUST_BELOW, difference)

    def predict(self, X: Graphs) -> Ints:
        """-1 for anomalies, 1 for the others ``(B,)``.

        >>> import networkx as nx
        >>> from rwkplus.detect import SurpriseDetector
        >>> rings, star = [nx.cycle_graph(n) for n in (4, 5, 6) * 6], nx.star_graph(4)
        >>> SurpriseDetector().fit(rings).predict([rings[0], star])
        array([ 1, -1])
        """
        return np.where(self.judge(X).flagged, -1, 1)

    def fit_predict(self, X: Graphs, y: object = None) -> Ints:
        """Fit and judge the same graphs, each by the others: -1 for anomalies, 1 for the rest ``(B,)``.

        >>> import networkx as nx
        >>> from rwkplus.detect import SurpriseDetector
        >>> rings, star = [nx.cycle_graph(n) for n in (4, 5, 6) * 6], nx.star_graph(4)
        >>> SurpriseDetector(0.05).fit_predict([*rings, star])
        array([ 1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,
                1, -1])
        """
        return np.where(self.fit_judge(X, y).flagged, -1, 1)

    def judge(self, X: Graphs) -> Judgments:
        """Score graphs and tell which are anomalies, in one pass.

        >>> import networkx as nx
        >>> from rwkplus.detect import SurpriseDetector
        >>> rings, star = [nx.cycle_graph(n) for n in (4, 5, 6) * 6], nx.star_graph(4)
        >>> SurpriseDetector().fit(rings).judge([rings[0], star]).flagged
        array([False,  True])
        """
        check_is_fitted(self)
        found = self._scores(self._table(X, self.ignored))
        place = np.minimum(np.searchsorted(self._known.digest, found.digest), self._known.digest.size - 1)
        again = self._known.digest[place] == found.digest
        first = np.where(again, self._known.first[place], found.first)
        second = np.where(again, self._known.second[place], np.round(found.second, DIGITS))
        return Judgments(0.0 - first, _beyond(self._border, first, second))

    def fit_judge(self, X: Graphs, y: object = None) -> Judgments:
        """Fit and judge the same graphs, each by the others: what :meth:`judge` would say, without a second pass.

        >>> import networkx as nx
        >>> from rwkplus.detect import SurpriseDetector
        >>> rings, star = [nx.cycle_graph(n) for n in (4, 5, 6) * 6], nx.star_graph(4)
        >>> SurpriseDetector(0.05).fit_judge([*rings, star]).flagged.nonzero()[0]
        array([18])
        """
        fitted = self.fit(X, y)._fitted
        return Judgments(0.0 - fitted.first, _beyond(self._border, fitted.first, fitted.second))

    def explain(self, X: Graphs) -> list[Explanation]:
        """Tell which nodes make each graph unusual, whether it is flagged or not.

        >>> import networkx as nx
        >>> from rwkplus.detect import SurpriseDetector
        >>> rings, star = [nx.cycle_graph(n) for n in (4, 5, 6) * 6], nx.star_graph(4)
        >>> star.add_edge(4, 5)
        >>> SurpriseDetector().fit(rings).explain([star])[0].nodes
        (0, 1, 2, 3, 5)
        """
        check_is_fitted(self)
        return self._explain(self._table(X, self.ignored))

    @property
    def explains(self) -> bool:
        """Whether :meth:`explain` can tell anything of graphs such as the fitted ones.

        >>> from rwkplus.detect import WalkKernelDetector
        >>> WalkKernelDetector().fit(["CC", "CO"]).explains
        True
        """
        return True

    @property
    def label_reader(self) -> Reader | None:
        """How nodes and edges came by the labels that a fitted detector sees; None where it sees attributes."""
        return None

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns that are left out on purpose.

        >>> from rwkplus.detect import SurpriseDetector
        >>> SurpriseDetector(ignore=("edges.label",)).ignored
        ('edges.label',)
        """
        return tuple(self.ignore)

    def labelled(self, X: Graphs) -> list[nx.Graph]:
        """Return graphs with the labels that the detector sees, for pictures; with empty ones where there are none.

        >>> from rwkplus.detect import SurpriseDetector
        >>> SurpriseDetector().fit(["CC", "CO"]).labelled(["CCO"])[0].nodes(data="label")
        NodeDataView({0: 'C', 1: 'C', 2: 'O'}, data='label')
        """
        check_is_fitted(self)
        reader = self._seen_by()
        drawn = graphs_to_draw(reader.labelled(self._table(X, self.ignored)))
        if reader.nodes.names == ALIKE:
            for graph in drawn:
                nx.set_node_attributes(graph, "", "label")
        return drawn

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # graphs, not a matrix
        return tags

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
        check_contamination(self.contamination)
        kinds = {"first": "f", "second": "f", "digest": "u"}
        fitted = Scored(**{name: array(arrays, f"fitted.{name}", kind, 1) for name, kind in kinds.items()})
        if len({part.size for part in fitted}) != 1 or not fitted.first.size:
            raise ValueError("its scores do not fit together")
        own = {name: part for name, part in arrays.items() if not name.startswith("fitted.")}
        if len(arrays) - len(own) != len(kinds):
            raise ValueError("it holds other arrays than a detector needs")
        model = self._restored_model(learned, own, fitted.first.size)
        self.__dict__.update(model | self._settled(fitted))

    @property
    def _ignored_by_fit(self) -> tuple[str, ...]:
        """Columns that are left out before anything is fitted."""
        check_ignore(self.ignore)
        return self.ignored

    @staticmethod
    def _table(X: Graphs, ignore: tuple[str, ...]) -> GraphTable:
        return GraphTable.of(X, ignore=ignore)

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
    def _seen_by(self) -> Reader:
        """How graphs are read, for pictures."""

    @abstractmethod
    def _model(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What was learned, scores of the fitted graphs aside, as JSON values and arrays."""

    @abstractmethod
    def _restored_model(
        self, learned: dict[str, Any], arrays: dict[str, NDArray[Any]], num_graphs: int
    ) -> dict[str, Any]:
        """Attributes from what :meth:`_model` returned, all of it checked; ``num_graphs`` were fitted."""


def check_contamination(contamination: object) -> None:
    """Raise unless the share of anomalies is above 0 and at most a half.

    >>> check_contamination(0.05)
    >>> check_contamination(5)
    Traceback (most recent call last):
    rwkplus.errors.ParameterError: contamination is the expected share of anomalies, above 0 and at most 0.5; got 5.
    """
    number = isinstance(contamination, int | float | np.integer | np.floating) and not isinstance(contamination, bool)
    if not number or not 0 < contamination <= 0.5:  # type: ignore[operator]
        raise ParameterError(
            f"contamination is the expected share of anomalies, above 0 and at most 0.5; got {contamination!r}."
        )


def highest_by_graph(graphs: GraphArrays, values: Floats) -> Floats:
    """Largest value of the nodes of each graph ``(B,)``, 0 for graphs without nodes.

    >>> table = GraphTable.of(["CC", "CCO"])
    >>> arrays = Reader.fit(table).read(table)
    >>> highest_by_graph(arrays, np.array([1.0, 2.0, 0.0, 5.0, 4.0]))
    array([2., 5.])
    """
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

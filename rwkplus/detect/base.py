"""What all detectors share: the sign of scores, the threshold, and the way in."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from rwkplus.detect.explanation import Explanation
from rwkplus.drawing import graphs_to_draw
from rwkplus.errors import ParameterError
from rwkplus.table import Graphs, GraphTable, Reader
from rwkplus.table.arrays import Floats, Ints
from rwkplus.table.reader import ALIKE
from rwkplus.types import check_ignore


class GraphDetector(OutlierMixin, BaseEstimator, ABC):
    """Base of the detectors.

    **Signs.** Methods follow scikit-learn: :meth:`score_samples` and :meth:`decision_function` are *low* for anomalies
    and :meth:`predict` says -1 for them. Attributes follow PyOD: ``decision_scores_`` is *high* for anomalies,
    ``threshold_`` is the score above which a graph is flagged, and ``labels_`` says 1 for those that were. So
    ``score_samples`` is the negative of :meth:`anomaly_scores`, and ``offset_`` that of ``threshold_``.

    **Fitted graphs.** ``labels_``, ``decision_scores_`` and :meth:`fit_predict` judge each fitted graph by the others.
    :meth:`predict` takes all graphs for new ones: a fitted graph then meets itself, and looks more usual than it is.

    Attributes:
        decision_scores_: How anomalous every fitted graph is, compared with the others ``(B,)``.
        threshold_: The ``1 - contamination`` quantile of those, or what rounding makes of a score of 0 if that is more.
    """

    contamination: float
    ignore: Sequence[str]

    seed_: int
    decision_scores_: Floats
    threshold_: float

    def fit(self, graphs: Graphs, y: object = None) -> Self:
        """Learn what is usual in ``graphs``; a share ``contamination`` of them may be anomalies."""
        check_contamination(self.contamination)
        self.__dict__.pop("threshold_", None)  # lest half of a new fit looks like a fit
        self.decision_scores_ = self._learn(self._table(graphs, self._ignored_by_fit))
        self.threshold_ = max(float(np.quantile(self.decision_scores_, 1 - self.contamination)), self._rounding)
        return self

    def anomaly_scores(self, graphs: Graphs) -> Floats:
        """How anomalous graphs are: higher is more so ``(B,)``."""
        check_is_fitted(self)
        return self._scores(self._table(graphs, self.ignored))

    def score_samples(self, graphs: Graphs) -> Floats:
        """How usual graphs are: the lower, the more anomalous ``(B,)``."""
        return -self.anomaly_scores(graphs)

    def decision_function(self, graphs: Graphs) -> Floats:
        """``score_samples - offset_``: negative for anomalies ``(B,)``."""
        return self.score_samples(graphs) - self.offset_

    def predict(self, graphs: Graphs) -> Ints:
        """-1 for anomalies, 1 for the others ``(B,)``; for fitted graphs see ``labels_`` and :meth:`fit_predict`."""
        return np.where(self.anomaly_scores(graphs) > self.threshold_, -1, 1)

    def fit_predict(self, graphs: Graphs, y: object = None) -> Ints:
        """Fit and judge the same graphs, each by the others: -1 for anomalies, 1 for the rest ``(B,)``."""
        return 1 - 2 * self.fit(graphs, y).labels_

    def explain(self, graphs: Graphs) -> list[Explanation]:
        """Tell which nodes make each graph unusual, whether it is flagged or not."""
        check_is_fitted(self)
        return self._explain(self._table(graphs, self.ignored))

    @property
    def explains(self) -> bool:
        """Whether :meth:`explain` can tell anything of graphs such as the fitted ones."""
        return True

    @property
    def label_reader(self) -> Reader | None:
        """How nodes and edges came by the labels that a fitted detector sees; None where it sees attributes."""
        return None

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns that are left out on purpose."""
        return tuple(self.ignore)

    def labelled(self, graphs: Graphs) -> list[nx.Graph]:
        """Return graphs with the labels that the detector sees, for pictures; with empty ones where there are none."""
        check_is_fitted(self)
        reader = self._seen_by()
        drawn = graphs_to_draw(reader.labelled(self._table(graphs, self.ignored)))
        if reader.nodes.names == ALIKE:
            for graph in drawn:
                nx.set_node_attributes(graph, "", "label")
        return drawn

    def save(self, path: str | Path) -> Path:
        """Write everything fitted into one safetensors file, whole or not at all."""
        from rwkplus.detect.files import save_detector

        check_is_fitted(self)
        return save_detector(self, path)

    @property
    def offset_(self) -> float:
        """Scores of :meth:`score_samples` below this are anomalies."""
        return -self.threshold_

    @property
    def labels_(self) -> Ints:
        """1 for the fitted graphs that are anomalies, 0 for the others."""
        return (self.decision_scores_ > self.threshold_).astype(np.int64)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "threshold_")  # comes last

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # graphs, not a matrix
        return tags

    @property
    def _ignored_by_fit(self) -> tuple[str, ...]:
        """Columns that are left out before anything is fitted."""
        check_ignore(self.ignore)
        return self.ignored

    @staticmethod
    def _table(graphs: Graphs, ignore: tuple[str, ...]) -> GraphTable:
        return GraphTable.of(graphs, ignore=ignore)

    @property
    def _rounding(self) -> float:
        """Scores up to this may be those of graphs that do not differ at all."""
        return -np.inf

    @abstractmethod
    def _learn(self, table: GraphTable) -> Floats:
        """Learn from graphs and score each of them as if the others were all there is."""

    @abstractmethod
    def _scores(self, table: GraphTable) -> Floats: ...

    @abstractmethod
    def _explain(self, table: GraphTable) -> list[Explanation]: ...

    @abstractmethod
    def _seen_by(self) -> Reader:
        """How graphs are read, for pictures."""

    @abstractmethod
    def _packed(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What was learned, as JSON values and arrays."""

    @abstractmethod
    def _unpack(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take what :meth:`_packed` returned; raises ``KeyError``, ``TypeError`` or ``ValueError`` on anything else."""


def check_contamination(contamination: object) -> None:
    """Raise unless the share of anomalies is above 0 and at most a half."""
    number = isinstance(contamination, int | float | np.integer | np.floating) and not isinstance(contamination, bool)
    if not number or not 0 < contamination <= 0.5:  # type: ignore[operator]
        raise ParameterError(
            f"contamination is the expected share of anomalies, above 0 and at most 0.5; got {contamination!r}."
        )

"""Detectors of graphs for those who work with PyOD (extra: ``pyod``)."""

from typing import Any, Self, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rwkplus.detect.graph_detector import GraphDetector
from rwkplus.detect.surprise import SurpriseDetector
from rwkplus.errors import MissingExtraError, ParameterError
from rwkplus.table import Graphs, GraphTable
from rwkplus.table.arrays import Floats

try:
    from pyod.models.base import BaseDetector  # type: ignore[import-untyped, import-not-found, unused-ignore]
except ImportError as error:
    raise MissingExtraError("PyODDetector needs PyOD.", "Install it: pip install 'rwkplus[pyod]'.") from error


class PyODDetector(BaseDetector):  # type: ignore[misc]
    """A detector of graphs with PyOD's signs: scores are *high* for anomalies, labels are 1 for them and 0 otherwise.

    Args:
        detector: Any detector of :mod:`rwkplus.detect`; :class:`rwkplus.detect.SurpriseDetector` by default.
        contamination: Expected share of anomalies, above 0 and at most 0.5; takes the place of the detector's own.

    Attributes:
        detector_: The fitted detector.
        decision_scores_: How anomalous every fitted graph is, compared with the others ``(B,)``.
        threshold_: Scores above it are anomalies.
        labels_: 1 for the fitted graphs that are anomalies, 0 for the others ``(B,)``.

    Example:
        >>> import networkx as nx
        >>> detector = PyODDetector(contamination=0.1).fit([nx.cycle_graph(5)] * 9 + [nx.star_graph(4)])
        >>> detector.labels_.tolist()
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        >>> detector.predict([nx.cycle_graph(5), nx.star_graph(6)]).tolist()
        [0, 1]
    """

    def __init__(self, detector: GraphDetector | None = None, contamination: float = 0.1) -> None:
        super().__init__(contamination=contamination)
        self.detector = detector

    def fit(self, X: Graphs, y: object = None) -> Self:
        """Learn what is usual in the graphs ``X``."""
        if not (self.detector is None or isinstance(self.detector, GraphDetector)):
            raise ParameterError(f"detector must be a detector of rwkplus or None, got {self.detector!r}.")
        fresh = SurpriseDetector() if self.detector is None else clone(self.detector)
        detector = cast(GraphDetector, fresh.set_params(contamination=self.contamination))
        judged = detector.fit_judge(X)
        self._set_n_classes(y)
        self.detector_, self.decision_scores_ = detector, -judged.scores
        self._process_decision_scores()  # what PyOD's predict_proba needs
        self.threshold_, self.labels_ = -detector.offset_, judged.flagged.astype(int)
        return self

    def decision_function(self, X: Graphs) -> Floats:
        """How anomalous graphs are: higher is more so ``(B,)``."""
        check_is_fitted(self, ["decision_scores_", "threshold_", "labels_"])
        return -self.detector_.score_samples(X)

    def predict_proba(self, X: Graphs, method: str = "linear", return_confidence: bool = False) -> Any:  # noqa: ANN401
        """PyOD's chances of being usual and of being an anomaly ``(B, 2)``."""
        check_is_fitted(self, ["decision_scores_", "threshold_", "labels_"])
        table = GraphTable.of(X, ignore=self.detector_.ignored)  # PyOD asks for a shape
        return super().predict_proba(table, method, return_confidence)

    def predict(self, X: Graphs, return_confidence: bool = False) -> Any:  # noqa: ANN401
        """1 for anomalies, 0 for the others ``(B,)``; with ``return_confidence``, also PyOD's confidence in that."""
        check_is_fitted(self, ["decision_scores_", "threshold_", "labels_"])
        found = np.where(self.detector_.judge(X).flagged, 1, 0)
        return (found, self.predict_confidence(X)) if return_confidence else found

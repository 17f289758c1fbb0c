"""What the estimators share: the choices that define a walk kernel, and how graphs are read."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rwkplus.errors import GraphError, ParameterError
from rwkplus.kernels.steps import step_weights
from rwkplus.table import Graphs, GraphTable, Reader
from rwkplus.table.blocks import ReadGraphs
from rwkplus.types import Assignment, Combine, KernelName, UnknownLabel, Walks, check_choice, check_ignore


class WalkEstimator(BaseEstimator):
    """Base of the estimators: the choices that define a walk kernel, checked in ``fit``."""

    kernel: KernelName
    steps: int
    combine: Combine | Sequence[float]
    decay: float
    walks: Walks
    assignment: Assignment
    include_zero_step: bool | None
    unknown_label: UnknownLabel
    ignore: Sequence[str]
    n_jobs: int | None

    reader_: Reader

    def _read_first(self, graphs: Graphs) -> ReadGraphs:
        """Check parameters and graphs, and keep how they are read; whatever was fitted before is gone."""
        self.__dict__.pop("map_", None)  # lest half of a new fit looks like a fit
        check_choice("kernel", self.kernel, KernelName)
        check_choice("walks", self.walks, Walks)
        check_choice("assignment", self.assignment, Assignment)
        check_choice("unknown_label", self.unknown_label, UnknownLabel)
        check_ignore(self.ignore)
        if self.n_jobs is not None and (not isinstance(self.n_jobs, int | np.integer) or self.n_jobs == 0):
            raise ParameterError(f"n_jobs must be None or an integer other than 0, got {self.n_jobs!r}.")
        if not (self.include_zero_step is None or isinstance(self.include_zero_step, bool | np.bool_)):
            raise ParameterError(f"include_zero_step must be True, False or None, got {self.include_zero_step!r}.")
        zero_step = self.kernel == "node-centric" if self.include_zero_step is None else self.include_zero_step
        weights = step_weights(self.steps, self.combine, self.decay, zero_step)
        table = GraphTable.of(graphs, ignore=tuple(self.ignore))
        reader = Reader.fit(table, self.ignore)
        if not reader.nodes.exists:
            raise GraphError(
                f"{table.called(0)} has nodes without labels or attributes. Give them some, such as their degrees: "
                "GraphTable.of(graphs).with_degrees()."
            )
        if self.kernel == "node-centric" and not reader.discrete:
            raise GraphError(
                f"the node-centric kernel needs labels, but there are attributes ({', '.join(reader.attributes)}). Use "
                "kernel='rwk+' for attributes, or leave them out with ignore=."
            )
        self.reader_, self.n_features_in_, self.step_weights_ = reader, reader.nodes.width, weights
        return ReadGraphs(table, reader)

    def _read_later(self, graphs: Graphs) -> ReadGraphs:
        """Read graphs as the fitted ones were read."""
        check_is_fitted(self)
        table = GraphTable.of(graphs, ignore=tuple(self.ignore))
        if self.unknown_label == "new":
            self.reader_.warn_of_unknown(table)
        return ReadGraphs(table, self.reader_, self.unknown_label)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "map_")  # comes last

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # graphs, not a matrix
        return tags

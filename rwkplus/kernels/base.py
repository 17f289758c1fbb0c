"""What the estimators share: reading graphs through the door, and the scikit-learn manners."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch_geometric.data import Batch

from rwkplus.errors import GraphError, ParameterError
from rwkplus.graphs import Graphs, Schema, as_batch
from rwkplus.kernels.steps import step_weights
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

    schema_: Schema

    def _read_first(self, graphs: Graphs) -> Batch:
        """Check parameters and graphs, and keep what the colors mean; whatever was fitted before is gone."""
        if hasattr(self, "map_"):
            del self.map_  # lest half of a new fit looks like a fit
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
        batch = as_batch(graphs, ignore=self.ignore)
        self.schema_ = Schema.of(batch)
        self.n_features_in_ = self.schema_.nodes.width
        self.step_weights_ = weights
        if self.kernel == "node-centric" and not self.schema_.discrete:
            raise GraphError(
                "the node-centric kernel needs discrete labels: one-hot rows in x, and in edge_attr where there is "
                "one. Use kernel='rwk+' for continuous features."
            )
        return batch

    def _read_later(self, graphs: Graphs) -> Batch:
        """Read graphs as the fitted ones were read."""
        check_is_fitted(self)
        batch = self.schema_.conform(as_batch(graphs, ignore=self.ignore), self.unknown_label)
        if self.unknown_label == "new":
            self.schema_.warn_of_strangers(batch)
        return batch

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "map_")  # comes last

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # graphs, not a matrix
        return tags

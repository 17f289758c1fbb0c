"""What estimators of graphs and of nodes have in common."""

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import nn

from rwkplus.errors import ParameterError
from rwkplus.tasks.node_model import TrainedNodes
from rwkplus.tasks.settings import Settings
from rwkplus.tasks.trained import TrainedModel
from rwkplus.types import seed_of


def refuse_weights(sample_weight: object) -> None:
    """Scores are not weighted, and must not look as if they were."""
    if sample_weight is not None:
        raise ParameterError("scores know no sample_weight: give what predict returns to sklearn.metrics.")


class NetworkEstimator(BaseEstimator):
    """A network with scikit-learn's manners.

    Estimators take ``model``, ``model_params``, ``random_state`` and whatever ``settings`` names.
    """

    settings: ClassVar[tuple[str, ...]]
    """Arguments that go to :class:`Settings` as they are."""
    random_state: int | np.random.RandomState | None
    trained_: Any
    model_: nn.Module

    def save(self, path: str | Path) -> Path:
        """Write the network to one safetensors file; never a pickle."""
        check_is_fitted(self)
        written: Path = self.trained_.save(path)
        return written

    def _settings(self) -> Settings:
        given = {name: getattr(self, name) for name in self.settings}
        return Settings(**given, random_state=seed_of(self.random_state))

    @classmethod
    def _restored(cls, trained: TrainedModel | TrainedNodes, **more: Any) -> Self:  # noqa: ANN401
        """An estimator as if it had trained the network itself; ``more`` are arguments that no setting tells."""
        stored = trained.facts.get("settings", {})
        known = {name: stored[name] for name in (*cls.settings, "random_state") if name in stored}
        given = trained.facts.get("run", {}).get("model_params", trained.params)  # without what was read off the graphs
        estimator = cls(trained.name, model_params=given or None, **known, **more)
        estimator._adopt(trained)
        return estimator

    def _adopt(self, trained: Any) -> None:  # noqa: ANN401
        self.trained_ = trained
        self.model_ = trained.model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "trained_")

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # graphs, not a matrix
        return tags

"""Networks with scikit-learn's manners: ``fit``, ``predict``, ``score``, ``save``, ``load``."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from rwkplus.errors import DataError
from rwkplus.io.pyg import pyg_items
from rwkplus.table import Graphs
from rwkplus.tasks.dataset import GraphDataset, read_labels
from rwkplus.tasks.inputs import Features, check_unknown
from rwkplus.tasks.loop import OnEpoch
from rwkplus.tasks.network_estimator import NetworkEstimator, refuse_weights
from rwkplus.tasks.settings import LrSchedule
from rwkplus.tasks.targets import Balance, Classes, ClassName, Loss, Task, goal_of
from rwkplus.tasks.trained import TrainedModel
from rwkplus.tasks.training import train
from rwkplus.types import UnknownLabel


class GraphEstimator(NetworkEstimator, ABC):
    """What classifier and regressor share.

    Args:
        model: Registered name (``"kergnn"``, ``"rwnn"``, ``"gin"``, ``"gnn"``, ``"igad"``) or a class.
        model_params: Keyword arguments of the network, such as ``{"kernel": "rwk+", "steps": 3}``.
        epochs: Passes over the training graphs.
        batch_size: Most graphs per step.
        lr: Learning rate of Adam.
        lr_schedule: ``"halve"``, or ``"cosine"``, where the rate falls to zero over all epochs.
        halve_lr_every: Epochs after which the learning rate halves, again and again; 0 keeps it.
        weight_decay: Decoupled weight decay.
        validation: Share of the graphs that chooses the best epoch; 0 keeps the last epoch.
        metric: Score that chooses; the usual one of the task by default.
        patience: Epochs without a better score after which to stop; None trains all epochs.
        features: Node features where graphs have none: ``"auto"``, ``"given"``, ``"degree"`` or ``"constant"``;
            ``"discrete"`` reads label numbers.
        ignore: Fields of graphs to leave out on purpose.
        balance: For classes, ``"logits"`` learns as if all were as frequent (logit adjustment).
        positive: Of two classes the one that scores such as ``positive_f1`` and ``roc_auc`` are about; the second one
            by default.
        loss: For numbers, the ``"squared"`` or the ``"absolute"`` error.
        unknown_label: Blank labels that training did not see (``"ignore"``), or refuse them (``"error"``).
        accelerator: Lightning's name of the hardware.
        random_state: Seed, scikit-learn's ``RandomState``, or None for a seed of chance.

    Attributes:
        trained_: The network and how to read graphs, a :class:`rwkplus.tasks.TrainedModel`.
        model_: The network itself.
        history_: Losses and chosen score, epoch by epoch; not in files.
        best_epoch_: Epoch whose weights were kept, counted from 0.
    """

    kinds: ClassVar[tuple[str, ...]]
    settings = (
        "epochs", "batch_size", "lr", "lr_schedule", "halve_lr_every", "weight_decay", "validation", "metric",
        "patience", "accelerator",
    )  # fmt: skip
    trained_: TrainedModel

    def __init__(
        self,
        model: str | type[nn.Module] = "kergnn",
        *,
        model_params: Mapping[str, Any] | None = None,
        epochs: int = 200,
        batch_size: int = 64,
        lr: float = 1e-2,
        lr_schedule: LrSchedule = "halve",
        halve_lr_every: int = 50,
        weight_decay: float = 0.0,
        validation: float = 0.1,
        metric: str | None = None,
        patience: int | None = None,
        features: Features = "auto",
        ignore: Sequence[str] = (),
        balance: Balance = "none",
        positive: ClassName | None = None,
        loss: Loss = "squared",
        unknown_label: UnknownLabel = "ignore",
        accelerator: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.model = model
        self.model_params = model_params
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.lr_schedule = lr_schedule
        self.halve_lr_every = halve_lr_every
        self.weight_decay = weight_decay
        self.validation = validation
        self.metric = metric
        self.patience = patience
        self.features = features
        self.ignore = ignore
        self.balance = balance
        self.positive = positive
        self.loss = loss
        self.unknown_label = unknown_label
        self.accelerator = accelerator
        self.random_state = random_state

    def fit(self, graphs: Graphs, y: object = None, *, on_epoch: OnEpoch | None = None) -> Self:
        """Train the network; labels come from ``y`` or from ``graph.y``."""
        check_unknown(self.unknown_label)
        items = pyg_items(graphs)
        labels = read_labels(items, y)
        data = GraphDataset(
            items,
            labels,
            task=self._task(labels),
            features=self.features,
            ignore=self.ignore,
            balance=self.balance,
            positive=self.positive,
            loss=self.loss,
        )
        result = train(self.model, data, model_params=self.model_params, settings=self._settings(), on_epoch=on_epoch)
        self._adopt(result.trained)
        self.history_ = result.history
        return self

    def save(self, path: str | Path) -> Path:
        """Write the network to one safetensors file; never a pickle."""
        check_is_fitted(self)
        self.trained_.facts["unknown_label"] = self.unknown_label
        return super().save(path)

    def predict(self, graphs: Graphs) -> NDArray[Any]:
        """Predict the label of every graph."""
        check_is_fitted(self)
        return self.trained_.predict(graphs, unknown_label=self.unknown_label)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` or ``rwkplus train`` wrote."""
        trained = TrainedModel.load(path)
        if trained.target.kind not in cls.kinds:
            raise DataError(f"{path} holds a {trained.target.kind} model, not one for {cls.__name__}.")
        given = {"features": trained.inputs.features, "ignore": trained.inputs.ignore}
        if "unknown_label" in trained.facts:
            given["unknown_label"] = trained.facts["unknown_label"]
        return cls._restored(trained, **given, **goal_of(trained.target))

    @abstractmethod
    def _task(self, labels: NDArray[Any]) -> Task:
        """What labels of this shape ask for."""

    def _adopt(self, trained: TrainedModel) -> None:
        super()._adopt(trained)
        self.n_features_in_ = trained.inputs.width
        self.best_epoch_ = trained.facts.get("best_epoch")


class GraphClassifier(ClassifierMixin, GraphEstimator):
    """Classify graphs with a network; arguments and attributes are those of :class:`GraphEstimator`.

    One label per graph makes a classifier; rows of 0., 1. and nan, be it of one column, make yes-or-no questions, where
    nan marks what is not known. ``classes_`` are the classes, or the numbers of the questions, in the order of the
    columns of ``predict_proba``.

    Example:
        >>> from rwkplus.data import load
        >>> graphs = load("functional-groups")
        >>> classifier = GraphClassifier("gin", epochs=20, ignore=("edge_attr",)).fit(graphs[:150])
        >>> classifier.predict_proba(graphs[150:]).shape
        (50, 2)
    """

    kinds = ("classification", "multitask")

    def predict_proba(self, graphs: Graphs) -> NDArray[Any]:
        """Probability of each class, or of yes to each question: ``(B, C)``."""
        check_is_fitted(self)
        return self.trained_.predict_proba(graphs, unknown_label=self.unknown_label)

    def score(self, graphs: Graphs, y: object = None, sample_weight: None = None) -> float:
        """Accuracy; for several questions the mean area under the ROC curve."""
        refuse_weights(sample_weight)
        check_is_fitted(self)
        scores = self.trained_.scores(graphs, y, unknown_label=self.unknown_label)
        return scores.get("accuracy", scores["roc_auc"])

    def _task(self, labels: NDArray[Any]) -> Task:
        return "classification" if labels.ndim == 1 else "multitask"

    def _adopt(self, trained: TrainedModel) -> None:
        super()._adopt(trained)
        target = trained.target
        self.classes_ = np.array(target.names if isinstance(target, Classes) else range(target.width))


class GraphRegressor(RegressorMixin, GraphEstimator):
    """Predict numbers of graphs with a network; arguments and attributes are those of :class:`GraphEstimator`.

    Labels are one number per graph or a row of them, centered and scaled for training; nan marks missing ones.
    """

    kinds = ("regression",)

    def score(self, graphs: Graphs, y: object = None, sample_weight: None = None) -> float:
        """Coefficient of determination, mean over columns."""
        refuse_weights(sample_weight)
        check_is_fitted(self)
        return self.trained_.scores(graphs, y, unknown_label=self.unknown_label)["r2"]

    def _task(self, labels: NDArray[Any]) -> Task:
        return "regression"

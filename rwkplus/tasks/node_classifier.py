"""Node classification with scikit-learn's manners."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn
from torch_geometric.data import Data

from rwkplus.large.node_numbers import Nodes
from rwkplus.tasks.loop import OnEpoch
from rwkplus.tasks.network_estimator import NetworkEstimator, refuse_weights
from rwkplus.tasks.node_model import TrainedNodes
from rwkplus.tasks.node_task import ClassWeight, train_nodes
from rwkplus.tasks.settings import LrSchedule
from rwkplus.tasks.targets import ClassName


class NodeClassifier(ClassifierMixin, NetworkEstimator):
    """Classify the nodes of a graph; what ``fit`` and ``predict`` take is one PyG ``Data`` instead of rows.

    Args:
        model: Registered name or class of a network with outputs for every node. It reads the tensors of the graph
            themselves, not copies, and must not write into them.
        model_params: Keyword arguments of the network, such as ``{"conv": "RWKPlusConv", "steps": 4}``.
        epochs: Steps on the whole graph.
        lr: Learning rate of Adam.
        lr_schedule: ``"halve"``, or ``"cosine"``, where the rate falls to zero over all epochs.
        halve_lr_every: Epochs after which the learning rate halves, again and again; 0 keeps it.
        weight_decay: L2 penalty.
        metric: Score on the validation nodes that chooses the epoch: ``accuracy``, ``f1`` (macro), ``recall`` (macro),
            ``roc_auc``, ``ap`` or, for two classes, ``positive_f1`` and so on.
        patience: Epochs without a better score after which to stop; None trains all epochs.
        class_weight: What an error counts by class: ``"balanced"``, a dictionary, or all the same.
        positive: Of two classes the one that scores such as ``positive_f1`` and ``roc_auc`` are about; the second one
            by default.
        accelerator: Lightning's name of the hardware.
        random_state: Seed, scikit-learn's ``RandomState``, or None for a seed of chance.

    Attributes:
        trained_: The network, a :class:`rwkplus.tasks.TrainedNodes`.
        model_: The network itself.
        classes_: The classes in the order of the columns of ``predict_proba``.
        history_: Losses and chosen score, epoch by epoch.
        best_epoch_: Epoch whose weights were kept, counted from 0.

    Example:
        >>> from torch_geometric.datasets import KarateClub
        >>> data = KarateClub()[0]
        >>> classifier = NodeClassifier(epochs=5, accelerator="cpu").fit(data, validation=~data.train_mask)
        >>> classifier.predict_proba(data).shape
        (34, 4)
    """

    settings = ("epochs", "lr", "lr_schedule", "halve_lr_every", "weight_decay", "metric", "patience", "accelerator")
    trained_: TrainedNodes

    def __init__(
        self,
        model: str | type[nn.Module] = "gnn",
        *,
        model_params: Mapping[str, Any] | None = None,
        epochs: int = 200,
        lr: float = 1e-2,
        lr_schedule: LrSchedule = "halve",
        halve_lr_every: int = 50,
        weight_decay: float = 5e-4,
        metric: str | None = None,
        patience: int | None = None,
        class_weight: ClassWeight = None,
        positive: ClassName | None = None,
        accelerator: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.model = model
        self.model_params = model_params
        self.epochs = epochs
        self.lr = lr
        self.lr_schedule = lr_schedule
        self.halve_lr_every = halve_lr_every
        self.weight_decay = weight_decay
        self.metric = metric
        self.patience = patience
        self.class_weight = class_weight
        self.positive = positive
        self.accelerator = accelerator
        self.random_state = random_state

    def fit(
        self,
        data: Data,
        y: object = None,
        *,
        train: Nodes | None = None,
        validation: Nodes | None = None,
        on_epoch: OnEpoch | None = None,
    ) -> Self:
        """Train the network on some nodes of a graph, while others choose the epoch.

        Args:
            data: The graph, with ``x`` and ``edge_index``.
            y: One label for every node, ``data.y`` by default; those of other nodes than these are not looked at.
            train: Mask or numbers of the nodes to learn from, ``data.train_mask`` by default.
            validation: Those that choose the epoch, ``data.val_mask`` by default.
            on_epoch: Called with the scores of every epoch.
        """
        trained = train_nodes(
            self.model,
            data,
            y,
            train=train,
            validation=validation,
            model_params=self.model_params,
            settings=self._settings(),
            class_weight=self.class_weight,
            positive=self.positive,
            on_epoch=on_epoch,
        )
        self._adopt(trained)
        return self

    def predict(self, data: Data) -> NDArray[Any]:
        """Predict the class of every node: ``(N,)``."""
        check_is_fitted(self)
        return self.trained_.predict(data)

    def predict_proba(self, data: Data) -> NDArray[Any]:
        """Predict the probability of every class: ``(N, C)``."""
        check_is_fitted(self)
        return self.trained_.predict_proba(data)

    def score(self, data: Data, y: object = None, sample_weight: None = None, *, nodes: Nodes | None = None) -> float:
        """Accuracy on some nodes, those of ``data.test_mask`` by default."""
        refuse_weights(sample_weight)
        return self.scores(data, y, nodes=nodes)["accuracy"]

    def scores(self, data: Data, y: object = None, *, nodes: Nodes | None = None) -> dict[str, float]:
        """Every score on some nodes, those of ``data.test_mask`` by default."""
        check_is_fitted(self)
        return self.trained_.scores(data, y, nodes=nodes)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote."""
        trained = TrainedNodes.load(path)
        target = trained.target
        weights = None if target.weights is None else dict(zip(target.names, target.weights, strict=True))
        return cls._restored(trained, class_weight=weights, positive=target.positive)

    def _adopt(self, trained: TrainedNodes) -> None:
        super()._adopt(trained)
        self.classes_ = np.array(trained.target.names)
        self.n_features_in_ = trained.in_channels
        self.history_ = trained.history
        self.best_epoch_ = trained.facts.get("best_epoch")

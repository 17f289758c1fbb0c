"""Networks as scikit-learn estimators of graphs and of nodes: ``fit``, ``predict``, ``score``, ``save``, ``load``."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch_geometric.data import Data

from rwkplus.errors import ParameterError
from rwkplus.large.loaders import Nodes
from rwkplus.models.registry import assembled, name_to_save
from rwkplus.saving import Savable
from rwkplus.table import Graphs
from rwkplus.training.dataset import GraphDataset, check_fields
from rwkplus.training.inputs import Features, Inputs, as_items, as_table, check_unknown, read_labels
from rwkplus.training.loop import LrSchedule, Settings
from rwkplus.training.nodes import ClassWeight, NodeInputs, train_nodes
from rwkplus.training.results import TrainedNetwork, whole_job
from rwkplus.training.targets import Balance, Classes, ClassName, Loss, Task, goal_of, target_from_dict
from rwkplus.types import Callback, UnknownLabel, check_choice, check_ignore, seed_of


class _Learned(msgspec.Struct, forbid_unknown_fields=True):
    """What a file holds of a trained network beside its weights."""

    params: dict[str, Any]
    inputs: dict[str, Any]
    target: dict[str, Any]
    settings: dict[str, Any]
    best_epoch: int
    validation: dict[str, float]
    seconds: float
    run: dict[str, Any]
    test: dict[str, float]


class NetworkEstimator(Savable, BaseEstimator):
    """What estimators of graphs and of nodes have in common."""

    framework = "pt"
    kinds: ClassVar[tuple[str, ...]]
    """What its outputs may be for."""
    model: str | type[nn.Module]
    model_params: Mapping[str, Any] | None
    random_state: int | np.random.RandomState | None
    trained_: TrainedNetwork
    model_: nn.Module
    seed_: int

    def save(self, path: str | Path) -> Path:
        """Write the network to one safetensors file; never a pickle."""
        check_is_fitted(self)
        named = copy(self)
        named.model = name_to_save(self.model)
        return super(NetworkEstimator, named).save(path)

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401
        """Predict the label of every graph or node."""
        check_is_fitted(self)
        return self.trained_.predict(X, **self._options())

    def _options(self) -> dict[str, Any]:
        """How later graphs are read."""
        return {}

    def _settings(self) -> Settings:
        known = {own.name for own in fields(Settings)} - {"random_state"}
        given = {name: value for name, value in self.get_params(deep=False).items() if name in known}
        return Settings(**given, random_state=self.seed_)

    def _check(self) -> None:
        """Refuse arguments that are none."""
        self._settings()
        if self.model_params is not None and not isinstance(self.model_params, Mapping):
            raise ParameterError(f"model_params must be names and values, got {self.model_params!r}.")

    def _adopt(self, trained: TrainedNetwork) -> Self:
        """Take a trained network for one's own."""
        self.trained_, self.model_, self.history_ = trained, trained.model, trained.history
        self.n_features_in_, self.best_epoch_ = trained.inputs.width, trained.best_epoch
        if isinstance(self, ClassifierMixin):
            target = trained.target
            self.classes_ = np.array(target.names if isinstance(target, Classes) else range(target.width))
        return self

    def _learned(self) -> tuple[dict[str, Any], Mapping[str, Tensor]]:
        trained = self.trained_
        learned = {name: getattr(trained, name) for name in _Learned.__struct_fields__}
        learned |= {name: getattr(trained, name).to_dict() for name in ("inputs", "target", "settings")}
        return learned | {"params": dict(trained.params)}, trained.model.state_dict()

    def _restore(self, learned: dict[str, Any], arrays: dict[str, Any]) -> None:
        try:
            form = msgspec.convert(learned, _Learned)
        except msgspec.ValidationError as error:
            raise ValueError(f"its description is not complete: {error}") from error
        settings, inputs = Settings.from_dict(form.settings), self._inputs(form.inputs)
        self.seed_ = settings.random_state
        self._check()
        target = target_from_dict(form.target)
        if target.kind not in self.kinds or not 0 <= form.best_epoch < settings.epochs:
            raise ValueError(f"it is not what a {type(self).__name__} has learned")
        name = name_to_save(self.model)
        network = assembled(name, inputs.width, target.width, form.params, arrays)
        if isinstance(inputs, Inputs):
            check_fields(inputs, network)
        rest = (settings, form.best_epoch, form.validation, form.seconds, form.run, form.test)
        self._adopt(TrainedNetwork(network, inputs, target, name, form.params, *rest))

    @abstractmethod
    def _inputs(self, values: dict[str, Any]) -> Inputs | NodeInputs:
        """Read what ``to_dict`` of the inputs wrote."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "trained_")

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # graphs, not a matrix
        return tags


class GraphEstimator(NetworkEstimator):
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
        features: Node features: ``"given"`` reads labels as one-hot rows and attributes as they are, ``"discrete"`` the
            numbers of labels, column by column, for embeddings; ``"degree"`` and ``"constant"`` make some from the
            structure. ``"auto"`` chooses.
        ignore: Columns of graphs to leave out on purpose.
        balance: For classes, ``"logits"`` learns as if all were as frequent (logit adjustment).
        positive: Of two classes the one that scores such as ``positive_f1`` and ``roc_auc`` are about; the second one
            by default.
        loss: For numbers, the ``"squared"`` or the ``"absolute"`` error.
        unknown_label: Blank labels that training did not see (``"ignore"``), or refuse them (``"error"``).
        accelerator: Lightning's name of the hardware.
        random_state: Seed, scikit-learn's ``RandomState``, or None for a random one.

    Attributes:
        trained_: The network and how to read graphs, a :class:`rwkplus.training.TrainedNetwork`.
        model_: The network itself.
        history_: Losses and chosen score, epoch by epoch; not in files.
        best_epoch_: Epoch whose weights were kept, counted from 0.
        seed_: The seed that was used.
    """

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

    def fit(self, X: Graphs, y: object = None, *, callback: Callback | None = None) -> Self:
        """Train the network.

        Args:
            X: Graphs in any form that :meth:`rwkplus.table.GraphTable.of` reads.
            y: One label per graph, or a row of them; those that the graphs carry by default.
            callback: Called after every epoch.
        """
        self.seed_ = seed_of(self.random_state)
        self._check()
        items = as_items(X)
        table = as_table(items, self.ignore)
        labels = read_labels(items, y, table=table)
        data = GraphDataset(
            table,
            labels,
            task=self._task(labels),
            features=self.features,
            ignore=self.ignore,
            balance=self.balance,
            positive=self.positive,
            loss=self.loss,
        )
        return self._adopt(whole_job(self.model, data, self.model_params, self._settings()).run(callback=callback))

    def _check(self) -> None:
        super()._check()
        check_unknown(self.unknown_label)
        check_ignore(self.ignore)
        for name, choices in (("features", Features), ("balance", Balance), ("loss", Loss)):
            check_choice(name, getattr(self, name), choices)

    def _options(self) -> dict[str, Any]:
        return {"unknown_label": self.unknown_label}

    def _inputs(self, values: dict[str, Any]) -> Inputs:
        return Inputs.from_dict(values)

    @abstractmethod
    def _task(self, labels: NDArray[Any]) -> Task:
        """What labels of this shape ask for."""


class GraphClassifier(ClassifierMixin, GraphEstimator):
    """Classify graphs with a network; arguments and attributes are those of :class:`GraphEstimator`.

    One label per graph makes a classifier; rows of 0., 1. and nan, be it of one column, make yes-or-no questions, where
    nan marks what is not known. ``classes_`` are the classes, or the numbers of the questions, in the order of the
    columns of ``predict_proba``.

    Example:
        >>> from rwkplus.datasets import load_graphs
        >>> graphs = load_graphs("functional-groups")
        >>> classifier = GraphClassifier("gin", epochs=20, ignore=("edge_attr",)).fit(graphs[:150])
        >>> classifier.predict_proba(graphs[150:]).shape
        (50, 2)
    """

    kinds = ("classification", "multitask")

    def predict_proba(self, X: Graphs) -> NDArray[Any]:
        """Probability of each class, or of yes to each question: ``(B, C)``."""
        check_is_fitted(self)
        return self.trained_.predict_proba(X, **self._options())

    def score(self, X: Graphs, y: object = None, sample_weight: None = None) -> float:
        """Accuracy; for several questions the mean area under the ROC curve."""
        _refuse_weights(sample_weight)
        check_is_fitted(self)
        scores = self.trained_.scores(X, y, **self._options())
        return scores.get("accuracy", scores["roc_auc"])

    def _task(self, labels: NDArray[Any]) -> Task:
        return "classification" if labels.ndim == 1 else "multitask"


class GraphRegressor(RegressorMixin, GraphEstimator):
    """Predict numbers of graphs with a network; arguments and attributes are those of :class:`GraphEstimator`.

    Labels are one number per graph or a row of them, centered and scaled for training; nan marks missing ones.

    Example:
        >>> regressor = GraphRegressor("gin", epochs=2, ignore=("edge_attr",))
        >>> regressor = regressor.fit(["C" * n for n in range(2, 22)], range(20))
        >>> regressor.predict(["CCC", "CCCC"]).shape
        (2,)
    """

    kinds = ("regression",)

    def score(self, X: Graphs, y: object = None, sample_weight: None = None) -> float:
        """Coefficient of determination, mean over columns."""
        _refuse_weights(sample_weight)
        check_is_fitted(self)
        return self.trained_.scores(X, y, **self._options())["r2"]

    def _task(self, labels: NDArray[Any]) -> Task:
        return "regression"


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
        random_state: Seed, scikit-learn's ``RandomState``, or None for a random one.

    Attributes:
        trained_: The network, a :class:`rwkplus.training.TrainedNetwork`.
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

    kinds = ("classification",)

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
        X: Data,
        y: object = None,
        *,
        train: Nodes | None = None,
        validation: Nodes | None = None,
        callback: Callback | None = None,
    ) -> Self:
        """Train the network on some nodes of a graph, while others choose the epoch.

        Args:
            X: The graph, with ``x`` and ``edge_index``.
            y: One label for every node, ``X.y`` by default; those of other nodes than these are not looked at.
            train: Mask or numbers of the nodes to learn from, ``X.train_mask`` by default.
            validation: Those that choose the epoch, ``X.val_mask`` by default.
            callback: Called after every epoch.
        """
        self.seed_ = seed_of(self.random_state)
        self._check()
        trained = train_nodes(
            self.model,
            X,
            y,
            train=train,
            validation=validation,
            model_params=self.model_params,
            settings=self._settings(),
            class_weight=self.class_weight,
            positive=self.positive,
            callback=callback,
        )
        return self._adopt(trained)

    def predict_proba(self, X: Data) -> NDArray[Any]:
        """Predict the probability of every class: ``(N, C)``."""
        check_is_fitted(self)
        return self.trained_.predict_proba(X)

    def score(self, X: Data, y: object = None, sample_weight: None = None, *, nodes: Nodes | None = None) -> float:
        """Accuracy on some nodes, those of ``X.test_mask`` by default."""
        _refuse_weights(sample_weight)
        return self.scores(X, y, nodes=nodes)["accuracy"]

    def scores(self, X: Data, y: object = None, *, nodes: Nodes | None = None) -> dict[str, float]:
        """Every score on some nodes, those of ``X.test_mask`` by default."""
        check_is_fitted(self)
        return self.trained_.scores(X, y, nodes=nodes)

    def _inputs(self, values: dict[str, Any]) -> NodeInputs:
        try:
            return msgspec.convert(values, NodeInputs)
        except msgspec.ValidationError as error:
            raise ValueError(f"it does not say how its nodes are read: {error}") from error

    def _restore(self, learned: dict[str, Any], arrays: dict[str, Any]) -> None:
        super()._restore(learned, arrays)
        target = self.trained_.target
        if isinstance(self.class_weight, Mapping) and isinstance(target, Classes) and target.weights is not None:
            self.class_weight = dict(zip(target.names, target.weights, strict=True))  # JSON has only text for names


def estimator_of(trained: TrainedNetwork) -> NetworkEstimator:
    """The estimator that a trained network belongs to, as if it had trained it itself; it can be saved.

    >>> from rwkplus.training import train
    >>> X, y = ["C", "CC", "O", "OO"] * 5, [0, 0, 1, 1] * 5
    >>> trained = train("gin", X, y, settings=Settings(epochs=1), ignore=("edge_attr",))
    >>> type(estimator_of(trained)).__name__
    'GraphClassifier'
    """
    kind: type[NetworkEstimator] = NodeClassifier
    target, given = trained.target, {}
    if isinstance(trained.inputs, Inputs):
        kind = GraphRegressor if target.kind in GraphRegressor.kinds else GraphClassifier
        given = {"features": trained.inputs.features, "ignore": trained.inputs.ignore, **goal_of(target)}
    elif isinstance(target, Classes):
        weights = None if target.weights is None else dict(zip(target.names, target.weights, strict=True))
        given = {"class_weight": weights, "positive": target.positive}
    settings = trained.settings.to_dict()
    estimator = kind(**given)  # type: ignore[call-arg]
    own = {name: settings[name] for name in estimator.get_params(deep=False) if name in settings}
    # Without what was read off the graphs, so that it can be fitted to others.
    params = trained.run.get("model_params", trained.params)
    estimator.set_params(**own, model=trained.name, model_params=dict(params) or None)
    estimator.seed_ = trained.settings.random_state
    return estimator._adopt(trained)


def _refuse_weights(sample_weight: object) -> None:
    """Scores are not weighted, and must not look as if they were."""
    if sample_weight is not None:
        raise ParameterError("scores know no sample_weight: give what predict returns to sklearn.metrics.")

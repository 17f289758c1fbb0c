"""A run on a database, the trained network that comes out of it, and scikit-learn estimators around both."""

import hashlib
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from rwkplus.datasets.splits import Index, hold_out
from rwkplus.errors import ParameterError, Remedy
from rwkplus.models.registry import Model, assembled, build, check_fields, fitted_params, name_of, name_to_save
from rwkplus.saving import Savable
from rwkplus.table import Graphs, GraphTable
from rwkplus.training.dataset import EVALUATION_SIZE, GraphDataset, Inputs, outputs_of, read
from rwkplus.training.loop import Batches, GraphTask, Row, RunState, Settings, isolated, run_epochs
from rwkplus.training.targets import Classes, ClassName, Target, all_scores, goal_of, target_from_dict
from rwkplus.types import (
    Balance,
    Callback,
    Features,
    Loss,
    LrSchedule,
    Task,
    Unknown,
    check_choice,
    check_ignore,
    seed_of,
)

if TYPE_CHECKING:
    from rwkplus.training.run_folder import Place


@dataclass
class TrainedNetwork:
    """A network with all it takes to use it: how to read graphs or nodes, and what its outputs mean.

    :class:`rwkplus.training.GraphClassifier` and its like save it, as the attribute ``trained_``.

    Attributes:
        model: The network, in evaluation mode.
        inputs: How it reads what it is given.
        target: What its outputs mean.
        name: Registered name or class of the network.
        params: Its keyword arguments.
        settings: How it was trained.
        best_epoch: Epoch whose weights were kept, counted from 0.
        validation: Every score on the validation part, at that epoch; empty without one.
        seconds: How long training took.
        run: What tells the run from others.
        test: For large graphs, every score on the test nodes.
        history: Losses and chosen score, epoch by epoch; not in files.
    """

    model: nn.Module
    inputs: Any  # rwkplus.training.dataset.Inputs, or rwkplus.training.nodes.NodeInputs
    target: Target
    name: Model
    params: Mapping[str, Any]
    settings: Settings
    best_epoch: int
    validation: dict[str, float]
    seconds: float
    run: dict[str, Any] = field(default_factory=dict)
    test: dict[str, float] = field(default_factory=dict)
    history: list[Row] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        task: GraphTask,
        state: RunState,
        inputs: object,
        name: Model,
        params: Mapping[str, Any],
        run: dict[str, Any],
    ) -> Self:
        """The network of a run, with the weights of its best epoch; not yet scored."""
        task.model.load_state_dict(state.weights)
        network, settings = task.model.eval(), task.settings
        return cls(network, inputs, task.target, name, params, settings, state.epoch, {}, 0.0, run, {}, state.history)

    def predict(self, X: Any, **options: Any) -> NDArray[Any]:  # noqa: ANN401
        """Predict the class of every graph or node ``(B,)``, numbers ``(B,)`` or ``(B, C)``, or answers ``(B, C)``.

        Args:
            X: Graphs in any form; for networks of nodes, one graph.
            options: ``unknown_label``, for graphs: blank labels that training did not see (``"ignore"``), or refuse
                them (``"error"``).

        Example:
            >>> from rwkplus.training import train
            >>> X, y = ["C", "CC", "O", "OO"] * 5, ["alkane", "alkane", "water", "peroxide"] * 5
            >>> trained = train("gin", X, y, settings=Settings(epochs=2), ignore=("edge_attr",))
            >>> trained.predict(["CCC"]).shape, trained.predict_proba(["CCC"]).shape
            ((1,), (1, 3))
        """
        return self.target.decode(self.outputs(X, **options))

    def predict_proba(self, X: Any, **options: Any) -> NDArray[Any]:  # noqa: ANN401
        """Predict probabilities of classes, or of yes: ``(B, C)``."""
        return self.target.probabilities(self.outputs(X, **options))

    def scores(self, X: Any, y: object = None, **options: Any) -> dict[str, float]:  # noqa: ANN401
        """Every score on graphs with known labels, or on some ``nodes``, those of ``test_mask`` by default."""
        return all_scores(self.target, *self.inputs.judged(self.model, self.target, X, y, **options))

    def save(self, path: str | Path) -> Path:
        """Write it as the estimator that it belongs to, into one safetensors file; :func:`rwkplus.load` opens it."""
        return estimator_of(self).save(path)

    def outputs(self, X: Any, **options: Any) -> Tensor:  # noqa: ANN401
        """Raw outputs ``(B, C)``, on the CPU."""
        if isinstance(X, GraphTable) and isinstance(self.inputs, Inputs) and not len(X):
            return torch.empty(0, self.target.width)  # no graph of ``table[mask]``, say
        outputs: Tensor = self.inputs.outputs(self.model, X, **options)
        return outputs


@dataclass(frozen=True)
class Job:
    """A network to train on some graphs of a database, while others choose the best epoch."""

    data: GraphDataset
    model: Model
    params: Mapping[str, Any]
    train: Index
    validation: Index
    settings: Settings

    @classmethod
    def split(
        cls,
        data: GraphDataset,
        model: Model,
        params: Mapping[str, Any] | None = None,
        index: Index | None = None,
        settings: Settings | None = None,
    ) -> "Job":
        """Split the graphs ``index``, all by default, into training and validation, by class where there are classes.

        >>> job = Job.split(GraphDataset(["C", "CC", "O", "OO"] * 5, [0, 0, 1, 1] * 5), "gin")
        >>> job.train.size, job.validation.size
        (18, 2)
        """
        index, settings = np.arange(len(data)) if index is None else index, settings or Settings()
        classes = None if data.classes is None else data.classes[index]
        stay, held = hold_out(index, settings.validation, settings.random_state, classes)
        return cls(data, model, params or {}, stay, held, settings)

    def run(self, place: "Place | None" = None, callback: Callback | None = None) -> TrainedNetwork:
        """Train, or take what is there already."""
        if place is not None:
            found = place.finished(self)
            if found is not None:
                return found
            callback = place.watched(callback)
        begin = time.perf_counter()
        network = new_network(self.data, self.model, self.params, self.settings.random_state)
        task = GraphTask(network, self.data.target(self.train), self.settings)
        batches = self._batches(task, self.train, self.settings.batch_size, self.settings.random_state)
        _check_batch_norm(network, self.train.size // len(batches))
        if self.validation.size:
            _check_known(task.target.encode(self.data.y[self.validation]))
        state = run_epochs(
            task,
            batches,
            self._batches(task, self.validation, EVALUATION_SIZE) if self.validation.size else None,
            checkpoints=None if place is None else place.checkpoints(self.identity()),
            callback=callback,
        )
        params = fitted_params(self.data.inputs.reader, self.model, self.params)
        trained = TrainedNetwork.of(task, state, self.data.inputs, self.model, params, self.identity())
        if self.validation.size:
            outputs = outputs_of(network, self.data.store(network), self.validation)
            trained.validation = all_scores(task.target, outputs, task.target.encode(self.data.y[self.validation]))
        trained.seconds = time.perf_counter() - begin
        if place is not None:
            place.write(trained)
        return trained

    def _batches(self, task: GraphTask, index: Index, size: int, seed: int | None = None) -> Batches:
        return Batches(self.data.store(task.model), index, size, task.target.encode(self.data.y[index]), seed)

    def identity(self) -> dict[str, Any]:
        """What two runs must have in common for one to go on where the other stopped."""
        identity = self.settings.of_an_epoch()
        labels = repr([self.train.tolist(), self.data.y[self.train].tolist()])
        digest = hashlib.sha256(f"{self.data.digest} {labels}".encode()).hexdigest()
        identity |= {name: getattr(self.data, name) for name in ("task", "loss", "balance", "positive")}
        return identity | {"model": name_of(self.model), "model_params": dict(self.params), "graphs": digest}


def _check_batch_norm(network: nn.Module, smallest_batch: int) -> None:
    if smallest_batch < 2 and any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in network.modules()):
        raise ParameterError(
            "BatchNorm cannot learn from batches of a single graph. Give more graphs or a larger batch_size."
        )


def _check_known(validation: Tensor) -> None:
    if validation.is_floating_point() and bool(validation.isnan().all()):
        raise ParameterError(
            "no graph of the validation part has a known label.",
            Remedy("Keep the last epoch: {validation}.", validation=0),
            "Or validate on more graphs, or leave out graphs without labels.",
        )


def new_network(data: GraphDataset, model: Model, params: Mapping[str, Any], seed: int = 0) -> nn.Module:
    """Build a network for a database, unless it would leave columns of the graphs unread.

    >>> data = GraphDataset(["C", "CC", "O", "OO"], [0, 0, 1, 1], ignore=("edge_attr",))
    >>> type(new_network(data, "gin", {"layers": 1})).__name__
    'GIN'
    """
    reader = data.inputs.reader
    with isolated(seed):
        network = build(model, data.inputs.width, data.width, fitted_params(reader, model, params))
    check_fields(reader, network)
    return network


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


@dataclass(eq=False, repr=False)
class NetworkEstimator(Savable, BaseEstimator):
    """What estimators of graphs and of nodes have in common.

    Args:
        model: Registered name (``"kergnn"``, ``"rwnn"``, ``"gin"``, ``"gnn"``, ``"igad"``) or a class.
        model_params: Keyword arguments of the network, such as ``{"kernel": "rwk+", "steps": 3}``.
        epochs: Passes over the training graphs; for nodes, steps on the whole graph.
        lr: Learning rate of Adam.
        lr_schedule: ``"halve"``, or ``"cosine"``, where the rate falls to zero over all epochs.
        halve_lr_every: Epochs after which the learning rate halves, again and again; 0 keeps it.
        weight_decay: Decoupled weight decay; for nodes an L2 penalty.
        metric: Score that chooses the epoch, such as ``accuracy``, ``f1`` (macro), ``roc_auc`` or ``mae``; the usual
            one of the task by default.
        patience: Epochs without a better score after which to stop; None trains all epochs.
        positive: Of two classes the one that scores such as ``positive_f1`` and ``roc_auc`` are about; the second one
            by default.
        accelerator: Lightning's name of the hardware.
        random_state: Seed, scikit-learn's ``RandomState``, or None for a random one.

    Attributes:
        trained_: The network and how to read graphs, a :class:`rwkplus.training.TrainedNetwork`.
        model_: The network itself.
        classes_: Of classifiers, the classes, or the numbers of the questions, in the order of ``predict_proba``.
        history_: Losses and chosen score, epoch by epoch; not in files.
        best_epoch_: Epoch whose weights were kept, counted from 0.
        seed_: The seed that was used.
    """

    framework = "pt"
    kinds: ClassVar[tuple[str, ...]]
    """What its outputs may be for."""

    model: str | type[nn.Module] = "kergnn"
    _: KW_ONLY
    model_params: Mapping[str, Any] | None = None
    epochs: int = 200
    lr: float = 1e-2
    lr_schedule: LrSchedule = "halve"
    halve_lr_every: int = 50
    weight_decay: float = 0.0
    metric: str | None = None
    patience: int | None = None
    positive: ClassName | None = None
    accelerator: str = "auto"
    random_state: int | np.random.RandomState | None = 0

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
        settings, inputs = Settings(**form.settings), self._inputs(form.inputs)
        self.seed_ = settings.random_state
        self._check()
        target = target_from_dict(form.target)
        if target.kind not in self.kinds or not 0 <= form.best_epoch < settings.epochs:
            raise ValueError(f"it is not what a {type(self).__name__} has learned")
        name = name_to_save(self.model)
        network = assembled(name, inputs.width, target.width, form.params, arrays)
        if isinstance(inputs, Inputs):
            check_fields(inputs.reader, network)
        rest = (settings, form.best_epoch, form.validation, form.seconds, form.run, form.test)
        self._adopt(TrainedNetwork(network, inputs, target, name, form.params, *rest))

    @abstractmethod
    def _inputs(self, values: dict[str, Any]) -> Any:  # noqa: ANN401
        """Read what ``to_dict`` of the inputs wrote."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "trained_")


@dataclass(eq=False, repr=False)
class GraphEstimator(NetworkEstimator):
    """What classifier and regressor share; further arguments and all attributes are those of :class:`NetworkEstimator`.

    Args:
        batch_size: Most graphs per step.
        validation: Share of the graphs that chooses the best epoch; 0 keeps the last epoch.
        features: Node features: ``"given"`` reads labels as one-hot rows and attributes as they are, ``"discrete"`` the
            numbers of labels, column by column, for embeddings; ``"degree"`` and ``"constant"`` make some from the
            structure. ``"auto"`` chooses.
        ignore: Columns of graphs to leave out on purpose.
        balance: For classes, ``"logits"`` learns as if all were as frequent (logit adjustment).
        loss: For numbers, the ``"squared"`` or the ``"absolute"`` error.
        unknown_label: Blank labels that training did not see (``"ignore"``), or refuse them (``"error"``).
    """

    _: KW_ONLY
    batch_size: int = 64
    validation: float = 0.1
    features: Features = "auto"
    ignore: Sequence[str] = ()
    balance: Balance = "none"
    loss: Loss = "squared"
    unknown_label: Unknown = "ignore"

    def fit(self, X: Graphs, y: object = None, *, callback: Callback | None = None) -> Self:
        """Train the network.

        Args:
            X: Graphs in any form that :meth:`rwkplus.table.GraphTable.of` reads.
            y: One label per graph, or a row of them; those that the graphs carry by default.
            callback: Called after every epoch.
        """
        self.seed_ = seed_of(self.random_state)
        self._check()
        table, labels = read(X, y, "auto", self.ignore)
        choices = {name: getattr(self, name) for name in ("features", "ignore", "balance", "positive", "loss")}
        data = GraphDataset(table, labels, task=self._task(labels), **choices)
        return self._adopt(
            Job.split(data, self.model, self.model_params, settings=self._settings()).run(callback=callback)
        )

    def _check(self) -> None:
        super()._check()
        check_ignore(self.ignore)
        choices = {"features": Features, "balance": Balance, "loss": Loss, "unknown_label": Unknown}
        for name, known in choices.items():
            check_choice(name, getattr(self, name), known)

    def _options(self) -> dict[str, Any]:
        return {"unknown_label": self.unknown_label}

    def _inputs(self, values: dict[str, Any]) -> Inputs:
        return Inputs.from_dict(values)

    @abstractmethod
    def _task(self, labels: NDArray[Any]) -> Task:
        """What labels of this shape ask for."""


class ProbabilityMixin(ClassifierMixin):
    """Classifies by probabilities."""

    def predict_proba(self, X: Any) -> NDArray[Any]:  # noqa: ANN401
        """Probability of each class of graphs or nodes, or of yes to each question: ``(B, C)``."""
        check_is_fitted(self)
        return self.trained_.predict_proba(X, **self._options())  # type: ignore[attr-defined, no-any-return]


class GraphClassifier(ProbabilityMixin, GraphEstimator):
    """Classify graphs with a network; arguments and attributes are those of :class:`GraphEstimator`.

    One label per graph makes a classifier; rows of 0., 1. and nan, be it of one column, make yes-or-no questions, where
    nan marks what is not known.

    Example:
        >>> from rwkplus.datasets import load_graphs
        >>> graphs = load_graphs("functional-groups")
        >>> classifier = GraphClassifier("gin", epochs=20, ignore=("edge_attr",)).fit(graphs[:150])
        >>> classifier.predict_proba(graphs[150:]).shape
        (50, 2)
    """

    kinds = ("classification", "multitask")

    def score(self, X: Graphs, y: object = None, sample_weight: None = None) -> float:
        """Accuracy; for several questions the mean area under the ROC curve."""
        refuse_weights(sample_weight)
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
        refuse_weights(sample_weight)
        check_is_fitted(self)
        return self.trained_.scores(X, y, **self._options())["r2"]

    def _task(self, labels: NDArray[Any]) -> Task:
        return "regression"


def estimator_of(trained: TrainedNetwork) -> NetworkEstimator:
    """The estimator that a trained network belongs to, as if it had trained it itself; it can be saved.

    >>> from rwkplus.training import train
    >>> X, y = ["C", "CC", "O", "OO"] * 5, [0, 0, 1, 1] * 5
    >>> trained = train("gin", X, y, settings=Settings(epochs=1), ignore=("edge_attr",))
    >>> type(estimator_of(trained)).__name__
    'GraphClassifier'
    """
    from rwkplus.training.nodes import NodeClassifier  # which derives from what is here

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


def refuse_weights(sample_weight: object) -> None:
    """Scores are not weighted, and must not look as if they were."""
    if sample_weight is not None:
        raise ParameterError(
            "score does not support sample_weight: pass the predictions to a function of sklearn.metrics."
        )

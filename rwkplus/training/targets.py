"""What the outputs of a network mean, classes, numbers or several yes-or-no questions with gaps, and their scores.

A target is read off the training labels, gives the network its width and its loss, turns outputs back into what
the user knows, and is saved beside the weights.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, l1_loss, mse_loss
from torchmetrics import functional as tm

from rwkplus.errors import ParameterError
from rwkplus.table.columns import is_missing
from rwkplus.types import Loss, Task, check_choice

Array = NDArray[Any]
ClassName = int | float | str | bool


class Target(ABC):
    """Meaning of outputs ``(B, C)``; immutable and made of JSON values."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of outputs C."""

    @abstractmethod
    def encode(self, y: Array) -> Tensor:
        """Labels as the loss reads them, or an error that names what cannot be read."""

    @abstractmethod
    def loss(self, outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Loss summed over the known labels, and their number; the mean may span several processes."""

    @abstractmethod
    def decode(self, outputs: Tensor) -> Array:
        """Predictions in the user's terms."""

    def probabilities(self, outputs: Tensor) -> Array:
        """Probabilities of classes, or of yes: ``(B, C)``."""
        raise ParameterError("a regression model has no probabilities: use predict.")

    def to_dict(self) -> dict[str, Any]:
        """JSON values that :func:`target_from_dict` reads."""
        return {"kind": self.kind, **asdict(self)}  # type: ignore[call-overload]


@dataclass(frozen=True)
class Classes(Target):
    """One of several classes.

    Args:
        names: The classes.
        weights: What an error in each of them counts; all the same by default.
        prior: How frequent each is in training, if the loss shall take account of it (logit adjustment): outputs then
            tell how likely each class would be if all were as frequent.
        positive: Of two classes the one that ``positive_f1``, ``roc_auc`` and their like are about; by default the
            second one, as in scikit-learn.

    Example:
        >>> target = Classes.of(np.array(["toxic", "safe", "safe"]))
        >>> target.names, target.encode(np.array(["toxic", "safe"]))
        (('safe', 'toxic'), tensor([1, 0]))
        >>> target.decode(torch.tensor([[0.1, 2.0], [3.0, 0.2]]))
        array(['toxic', 'safe'], dtype='<U5')
    """

    kind: ClassVar[str] = "classification"
    names: tuple[ClassName, ...]
    weights: tuple[float, ...] | None = None
    prior: tuple[float, ...] | None = None
    positive: ClassName | None = None

    @classmethod
    def of(cls, y: Array) -> Self:
        """Collect the classes, in ascending order.

        >>> Classes.of(np.array([2, 0, 2])).names
        (0, 2)
        """
        y = np.asarray(y)
        if y.ndim != 1:
            raise ParameterError(f"classes need one label per graph, y has shape {y.shape}.")
        if y.dtype.kind == "f" and np.isnan(y).any():
            raise ParameterError(f"graph {int(np.isnan(y).argmax())} has no label (nan). Leave such graphs out.")
        try:
            names = tuple(np.unique(y).tolist())
        except TypeError as error:
            raise ParameterError("y must hold numbers or names, all of one kind: these cannot be sorted.") from error
        if len(names) < 2:
            raise ParameterError(f"all labels are of class {names[0]!r}, so there is nothing to distinguish.")
        return cls(names)

    def about(self, positive: ClassName | None) -> Self:
        """Choose the positive class, which may be named by how it is written: ``"1"`` for 1.

        >>> Classes(("bot", "human")).about("bot").positive_number
        0
        """
        if positive is None:
            return self
        if self.width != 2:
            raise ParameterError(f"positive={positive!r} is for two classes, and there are {self.width}: leave it out.")
        found = next((name for name in self.names if name == positive or str(name) == str(positive)), None)
        if found is None:
            raise ParameterError(
                f"positive must be one of the classes, {self.names[0]!r} or {self.names[1]!r}; got {positive!r}."
            )
        return replace(self, positive=found)

    @property
    def positive_number(self) -> int:
        """Which of two classes is the positive one."""
        return 1 if self.positive is None else self.names.index(self.positive)

    @property
    def width(self) -> int:
        """Number of classes."""
        return len(self.names)

    def encode(self, y: Array) -> Tensor:
        """Number of each class: ``(B,)``.

        >>> Classes(("a", "b")).encode(np.array(["b", "b", "a"]))
        tensor([1, 1, 0])
        """
        number = {name: i for i, name in enumerate(self.names)}
        unknown = next((name for name in np.asarray(y).tolist() if name not in number), None)
        if unknown is not None:
            known = ", ".join(map(str, self.names[:10]))
            raise ParameterError(
                f"y holds the class {unknown!r}, which did not occur in training. Known classes are {known}."
            )
        return torch.tensor([number[name] for name in np.asarray(y).tolist()])

    def loss(self, outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Cross-entropy, and the number of labels; with weights, the weight of all of them.

        >>> total, count = Classes((0, 1)).loss(torch.zeros(3, 2), torch.tensor([0, 1, 1]))
        >>> round(float(total / count), 4)
        0.6931
        """
        if self.prior is not None:
            outputs = outputs + outputs.new_tensor(self.prior).log()
        if self.weights is None:
            return cross_entropy(outputs, y, reduction="sum"), y.new_tensor(y.numel())
        weight = outputs.new_tensor(self.weights)
        return cross_entropy(outputs, y, weight, reduction="sum"), weight[y].sum()

    def decode(self, outputs: Tensor) -> Array:
        """The most probable class: ``(B,)``.

        >>> Classes((3, 7)).decode(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
        array([7, 3])
        """
        names: Array = np.array(self.names)[outputs.argmax(-1).cpu().numpy()]
        return names

    def probabilities(self, outputs: Tensor) -> Array:
        """Probability of each class: ``(B, C)``.

        >>> Classes((0, 1)).probabilities(torch.zeros(1, 2))
        array([[0.5, 0.5]], dtype=float32)
        """
        return outputs.softmax(-1).cpu().numpy()


@dataclass(frozen=True)
class Numbers(Target):
    """One or several numbers per graph, centered and scaled for the network; ``nan`` marks missing ones.

    Example:
        >>> target = Numbers.of(np.array([1.0, 3.0, np.nan]))
        >>> target.center, target.scale
        ((2.0,), (1.0,))
        >>> target.decode(torch.tensor([[0.5]]))
        array([2.5])
    """

    kind: ClassVar[str] = "regression"
    center: tuple[float, ...]
    scale: tuple[float, ...]
    flat: bool  # y came as (B,), not as (B, 1)
    error: Loss = "squared"

    @classmethod
    def of(cls, y: Array, *, centered: bool = True, error: Loss = "squared") -> Self:
        """Read mean and standard deviation off the training labels; counts are usually scaled but not centered."""
        columns = _numbers(y).reshape(len(y), -1)
        known = ~np.isnan(columns)
        if not known.any(0).all():
            raise ParameterError(
                f"column {int((~known.any(0)).argmax())} of y holds no number among the graphs to learn from."
            )
        mean, std = np.nanmean(columns, 0), np.nanstd(columns, 0)
        if not np.isfinite(std).all():
            raise ParameterError("the numbers in y are so large that their deviation is infinite: choose another unit.")
        center, scale = mean if centered else np.zeros_like(mean), np.where(std > 0, std, 1)
        return cls(tuple(center.tolist()), tuple(scale.tolist()), np.ndim(y) == 1, error)

    @property
    def width(self) -> int:
        """How many numbers."""
        return len(self.center)

    def encode(self, y: Array) -> Tensor:
        """Centered and scaled numbers: ``(B, C)``.

        >>> Numbers.of(np.array([1.0, 3.0])).encode(np.array([3.0, np.nan]))
        tensor([[1.],
                [nan]])
        """
        columns = _numbers(y).reshape(len(y), -1)
        if columns.shape[1] != self.width:
            raise ParameterError(f"y has {columns.shape[1]} columns, training had {self.width}.")
        return torch.from_numpy((columns - self.center) / self.scale).to(torch.get_default_dtype())

    def loss(self, outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Squared or absolute error of the scaled numbers that are known."""
        known = ~y.isnan()
        error = mse_loss if self.error == "squared" else l1_loss
        return error(outputs[known], y[known], reduction="sum"), known.sum()

    def decode(self, outputs: Tensor) -> Array:
        """Numbers in the units of the labels: ``(B,)`` or ``(B, C)``, as they came."""
        numbers = outputs.double().cpu().numpy() * self.scale + self.center
        return numbers[:, 0] if self.flat else numbers


@dataclass(frozen=True)
class Questions(Target):
    """Several yes-or-no questions per graph; ``nan`` marks answers that are not known.

    Example:
        >>> target = Questions.of(np.array([[0.0, 1.0], [1.0, np.nan]]))
        >>> target.width, target.decode(torch.tensor([[2.0, -1.0]]))
        (2, array([[1, 0]]))
    """

    kind: ClassVar[str] = "multitask"
    names: tuple[str, ...]

    @classmethod
    def of(cls, y: Array) -> Self:
        """Check that the labels are answers, with both among those of some question."""
        answers = _numbers(y)
        if answers.ndim != 2 or not (np.isnan(answers) | (answers == 0) | (answers == 1)).all():
            raise ParameterError("several questions need y of shape (graphs, questions) with 0, 1 or nan.")
        both = (answers == 0).any(0) & (answers == 1).any(0)
        if not both.any():
            raise ParameterError("no column of y holds both 0 and 1, so there is nothing to distinguish.")
        return cls(tuple(f"task {i}" for i in range(answers.shape[1])))

    @property
    def width(self) -> int:
        """Number of questions."""
        return len(self.names)

    def encode(self, y: Array) -> Tensor:
        """Answers: ``(B, C)``."""
        answers = _numbers(y)
        if answers.ndim != 2 or answers.shape[1] != self.width:
            raise ParameterError(f"y has shape {answers.shape}, expected (graphs, {self.width}).")
        return torch.from_numpy(answers).to(torch.get_default_dtype())

    def loss(self, outputs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Binary cross-entropy of the known answers."""
        known = ~y.isnan()
        return binary_cross_entropy_with_logits(outputs[known], y[known], reduction="sum"), known.sum()

    def decode(self, outputs: Tensor) -> Array:
        """The more probable answers, 0 or 1: ``(B, C)``."""
        return (outputs > 0).long().cpu().numpy()

    def probabilities(self, outputs: Tensor) -> Array:
        """Probability of yes: ``(B, C)``.

        >>> Questions(("toxic",)).probabilities(torch.zeros(1, 1))
        array([[0.5]], dtype=float32)
        """
        return outputs.sigmoid().cpu().numpy()


def _numbers(y: Array) -> NDArray[np.float64]:
    try:
        return np.asarray(y, np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"y must hold numbers, nan where nothing is known: {error}.") from error


def make_target(y: Array, task: Task = "auto") -> Target:
    """Read off the training labels what the network has to tell.

    ``"auto"`` takes whole numbers, truth values and names for classes, and other numbers for measurements. Columns,
    even a single one ``(B, 1)``, are questions if they hold nothing but 0, 1 and nan. ``"counting"`` is regression
    without centering.

    Example:
        >>> [make_target(np.array(y)).kind for y in ([0, 1, 1], [0.5, 1.5], [[0.0, 1.0], [1.0, 0.0]])]
        ['classification', 'regression', 'multitask']
    """
    check_choice("task", task, Task)
    if task == "auto":
        task = _guess(y)
    if task == "classification":
        return Classes.of(y)
    if task == "multitask":
        return Questions.of(y)
    if y.dtype.kind not in "fiub" or np.isinf(y.astype(np.float64)).any():
        raise ParameterError("regression needs finite numbers in y; nan marks missing ones.")
    return Numbers.of(y, centered=task != "counting")


def _guess(y: Array) -> Task:
    if y.dtype.kind != "f":
        return "classification" if y.ndim == 1 else "multitask"
    return "multitask" if _are_answers(y) else "regression"


def _are_answers(y: Array) -> bool:
    """Whether labels are columns of floats that are 0, 1 or nan."""
    return y.dtype.kind == "f" and y.ndim == 2 and bool((np.isnan(y) | (y == 0) | (y == 1)).all())


def read_labels(y: object, size: int, task: str = "auto") -> Array:
    """One label, or one row of labels, for each of ``size`` graphs; a column ``(B, 1)`` stays one if it is a question.

    Example:
        >>> read_labels([[1], [0]], 2)
        array([1, 0])
        >>> read_labels([[1.0], [0.0]], 2)  # a question
        array([[1.],
               [0.]])
    """
    try:
        labels = y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)
    except ValueError as error:
        raise ParameterError("y must hold as many labels for every graph.") from error
    if labels.ndim not in (1, 2) or len(labels) != size:
        raise ParameterError(f"y must hold one label per graph: it has shape {labels.shape} for {size} graphs.")
    made_words = labels.dtype.kind == "U" and not hasattr(y, "__array__")  # of all labels, where one was a word
    if labels.dtype == object or made_words:
        labels = _of_one_kind(np.asarray(y, dtype=object))
    if labels.dtype.kind not in "biufU":
        raise ParameterError(f"y must hold numbers or names, got {labels.dtype}.")
    is_question = task == "multitask" or (task == "auto" and _are_answers(labels))
    return labels[:, 0] if labels.shape[1:] == (1,) and not is_question else labels


def _of_one_kind(labels: Array) -> Array:
    """Labels as objects, as pandas keeps names: all of them names, or numbers with nan for missing ones."""
    missing = np.reshape([is_missing(label) for label in labels.flat], labels.shape)
    named = {isinstance(label, str) for label in labels[~missing]}
    if len(named) > 1:
        raise ParameterError("y must hold numbers or names, all of one kind: these are mixed.")
    if named == {True} and missing.any():
        raise ParameterError(f"graph {int(np.argwhere(missing)[0, 0])} has no label. Leave such graphs out.")
    return np.array(np.where(missing, np.nan, labels).tolist())


def goal_of(target: Target) -> dict[str, Any]:
    """What a target was made with, beside labels: its ``loss``, or ``balance`` and ``positive``.

    >>> goal_of(Classes((0, 1)))
    {'balance': 'none', 'positive': None}
    """
    if isinstance(target, Numbers):
        return {"loss": target.error}
    if isinstance(target, Classes):
        return {"balance": "none" if target.prior is None else "logits", "positive": target.positive}
    return {}


def target_from_dict(values: Mapping[str, Any]) -> Target:
    """Read what :meth:`Target.to_dict` wrote; anything else raises ``ValueError``.

    >>> target_from_dict(Classes(("no", "yes")).to_dict())
    Classes(names=('no', 'yes'), weights=None, prior=None, positive=None)
    """
    try:
        own = dict(values)
        target: Target = msgspec.convert(own, {cls.kind: cls for cls in METRICS}[own.pop("kind")])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"it does not say what its outputs mean: {error}") from error
    if isinstance(target, Classes):
        numbers = (*(target.weights or ()), *(target.prior or ()))
        sizes = {len(part) for part in (target.names, target.weights, target.prior) if part is not None}
        if len(sizes) > 1 or len(set(target.names)) < 2 or not all(0 <= number < math.inf for number in numbers):
            raise ValueError("its classes do not fit together")
        return target.about(target.positive)
    if isinstance(target, Numbers):
        center, scale = target.center, target.scale
        known = all(map(math.isfinite, center + scale)) and min(scale, default=0) > 0
        if not known or len(center) != len(scale) or (target.flat and len(center) > 1):
            raise ValueError("the scales of its numbers do not fit together")
    elif target.width == 0:
        raise ValueError("it has no questions")
    return target


Score = Callable[[Any, Tensor, Tensor], Tensor]  # of target, outputs and encoded labels


@dataclass(frozen=True)
class Metric:
    """A score and its direction.

    Example:
        >>> metric_for(Classes((0, 1)))(Classes((0, 1)), torch.eye(2), torch.tensor([0, 0]))
        0.5
    """

    name: str
    larger_is_better: bool
    score: Score

    def __call__(self, target: Target, outputs: Tensor, y: Tensor) -> float:
        """Score of outputs ``(B, C)``; nan where it is not defined: without a second class, or if outputs diverged."""
        if not bool(outputs.isfinite().all()):  # the largest of nan, nan is some class all the same
            return math.nan
        return float(self.score(target, outputs, y))

    def rank(self, score: float, loss: float = 0.0) -> tuple[float, float]:
        """Key that sorts the better last: by score, among equals by the lower loss; nan is worse than any number.

        >>> accuracy = metric_for(Classes((0, 1)))
        >>> accuracy.rank(0.9, loss=0.3) > accuracy.rank(0.9, loss=0.5) > accuracy.rank(math.nan)
        True
        """
        if math.isnan(score):
            return -math.inf, -math.inf
        return score if self.larger_is_better else -score, -math.inf if math.isnan(loss) else -loss

    @property
    def worst(self) -> float:
        """What every defined score improves on."""
        return float("-inf") if self.larger_is_better else float("inf")


def metrics_for(target: Target) -> dict[str, Metric]:
    """Scores that make sense for a target; the first one chooses among epochs unless told otherwise.

    >>> list(metrics_for(Numbers((0.0,), (1.0,), True)))
    ['mae', 'mae_in_std', 'rmse', 'r2']
    """
    known = METRICS[type(target)]
    return known | OF_TWO_CLASSES if isinstance(target, Classes) and target.width == 2 else known


def metric_for(target: Target, name: str | None = None) -> Metric:
    """Return the named score, or the usual one.

    >>> metric_for(Questions(("toxic",))).name
    'roc_auc'
    """
    known = metrics_for(target)
    if name is None:
        return next(iter(known.values()))
    if name not in known:
        raise ParameterError(f"metric must be one of {', '.join(known)} for {target.kind}; got {name!r}.")
    return known[name]


def all_scores(target: Target, outputs: Tensor, y: Tensor) -> dict[str, float]:
    """Every score of a target, and the loss.

    >>> scores = all_scores(Classes((0, 1)), torch.tensor([[2.0, 0.0], [0.0, 2.0]]), torch.tensor([0, 1]))
    >>> scores["accuracy"], scores["roc_auc"], round(scores["loss"], 3)
    (1.0, 1.0, 0.127)
    """
    total, count = target.loss(outputs, y)
    scores = {name: metric(target, outputs, y) for name, metric in metrics_for(target).items()}
    return scores | {"loss": float(total / count)}


def _mean(function: Callable[..., Tensor], average: str, target: Classes, outputs: Tensor, y: Tensor) -> Tensor:
    return function(outputs, y, target.width, average=average)


def _positive(function: Callable[..., Tensor], target: Classes, outputs: Tensor, y: Tensor) -> Tensor:
    number = target.positive_number
    return function((outputs.argmax(-1) == number).long(), (y == number).long())


def _ranking(binary: Callable[..., Tensor], multiclass: Callable[..., Tensor]) -> Score:
    """Scores of a ranking: the positive one of two classes, or the mean over several."""

    def _score(target: Classes, outputs: Tensor, y: Tensor) -> Tensor:
        if y.unique().numel() < target.width:
            return torch.tensor(torch.nan)
        outputs = outputs.double()
        if target.width > 2:
            return multiclass(outputs.softmax(-1), y, target.width)
        number = target.positive_number
        return binary(_ranks(outputs[:, number] - outputs[:, 1 - number]), (y == number).long())

    return _score


def _ranks(values: Tensor) -> Tensor:
    """Numbers from 0 to 1 in the same order; probabilities of confident outputs would be 1 for all of them."""
    ranks: Tensor = values.unique(return_inverse=True)[1].double()
    return ranks / ranks.max().clamp(min=1)


def _over_questions(binary: Callable[..., Tensor], target: Questions, outputs: Tensor, y: Tensor) -> Tensor:
    """Mean over the questions that have both answers."""
    scores = []
    for answers, logits in zip(y.T, outputs.T, strict=True):
        known = ~answers.isnan()
        if answers[known].unique().numel() == 2:
            scores.append(binary(_ranks(logits[known]), answers[known].long()))
    return torch.stack(scores).mean() if scores else torch.tensor(torch.nan)


def _error(power: int, in_std: bool, target: Numbers, outputs: Tensor, y: Tensor) -> Tensor:
    """Mean over the known numbers, column by column, in units of the labels or of the scaled ones."""
    known = ~y.isnan()
    error = torch.where(known, outputs - y, 0).abs() ** power
    column = (error.sum(0) / known.sum(0)) ** (1 / power)
    return (column if in_std else column * column.new_tensor(target.scale)).nanmean()


def _r2(target: Numbers, outputs: Tensor, y: Tensor) -> Tensor:
    known = ~y.isnan()
    if int(known.sum(0).min()) < 2:
        return torch.tensor(torch.nan)
    columns = [tm.r2_score(o[k], t[k]) for o, t, k in zip(outputs.T, y.T, known.T, strict=True)]
    return torch.stack(columns).mean()


def _named(*metrics: Metric) -> dict[str, Metric]:
    return {metric.name: metric for metric in metrics}


_AUROC = tm.classification.binary_auroc
_AP = tm.classification.binary_average_precision
METRICS: dict[type[Target], dict[str, Metric]] = {
    Classes: _named(
        Metric("accuracy", True, partial(_mean, tm.classification.multiclass_accuracy, "micro")),
        Metric("f1", True, partial(_mean, tm.classification.multiclass_f1_score, "macro")),
        Metric("recall", True, partial(_mean, tm.classification.multiclass_recall, "macro")),
        Metric("roc_auc", True, _ranking(_AUROC, tm.classification.multiclass_auroc)),
        Metric("ap", True, _ranking(_AP, tm.classification.multiclass_average_precision)),
    ),
    Numbers: _named(
        Metric("mae", False, partial(_error, 1, False)),
        Metric("mae_in_std", False, partial(_error, 1, True)),
        Metric("rmse", False, partial(_error, 2, False)),
        Metric("r2", True, _r2),
    ),
    Questions: _named(
        Metric("roc_auc", True, partial(_over_questions, _AUROC)),
        Metric("ap", True, partial(_over_questions, _AP)),
    ),
}
"""Names of all scores: macro averages for f1 and recall, means over columns for numbers and questions."""
OF_TWO_CLASSES = _named(
    Metric("positive_f1", True, partial(_positive, tm.classification.binary_f1_score)),
    Metric("positive_precision", True, partial(_positive, tm.classification.binary_precision)),
    Metric("positive_recall", True, partial(_positive, tm.classification.binary_recall)),
)
"""Scores of the positive class alone, such as bots among users."""

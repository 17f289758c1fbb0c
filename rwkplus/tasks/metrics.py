"""Scores by name, computed by torchmetrics from the outputs of all graphs at once."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torchmetrics import functional as tm

from rwkplus.errors import ParameterError
from rwkplus.tasks.targets import Classes, Numbers, Questions, Target

Score = Callable[[Any, Tensor, Tensor], Tensor]  # of target, outputs and encoded labels


@dataclass(frozen=True)
class Metric:
    """A score and its direction."""

    name: str
    larger_is_better: bool
    score: Score

    def __call__(self, target: Target, outputs: Tensor, y: Tensor) -> float:
        """Score of outputs ``(B, C)``; nan where it is not defined: without a second class, or if outputs diverged."""
        if not bool(outputs.isfinite().all()):  # the largest of nan, nan is some class all the same
            return math.nan
        return float(self.score(target, outputs, y))

    def rank(self, score: float, loss: float = 0.0) -> tuple[float, float]:
        """Key that sorts the better last: by score, among equals by the lower loss; nan is worse than any number."""
        if math.isnan(score):
            return -math.inf, -math.inf
        return score if self.larger_is_better else -score, -math.inf if math.isnan(loss) else -loss

    def improves(self, score: float, best: float) -> bool:
        """Whether ``score`` is better than ``best``; nan never is."""
        return self.rank(score) > self.rank(best)

    @property
    def worst(self) -> float:
        """What every defined score improves on."""
        return float("-inf") if self.larger_is_better else float("inf")


def metrics_for(target: Target) -> dict[str, Metric]:
    """Scores that make sense for a target; the first one chooses among epochs unless told otherwise."""
    known = METRICS[type(target)]
    return known | OF_TWO_CLASSES if isinstance(target, Classes) and target.width == 2 else known


def metric_for(target: Target, name: str | None = None) -> Metric:
    """Return the named score, or the usual one."""
    known = metrics_for(target)
    if name is None:
        return next(iter(known.values()))
    if name not in known:
        raise ParameterError(f"metric must be one of {', '.join(known)} for {target.kind}; got {name!r}.")
    return known[name]


def all_scores(target: Target, outputs: Tensor, y: Tensor) -> dict[str, float]:
    """Every score of a target, and the loss."""
    total, count = target.loss(outputs, y)
    scores = {name: metric(target, outputs, y) for name, metric in metrics_for(target).items()}
    return scores | {"loss": float(total / count)}


def _accuracy(target: Classes, outputs: Tensor, y: Tensor) -> Tensor:
    return tm.classification.multiclass_accuracy(outputs, y, target.width, average="micro")


def _macro(function: Callable[..., Tensor], target: Classes, outputs: Tensor, y: Tensor) -> Tensor:
    return function(outputs, y, target.width, average="macro")


def _positive(function: Callable[..., Tensor], target: Classes, outputs: Tensor, y: Tensor) -> Tensor:
    number = target.positive_number
    return function((outputs.argmax(-1) == number).long(), (y == number).long())


def _ranking(binary: Callable[..., Tensor], multiclass: Callable[..., Tensor]) -> Score:
    """Scores of a ranking: the positive one of two classes, or the mean over several."""

    def score(target: Classes, outputs: Tensor, y: Tensor) -> Tensor:
        if y.unique().numel() < target.width:
            return torch.tensor(torch.nan)
        outputs = outputs.double()
        if target.width > 2:
            return multiclass(outputs.softmax(-1), y, target.width)
        number = target.positive_number
        return binary(_ranks(outputs[:, number] - outputs[:, 1 - number]), (y == number).long())

    return score


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
        Metric("accuracy", True, _accuracy),
        Metric("f1", True, partial(_macro, tm.classification.multiclass_f1_score)),
        Metric("recall", True, partial(_macro, tm.classification.multiclass_recall)),
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

"""Learnable normalization of the walks of every step."""

from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from rwkplus.errors import ParameterError
from rwkplus.functional.step_norm import step_moments, step_norm
from rwkplus.functional.walks import Normalize
from rwkplus.ops.collective import rank_and_world
from rwkplus.ops.step_statistics import StepNormState

Placement = Literal["propagate", "readout"]


class StepNorm(nn.Module):
    """One BatchNorm per step over the hidden graphs, squashed into (0, 1) by a sigmoid (Section 3.3).

    The number of walks grows with their length; StepNorm learns a common scale. Kernels take ``norm.normalize`` and
    ``norm.readout`` as their arguments of these names; the placement decides which of the two is there. Under
    ``torch.distributed``, training uses the statistics of all processes, whatever their shares of the batch.

    Args:
        num_hidden: Number of hidden graphs K.
        steps: Number of steps T.
        placement: ``"propagate"`` normalizes what was propagated, and later steps see it (the paper); ``"readout"``
            normalizes the matched walks for the score only (released code); None does nothing.
        momentum: Weight of a batch in the running statistics.
        eps: Added to variances.
        sync: Whether to share statistics between processes.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(
        self,
        num_hidden: int,
        steps: int,
        placement: Placement | None = "propagate",
        *,
        momentum: float = 0.1,
        eps: float = 1e-5,
        sync: bool = True,
    ) -> None:
        super().__init__()
        if placement is not None and placement not in get_args(Placement):
            raise ParameterError(f"step_norm must be propagate, readout or None, got {placement!r}.")
        if steps < 1 or num_hidden < 1:
            raise ParameterError(f"StepNorm needs steps and hidden graphs, got steps={steps}, num_hidden={num_hidden}.")
        self.num_hidden, self.steps, self.placement = num_hidden, steps, placement
        self.momentum, self.eps, self.sync = momentum, eps, sync
        if placement is not None:
            self.weight = nn.Parameter(torch.empty(steps, num_hidden))
            self.bias = nn.Parameter(torch.empty(steps, num_hidden))
            self.register_buffer("running_mean", torch.empty(steps, num_hidden))
            self.register_buffer("running_var", torch.empty(steps, num_hidden))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Forget all batches, and begin with unit scale and no shift."""
        if self.placement is not None:
            for part, value in ((self.weight, 1), (self.bias, 0), (self.running_mean, 0), (self.running_var, 1)):
                part.fill_(value)

    @property
    def normalize(self) -> Normalize | None:
        """Itself where it belongs between lines 4 and 5."""
        return self if self.placement == "propagate" else None

    @property
    def readout(self) -> Normalize | None:
        """Itself where it belongs after line 5."""
        return self if self.placement == "readout" else None

    @property
    def state(self) -> StepNormState:
        """Everything about it, for operators that normalize themselves."""
        return StepNormState(
            self.weight, self.bias, self.running_mean, self.running_var, self.training, self._synced(), self.eps
        )

    def forward(self, y: Tensor, step: int, mask: Tensor | None = None, count: Tensor | None = None) -> Tensor:
        """Normalize the walks ``(N, K, M)`` of one step.

        Args:
            y: The walks.
            step: Counted from 1.
            mask: Which walks are real, of a shape that expands to theirs; padding becomes 0 and is counted nowhere.
            count: How often each row occurs ``(N,)``, instead of a mask; once by default.
        """
        if mask is not None and count is not None:
            raise ParameterError("StepNorm takes either a mask of real walks or the counts of rows, not both.")
        if self.placement is None:
            return y
        if y.size(1) != self.num_hidden or not 1 <= step <= self.steps:
            raise ParameterError(
                f"StepNorm of {self.num_hidden} hidden graphs and {self.steps} steps got {y.size(1)} and step {step}."
            )
        i = step - 1
        mean, var, weight, bias = self.running_mean[i], self.running_var[i], self.weight[i], self.bias[i]
        if mask is None and count is None and not self._synced() and self._suits_batch_norm(y):
            return torch.sigmoid(batch_norm(y, mean, var, weight, bias, self.training, self.momentum, self.eps))
        if self.training:
            mean, var, number = step_moments(y, mask, count, self._synced())
            self.update(i, mean, var, number)
        return step_norm(y, mean, var, weight, bias, self.eps, mask)

    @torch.no_grad()
    def update(self, i: int | slice, mean: Tensor, var: Tensor, count: Tensor) -> None:
        """Move the running statistics towards those of a batch, its variance taken without bias.

        Where a batch has no values, it says nothing, and they stay.
        """
        unbiased = var.detach() * count / (count - 1).clamp(min=1)
        for running, new in ((self.running_mean, mean.detach()), (self.running_var, unbiased)):
            running[i] += torch.where(count > 0, self.momentum * (new - running[i]), 0)

    def _suits_batch_norm(self, y: Tensor) -> bool:
        """Whether torch's own, which is faster, can do it: it refuses single values, and asks compilers for sizes."""
        return not torch.compiler.is_compiling() and (not self.training or y.size(0) * y.size(2) > 1)

    def _synced(self) -> bool:
        return self.sync and self.training and rank_and_world()[1] > 1

    def extra_repr(self) -> str:
        """Sizes and placement."""
        return f"{self.num_hidden}, steps={self.steps}, placement={self.placement!r}"

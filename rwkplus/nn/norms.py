"""Normalization: of the walks of every step, and by statistics that are measured once and then stay."""

from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.nn.functional import batch_norm

from rwkplus.errors import ParameterError
from rwkplus.functional.walks import Normalize, step_moments, step_norm
from rwkplus.nn.egonet_kernel import StepNormState
from rwkplus.tensors import all_sum, rank_and_world

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

    Example:
        >>> norm = StepNorm(num_hidden=1, steps=1)
        >>> norm(torch.tensor([[[1.0]], [[3.0]]]), step=1).flatten()
        tensor([0.2689, 0.7311], grad_fn=<ViewBackward0>)
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

    def forward(self, y: Tensor, step: int) -> Tensor:
        """Normalize the walks ``(N, K, M)`` of one step, counted from 1."""
        if self.placement is None:
            return y
        if y.size(1) != self.num_hidden or not 1 <= step <= self.steps:
            raise ParameterError(
                f"StepNorm of {self.num_hidden} hidden graphs and {self.steps} steps got {y.size(1)} and step {step}."
            )
        i = step - 1
        mean, var, weight, bias = self.running_mean[i], self.running_var[i], self.weight[i], self.bias[i]
        synced, several = self._synced(), not self.training or y.size(0) * y.size(2) > 1
        # Torch's own is faster, but refuses single values, and asks compilers for sizes.
        if not synced and not torch.compiler.is_compiling() and several:
            new_mean, new_var = (mean.clone(), var.clone()) if self.training else (mean, var)
            normal = batch_norm(y, new_mean, new_var, weight, bias, self.training, self.momentum, self.eps)
            if self.training:
                self._move(i, new_mean, new_var)
            return torch.sigmoid(normal)
        if self.training:
            mean, var, number = step_moments(y, all_sum if synced else None)
            self.update(i, mean, var, number)
        return step_norm(y, mean, var, weight, bias, self.eps)

    @torch.no_grad()
    def update(self, i: int | slice, mean: Tensor, var: Tensor, count: Tensor) -> None:
        """Move the running statistics towards those of a batch, its variance taken without bias.

        Where a batch has no values, or some that are not finite, it says nothing, and they stay.

        >>> norm = StepNorm(num_hidden=1, steps=1)
        >>> norm.update(0, mean=torch.tensor([2.0]), var=torch.tensor([1.0]), count=torch.tensor([10.0]))
        >>> norm.running_mean
        tensor([[0.2000]])
        """
        unbiased = var.detach() * count / (count - 1).clamp(min=1)
        moved = [
            running[i] + torch.where(count > 0, self.momentum * (new - running[i]), 0)
            for running, new in ((self.running_mean, mean.detach()), (self.running_var, unbiased))
        ]
        self._move(i, *moved)

    @torch.no_grad()
    def _move(self, i: int | slice, mean: Tensor, var: Tensor) -> None:
        """Set the running statistics of those hidden graphs where both are finite: one bad batch is forgotten."""
        finite = mean.isfinite() & var.isfinite()
        self.running_mean[i] = torch.where(finite, mean, self.running_mean[i])
        self.running_var[i] = torch.where(finite, var, self.running_var[i])

    def _synced(self) -> bool:
        return self.sync and self.training and rank_and_world()[1] > 1

    def extra_repr(self) -> str:
        """Sizes and placement.

        >>> StepNorm(8, steps=2)
        StepNorm(8, steps=2, placement='propagate')
        """
        return f"{self.num_hidden}, steps={self.steps}, placement={self.placement!r}"


class FixedScale(nn.Module):
    r"""Subtract a mean and divide by a deviation that the first batches set once and for all; then scale and shift.

    BatchNorm's statistics change from batch to batch, which is noise where outputs are to be exact, such as counts.
    Here every output is one and the same linear function of the input as soon as the statistics are there
    (Kingma and Dhariwal 2018 call this ActNorm). All processes of a run take those of the first.

    Args:
        num_features: Size of the input.
        batches: How many batches are measured.
        eps: Deviations below are taken for 1: there is nothing to scale.

    Example:
        >>> import torch
        >>> scale = FixedScale(1)
        >>> scale(torch.tensor([[1.0], [3.0]])).flatten()
        tensor([-1.,  1.], grad_fn=<ViewBackward0>)
        >>> scale(torch.tensor([[5.0]])).item()
        3.0
    """

    mean: Tensor
    deviation: Tensor
    seen: Tensor

    def __init__(self, num_features: int, batches: int = 1, eps: float = 1e-5) -> None:
        super().__init__()
        if num_features < 1 or batches < 1:
            raise ParameterError(f"FixedScale needs features and batches, got {num_features} and {batches}.")
        self.num_features, self.batches, self.eps = num_features, batches, eps
        self.weight = nn.Parameter(torch.empty(num_features))
        self.bias = nn.Parameter(torch.empty(num_features))
        self.register_buffer("mean", torch.empty(num_features))
        self.register_buffer("deviation", torch.empty(num_features))
        self.register_buffer("seen", torch.empty((), dtype=torch.long))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Forget all batches."""
        for part, value in ((self.weight, 1), (self.bias, 0), (self.mean, 0), (self.deviation, 1), (self.seen, 0)):
            part.fill_(value)

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(N, num_features)`` to the same shape."""
        if self.training and x.size(0) and (torch.compiler.is_compiling() or self.seen < self.batches):
            self._measure(x.detach())
        return (x - self.mean) / self.deviation * self.weight + self.bias

    @torch.no_grad()
    def _measure(self, x: Tensor) -> None:
        """Take the mean over batches of their means and deviations; one that is not finite says nothing."""
        x = x.to(self.mean.dtype)  # another type under autocast
        share, mean, deviation = (self.seen + 1).to(x.dtype).reciprocal(), x.mean(0), x.std(0, correction=0)
        counts = (mean + deviation).isfinite().all() & (self.seen < self.batches)
        for part, new in ((self.mean, mean), (self.deviation, torch.where(deviation > self.eps, deviation, 1))):
            part.copy_(torch.where(counts, part.lerp(new, share), part))
        self.seen += counts
        if rank_and_world()[1] > 1:
            for part in (self.mean, self.deviation, self.seen):
                dist.broadcast(part, 0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num_features}, batches={self.batches})"

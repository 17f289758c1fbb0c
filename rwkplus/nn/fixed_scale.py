"""Normalization by statistics that are measured once and then stay."""

import torch
from torch import Tensor, nn
from torch import distributed as dist

from rwkplus.errors import ParameterError
from rwkplus.ops.collective import rank_and_world


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
        if self.training and self.seen < self.batches and x.size(0):
            self._measure(x.detach())
        return (x - self.mean) / self.deviation * self.weight + self.bias

    @torch.no_grad()
    def _measure(self, x: Tensor) -> None:
        """Take the mean over batches of their means and deviations."""
        x = x.to(self.mean.dtype)  # another type under autocast
        share = 1 / (int(self.seen) + 1)
        self.mean.lerp_(x.mean(0), share)
        deviation = x.std(0, correction=0)
        self.deviation.lerp_(torch.where(deviation > self.eps, deviation, 1), share)
        self.seen += 1
        if rank_and_world()[1] > 1:
            for part in (self.mean, self.deviation):
                dist.broadcast(part, 0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num_features}, batches={self.batches})"

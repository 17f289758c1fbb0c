"""Graph kernels for Gaussian processes of GPyTorch (extra: ``gp``)."""

from typing import Any

from sklearn.base import clone

from rwkplus.errors import MissingExtraError, ParameterError
from rwkplus.kernels.graph_kernel import GraphKernel
from rwkplus.table import Graphs

try:
    import torch
    from gpytorch.kernels import Kernel
    from torch import Tensor
except ImportError as error:
    raise MissingExtraError("GPyTorchKernel needs GPyTorch.", "Install it: pip install 'rwkplus[gp]'.") from error


class GPyTorchKernel(Kernel):  # type: ignore[misc, unused-ignore]
    """A graph kernel as a covariance function of GPyTorch, whose inputs are numbers of graphs.

    The kernel is computed once, for the graphs to learn from and those to predict together; it asks for no labels, so
    nothing leaks. GPyTorch scales it (``ScaleKernel``) and adds or multiplies it with others, each with weights learned
    by marginal likelihood.

    Args:
        kernel: Such as :class:`rwkplus.RandomWalkKernel`; ``normalize=True`` gives all graphs the same variance.
        X: All graphs, in any form.
        options: Of :class:`gpytorch.kernels.Kernel`.

    Attributes:
        inputs: The numbers of all graphs as GPyTorch wants its inputs, ``(B, 1)``.

    Example:
        >>> from gpytorch.kernels import ScaleKernel
        >>> from rwkplus import RandomWalkKernel
        >>> kernel = GPyTorchKernel(RandomWalkKernel(steps=2, normalize=True), ["CC", "CCC", "CCO"])
        >>> ScaleKernel(kernel)(kernel.inputs[:2], kernel.inputs).to_dense().shape
        torch.Size([2, 3])
    """

    gram: Tensor

    def __init__(self, kernel: GraphKernel, X: Graphs, **options: Any) -> None:  # noqa: ANN401
        super().__init__(**options)
        if not isinstance(kernel, GraphKernel):
            raise ParameterError(f"kernel must be a graph kernel of rwkplus, got {kernel!r}.")
        gram = clone(kernel).fit_transform(X)
        if gram.shape[0] != gram.shape[1]:
            raise ParameterError(
                f"{type(kernel).__name__} gives features, not kernels.", "Use gpytorch.kernels.LinearKernel on them."
            )
        self.register_buffer("gram", torch.tensor(gram, dtype=torch.get_default_dtype()))

    @property
    def inputs(self) -> Tensor:
        """The numbers of all graphs ``(B, 1)``."""
        return torch.arange(len(self.gram), dtype=self.gram.dtype, device=self.gram.device).unsqueeze(-1)

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **_: Any) -> Tensor:  # noqa: ANN401
        """Kernels of graphs with graphs, or with their counterparts if ``diag``."""
        first, second = x1.squeeze(-1).long(), x2.squeeze(-1).long()
        return self.gram[first, second] if diag else self.gram[first.unsqueeze(-1), second.unsqueeze(-2)]

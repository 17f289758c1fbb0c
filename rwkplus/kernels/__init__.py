"""Random walk graph kernels and walk features as scikit-learn estimators; may import the table, loops and saving."""

from typing import Any

from rwkplus.kernels.gram_storage import open_features
from rwkplus.kernels.nystroem import RandomWalkNystroem
from rwkplus.kernels.random_walk import RandomWalkKernel
from rwkplus.kernels.random_walk_features import RandomWalkFeatures

__all__ = ["GPyTorchKernel", "RandomWalkFeatures", "RandomWalkKernel", "RandomWalkNystroem", "open_features"]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import the adapter to GPyTorch, an extra, when it is asked for."""
    if name != "GPyTorchKernel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rwkplus.kernels.gpytorch_kernel import GPyTorchKernel

    return GPyTorchKernel

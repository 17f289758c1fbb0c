"""Walk kernels and walk features as scikit-learn estimators."""

from rwkplus.kernels.feature_files import open_features
from rwkplus.kernels.features import RandomWalkFeatures
from rwkplus.kernels.nystroem import RandomWalkNystroem
from rwkplus.kernels.random_walk import RandomWalkKernel

__all__ = ["RandomWalkFeatures", "RandomWalkKernel", "RandomWalkNystroem", "open_features"]

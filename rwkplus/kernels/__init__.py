"""Random walk graph kernels and walk features as scikit-learn estimators; may import the table, loops and saving."""

from rwkplus.kernels.gram_storage import open_features
from rwkplus.kernels.random_walk import RandomWalkKernel, RandomWalkNystroem
from rwkplus.kernels.random_walk_features import RandomWalkFeatures

__all__ = ["RandomWalkFeatures", "RandomWalkKernel", "RandomWalkNystroem", "open_features"]

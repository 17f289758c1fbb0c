"""Supervised learning with networks on whole graphs and on nodes: train, validate, search, predict, save.

May import models, layers, large graphs and data sets, and reads graphs through the table (extra: ``nn``).
"""

import rwkplus.tensors  # noqa: F401
from rwkplus.training.cross_validation import CrossValidation, FoldResult, cross_validate, tune
from rwkplus.training.dataset import GraphDataset
from rwkplus.training.estimators import (
    GraphClassifier,
    GraphEstimator,
    GraphRegressor,
    NetworkEstimator,
    TrainedNetwork,
)
from rwkplus.training.large_graphs import Cutting, train_sampled
from rwkplus.training.layerwise import layerwise_outputs
from rwkplus.training.loop import Settings
from rwkplus.training.matches import HiddenGraphMatches, hidden_graphs, match_hidden_graphs
from rwkplus.training.nodes import NodeClassifier, train_nodes
from rwkplus.training.run_folder import Checkpoints, Place, log_to, train

__all__ = [
    "Checkpoints",
    "CrossValidation",
    "Cutting",
    "FoldResult",
    "GraphClassifier",
    "GraphDataset",
    "GraphEstimator",
    "GraphRegressor",
    "HiddenGraphMatches",
    "NetworkEstimator",
    "NodeClassifier",
    "Place",
    "Settings",
    "TrainedNetwork",
    "cross_validate",
    "hidden_graphs",
    "layerwise_outputs",
    "log_to",
    "match_hidden_graphs",
    "train",
    "train_nodes",
    "train_sampled",
    "tune",
]

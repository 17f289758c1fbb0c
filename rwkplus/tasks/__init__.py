"""Supervised learning on whole graphs and on nodes: train, validate, search, predict, save."""

import rwkplus.tensors  # noqa: F401
from rwkplus.tasks.cross_validation import CrossValidation, FoldResult, cross_validate
from rwkplus.tasks.dataset import GraphDataset
from rwkplus.tasks.estimators import GraphClassifier, GraphEstimator, GraphRegressor
from rwkplus.tasks.explain import Explanation, explain
from rwkplus.tasks.graph_task import GraphTask
from rwkplus.tasks.job import Place, TrainResult
from rwkplus.tasks.layerwise import layerwise_outputs
from rwkplus.tasks.loop import Checkpoints
from rwkplus.tasks.node_classifier import NodeClassifier
from rwkplus.tasks.node_model import TrainedNodes
from rwkplus.tasks.node_task import NodeTask, train_nodes
from rwkplus.tasks.sampled_batches import Cutting
from rwkplus.tasks.sampled_task import SampledResult, SampledTask, train_sampled
from rwkplus.tasks.settings import Settings
from rwkplus.tasks.trained import TrainedModel, load_model
from rwkplus.tasks.training import train
from rwkplus.tasks.tuning import tune

__all__ = [
    "Checkpoints",
    "CrossValidation",
    "Cutting",
    "Explanation",
    "FoldResult",
    "GraphClassifier",
    "GraphDataset",
    "GraphEstimator",
    "GraphRegressor",
    "GraphTask",
    "NodeClassifier",
    "NodeTask",
    "Place",
    "SampledResult",
    "SampledTask",
    "Settings",
    "TrainResult",
    "TrainedModel",
    "TrainedNodes",
    "cross_validate",
    "explain",
    "layerwise_outputs",
    "load_model",
    "train",
    "train_nodes",
    "train_sampled",
    "tune",
]

"""Supervised learning on whole graphs: train, validate, search, predict, save."""

from rwkplus.tasks.cross_validation import CrossValidation, FoldResult, cross_validate
from rwkplus.tasks.dataset import GraphDataset
from rwkplus.tasks.estimators import GraphClassifier, GraphRegressor
from rwkplus.tasks.graph_task import GraphTask
from rwkplus.tasks.job import Place, TrainResult
from rwkplus.tasks.settings import Settings
from rwkplus.tasks.trained import TrainedModel, load_model
from rwkplus.tasks.training import train
from rwkplus.tasks.tuning import tune

__all__ = [
    "CrossValidation",
    "FoldResult",
    "GraphClassifier",
    "GraphDataset",
    "GraphRegressor",
    "GraphTask",
    "Place",
    "Settings",
    "TrainResult",
    "TrainedModel",
    "cross_validate",
    "load_model",
    "train",
    "tune",
]

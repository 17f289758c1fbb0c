"""Train a network on a graph database."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rwkplus.table import Graphs
from rwkplus.tasks.dataset import GraphDataset
from rwkplus.tasks.inputs import Features
from rwkplus.tasks.job import Job, Model, Place, TrainResult
from rwkplus.tasks.loop import OnEpoch
from rwkplus.tasks.settings import Settings
from rwkplus.tasks.targets import Task


def train(
    model: Model,
    graphs: Graphs | GraphDataset,
    y: object = None,
    *,
    model_params: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    task: Task = "auto",
    features: Features = "auto",
    ignore: Sequence[str] = (),
    place: Place | None = None,
    on_epoch: OnEpoch | None = None,
) -> TrainResult:
    """Train a network on all given graphs, of which ``settings.validation`` choose the best epoch.

    Args:
        model: Registered name or a class; see :mod:`rwkplus.models.registry`.
        graphs: PyG or networkx graphs, the path of a TU folder, or a :class:`GraphDataset`.
        y: One label per graph, or one row of labels; ``graph.y`` by default.
        model_params: Keyword arguments of the network.
        settings: Epochs, learning rate, validation and so on.
        task: What the labels mean; see :func:`rwkplus.tasks.targets.make_target`.
        features: Node features where graphs have none.
        ignore: Fields to leave out on purpose.
        place: Where to keep files, if at all.
        on_epoch: Called with the scores of every epoch.

    Example:
        >>> from rwkplus.datasets import load_graphs
        >>> graphs = load_graphs("functional-groups")
        >>> result = train("gin", graphs, settings=Settings(epochs=5), ignore=("edge_attr",))
        >>> result.trained.predict(graphs[:2]).shape
        (2,)
    """
    data = GraphDataset.of(graphs, y, task=task, features=features, ignore=ignore)
    job = Job.split(data, model, model_params or {}, np.arange(len(data)), settings or Settings())
    return job.run(place, on_epoch)

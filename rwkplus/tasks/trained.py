"""A trained network with all it takes to use it: how to read graphs and what its outputs mean."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rwkplus.errors import DataError, ParameterError
from rwkplus.files import damaged
from rwkplus.io.pyg import pyg_items
from rwkplus.models.files import ModelFile, read_model, write_model
from rwkplus.models.registry import name_to_save
from rwkplus.table import Graphs
from rwkplus.tasks.batches import EVALUATION_SIZE, GraphStore
from rwkplus.tasks.dataset import read_labels, transformed
from rwkplus.tasks.inputs import Inputs
from rwkplus.tasks.metrics import all_scores
from rwkplus.tasks.precision import in_precision_of
from rwkplus.tasks.targets import Numbers, Target, target_from_dict
from rwkplus.types import UnknownLabel


@dataclass
class TrainedModel:
    """A network that predicts labels of graphs.

    Attributes:
        model: The network, in evaluation mode.
        inputs: How graphs are read.
        target: What outputs mean.
        name: Registered name or class of the network.
        params: Its keyword arguments.
        facts: Where it comes from: settings, best epoch, validation scores.
    """

    model: nn.Module
    inputs: Inputs
    target: Target
    name: str | type[nn.Module]
    params: Mapping[str, Any]
    facts: dict[str, Any] = field(default_factory=dict)

    def predict(self, graphs: Graphs, *, unknown_label: UnknownLabel = "ignore") -> NDArray[Any]:
        """Predict classes ``(B,)``, numbers ``(B,)`` or ``(B, C)``, or answers ``(B, C)``."""
        return self.target.decode(self.outputs(graphs, unknown_label=unknown_label))

    def predict_proba(self, graphs: Graphs, *, unknown_label: UnknownLabel = "ignore") -> NDArray[Any]:
        """Predict probabilities of classes, or of yes: ``(B, C)``."""
        if isinstance(self.target, Numbers):
            raise ParameterError("a regression model has no probabilities: use predict.")
        return self.target.probabilities(self.outputs(graphs, unknown_label=unknown_label))  # type: ignore[attr-defined, no-any-return]

    def scores(self, graphs: Graphs, y: object = None, *, unknown_label: UnknownLabel = "ignore") -> dict[str, float]:
        """Every score of the task on graphs with known labels."""
        items = pyg_items(graphs)
        labels = self.target.encode(read_labels(items, y, self.target.kind))
        return all_scores(self.target, self.outputs(items, unknown_label=unknown_label), labels)

    def outputs(self, graphs: Graphs, *, unknown_label: UnknownLabel = "ignore") -> Tensor:
        """Raw outputs ``(B, C)``."""
        store = transformed(self.inputs.read(graphs, unknown_label), self.model)
        return outputs_of(self.model, store, np.arange(len(store)))

    def save(self, path: str | Path) -> Path:
        """Write one safetensors file that :meth:`load` reads, whole or not at all."""
        about = {"inputs": self.inputs.to_dict(), "target": self.target.to_dict(), "facts": self.facts}
        sizes = self.inputs.width, self.target.width
        return write_model(path, ModelFile(self.model, name_to_save(self.name), *sizes, self.params, about))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote."""
        file = read_model(path)
        if file.about.get("level") == "nodes":
            raise DataError(f"{path} holds a network for nodes: read it with rwkplus.tasks.NodeClassifier.load.")
        try:
            inputs, target = Inputs.from_dict(file.about["inputs"]), target_from_dict(file.about["target"])
            fits = (inputs.width, target.width) == (file.in_channels, file.out_channels)
            facts = dict(file.about["facts"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged(path, "its description is incomplete") from error
        if not fits:
            raise damaged(path, "inputs or classes do not fit its weights")
        return cls(file.model, inputs, target, file.name, file.params, facts)


def load_model(path: str | Path) -> TrainedModel:
    """Load a network that ``save`` or ``rwkplus train`` wrote, by its file or folder, ready to predict."""
    return TrainedModel.load(path)


def device_of(model: nn.Module) -> torch.device:
    """Where a network is; the CPU if it has no parameters."""
    return next((parameter.device for parameter in model.parameters()), torch.device("cpu"))


@torch.inference_mode()
def outputs_of(model: nn.Module, store: GraphStore, index: NDArray[np.int64]) -> Tensor:
    """Outputs of the graphs ``index``, in evaluation mode, on the CPU: ``(len(index), C)``."""
    device = device_of(model)
    model.eval()
    parts = np.array_split(index, -(-index.size // EVALUATION_SIZE))
    return torch.cat([model(in_precision_of(model, store.batch(part)).to(device)).cpu() for part in parts])

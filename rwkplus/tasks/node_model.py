"""A trained network for nodes with all it takes to use it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.data import Data

from rwkplus.errors import DataError, ShapeError
from rwkplus.files import damaged
from rwkplus.large.node_numbers import Nodes
from rwkplus.models.files import ModelFile, read_model, write_model
from rwkplus.models.registry import name_to_save
from rwkplus.nn.rwk_plus_conv import one_graph
from rwkplus.tasks.metrics import all_scores
from rwkplus.tasks.node_data import check_known, chosen_nodes, node_labels, read_graph
from rwkplus.tasks.progress import Row
from rwkplus.tasks.targets import Classes, target_from_dict
from rwkplus.tasks.trained import device_of

LEVEL = "nodes"


@dataclass
class TrainedNodes:
    """A network that classifies nodes, of the graph it was trained on or of others with the same features.

    Attributes:
        model: The network, in evaluation mode.
        in_channels: Features of a node.
        target: The classes.
        name: Registered name or class of the network.
        params: Its keyword arguments.
        facts: Where it comes from: settings, best epoch, validation scores, seconds.
        history: Losses and chosen score, epoch by epoch; not saved.
    """

    model: nn.Module
    in_channels: int
    target: Classes
    name: str | type[nn.Module]
    params: Mapping[str, Any]
    facts: dict[str, Any] = field(default_factory=dict)
    history: list[Row] = field(default_factory=list)

    def predict(self, data: Data) -> NDArray[Any]:
        """Predict the class of every node: ``(N,)``."""
        return self.target.decode(self.outputs(data))

    def predict_proba(self, data: Data) -> NDArray[Any]:
        """Predict the probability of every class: ``(N, C)``."""
        return self.target.probabilities(self.outputs(data))

    def scores(self, data: Data, y: object = None, *, nodes: Nodes | None = None) -> dict[str, float]:
        """Every score on some nodes, those of ``data.test_mask`` by default."""
        labels, index = node_labels(data, y), chosen_nodes(data, nodes, "nodes", "test_mask")
        check_known(labels, index)
        return all_scores(self.target, self.outputs(data)[torch.from_numpy(index)], self.target.encode(labels[index]))

    @torch.inference_mode()
    def outputs(self, data: Data) -> Tensor:
        """Raw outputs on the CPU: ``(N, C)``."""
        graph = read_graph(data, self.model)
        if graph.num_features != self.in_channels:
            raise ShapeError(f"x has {graph.num_features} features, in training there were {self.in_channels}.")
        with one_graph(self.model):
            outputs: Tensor = self.model(graph.to(device_of(self.model)))
        return outputs.cpu()

    def save(self, path: str | Path) -> Path:
        """Write one safetensors file that :meth:`load` reads, whole or not at all."""
        about = {"level": LEVEL, "target": self.target.to_dict(), "facts": self.facts}
        sizes = self.in_channels, self.target.width
        return write_model(path, ModelFile(self.model, name_to_save(self.name), *sizes, self.params, about))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote."""
        file = read_model(path)
        if file.about.get("level") != LEVEL:
            raise DataError(f"{path} holds a network for whole graphs: read it with rwkplus.tasks.load_model.")
        try:
            target, facts = target_from_dict(file.about["target"]), dict(file.about["facts"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged(path, "its description is incomplete") from error
        if not isinstance(target, Classes) or target.width != file.out_channels:
            raise damaged(path, "its classes do not fit its weights")
        return cls(file.model, file.in_channels, target, file.name, file.params, facts)

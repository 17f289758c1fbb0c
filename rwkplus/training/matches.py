"""What a trained network looks at: its hidden graphs, and the nodes whose neighborhoods match them."""

from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rwkplus.drawing import HiddenGraphsDisplay
from rwkplus.errors import ParameterError
from rwkplus.nn.kernel_conv import KernelConv
from rwkplus.table import Graphs
from rwkplus.table.reader import SideSchema
from rwkplus.training.dataset import Inputs, outputs_of
from rwkplus.training.estimators import NetworkEstimator, TrainedNetwork


@dataclass(frozen=True)
class HiddenGraphMatches:
    """Hidden graphs of the first kernel layer, and how strongly each node of some graphs matches them."""

    hidden: list[nx.Graph]
    """Complete graphs; nodes carry the ``label`` they respond to most, edges their ``weight``, at most 1."""
    scores: list[NDArray[np.float64]]
    """Kernel of every node's egonet with every hidden graph, graph by graph: ``(n, K)`` each."""

    def plot(self, axes: Any = None) -> HiddenGraphsDisplay:  # noqa: ANN401
        """Draw the hidden graphs beside one another, into given axes or a new figure (extra: ``plot``)."""
        return HiddenGraphsDisplay.from_predictions(self.hidden).plot(axes)

    def strongest(self, k: int, count: int) -> list[int]:
        """Graphs with the nodes that match hidden graph ``k`` best."""
        best = [float(score[:, k].max()) if len(score) else -np.inf for score in self.scores]
        return [int(i) for i in np.argsort(best)[::-1][:count]]

    def strength(self, graph: int, k: int) -> dict[int, float]:
        """How strongly the nodes of a graph match hidden graph ``k``, from 0 to 1 over all graphs."""
        low = min(float(score[:, k].min()) for score in self.scores if len(score))
        high = max(float(score[:, k].max()) for score in self.scores if len(score))
        scaled = (self.scores[graph][:, k] - low) / max(high - low, 1e-12)
        return dict(enumerate(scaled.tolist()))


def hidden_graphs(model: NetworkEstimator | TrainedNetwork) -> list[nx.Graph]:
    """The hidden graphs of the first kernel layer of a trained network, as :class:`HiddenGraphMatches` has them."""
    trained = model.trained_ if isinstance(model, NetworkEstimator) else model
    return _hidden_graphs(trained, _first_layer(trained))


def _first_layer(trained: TrainedNetwork) -> KernelConv:
    conv = next((module for module in trained.model.modules() if isinstance(module, KernelConv)), None)
    if conv is None or not isinstance(trained.inputs, Inputs):
        raise ParameterError(f"{trained.name} has no KernelConv: only such networks tell which nodes matched.")
    return conv


def match_hidden_graphs(trained: TrainedNetwork, X: Graphs) -> HiddenGraphMatches:
    """Ask a trained network with a :class:`rwkplus.nn.KernelConv` which hidden graphs the nodes of graphs match.

    Args:
        trained: ``trained_`` of a fitted estimator, or what :func:`rwkplus.training.train` returned.
        X: Graphs in any form.

    Example:
        >>> from rwkplus.training import Settings, train
        >>> X, y = ["CCC", "COC", "CCO", "CNC"] * 5, [0, 1, 0, 1] * 5
        >>> params = {"num_hidden": 2, "hidden_nodes": 3}
        >>> trained = train("kergnn", X, y, model_params=params, settings=Settings(epochs=1), ignore=("edge_attr",))
        >>> found = match_hidden_graphs(trained, ["CCO", "CN"])
        >>> len(found.hidden), [score.shape for score in found.scores]
        (2, [(3, 2), (2, 2)])
    """
    conv = _first_layer(trained)
    tensors = trained.inputs.read(X)
    seen: list[Tensor] = []
    handle = conv.register_forward_hook(lambda _module, _inputs, output: seen.append(output.cpu()))
    try:
        outputs_of(trained.model, tensors.store(trained.model), np.arange(len(tensors)))
    finally:
        handle.remove()
    scores = torch.cat(seen).unflatten(1, (-1, conv.hidden.num_hidden)).sum(1)  # steps side by side count together
    sizes = np.diff(tensors.node_ptr).tolist()
    return HiddenGraphMatches(_hidden_graphs(trained, conv), [part.double().numpy() for part in scores.split(sizes)])


@torch.inference_mode()
def _hidden_graphs(trained: TrainedNetwork, conv: KernelConv) -> list[nx.Graph]:
    labels = _responses(trained, conv)
    graphs = []
    for adjacency, names in zip(conv.hidden.adj, labels, strict=True):
        weights = adjacency / adjacency.max().clamp(min=1e-12)
        graph = nx.Graph()
        graph.add_nodes_from((v, {"label": name}) for v, name in enumerate(names))
        upper = torch.triu_indices(len(names), len(names), 1).t().tolist()
        graph.add_edges_from((u, v, {"weight": float(weights[u, v])}) for u, v in upper)
        graphs.append(graph)
    return graphs


def _responses(trained: TrainedNetwork, conv: KernelConv) -> list[list[str]]:
    """The input label that every hidden node is most similar to."""
    nodes = trained.inputs.reader.nodes
    colors = torch.eye(nodes.width, dtype=conv.hidden.x.dtype, device=conv.hidden.x.device)
    encoder = getattr(trained.model, "encoder", None)
    similarity = torch.einsum("ld,kmd->kml", colors if encoder is None else encoder(colors).relu(), conv.hidden.x)
    names = column_names(nodes)
    return [[names[int(column)] for column in row] for row in similarity.argmax(-1)]


def column_names(nodes: SideSchema) -> list[str]:
    """What each feature of a node stands for: a label, or a number of an attribute."""
    if not nodes.exists:
        return ["0"]
    numbers = [name if width == 1 else f"{name}{k}" for name, width in nodes.attributes for k in range(width)]
    return [*nodes.names, *numbers]

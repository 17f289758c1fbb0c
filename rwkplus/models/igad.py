"""iGAD: anomalous graphs by what their nodes carry and by how they are linked."""

from typing import Literal, Unpack

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot
from torch_geometric.data import Data
from torch_geometric.nn import MLP, global_mean_pool
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import degree

from rwkplus.functional.walks import sparse_product
from rwkplus.models.registry import Network, graphs_of, takes_kernel_options
from rwkplus.nn.kernel_conv import KernelLayer, KernelOptions
from rwkplus.tensors import can_read_values, check_edge_index
from rwkplus.types import check_choice, check_integer, check_share

Colors = Literal["degree", "x"]


def two_hops(x: Tensor, edge_index: Tensor) -> Tensor:
    """Average features over neighbors twice, with the weights of ``GCNConv``: ``(N, D)``.

    >>> two_hops(torch.tensor([[0.0], [2.0]]), torch.tensor([[0, 1], [1, 0]])).flatten()
    tensor([1.0000, 1.0000])
    """
    (source, target), weight = gcn_norm(edge_index, None, x.size(0), dtype=x.dtype)
    inwards = torch.stack([target, source])
    return sparse_product(inwards, sparse_product(inwards, x, weight), weight)


def node_colors(data: Data, colors: Colors | None, max_degree: int) -> Tensor:
    """One-hot degrees, at most ``max_degree``, or features, or one color for all: ``(N, ...)``.

    >>> star = Data(x=torch.zeros(3, 1), edge_index=torch.tensor([[0, 0, 1, 2], [1, 2, 0, 0]]))
    >>> node_colors(star, "degree", max_degree=2)
    tensor([[0., 0., 1.],
            [0., 1., 0.],
            [0., 1., 0.]])
    """
    x: Tensor = data.x
    if colors == "x":
        return x
    if colors is None:
        return x.new_ones(x.size(0), 1)
    degrees = degree(data.edge_index[0], x.size(0), torch.long).clamp(max=max_degree)
    return one_hot(degrees, max_degree + 1).to(x.dtype)


class IGAD(Network):
    """Two branches, features and topology, and an MLP on both.

    The feature branch averages over nodes what they and their neighbors up to two hops away carry. The topology
    branch compares the whole graph with hidden graphs, every node colored by its degree, step by step.

    Anomalies are rare: train on ``rwkplus.training.GraphDataset(..., balance="logits")``, which adds the logarithm of
    the class frequencies to the outputs in the loss and not in predictions.

    Args:
        in_channels: Node features.
        out_channels: Outputs per graph, 2 for normal and anomalous.
        num_hidden: Hidden graphs of the topology branch.
        colors: What colors nodes in the topology branch: their ``"degree"``, or the features ``"x"`` that the other
            branch reads as well. None: walks are only counted, and divided by the number of nodes, as in the original
            iGAD.
        max_degree: Degrees above count as this one.
        feature_channels: Width of the feature branch.
        topology_channels: Width of the MLP behind the kernels.
        mlp_channels: Width of the last MLP.
        dropout: Share of activations dropped in the MLPs.
        options: Of the kernels, see :class:`~rwkplus.nn.KernelOptions`; ``hidden_nodes=5``, ``steps=2``,
            ``combine="concat"`` and ``step_norm="propagate"`` by default.

    Example:
        >>> path = Data(x=torch.rand(3, 5), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> IGAD(5).eval()(path).shape
        torch.Size([1, 2])
    """

    @takes_kernel_options(hidden_nodes=5, steps=2, combine="concat", step_norm="propagate")
    def __init__(
        self,
        in_channels: int,
        out_channels: int = 2,
        *,
        num_hidden: int = 8,
        colors: Colors | None = "degree",
        max_degree: int = 8,
        feature_channels: int = 64,
        topology_channels: int = 32,
        mlp_channels: int = 32,
        dropout: float = 0.0,
        **options: Unpack[KernelOptions],
    ) -> None:
        super().__init__()
        if colors is not None:
            check_choice("colors", colors, Colors)
        check_integer("max_degree", max_degree, 1)
        check_integer("feature_channels", feature_channels, 2)  # each branch ends with half of its width
        check_integer("topology_channels", topology_channels, 2)
        check_integer("mlp_channels", mlp_channels, 1)
        check_share("dropout", dropout)
        self.in_channels, self.colors, self.max_degree = in_channels, colors, max_degree
        self.neighbors = nn.Linear(in_channels, feature_channels)
        self.itself = nn.Linear(in_channels, feature_channels)
        self.features = MLP([2 * feature_channels, feature_channels // 2], norm=None)
        width = {"degree": max_degree + 1, "x": in_channels}.get(colors or "", 1)
        self.kernels = KernelLayer(width, num_hidden, **options)
        scores = self.kernels.num_outputs
        self.norm = nn.BatchNorm1d(scores)  # kernels differ by orders of magnitude between graphs and steps
        self.topology = MLP([scores, topology_channels, topology_channels // 2], dropout=float(dropout))
        both = feature_channels // 2 + topology_channels // 2
        self.mlp = MLP([both, mlp_channels, out_channels], dropout=float(dropout))

    def forward(self, batch: Data) -> Tensor:
        """Outputs of every graph: ``(B, out_channels)``."""
        x = self.node_features(batch)
        if can_read_values():
            check_edge_index(batch.edge_index, x.size(0))
        branches = self._feature_branch(batch, two_hops(x, batch.edge_index)), self._topology_branch(batch)
        outputs: Tensor = self.mlp(torch.cat(branches, 1))
        return outputs

    def _feature_branch(self, batch: Data, around: Tensor) -> Tensor:
        seen = torch.cat([self.neighbors(around), self.itself(batch.x)], 1).relu()
        features: Tensor = self.features(global_mean_pool(seen, *graphs_of(batch))).relu()
        return features

    def _topology_branch(self, batch: Data) -> Tensor:
        graph, num_graphs = graphs_of(batch)
        colors = node_colors(batch, self.colors, self.max_degree)
        scores: Tensor = self.kernels(colors, batch.edge_index, graph, num_graphs=num_graphs)
        if self.colors is None:
            nodes = torch.bincount(graph, minlength=num_graphs).clamp(min=1)
            scores = scores / nodes.unsqueeze(1)
        topology: Tensor = self.topology(self.norm(scores)).relu()
        return topology

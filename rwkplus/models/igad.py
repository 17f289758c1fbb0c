"""iGAD: anomalous graphs by what their nodes carry and by how they are linked."""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot
from torch_geometric.data import Data
from torch_geometric.nn import MLP, global_mean_pool
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import degree

from rwkplus.functional.propagate import sparse_product
from rwkplus.graphs.edge_hash import edge_hash_of, has_same_edges
from rwkplus.models.heads import graphs_of, make_norm, node_features
from rwkplus.nn.hidden_graphs import AdjacencyMap
from rwkplus.nn.kernel_layer import KernelLayer
from rwkplus.nn.kernel_module import Kernel
from rwkplus.nn.step_norm import Placement
from rwkplus.ops.csr import check_ends
from rwkplus.ops.egonet_kinds import row_hashes
from rwkplus.ops.transforms import can_look, learns
from rwkplus.ops.walk_kinds import walk_kinds
from rwkplus.types import check_choice, check_integer, check_share

Colors = Literal["degree", "x"]


class FixedInputs(BaseTransform):
    """Compute what iGAD reads of a graph and does not learn, once for all epochs; without, it does so in every pass.

    Where features or edges have changed since, the network notices and computes anew.

    Args:
        steps: Longest walk.
        colors: What colors nodes, as in :class:`IGAD`.
        max_degree: Degrees above count as this one.
    """

    def __init__(self, steps: int, colors: Colors | None, max_degree: int) -> None:
        self.steps = steps
        self.colors = colors
        self.max_degree = max_degree

    def forward(self, data: Data) -> Data:
        """Add ``two_hops``, what nodes see around them, ``walk_kinds``, and hashes of what they were read off."""
        data.two_hops = two_hops(data.x, data.edge_index)
        colors = row_hashes(node_colors(data, self.colors, self.max_degree).cpu())
        data.walk_kinds = walk_kinds(colors, data.edge_index.cpu(), self.steps).to(data.x.device)
        data.fixed_rows, data.fixed_edges = row_hashes(data.x.cpu()).to(data.x.device), edge_hash_of(data)
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(steps={self.steps}, colors={self.colors!r}, max_degree={self.max_degree})"


def is_fixed(batch: Data) -> bool:
    """Whether all graphs were transformed by :class:`FixedInputs`, and neither features nor edges changed since."""
    if "fixed_rows" not in batch or torch.compiler.is_compiling():
        return False
    if learns(batch.x):  # gradients by what was computed of it before are lost
        return False
    same_rows = torch.equal(row_hashes(batch.x.cpu()), batch.fixed_rows.cpu())
    return same_rows and bool(has_same_edges(batch, batch.fixed_edges))


def two_hops(x: Tensor, edge_index: Tensor) -> Tensor:
    """Average features over neighbors twice, with the weights of ``GCNConv``: ``(N, D)``."""
    (source, target), weight = gcn_norm(edge_index, None, x.size(0), dtype=x.dtype)
    inwards = torch.stack([target, source])
    return sparse_product(inwards, sparse_product(inwards, x, weight), weight)


def node_colors(data: Data, colors: Colors | None, max_degree: int) -> Tensor:
    """One-hot degrees, at most ``max_degree``, or features, or one color for all: ``(N, ...)``."""
    x: Tensor = data.x
    if colors == "x":
        return x
    if colors is None:
        return x.new_ones(x.size(0), 1)
    degrees = degree(data.edge_index[0], x.size(0), torch.long).clamp(max=max_degree)
    return one_hot(degrees, max_degree + 1).to(x.dtype)


class IGAD(nn.Module):
    """Two branches, features and topology, and an MLP on both.

    The feature branch averages over nodes what they and their neighbors up to two hops away carry. The topology
    branch compares the whole graph with hidden graphs, every node colored by its degree, step by step.

    Anomalies are rare: train on ``rwkplus.training.GraphDataset(..., balance="logits")``, which adds the logarithm of
    the class frequencies to the outputs in the loss and not in predictions.

    Args:
        in_channels: Node features.
        out_channels: Outputs per graph, 2 for normal and anomalous.
        num_hidden: Hidden graphs of the topology branch.
        hidden_nodes: Nodes of each.
        steps: Longest walk, counted in edges.
        kernel: ``"rwk+"`` or ``"rwk-"``.
        step_norm: Where StepNorm is placed, ``"propagate"`` or ``"readout"``; None for nowhere.
        colors: What colors nodes in the topology branch: their ``"degree"``, or the features ``"x"`` that the other
            branch reads as well. None: walks are only counted, and divided by the number of nodes, as in the original
            iGAD.
        max_degree: Degrees above count as this one.
        adjacency: How edge parameters become weights.
        feature_channels: Width of the feature branch.
        topology_channels: Width of the MLP behind the kernels.
        mlp_channels: Width of the last MLP.
        dropout: Share of activations dropped in the MLPs.
    """

    reads = ("x",)

    def __init__(
        self,
        in_channels: int,
        out_channels: int = 2,
        *,
        num_hidden: int = 8,
        hidden_nodes: int = 5,
        steps: int = 2,
        kernel: Kernel = "rwk+",
        step_norm: Placement | None = "propagate",
        colors: Colors | None = "degree",
        max_degree: int = 8,
        adjacency: AdjacencyMap = "sigmoid",
        feature_channels: int = 64,
        topology_channels: int = 32,
        mlp_channels: int = 32,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if colors is not None:
            check_choice("colors", colors, Colors)
        check_integer("steps", steps, 1)
        check_integer("max_degree", max_degree, 1)
        check_integer("feature_channels", feature_channels, 2)  # each branch ends with half of its width
        check_integer("topology_channels", topology_channels, 2)
        check_integer("mlp_channels", mlp_channels, 1)
        check_share("dropout", dropout)
        self.in_channels, self.colors, self.max_degree = in_channels, colors, max_degree
        self.pre_transform = FixedInputs(steps, colors, max_degree)
        self.neighbors = nn.Linear(in_channels, feature_channels)
        self.itself = nn.Linear(in_channels, feature_channels)
        self.features = MLP([2 * feature_channels, feature_channels // 2], norm=None)
        self.kernels = KernelLayer(
            {"degree": max_degree + 1, "x": in_channels}.get(colors or "", 1),
            num_hidden,
            hidden_nodes=hidden_nodes,
            steps=steps,
            kernel=kernel,
            step_norm=step_norm,
            adjacency=adjacency,
        )
        scores = self.kernels.num_outputs
        self.norm = make_norm("batch", scores)  # kernels differ by orders of magnitude between graphs and steps
        self.topology = MLP([scores, topology_channels, topology_channels // 2], dropout=float(dropout))
        both = feature_channels // 2 + topology_channels // 2
        self.mlp = MLP([both, mlp_channels, out_channels], dropout=float(dropout))

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        parts = (self.neighbors, self.itself, self.features, self.kernels, self.norm, self.topology, self.mlp)
        for part in parts:
            part.reset_parameters()

    def forward(self, batch: Data) -> Tensor:
        """Outputs of every graph: ``(B, out_channels)``."""
        x, fixed = node_features(batch, self, self.in_channels), is_fixed(batch)
        if not fixed and can_look():
            check_ends(batch.edge_index, x.size(0))
        around = batch.two_hops.to(x.dtype) if fixed else two_hops(x, batch.edge_index)
        kinds = batch.walk_kinds if fixed else None
        branches = self._feature_branch(batch, around), self._topology_branch(batch, kinds)
        outputs: Tensor = self.mlp(torch.cat(branches, 1))
        return outputs

    def _feature_branch(self, batch: Data, around: Tensor) -> Tensor:
        seen = torch.cat([self.neighbors(around), self.itself(batch.x)], 1).relu()
        features: Tensor = self.features(global_mean_pool(seen, *graphs_of(batch))).relu()
        return features

    def _topology_branch(self, batch: Data, kinds: Tensor | None) -> Tensor:
        graph, num_graphs = graphs_of(batch)
        colors = node_colors(batch, self.colors, self.max_degree)
        scores: Tensor = self.kernels(colors, batch.edge_index, graph, num_graphs=num_graphs, kinds=kinds)
        if self.colors is None:
            nodes = torch.bincount(graph, minlength=num_graphs).clamp(min=1)
            scores = scores / nodes.unsqueeze(1)
        topology: Tensor = self.topology(self.norm(scores)).relu()
        return topology

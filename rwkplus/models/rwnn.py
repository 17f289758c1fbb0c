"""RWNN: whole graphs seen through their kernels with hidden graphs."""

from torch import Tensor, nn
from torch_geometric.data import Data

from rwkplus.models.heads import Norm, graphs_of, make_head, make_norm, node_features
from rwkplus.nn.hidden_graphs import AdjacencyMap, FeatureMap
from rwkplus.nn.kernel_layer import KernelLayer
from rwkplus.nn.kernel_module import Kernel, StepCombine
from rwkplus.nn.step_norm import Placement
from rwkplus.types import Walks


class RWNN(nn.Module):
    """Kernels of the graph with hidden graphs, one per step; MLP.

    The defaults are those of RWNN; with ``kernel="rwk+"`` it is the one-layer network of the paper.

    Args:
        in_channels: Node features.
        out_channels: Outputs per graph.
        num_hidden: Hidden graphs.
        hidden_nodes: Nodes of each.
        steps: Longest walk, counted in edges.
        kernel: ``"rwk-"`` or ``"rwk+"``.
        hidden_channels: Width of the linear layer and ReLU before the kernels; None for neither.
        step_norm: Where StepNorm is placed, ``"propagate"`` or ``"readout"``; None for nowhere.
        combine: ``"concat"``, ``"sum"``, ``"mean"`` or ``"last"`` of the steps.
        include_zero_step: Begin with the walks of no edge.
        walks: ``"open"`` or ``"closed"``.
        edge_dim: Edge colors to match; None for none.
        adjacency: How edge parameters become weights.
        features: How feature parameters become features.
        norm: ``"batch"`` for BatchNorm, ``"fixed"`` for :class:`~rwkplus.nn.FixedScale`, which suits exact numbers.
        dropout: Share of activations dropped in the MLP.
        mlp_channels: Width of the MLP; None for a linear map.
    """

    pre_transform = None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        num_hidden: int = 8,
        hidden_nodes: int = 6,
        steps: int = 3,
        kernel: Kernel = "rwk-",
        hidden_channels: int | None = None,
        step_norm: Placement | None = None,
        combine: StepCombine = "concat",
        include_zero_step: bool = True,
        walks: Walks = "open",
        edge_dim: int | None = None,
        adjacency: AdjacencyMap = "relu",
        features: FeatureMap = "raw",
        norm: Norm = "batch",
        dropout: float = 0.0,
        mlp_channels: int | None = 16,
    ) -> None:
        super().__init__()
        self.reads = ("x", "edge_weight") if edge_dim is None else ("x", "edge_weight", "edge_attr")
        self.in_channels = in_channels
        self.encoder = None if hidden_channels is None else nn.Linear(in_channels, hidden_channels)
        self.kernels = KernelLayer(
            in_channels if hidden_channels is None else hidden_channels,
            num_hidden,
            hidden_nodes=hidden_nodes,
            steps=steps,
            kernel=kernel,
            step_norm=step_norm,
            combine=combine,
            include_zero_step=include_zero_step,
            walks=walks,
            edge_dim=edge_dim,
            adjacency=adjacency,
            features=features,
        )
        # Kernels differ by orders of magnitude between graphs and steps.
        self.norm = make_norm(norm, self.kernels.num_outputs)
        self.mlp = make_head(self.kernels.num_outputs, mlp_channels, out_channels, norm, dropout)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for part in (self.encoder, self.kernels, self.norm, self.mlp):
            if part is not None:
                part.reset_parameters()

    def embed(self, batch: Data) -> Tensor:
        """Kernels of every graph with every hidden graph: ``(B, K * T)`` if steps are concatenated."""
        x = node_features(batch, self, self.in_channels)
        if self.encoder is not None:
            x = self.encoder(x).relu()
        graph, num_graphs = graphs_of(batch)
        kernels: Tensor = self.kernels(
            x, batch.edge_index, graph, batch.get("edge_weight"), batch.get("edge_attr"), num_graphs
        )
        return kernels

    def forward(self, batch: Data) -> Tensor:
        """Outputs of every graph: ``(B, out_channels)``."""
        outputs: Tensor = self.mlp(self.norm(self.embed(batch)))
        return outputs

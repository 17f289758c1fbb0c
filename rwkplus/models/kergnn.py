"""KerGNN: every node seen through the kernels of its neighborhood with hidden graphs."""

from typing import Literal

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import global_add_pool

from rwkplus.errors import ParameterError
from rwkplus.functional.egonet_kernels import Egonets
from rwkplus.graphs.egonets import EgoNets, egonets_of, extract_egonets
from rwkplus.models.heads import Norm, graphs_of, make_head, make_norm, node_features
from rwkplus.nn.hidden_graphs import AdjacencyMap, FeatureMap
from rwkplus.nn.kernel_conv import Aggregation, KernelConv
from rwkplus.nn.kernel_module import Kernel, StepCombine
from rwkplus.nn.step_norm import Placement
from rwkplus.ops.transforms import learns
from rwkplus.types import Walks


class KerGNN(nn.Module):
    """Kernel convolutions with BatchNorm, ReLU and residual; sum over nodes; MLP.

    The defaults are the paper's for graph classification. Egonets are the same in all layers and epochs: apply
    ``pre_transform`` to the graphs once, and they are not searched again; networks of the same ``hops`` and
    ``max_nodes`` share them.

    Args:
        in_channels: Node features.
        out_channels: Outputs per graph.
        hidden_channels: Width of the linear layer and ReLU before the first convolution; None for neither.
        num_hidden: Hidden graphs per layer.
        hidden_nodes: Nodes of each.
        layers: Number of convolutions.
        steps: Longest walk, counted in edges.
        kernel: ``"rwk+"`` or ``"rwk-"``.
        hops: Radius of the egonets.
        max_nodes: Largest size of an egonet; None for any.
        step_norm: Where StepNorm is placed, ``"propagate"`` or ``"readout"``; None for nowhere.
        combine: ``"sum"``, ``"mean"``, ``"last"`` or ``"concat"`` of the steps.
        aggr: ``"mean"`` or ``"sum"`` over the nodes of egonet and hidden graph.
        include_zero_step: Begin with the walks of no edge.
        walks: ``"open"`` or ``"closed"``.
        edge_dim: Edge colors to match; None for none.
        adjacency: How edge parameters become weights.
        features: How feature parameters become features.
        residual: Add the input of each layer to its output, through a linear map where widths differ.
        norm: ``"batch"`` for BatchNorm, ``"fixed"`` for :class:`~rwkplus.nn.FixedScale`, which suits exact numbers.
        activation: ``"relu"`` after each normalization, or None.
        dropout: Share of activations dropped after each layer and in the MLP.
        mlp_channels: Width of the MLP; None for a linear map.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int | None = 8,
        num_hidden: int = 8,
        hidden_nodes: int = 6,
        layers: int = 1,
        steps: int = 3,
        kernel: Kernel = "rwk+",
        hops: int = 1,
        max_nodes: int | None = 10,
        step_norm: Placement | None = "propagate",
        combine: StepCombine = "sum",
        aggr: Aggregation = "mean",
        include_zero_step: bool = False,
        walks: Walks = "open",
        edge_dim: int | None = None,
        adjacency: AdjacencyMap = "sigmoid",
        features: FeatureMap = "raw",
        residual: bool = True,
        norm: Norm = "batch",
        activation: Literal["relu"] | None = "relu",
        dropout: float = 0.0,
        mlp_channels: int | None = 16,
    ) -> None:
        super().__init__()
        if layers < 1:
            raise ParameterError(f"layers must be at least 1, got {layers}.")
        if activation not in ("relu", None):
            raise ParameterError(f"activation must be relu or None, got {activation!r}.")
        self.in_channels = in_channels
        self.pre_transform = EgoNets(hops, max_nodes)
        self.reads = ("x", "edge_weight") if edge_dim is None else ("x", "edge_weight", "edge_attr")
        self.encoder = None if hidden_channels is None else nn.Linear(in_channels, hidden_channels)
        self.residual, self.activation = residual, activation
        self.dropout = nn.Dropout(dropout)
        self.convs, self.norms, self.skips = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        width = in_channels if hidden_channels is None else hidden_channels
        for _ in range(layers):
            conv = KernelConv(
                width,
                num_hidden,
                hidden_nodes=hidden_nodes,
                steps=steps,
                kernel=kernel,
                hops=hops,
                max_nodes=max_nodes,
                step_norm=step_norm,
                combine=combine,
                aggr=aggr,
                include_zero_step=include_zero_step,
                walks=walks,
                edge_dim=edge_dim,
                adjacency=adjacency,
                features=features,
            )
            self.convs.append(conv)
            self.norms.append(make_norm(norm, conv.num_outputs))
            same = not residual or width == conv.num_outputs
            self.skips.append(nn.Identity() if same else nn.Linear(width, conv.num_outputs, bias=False))
            width = conv.num_outputs
        # Sums over nodes grow with the graph; BatchNorm inside the MLP takes care of that.
        self.pooled_norm = nn.Identity() if norm == "batch" else make_norm(norm, width)
        self.mlp = make_head(width, mlp_channels, out_channels, norm, dropout)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for part in (self.encoder, *self.convs, *self.norms, *self.skips, self.pooled_norm, self.mlp):
            if hasattr(part, "reset_parameters"):
                part.reset_parameters()

    def embed(self, batch: Data) -> Tensor:
        """Embed every node: ``(N, width)``."""
        x = node_features(batch, self, self.in_channels)
        # Egonets that are alike have one output, yet gradients by the features of their own nodes.
        merge = not learns(x)
        egonets = self._egonets(batch)
        if self.encoder is not None:
            x = self.encoder(x).relu()
        for i, (conv, norm, skip) in enumerate(zip(self.convs, self.norms, self.skips, strict=True)):
            y = norm(conv(x, egonets, merge=merge and i == 0))
            y = self.dropout(y if self.activation is None else y.relu())
            x = y + skip(x) if self.residual else y
        return x

    def _egonets(self, batch: Data) -> Egonets:
        extent = self.pre_transform.hops, self.pre_transform.max_nodes
        weight, attr = batch.get("edge_weight"), batch.get("edge_attr")
        # Egonets that were found beforehand have copies of weights and colors, which gradients would reach instead.
        if learns(weight, attr):
            return extract_egonets(batch.edge_index, batch.num_nodes, *extent, weight, attr)
        return egonets_of(batch, *extent)

    def forward(self, batch: Data) -> Tensor:
        """Outputs of every graph: ``(B, out_channels)``."""
        pooled = global_add_pool(self.embed(batch), *graphs_of(batch))
        outputs: Tensor = self.mlp(self.pooled_norm(pooled))
        return outputs

"""Networks of kernels with hidden graphs: KerGNN sees the egonet of every node, RWNN the whole graph."""

from typing import Literal, Unpack

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import MLP, global_add_pool

from rwkplus.errors import ParameterError
from rwkplus.functional.kernels import Egonets
from rwkplus.models.registry import Network, graphs_of, takes_kernel_options
from rwkplus.nn.kernel_conv import Aggregation, KernelConv, KernelLayer, KernelOptions
from rwkplus.nn.norms import FixedScale
from rwkplus.nn.transforms import EgoNets, egonets_of, extract_egonets
from rwkplus.tensors import needs_grad
from rwkplus.types import check_choice, check_integer, check_share

Norm = Literal["batch", "fixed"]


class KerGNN(Network):
    """Kernel convolutions with BatchNorm, ReLU and residual; sum over nodes; MLP.

    The defaults are the paper's for graph classification. Egonets are the same in all layers and epochs: apply
    ``pre_transform`` to the graphs once, and they are not searched again; networks of the same ``hops`` and
    ``max_nodes`` share them.

    Args:
        in_channels: Node features.
        out_channels: Outputs per graph.
        hidden_channels: Width of the linear layer and ReLU before the first convolution; None for neither.
        num_hidden: Hidden graphs per layer.
        layers: Number of convolutions.
        hops: Radius of the egonets.
        max_nodes: Largest size of an egonet; None for any.
        aggr: ``"mean"`` or ``"sum"`` over the nodes of egonet and hidden graph.
        residual: Add the input of each layer to its output, through a linear map where widths differ.
        norm: ``"batch"`` for BatchNorm, ``"fixed"`` for :class:`~rwkplus.nn.FixedScale`, which suits exact numbers.
        activation: ``"relu"`` after each normalization, or None.
        dropout: Share of activations dropped after each layer and in the MLP.
        mlp_channels: Width of the MLP; None for a linear map.
        options: Of the kernels, see :class:`~rwkplus.nn.KernelOptions`; ``step_norm="propagate"`` by default.

    Example:
        >>> import torch
        >>> path = Data(x=torch.ones(3, 5), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> KerGNN(5, 2, steps=2, kernel="rwk-").eval()(path).shape
        torch.Size([1, 2])
    """

    @takes_kernel_options(step_norm="propagate")
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int | None = 8,
        num_hidden: int = 8,
        layers: int = 1,
        hops: int = 1,
        max_nodes: int | None = 10,
        aggr: Aggregation = "mean",
        residual: bool = True,
        norm: Norm = "batch",
        activation: Literal["relu"] | None = "relu",
        dropout: float = 0.0,
        mlp_channels: int | None = 16,
        **options: Unpack[KernelOptions],
    ) -> None:
        super().__init__()
        check_integer("layers", layers, 1)
        if activation not in ("relu", None):
            raise ParameterError(f"activation must be relu or None, got {activation!r}.")
        self.in_channels = in_channels
        self.pre_transform = EgoNets(hops, max_nodes)
        self.reads = _fields_of(options)
        self.encoder = None if hidden_channels is None else nn.Linear(in_channels, hidden_channels)
        self.residual, self.activation = residual, activation
        self.dropout = nn.Dropout(dropout)
        self.convs, self.norms, self.skips = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        width = in_channels if hidden_channels is None else hidden_channels
        for _ in range(layers):
            conv = KernelConv(width, num_hidden, hops=hops, max_nodes=max_nodes, aggr=aggr, **options)
            self.convs.append(conv)
            self.norms.append(_make_norm(norm, conv.num_outputs))
            same = not residual or width == conv.num_outputs
            self.skips.append(nn.Identity() if same else nn.Linear(width, conv.num_outputs, bias=False))
            width = conv.num_outputs
        # Sums over nodes grow with the graph; BatchNorm inside the MLP takes care of that.
        self.pooled_norm = nn.Identity() if norm == "batch" else _make_norm(norm, width)
        self.mlp = _make_head(width, mlp_channels, out_channels, norm, dropout)

    def embed(self, batch: Data) -> Tensor:
        """Embed every node: ``(N, width)``.

        >>> import torch
        >>> path = Data(x=torch.rand(3, 5), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> KerGNN(5, 2, num_hidden=4).eval().embed(path).shape
        torch.Size([3, 4])
        """
        x = self.node_features(batch)
        # Egonets that are alike have one output, yet gradients by the features of their own nodes.
        merge = not needs_grad(x)
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
        if needs_grad(weight, attr):
            return extract_egonets(batch.edge_index, batch.num_nodes, *extent, weight, attr)
        return egonets_of(batch, *extent)

    def forward(self, batch: Data) -> Tensor:
        """Outputs of every graph: ``(B, out_channels)``."""
        pooled = global_add_pool(self.embed(batch), *graphs_of(batch))
        outputs: Tensor = self.mlp(self.pooled_norm(pooled))
        return outputs


class RWNN(Network):
    """Kernels of the graph with hidden graphs, one per step; MLP.

    The defaults are those of RWNN; with ``kernel="rwk+"`` it is the one-layer network of the paper.

    Args:
        in_channels: Node features.
        out_channels: Outputs per graph.
        num_hidden: Hidden graphs.
        hidden_channels: As in :class:`KerGNN`, and so are ``norm``, ``dropout`` and ``mlp_channels``.
        options: Of the kernels, see :class:`~rwkplus.nn.KernelOptions`; by default those of RWNN, ``kernel="rwk-"``,
            ``combine="concat"``, ``include_zero_step=True`` and ``adjacency="relu"``.

    Example:
        >>> import torch
        >>> path = Data(x=torch.ones(3, 5), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> RWNN(5, 2, kernel="rwk+").eval()(path).shape
        torch.Size([1, 2])
    """

    @takes_kernel_options(kernel="rwk-", combine="concat", include_zero_step=True, adjacency="relu")
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        num_hidden: int = 8,
        hidden_channels: int | None = None,
        norm: Norm = "batch",
        dropout: float = 0.0,
        mlp_channels: int | None = 16,
        **options: Unpack[KernelOptions],
    ) -> None:
        super().__init__()
        self.reads = _fields_of(options)
        self.in_channels = in_channels
        self.encoder = None if hidden_channels is None else nn.Linear(in_channels, hidden_channels)
        width = in_channels if hidden_channels is None else hidden_channels
        self.kernels = KernelLayer(width, num_hidden, **options)
        # Kernels differ by orders of magnitude between graphs and steps.
        self.norm = _make_norm(norm, self.kernels.num_outputs)
        self.mlp = _make_head(self.kernels.num_outputs, mlp_channels, out_channels, norm, dropout)

    def embed(self, batch: Data) -> Tensor:
        """Kernels of every graph with every hidden graph: ``(B, K * T)`` if steps are concatenated.

        >>> import torch
        >>> path = Data(x=torch.rand(3, 5), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> RWNN(5, 2, num_hidden=4, steps=2).eval().embed(path).shape  # walks of 0, 1 and 2 edges
        torch.Size([1, 12])
        """
        x = self.node_features(batch)
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


def _fields_of(options: KernelOptions) -> tuple[str, ...]:
    """Fields that a network reads beside ``edge_index``."""
    return ("x", "edge_weight") if options.get("edge_dim") is None else ("x", "edge_weight", "edge_attr")


def _make_norm(norm: Norm, channels: int) -> nn.BatchNorm1d | FixedScale:
    """Make BatchNorm, or a scale that the first batch sets."""
    check_choice("norm", norm, Norm)
    return nn.BatchNorm1d(channels) if norm == "batch" else FixedScale(channels)


def _make_head(channels: int, mlp_channels: int | None, out_channels: int, norm: Norm, dropout: float) -> MLP:
    """Make an MLP with a hidden layer, or a linear map if that has no width; with fixed scales it has no BatchNorm."""
    check_share("dropout", dropout)
    sizes = [channels, out_channels] if mlp_channels is None else [channels, mlp_channels, out_channels]
    return MLP(sizes, norm="batch_norm" if norm == "batch" else None, dropout=float(dropout))

"""The graph isomorphism network, as the yardstick beside kernel networks of the same size."""

from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import MLP, global_add_pool
from torch_geometric.nn import models as pyg_models

from rwkplus.models.heads import graphs_of, node_features
from rwkplus.types import check_integer, check_share


class GIN(nn.Module):
    """PyG's GIN with a sum over nodes and the head of the kernel networks.

    Args:
        in_channels: Node features.
        out_channels: Outputs per graph.
        hidden_channels: Width of all layers.
        layers: Rounds of message passing.
        dropout: Share of activations dropped.
        norm: ``"batch_norm"``, ``"graph_norm"``, any other of PyG's names, or None.
    """

    reads = ("x",)
    pre_transform = None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hidden_channels: int = 16,
        layers: int = 2,
        dropout: float = 0.0,
        norm: str | None = "batch_norm",
    ) -> None:
        super().__init__()
        check_integer("layers", layers, 1)
        check_integer("hidden_channels", hidden_channels, 1)
        check_share("dropout", dropout)
        self.in_channels = in_channels
        self.layers = pyg_models.GIN(in_channels, hidden_channels, layers, dropout=float(dropout), norm=norm)
        self.head = MLP([hidden_channels, hidden_channels, out_channels], dropout=float(dropout), norm=norm)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        self.layers.reset_parameters()
        self.head.reset_parameters()

    def forward(self, batch: Data) -> Tensor:
        """Outputs of every graph: ``(B, out_channels)``."""
        x = self.layers(node_features(batch, self, self.in_channels), batch.edge_index)
        outputs: Tensor = self.head(global_add_pool(x, *graphs_of(batch)))
        return outputs

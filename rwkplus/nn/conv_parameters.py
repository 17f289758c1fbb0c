"""How the parameters of RWK+Conv begin.

Where similarities begin, around 1/2, the slope of the sigmoid and the square that colors an intermediate node are both
1/4. Parameters therefore begin four times as large as Glorot's, so that signals do not fade over the steps. And rows of
the hidden adjacency begin with a sum of zero, so that they do not drown in what all nodes have in common. Validation
nodes agree: ``python -m experiments rwk-plus-conv-init`` compares this with Glorot's and other beginnings.
"""

import torch
from torch import Tensor
from torch_geometric.nn.dense.linear import Linear
from torch_geometric.nn.inits import glorot

GAIN = 4.0


class HiddenColors(Linear):
    """Similarity to the hidden nodes: a linear layer that begins four times as large, also when its size comes late."""

    def __init__(self, in_channels: int, out_channels: int, bias: bool) -> None:
        super().__init__(in_channels, out_channels, bias, weight_initializer="glorot", bias_initializer="zeros")

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw the parameters anew, if their sizes are known."""
        super().reset_parameters()
        if self.in_channels > 0:
            self.weight *= GAIN


@torch.no_grad()
def draw_hidden_adj(hidden_adj: Tensor) -> None:
    """Fill adjacencies ``(C, M, M)``; a single hidden node has nothing to be balanced with."""
    glorot(hidden_adj)
    hidden_adj *= GAIN
    if hidden_adj.size(-1) > 1:
        hidden_adj -= hidden_adj.mean(-1, keepdim=True)

"""How likely walks return to where they began, which tells nodes on rings of different lengths apart."""

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import to_dense_adj, to_dense_batch

from rwkplus.graphs.edge_hash import edge_hash_of, has_same_edges
from rwkplus.types import check_integer


class ClosedWalks(BaseTransform):
    """Add to every node the chance that a walk of 1, 2, ... ``steps`` edges from there ends there: ``closed_walks``.

    At each step a walk takes one of the edges that lead on, parallel ones included, each as likely as the others,
    whatever their weights. A whole ``Batch`` can be transformed as well as its graphs. ``closed_walk_edges`` tells
    :meth:`of` whether edges have changed since.

    Args:
        steps: Longest walk, counted in edges.

    Example:
        >>> triangle = Data(edge_index=torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]]), num_nodes=3)
        >>> ClosedWalks(3)(triangle).closed_walks[0]
        tensor([0.0000, 0.5000, 0.2500])
    """

    def __init__(self, steps: int) -> None:
        check_integer("steps", steps, 1)
        self.steps = steps

    def forward(self, data: Data | Batch) -> Data | Batch:
        """Add the chances to a graph or batch."""
        graph = data.get("batch")
        if graph is None:
            graph = data.edge_index.new_zeros(data.num_nodes)
        data.closed_walks = return_probabilities(data.edge_index, graph, self.steps)
        data.closed_walk_edges = edge_hash_of(data, bare=True)
        return data

    def of(self, data: Data | Batch) -> Tensor:
        """The chances ``(N, steps)``: those that were added before, or computed now if edges or ``steps`` differ."""
        known = data if self._is_known(data) else self(data)
        chances: Tensor = known.closed_walks
        return chances

    def _is_known(self, data: Data | Batch) -> bool:
        chances, edges = data.get("closed_walks"), data.get("closed_walk_edges")
        if chances is None or edges is None or chances.size(1) != self.steps:
            return False
        if torch.compiler.is_compiling():  # a look at the edges would break the graph
            return True
        return bool(has_same_edges(data, edges, bare=True))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(steps={self.steps})"


def return_probabilities(edge_index: Tensor, batch: Tensor, steps: int) -> Tensor:
    """Chance that a walk of so many edges returns to its first node ``(N, steps)``; ``batch`` is sorted.

    By dense matrices, one per graph: graphs of some thousand nodes are fine.
    """
    if batch.numel() == 0:
        return torch.empty(0, steps, device=batch.device)
    adjacency = to_dense_adj(edge_index, batch, batch_size=int(batch[-1]) + 1)  # parallel edges add up
    ahead = adjacency / adjacency.sum(-1, keepdim=True).clamp(min=1)
    _, real = to_dense_batch(batch, batch)
    walks, returned = ahead, [ahead.diagonal(dim1=1, dim2=2)]
    for _ in range(steps - 1):
        walks = walks @ ahead
        returned.append(walks.diagonal(dim1=1, dim2=2))
    return torch.stack(returned, -1)[real]

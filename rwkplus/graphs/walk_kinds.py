"""Which nodes are alike for walks, so that layers walk once for all of them."""

from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

from rwkplus.errors import GraphError
from rwkplus.ops.egonet_kinds import row_hashes
from rwkplus.ops.walk_kinds import walk_kinds
from rwkplus.types import check_integer


class WalkKinds(BaseTransform):
    """Number nodes by what walks of up to ``steps`` edges meet from there, and keep it with the graph: ``walk_kinds``.

    Nodes of equal numbers are alike to :class:`rwkplus.nn.KernelLayer`, in all graphs: where colors are few, it
    computes walks of each kind only once. Works as ``transform`` and ``pre_transform`` of data sets; apply it again
    after a change of ``x`` or edges.

    Args:
        steps: Longest walk, counted in edges; that of the layer.

    Example:
        >>> import torch
        >>> from rwkplus.nn import KernelLayer
        >>> path = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> kinds = WalkKinds(steps=2)(path).walk_kinds
        >>> (kinds[0] == kinds[2]).all(), (kinds[0] == kinds[1]).tolist()
        (tensor(True), [True, False, False])
        >>> KernelLayer(1, 4, steps=2)(path.x, path.edge_index, kinds=kinds).shape
        torch.Size([1, 8])
    """

    def __init__(self, steps: int) -> None:
        check_integer("steps", steps, 1)
        self.steps = steps

    def forward(self, data: Data | Batch) -> Data | Batch:
        """Add the kinds of all nodes ``(N, steps + 1)`` to a graph or batch."""
        if data.x is None:
            raise GraphError("nodes without features x have no kinds: give them some, such as one_hot_degree(graphs).")
        kinds = walk_kinds(row_hashes(data.x.cpu()), data.edge_index.cpu(), self.steps)
        data.walk_kinds = kinds.to(data.x.device)
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(steps={self.steps})"

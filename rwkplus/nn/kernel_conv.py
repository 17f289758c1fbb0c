"""Kernels of the neighborhood of every node with hidden graphs."""

from typing import Literal, Unpack

import torch
from torch import Tensor

from rwkplus.functional.egonet_kernels import Egonets, merge_egonets
from rwkplus.graphs.egonets import check_extent, extract_egonets
from rwkplus.nn.kernel_module import KernelModule, KernelOptions
from rwkplus.types import check_choice

Aggregation = Literal["sum", "mean"]
# Merging costs about as much as a quarter of the egonets.
WORTH_MERGING = 0.75


class KernelConv(KernelModule):
    r"""Kernel convolution: at node v, the kernels of its egonet with the hidden graphs (KerGNN).

    .. math:: h_v = [K(\mathrm{Sub}_G[v], W_1), \ldots, K(\mathrm{Sub}_G[v], W_k)]

    Egonets are found in every call, or once and for all by :class:`rwkplus.graphs.EgoNets`::

        data = EgoNets(hops=1, max_nodes=10)(data)
        conv(data.x, egonets_of(data, hops=1, max_nodes=10))

    Args:
        in_channels: Features of a node, or -1 to read them off the first input.
        out_channels: Number of hidden graphs; ``num_outputs`` is the size of the output.
        hops: Radius of the egonets.
        max_nodes: Largest size of an egonet; None for any.
        aggr: ``"sum"`` over the nodes of egonet and hidden graph, the kernel, or its ``"mean"``, which does not grow
            with the egonet.
        options: See :class:`KernelOptions`; steps are summed by default.

    Shapes:
        - node features ``(N, in_channels)``, edges ``(2, E)`` or egonets
        - output ``(N, num_outputs)``

    Example:
        >>> import torch
        >>> x, edge_index = torch.ones(3, 5), torch.tensor([[0, 1], [1, 0]])
        >>> conv = KernelConv(-1, 8, steps=2, max_nodes=10)
        >>> conv(x, edge_index).shape
        torch.Size([3, 8])
        >>> conv
        KernelConv(5, 8, hidden_nodes=6, steps=2, kernel='rwk+', hops=1, max_nodes=10)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        hops: int = 1,
        max_nodes: int | None = None,
        aggr: Aggregation = "sum",
        **options: Unpack[KernelOptions],
    ) -> None:
        super().__init__(in_channels, out_channels, **options)
        check_extent(hops, max_nodes)
        check_choice("aggr", aggr, Aggregation)
        self.out_channels = out_channels
        self.hops = hops
        self.max_nodes = max_nodes
        self.aggr = aggr

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor | Egonets,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        *,
        merge: bool = False,
    ) -> Tensor:
        """Compare the egonet of every node with every hidden graph.

        Args:
            x: Node features.
            edge_index: Directed edges, or egonets that were found before; these have their weights and colors.
            edge_weight: Weights ``(E,)``.
            edge_attr: Edge colors ``(E, edge_dim)``; ignored without ``edge_dim``.
            merge: Compute egonets that are alike once. Say so only if ``x`` is, or is a function of each row of, what
                :class:`rwkplus.graphs.EgoNets` found as ``x``, and no gradient by that is wanted; done where it saves
                time.
        """
        egonets = edge_index
        if isinstance(egonets, Egonets):
            self.expect(x)
        else:
            self.expect(x, edge_index=edge_index, edge_weight=edge_weight, edge_attr=edge_attr)
            egonets = extract_egonets(egonets, x.size(0), self.hops, self.max_nodes, edge_weight, edge_attr)
        if merge and self._can_merge(x, egonets):
            distinct, which = merge_egonets(egonets)
            if distinct.member.numel() <= WORTH_MERGING * egonets.member.numel():
                return self._outputs(*_compact(x, distinct)).index_select(0, which)
        return self._outputs(x, egonets)

    def _outputs(self, x: Tensor, egonets: Egonets) -> Tensor:
        scores = self.scores(x, egonets)
        if self.aggr == "mean":
            scores = scores / (egonets.size * self.hidden.hidden_nodes).unsqueeze(1)
        return self.combined(scores)

    def _can_merge(self, x: Tensor, egonets: Egonets) -> bool:
        """Whether kinds are known, and statistics of steps, if there are any, can count egonets several times.

        Edges that learn have gradients of their own, whatever their values.
        """
        if egonets.kind is None or x.device.type != "cpu" or torch.compiler.is_compiling():
            return False
        edges, placement = (egonets.weight, egonets.attr), self.norm.placement
        counts = placement is None or (placement == "propagate" and self.uses_loops(*edges))
        return counts and not self.learns_edges(*edges)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, hops={self.hops}, max_nodes={self.max_nodes})"


def _compact(x: Tensor, egonets: Egonets) -> tuple[Tensor, Egonets]:
    """Leave out nodes that are in no egonet, if what remains is less."""
    if egonets.member.numel() >= x.size(0):
        return x, egonets
    places = torch.arange(egonets.member.numel(), device=x.device)
    return x.index_select(0, egonets.member), egonets._replace(member=places)

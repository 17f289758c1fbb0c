"""Kernels of whole graphs with hidden graphs."""

from typing import Any, Unpack

import torch
from torch import Tensor

from rwkplus.errors import GraphError, ShapeError
from rwkplus.functional import rwk_minus, rwk_plus
from rwkplus.functional.egonet_kernels import whole_graphs
from rwkplus.functional.kernels import check_batch, graphs_of_edges
from rwkplus.functional.merged_walks import merge_nodes, merged_scores, normalized_merged_scores
from rwkplus.nn.kernel_module import KernelModule, KernelOptions
from rwkplus.ops.transforms import learns


class KernelLayer(KernelModule):
    r"""Similarity of every graph to every hidden graph, :math:`[K(G, W_1), \ldots, K(G, W_k)]`, step by step.

    Args:
        in_channels: Features of a node, or -1 to read them off the first input.
        num_hidden: Number of hidden graphs.
        options: See :class:`KernelOptions`; steps are concatenated by default.

    Shapes:
        - node features ``(N, in_channels)``, edges ``(2, E)``, graph of each node ``(N,)``
        - output ``(B, num_outputs)``

    Example:
        >>> import torch
        >>> layer = KernelLayer(-1, 4, steps=2)
        >>> x, edge_index = torch.ones(3, 5), torch.tensor([[0, 1], [1, 0]])
        >>> layer(x, edge_index, batch=torch.tensor([0, 0, 1])).shape
        torch.Size([2, 8])
        >>> layer
        KernelLayer(5, 4, hidden_nodes=6, steps=2, kernel='rwk+')
    """

    def __init__(self, in_channels: int, num_hidden: int, **options: Unpack[KernelOptions]) -> None:
        options.setdefault("combine", "concat")
        super().__init__(in_channels, num_hidden, **options)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        num_graphs: int | None = None,
        *,
        kinds: Tensor | None = None,
    ) -> Tensor:
        """Compare graphs with hidden graphs.

        Args:
            x: Node features of all graphs.
            edge_index: Directed edges; give undirected edges twice.
            batch: Graph of each node; one graph by default.
            edge_weight: Weights ``(E,)``.
            edge_attr: Edge colors ``(E, edge_dim)``, of a single one also ``(E,)``; ignored without ``edge_dim``.
            num_graphs: Number of graphs; read off ``batch`` by default.
            kinds: Kinds of nodes ``(N, steps + 1)`` by :class:`rwkplus.graphs.WalkKinds`, of these rows of ``x``
                and of these very edges: walks from nodes of one kind are computed once, where compiled loops would run,
                edges have neither weights nor colors, and no gradient by ``x`` is wanted.
        """
        self.expect(x, edge_index=edge_index, batch=batch, edge_weight=edge_weight, edge_attr=edge_attr)
        if batch is None:
            batch, num_graphs = edge_index.new_zeros(x.size(0)), 1
        check_batch(x, batch)
        if edge_attr is not None and edge_attr.dim() == 1:
            edge_attr = edge_attr.unsqueeze(1)
        if kinds is not None and self._can_merge(kinds, x, edge_weight):
            return self.combined(self._merged_scores(x, edge_index, batch, num_graphs, kinds))
        if self._can_loop(edge_weight, edge_attr):
            graphs = whole_graphs(edge_index, batch, num_graphs, edge_weight, edge_attr)
            return self.combined(self.scores(x, graphs))
        hidden_edge_attr = self.hidden.edge_attr
        scores = (rwk_plus if self.kernel == "rwk+" else rwk_minus)(
            x,
            edge_index,
            batch,
            self.hidden.x,
            self.hidden.adj,
            steps=self.steps,
            edge_weight=edge_weight,
            edge_attr=None if hidden_edge_attr is None else edge_attr,
            hidden_edge_attr=hidden_edge_attr,
            closed=self.walks == "closed",
            include_zero_step=self.include_zero_step,
            num_graphs=num_graphs,
            normalize=self.norm.normalize,
            readout=self.norm.readout,
        )
        return self.combined(scores)

    def _can_merge(self, kinds: Tensor, x: Tensor, edge_weight: Tensor | None) -> bool:
        """Whether walks depend on nothing but kinds of nodes; refuses kinds of other nodes or steps."""
        if kinds.shape != (x.size(0), self.steps + 1):
            raise ShapeError(
                f"kinds must be (N, steps + 1), here {(x.size(0), self.steps + 1)}, got {tuple(kinds.shape)}."
            )
        plain = edge_weight is None and self.hidden.edge_colors is None
        return plain and not learns(x) and self._can_loop(None, None)

    def _merged_scores(
        self, x: Tensor, edge_index: Tensor, batch: Tensor, num_graphs: int | None, kinds: Tensor
    ) -> Tensor:
        nodes = merge_nodes(kinds, edge_index)
        graphs_of_edges(edge_index, batch, num_graphs)
        if not torch.equal(x, x.index_select(0, nodes.first).index_select(0, nodes.kind[0])):
            raise GraphError("kinds are of other node features than x: apply rwkplus.graphs.WalkKinds again.")
        graphs = x, nodes, batch, self.hidden.x, self.hidden.adj
        options: dict[str, Any] = {
            "match_all": self.kernel == "rwk+",
            "include_zero_step": self.include_zero_step,
            "num_graphs": num_graphs,
        }
        if self.norm.placement is None:
            return merged_scores(*graphs, **options)
        scores, moments = normalized_merged_scores(*graphs, self.norm.state, **options)
        if self.training:
            self.norm.update(slice(None), *moments)
        return scores

    def _can_loop(self, edge_weight: Tensor | None, edge_attr: Tensor | None) -> bool:
        """Whether walks are of the kind that compiled loops know."""
        return (
            self.uses_loops(edge_weight, edge_attr)
            and self.walks == "open"
            and self.norm.placement != "readout"
            and not torch.compiler.is_compiling()
        )

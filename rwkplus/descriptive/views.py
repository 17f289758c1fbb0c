"""What the descriptive network sees: graphs with several views of their nodes, identical graphs merged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, get_args

import torch
from torch import Tensor
from torch_geometric.data import Batch

from rwkplus.errors import GraphError, ParameterError
from rwkplus.functional.colors import identity_colors, structural_colors

View = Literal["labels", "identity", "gat", "gin", "random-walk"]
VIEWS: tuple[View, ...] = get_args(View)


@dataclass(frozen=True)
class ViewedGraphs:
    """Distinct graphs, how often each occurs, and node features of all views side by side."""

    own: Tensor  # (N, D0): the graphs' own features
    x: Tensor  # (N, D)
    widths: tuple[int, ...]  # (V,), adding up to D
    edge_index: Tensor  # (2, E)
    edge_weight: Tensor | None  # (E,)
    batch: Tensor  # (N,)
    count: Tensor  # (B,)

    @classmethod
    def of(
        cls,
        batch: Batch,
        views: Sequence[View],
        *,
        generator: torch.Generator,
        dim: int = 16,
        whiten: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> Self:
        """Color the nodes by every view in turn.

        Args:
            batch: What :func:`rwkplus.io.pyg.as_batch` returned.
            views: ``"labels"`` the graphs' own features, ``"identity"`` the number of a node within its graph, or the
                structural colors ``"gat"``, ``"gin"``, ``"random-walk"``.
            generator: Source of the structural colors' weights.
            dim: Number of structural colors.
            whiten: Whether structural colors are whitened.
            dtype: Precision of everything that follows.
        """
        if not views or not set(views) <= set(VIEWS):
            raise ParameterError(f"views must be some of {', '.join(VIEWS)}, got {tuple(views)}.")
        if batch.get("edge_attr") is not None:
            raise GraphError(
                "the graphs have edge colors, which hidden graphs do not learn. "
                "Leave them out on purpose: ignore=('edge_attr',)."
            )
        parts = []
        for view in views:
            if view == "labels":
                parts.append(batch.x)
            elif view == "identity":
                parts.append(identity_colors(batch.batch))
            else:
                colors = structural_colors(
                    batch.edge_index,
                    batch.x.size(0),
                    batch=batch.batch,
                    kind=view,
                    dim=dim,
                    whiten=whiten,
                    generator=generator,
                )
                parts.append(colors)
        weight = batch.get("edge_weight")
        return cls(
            own=batch.x,
            x=torch.cat([part.to(dtype) for part in parts], 1),
            widths=tuple(part.size(1) for part in parts),
            edge_index=batch.edge_index,
            edge_weight=None if weight is None else weight.to(dtype),
            batch=batch.batch,
            count=torch.ones(batch.ptr.numel() - 1, dtype=dtype),
        )

    @property
    def num_graphs(self) -> int:
        """Number of distinct graphs."""
        return self.count.numel()

    def merged(self) -> Self:
        """Keep one of every group of identical graphs and count the others with it: exact for any mean over graphs.

        Identical means equal node features and edges in the given node order; every view follows from these.
        """
        edge_graph = self.batch[self.edge_index[0]]
        first: dict[bytes, int] = {}
        group = torch.empty(self.num_graphs, dtype=torch.long)
        kept = torch.zeros(self.num_graphs, dtype=torch.bool)
        parts = zip(self._members(self.batch), self._members(edge_graph), strict=True)
        for i, (nodes_of, edges_of) in enumerate(parts):
            key = self._fingerprint(nodes_of, edges_of)
            kept[i] = key not in first
            group[i] = first.setdefault(key, len(first))
        nodes, edges = kept[self.batch], kept[edge_graph]
        new_node = nodes.cumsum(0) - 1
        new_graph = kept.cumsum(0) - 1
        return replace(
            self,
            own=self.own[nodes],
            x=self.x[nodes],
            edge_index=new_node[self.edge_index[:, edges]],
            edge_weight=None if self.edge_weight is None else self.edge_weight[edges],
            batch=new_graph[self.batch[nodes]],
            count=self.count.new_zeros(len(first)).index_add(0, group, self.count),
        )

    def _members(self, graph: Tensor) -> tuple[Tensor, ...]:
        """Places of every graph's nodes or edges, cut once for all graphs."""
        sizes: list[int] = torch.bincount(graph, minlength=self.num_graphs).tolist()
        return torch.split(graph.argsort(stable=True), sizes)

    def _fingerprint(self, nodes: Tensor, edges: Tensor) -> bytes:
        edge_index = self.edge_index[:, edges]
        if edge_index.numel():
            edge_index = edge_index - int(nodes[0])
        size = nodes.numel()
        order = (edge_index[0] * size + edge_index[1]).argsort(stable=True)
        parts = [self.own[nodes], edge_index[:, order]]
        if self.edge_weight is not None:
            parts.append(self.edge_weight[edges][order])
        return repr([part.shape for part in parts]).encode() + b"".join(part.numpy().tobytes() for part in parts)

"""One-layer kernel convolution networks: RWNN with RWK-, RWK+CN with RWK+."""

from collections.abc import Sequence
from typing import Literal, Self

import torch
from torch import Tensor, nn

from rwkplus.errors import ShapeError
from rwkplus.functional import rwk_minus, rwk_plus
from rwkplus.nn.hidden_graphs import AdjacencyMap, FeatureMap, HiddenGraphs
from rwkplus.types import check_choice

KERNELS = {"rwk+": rwk_plus, "rwk-": rwk_minus}


class KCN(nn.Module):
    r"""Similarity of whole graphs to hidden graphs: :math:`h(G) = [K(G, W_1), \ldots, K(G, W_k)]`.

    Args:
        num_hidden: Number of hidden graphs K.
        hidden_nodes: Nodes of each.
        num_features: Node features, or the widths of several views that share the hidden edges.
        kernel: ``"rwk+"`` matches every node of a walk, ``"rwk-"`` (RWNN) only its ends.
        steps: Longest walk, counted in edges.
        combine: ``"sum"`` over all lengths or the ``"last"`` one only.
        include_zero_step: Whether a sum begins with the walks of no edge, as in RWNN's release.
        adjacency: How edge parameters become weights.
        features: How feature parameters become features.
        generator: Source of the initial values.
    """

    def __init__(
        self,
        num_hidden: int,
        hidden_nodes: int,
        num_features: int | Sequence[int],
        *,
        kernel: Literal["rwk+", "rwk-"] = "rwk+",
        steps: int = 3,
        combine: Literal["sum", "last"] = "sum",
        include_zero_step: bool = False,
        adjacency: AdjacencyMap = "sigmoid",
        features: FeatureMap | Sequence[FeatureMap] = "raw",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_choice("kernel", kernel, KERNELS)
        check_choice("combine", combine, ("sum", "last"))
        self.kernel = kernel
        self.steps = steps
        self.combine = combine
        self.include_zero_step = include_zero_step
        self.hidden = HiddenGraphs(num_hidden, hidden_nodes, num_features, adjacency, features, generator)

    @classmethod
    def rwnn(
        cls,
        num_hidden: int,
        hidden_nodes: int,
        num_features: int | Sequence[int],
        *,
        steps: int = 3,
        generator: torch.Generator | None = None,
    ) -> Self:
        """RWNN as released: ends only, all lengths from 0, ReLU edges, raw features."""
        return cls(
            num_hidden,
            hidden_nodes,
            num_features,
            kernel="rwk-",
            steps=steps,
            include_zero_step=True,
            adjacency="relu",
            generator=generator,
        )

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor,
        edge_weight: Tensor | None = None,
        num_graphs: int | None = None,
    ) -> Tensor:
        """Score every graph with every hidden graph, views added up: ``(B, K)``."""
        return self.view_scores(x, edge_index, batch, edge_weight, num_graphs).sum(0)

    def view_scores(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor,
        edge_weight: Tensor | None = None,
        num_graphs: int | None = None,
    ) -> Tensor:
        """Score every graph with every hidden graph by each view: ``(V, B, K)``."""
        widths = self.hidden.widths
        if x.size(1) != sum(widths):
            raise ShapeError(
                f"the graphs have {x.size(1)} features per node but the hidden graphs {'+'.join(map(str, widths))}. "
                "Were structural colors added to one side only?"
            )
        adj = self.hidden.adj
        scores = [
            KERNELS[self.kernel](
                part,
                edge_index,
                batch,
                hidden_x,
                adj,
                steps=self.steps,
                edge_weight=edge_weight,
                include_zero_step=self.include_zero_step,
                num_graphs=num_graphs,
            )
            for part, hidden_x in zip(x.split(widths, 1), self.hidden.views, strict=True)
        ]
        return torch.stack([s.sum(0) if self.combine == "sum" else s[-1] for s in scores])

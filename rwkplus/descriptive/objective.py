"""The unsupervised objective of RWK+CN: similarity to the database, minus overlap, minus density."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from rwkplus.descriptive.views import ViewedGraphs
from rwkplus.functional.regularizers import diversity_penalty, feature_penalty, sparsity_penalty
from rwkplus.nn.kernel_conv import KernelLayer

Loss = Literal["log", "raw"]
DiversityLoss = Literal["raw", "log", "cosine"]
Average = Literal["database", "graph"]


@dataclass(frozen=True)
class Objective:
    """What is minimized. Every choice that the paper leaves open is a field.

    With the logarithm, views and hidden graphs of very different scale weigh alike; with ``"raw"`` the largest
    similarity rules and hidden graphs grow complete.
    """

    loss: Loss = "log"
    average: Average = "graph"
    """Average similarities over the database and then take the logarithm, or the logarithms of every graph."""

    diversity: float = 0.0
    """Weight of the mean kernel between the hidden graphs of one restart (Eq. 11)."""

    diversity_loss: DiversityLoss = "raw"
    """Whether that mean is added, its logarithm, or the mean of cosines."""

    sparsity: float = 0.1
    """Weight of the L1 norm of the edges."""

    feature_sparsity: float = 0.0
    """Weight of the L1 norm of the features."""

    def __call__(self, model: KernelLayer, graphs: ViewedGraphs, restarts: int) -> Tensor:
        """Loss of every restart, ``(R,)``: hidden graphs are the restarts' sets one after the other."""
        scores = model.view_scores(graphs.x, graphs.edge_index, graphs.batch, graphs.edge_weight, graphs.num_graphs)
        loss = -similarity(scores, graphs.count, self.loss, self.average)
        hidden = model.hidden
        adj = hidden.adj
        if self.sparsity:
            loss = loss + self.sparsity * sparsity_penalty(adj)
        if self.feature_sparsity:
            loss = loss + self.feature_sparsity * sum(feature_penalty(x) for x in hidden.views)
        total = loss.view(restarts, -1).sum(1)
        if self.diversity:
            total = total + self.diversity * self._overlap(model, adj, restarts)
        return total

    def _overlap(self, model: KernelLayer, adj: Tensor, restarts: int) -> Tensor:
        overlap = adj.new_zeros(restarts)
        for x in model.hidden.views:
            mean = diversity_penalty(
                x.unflatten(0, (restarts, -1)),
                adj.unflatten(0, (restarts, -1)),
                steps=model.steps,
                last_only=model.combine == "last",
                match_all=model.kernel == "rwk+",
                normalize=self.diversity_loss == "cosine",
            )
            overlap = overlap + (_log(mean) if self.diversity_loss == "log" else mean)
        return overlap


def similarity(scores: Tensor, count: Tensor, loss: Loss, average: Average) -> Tensor:
    """Similarity of each hidden graph to a database, added over views: ``(V, B, K)`` to ``(K,)``.

    Args:
        scores: Kernels by view, graph and hidden graph.
        count: How often each graph occurs: ``(B,)``.
        loss: Logarithm of the similarity, or the similarity itself.
        average: Whether the logarithm is taken of the database's mean or of each graph.
    """
    share = count / count.sum()
    if loss == "raw":
        return torch.einsum("b,vbk->k", share, scores)
    if average == "graph":
        return torch.einsum("b,vbk->k", share, _log(scores))
    return _log(torch.einsum("b,vbk->vk", share, scores)).sum(0)


def _log(kernel: Tensor) -> Tensor:
    # A hidden graph without edges has kernel 0: the floor keeps its logarithm finite.
    return kernel.clamp_min(torch.finfo(kernel.dtype).tiny).log()

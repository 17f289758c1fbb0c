"""RWK+ as it is defined, on the product graph: the paper's naive baseline, and the slow twin of the kernels."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, einsum

from rwkplus.errors import ShapeError
from rwkplus.functional.kernels import color_similarity, count_graphs
from rwkplus.functional.walks import sparse_product


def product_graph(
    x: Float[Tensor, "N D"],
    edge_index: Int[Tensor, "2 E"],
    hidden_x: Float[Tensor, "K M D"],
    hidden_adj: Float[Tensor, "K M M"],
    *,
    edge_weight: Float[Tensor, " E"] | None = None,
    edge_attr: Float[Tensor, "E C"] | None = None,
    hidden_edge_attr: Float[Tensor, "K M M C"] | None = None,
) -> tuple[Int[Tensor, "2 P"], Float[Tensor, " P"]]:
    r"""Edges and weights of :math:`\mathbf{s}\mathbf{s}^\top \odot A_{G \otimes H}` over the ``N K M`` pairs.

    Takes :math:`O(E K M^2)` time and memory (Eq. 8).

    >>> loop, one = torch.tensor([[0], [0]]), torch.ones(1, 1, 1)
    >>> edges, weight = product_graph(torch.ones(1, 1), loop, hidden_x=one, hidden_adj=3 * one)
    >>> edges.tolist(), weight.tolist()
    ([[0], [0]], [3.0])
    """
    if (edge_attr is None) != (hidden_edge_attr is None):
        raise ShapeError("edge colors need both edge_attr and hidden_edge_attr.", "Give the other one, or neither.")
    num_hidden, size = hidden_x.shape[:2]
    s = color_similarity(x, hidden_x)
    source, target = edge_index
    weight = einsum("ekl,ekm,klm->eklm", s[source], s[target], hidden_adj)
    if edge_weight is not None:
        weight = weight * edge_weight.view(-1, 1, 1, 1)
    if edge_attr is not None and hidden_edge_attr is not None:
        weight = weight * einsum("ec,klmc->eklm", edge_attr, hidden_edge_attr)
    pair = torch.arange(s.numel(), device=x.device).view(-1, num_hidden, size)
    begin = pair[source].unsqueeze(-1).expand_as(weight)
    end = pair[target].unsqueeze(-2).expand_as(weight)
    return torch.stack([begin.flatten(), end.flatten()]), weight.flatten()


def rwk_plus_by_product_graph(
    x: Float[Tensor, "N D"],
    edge_index: Int[Tensor, "2 E"],
    batch: Int[Tensor, " N"],
    hidden_x: Float[Tensor, "K M D"],
    hidden_adj: Float[Tensor, "K M M"],
    *,
    steps: int,
    **edges: Float[Tensor, "..."] | None,
) -> Float[Tensor, "T B K"]:
    r"""Evaluate :math:`\mathbf{1}^\top (\mathbf{s}\mathbf{s}^\top \odot A_{G \otimes H})^i \mathbf{1}` literally.

    The same numbers as :func:`rwkplus.functional.rwk_plus`, at :math:`O(E K M^2)` time and memory; ``edges`` are
    weights and colors as in :func:`product_graph`.

    >>> edges, edge = torch.tensor([[0, 1], [1, 0]]), torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
    >>> x, batch = torch.ones(2, 1), torch.zeros(2).long()
    >>> rwk_plus_by_product_graph(x, edges, batch, x[None], edge, steps=2).flatten()
    tensor([4., 4.])
    """
    pairs, weight = product_graph(x, edge_index, hidden_x, hidden_adj, **edges)
    num_graphs = count_graphs(batch)
    num_hidden, size = hidden_x.shape[:2]
    walks = x.new_ones(x.size(0) * num_hidden * size)
    scores = []
    for _ in range(steps):
        walks = sparse_product(pairs, walks, weight)
        per_node = walks.view(-1, num_hidden, size).sum(-1)
        scores.append(x.new_zeros(num_graphs, num_hidden).index_add(0, batch, per_node))
    return torch.stack(scores)

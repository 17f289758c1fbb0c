"""Penalties that keep learned hidden graphs apart (Eq. 11) and sparse."""

import torch
from jaxtyping import Float
from torch import Tensor

from rwkplus.errors import ParameterError, ShapeError
from rwkplus.functional.explained import pair_walks


def diversity_penalty(
    hidden_x: Float[Tensor, "... K M D"],
    hidden_adj: Float[Tensor, "... K M M"],
    *,
    steps: int,
    last_only: bool = True,
    match_all: bool = True,
    normalize: bool = False,
) -> Float[Tensor, "..."]:
    r"""Mean kernel between the hidden graphs of one set, for many sets at once.

    .. math:: \mathcal{R}(W_1, \ldots, W_k) = \frac{2}{k(k-1)} \sum_{i<j} K(W_i, W_j)

    Args:
        hidden_x: Node features; leading dimensions count sets, such as restarts, that do not see each other.
        hidden_adj: Weighted adjacencies.
        steps: Longest walk, counted in edges.
        last_only: Score the walks of ``steps`` edges only, else add those of every length from 1.
        match_all: Match every node of a walk (RWK+), else only its ends (RWK-).
        normalize: Take the cosine :math:`K(W_i, W_j) / \sqrt{K(W_i, W_i) K(W_j, W_j)}`, which fainter edges
            cannot lower.

    Returns:
        One penalty per set; 0 for a set of one graph.

    Example:
        Two copies of a single edge whose nodes share a color have four pairs of one-edge walks.

        >>> x, adj = torch.ones(2, 2, 1), (1 - torch.eye(2)).expand(2, 2, 2)
        >>> diversity_penalty(x, adj, steps=1)
        tensor(4.)
    """
    if steps < 1:
        raise ParameterError(f"steps must be at least 1 (it counts the edges of a walk), got {steps}.")
    if hidden_adj.shape != (*hidden_x.shape[:-1], hidden_x.size(-2)):
        raise ShapeError(
            f"hidden_adj must be (..., K, M, M) for hidden_x (..., K, M, D), got {tuple(hidden_adj.shape)} "
            f"and {tuple(hidden_x.shape)}."
        )
    num_hidden = hidden_x.size(-3)
    if num_hidden < 2:
        return hidden_x.new_zeros(hidden_x.shape[:-3])

    def kernels(i: Tensor, j: Tensor) -> Tensor:
        left, right = ((hidden_x[..., k, :, :], hidden_adj[..., k, :, :]) for k in (i, j))
        scores = pair_walks(*left, *right, steps, match_all=match_all)
        return scores[-1] if last_only else scores[1:].sum(0)

    i, j = torch.triu_indices(num_hidden, num_hidden, offset=1, device=hidden_x.device)
    overlap = kernels(i, j)
    if normalize:
        every = torch.arange(num_hidden, device=hidden_x.device)
        norms = kernels(every, every).clamp_min(torch.finfo(hidden_x.dtype).tiny).sqrt()
        overlap = overlap / norms[..., i] / norms[..., j]
    return overlap.mean(-1)


def sparsity_penalty(
    hidden_adj: Float[Tensor, "... M M"], hidden_x: Float[Tensor, "... M D"] | None = None
) -> Float[Tensor, "..."]:
    """L1 norm of the edges of each undirected hidden graph, every edge once, and of its features where given.

    >>> sparsity_penalty(torch.tensor([[0.0, 0.5], [0.5, 0.0]]))
    tensor(0.5000)
    """
    penalty = hidden_adj.abs().triu(1).sum((-2, -1))
    return penalty if hidden_x is None else penalty + feature_penalty(hidden_x)


def feature_penalty(hidden_x: Float[Tensor, "... M D"]) -> Float[Tensor, "..."]:
    """L1 norm of the features of each hidden graph, for those who weigh it apart from the edges.

    >>> feature_penalty(torch.tensor([[1.0, -2.0]]))
    tensor(3.)
    """
    return hidden_x.abs().sum((-2, -1))

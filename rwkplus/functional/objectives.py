r"""What hidden graphs are trained for without labels: explained fractions of walks, and penalties.

With :math:`\phi_i(G)` the walk features of length ``i`` (so that :math:`K^{(i)}(G, H) = \phi_i(G) \cdot \phi_i(H)`),
``k`` hidden graphs span a subspace, and the explained fraction is the share of :math:`\|\phi_i(G)\|^2` inside it:

.. math:: J_i(G) = K_{GW} K_{WW}^{-1} K_{WG} / K_{GG}

Two hidden graphs that say the same add nothing, so no diversity penalty is needed, and the complete graph,
whose raw kernel is largest, explains little. Where the raw kernel is the objective, penalties keep hidden graphs apart
(Eq. 11) and sparse.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, einsum

from rwkplus.errors import ParameterError, ShapeError
from rwkplus.functional.walks import walk_steps

RIDGE = 1e-4
"""Added to the diagonal of the cosine-normalized Gram matrix: keeps float32 safe when hidden graphs coincide."""

TINY = 1e-12
"""Squared norms below it count as zero: such a hidden graph has no walk of the kind and explains nothing."""


class PrefixLevel(NamedTuple):
    """Color sequences of one length, each the extension of one on the level before by one color."""

    prefix: Int[Tensor, " P"]
    color: Int[Tensor, " P"]


def explained_fraction(
    k_gw: Float[Tensor, "... B k"], k_ww: Float[Tensor, "... k k"], k_gg: Float[Tensor, " B"] | None = None
) -> Float[Tensor, "..."]:
    r"""Sum over graphs of the share of their walk features in the span of ``k`` hidden graphs.

    Args:
        k_gw: Kernel of every graph with every hidden graph of a bank.
        k_ww: Kernel of the hidden graphs of a bank with one another.
        k_gg: Kernel of every graph with itself; None when ``k_gw`` is already divided by its root.

    Example:
        Two orthogonal hidden graphs; the graph's features are (3, 4) in their plane and 5 in all, then 10 in all.

        >>> k_gw, k_ww = torch.tensor([[3.0, 4.0]]), torch.eye(2)
        >>> [round(float(explained_fraction(k_gw, k_ww, torch.tensor([norm]))), 3) for norm in (25.0, 100.0)]
        [1.0, 0.25]
    """
    if k_gg is not None:
        k_gw = k_gw / k_gg.clamp_min(TINY).sqrt().unsqueeze(-1)
    scale = (k_ww.diagonal(dim1=-2, dim2=-1) + TINY).rsqrt()
    cosine = k_ww * scale.unsqueeze(-1) * scale.unsqueeze(-2)
    cosine = cosine + RIDGE * torch.eye(k_ww.size(-1), dtype=k_ww.dtype, device=k_ww.device)
    root = torch.linalg.cholesky(cosine)
    inside: Tensor = torch.linalg.solve_triangular(root, (k_gw * scale.unsqueeze(-2)).mT, upper=False)
    return inside.square().sum((-2, -1))


def pair_walks(
    x: Float[Tensor, "... M D"],
    adj: Float[Tensor, "... M M"],
    other_x: Float[Tensor, "... L D"],
    other_adj: Float[Tensor, "... L L"],
    steps: int,
    *,
    match_all: bool = True,
) -> Float[Tensor, "T ..."]:
    """Walk kernel of aligned pairs of small dense graphs, for 0, 1, ... ``steps`` edges.

    Leading dimensions broadcast: ``(R, k, 1, M, D)`` with ``(R, 1, k, M, D)`` gives the Gram matrices of R banks.
    ``match_all`` matches every node of a walk (RWK+, Algorithm 1), else only its ends (RWK-).

    An edge of one color with itself: its two nodes, then four pairs of walks of each length.

    >>> x, adj = torch.ones(2, 1), 1 - torch.eye(2)
    >>> pair_walks(x, adj, x, adj, steps=2)
    tensor([4., 4., 4.])
    """
    y0 = x @ other_x.mT
    walks = walk_steps(y0.unsqueeze(0), lambda y: adj @ y @ other_adj.mT, steps, match_all=match_all)
    return torch.cat([y.sum((-2, -1)) for y in (y0.square().unsqueeze(0), *walks)])


def pair_closed_walks(
    x: Float[Tensor, "... M D"],
    adj: Float[Tensor, "... M M"],
    other_x: Float[Tensor, "... L D"],
    other_adj: Float[Tensor, "... L L"],
    lengths: Sequence[int],
) -> Float[Tensor, "T ..."]:
    """Traces of the powers ``lengths``, each at least 2, of the product graph of aligned pairs: walks that return.

    Broadcasts like :func:`pair_walks`. The product graph is built, which is the fast way for small graphs only.

    >>> x, triangle = torch.ones(3, 1), 1 - torch.eye(3)
    >>> pair_closed_walks(x, triangle, x, triangle, lengths=[2, 3])
    tensor([36., 36.])
    """
    y0 = (x @ other_x.mT).flatten(-2)
    product = (adj[..., :, None, :, None] * other_adj[..., None, :, None, :]).flatten(-4, -3).flatten(-2)
    product = y0.unsqueeze(-1) * product * y0.unsqueeze(-2)
    powers = {1: product}

    def power(n: int) -> Tensor:
        if n not in powers:
            powers[n] = power(n // 2) @ power(n - n // 2)
        return powers[n]

    return torch.stack([(power(n // 2) * power(n - n // 2).mT).sum((-2, -1)) for n in lengths])


def sequence_walks(
    y0: Float[Tensor, "C K M"],
    hidden_adj: Float[Tensor, "K M M"],
    prefixes: Sequence[PrefixLevel],
    sequences: Sequence[PrefixLevel],
    *,
    match_all: bool = True,
) -> list[Float[Tensor, "S K"]]:
    r"""Walk features of hidden graphs: how much of each hidden graph walks along each color sequence.

    The inner product with the number of times a graph walks along each sequence is that graph's
    :func:`rwkplus.functional.rwk_plus` with the hidden graph, whatever the number of graphs.

    Args:
        y0: Similarity of every color to every hidden node.
        hidden_adj: Adjacencies of the hidden graphs.
        prefixes: Sequences of 0, 1, ... edges that longer ones begin with.
        sequences: Sequences of 1, 2, ... edges to score.
        match_all: Match every node of a walk, else only its ends, and the result is that of
            :func:`rwkplus.functional.rwk_minus`: of sequences, only the first and last color are read.
    """
    walked, features = y0.index_select(0, prefixes[0].color), []
    for step, ends in enumerate(sequences, start=1):
        reached = einsum("pkm,kml->pkl", walked, hidden_adj)
        features.append((reached.index_select(0, ends.prefix) * y0.index_select(0, ends.color)).sum(-1))
        if step < len(sequences):
            level = prefixes[step]
            walked = reached.index_select(0, level.prefix)
            if match_all:
                walked = walked * y0.square().index_select(0, level.color)
    return features


def sequence_closed_walks(
    y0: Float[Tensor, "C K M"], hidden_adj: Float[Tensor, "K M M"], cycles: Int[Tensor, "S L"]
) -> Float[Tensor, "S K"]:
    """Closed-walk features of hidden graphs: how much of each returns to its start along each cyclic color sequence."""
    matched = y0.square()  # every node of a closed walk is matched twice

    def at(column: int) -> Tensor:
        return matched.index_select(0, cycles[:, column])

    walked = hidden_adj * at(1).unsqueeze(2)  # (S, K, M, M): from a first node to a second
    for column in range(2, cycles.size(1)):
        walked = einsum("skam,kml->skal", walked, hidden_adj) * at(column).unsqueeze(2)
    return (einsum("skam,kma->ska", walked, hidden_adj) * at(0)).sum(-1)


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

    >>> feature_penalty(torch.tensor([[0.5, -1.0]]))
    tensor(1.5000)
    """
    return hidden_x.abs().sum((-2, -1))

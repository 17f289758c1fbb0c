"""Random walk kernels of the neighborhood of every node with a bank of small graphs: scores ``(T, N, K)``."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from rwkplus.errors import Remedy, ShapeError
from rwkplus.functional.kernels import bank_scores, check_bank, color_similarity, graphs_of_edges
from rwkplus.functional.walks import Normalize
from rwkplus.tensors import check_edge_index


class Egonets(NamedTuple):
    """Subgraphs around B nodes, mostly all of a batch, without padding; :class:`rwkplus.nn.EgoNets` finds them.

    Example:
        The path of three nodes, each with its neighbors.

        >>> from rwkplus.nn import extract_egonets
        >>> egonets = extract_egonets(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
        >>> [members.tolist() for members in egonets.member.split(egonets.size.tolist())]
        [[0, 1], [1, 0, 2], [2, 1]]
    """

    member: Int[Tensor, " R"]
    """Members of all egonets one after the other, each center first."""

    size: Int[Tensor, " B"]
    """Members of each."""

    link: Int[Tensor, "F 2"]
    """Directed edges between members, egonet by egonet, as positions within the egonet."""

    link_count: Int[Tensor, " B"]
    """Edges of each egonet."""

    weight: Float[Tensor, " F"] | None = None
    """Weights of those edges; 1 by default."""

    attr: Float[Tensor, "F C"] | None = None
    """Colors of those edges; used where hidden graphs have edge colors."""

    kind: Int[Tensor, " B"] | None = None
    """Equal numbers for egonets that are alike in node features and edges; see :func:`rwkplus.nn.merge_egonets`."""

    multiplicity: Int[Tensor, " B"] | None = None
    """How often each egonet occurs, which is what StepNorm wants to know; once by default."""

    @property
    def owner(self) -> Tensor:
        """Egonet of every member: ``(R,)``."""
        nodes = torch.arange(self.size.numel(), device=self.size.device)
        return nodes.repeat_interleave(self.size, output_size=self.member.numel())

    @property
    def edge_index(self) -> Tensor:
        """Links between members, counted through all egonets as if these were graphs of their own: ``(2, F)``."""
        first = self.size.cumsum(0) - self.size
        return self.link.t() + first.repeat_interleave(self.link_count, output_size=self.link.size(0))


def whole_graphs(
    edge_index: Int[Tensor, "2 E"],
    batch: Int[Tensor, " N"],
    num_graphs: int | None = None,
    weight: Float[Tensor, " E"] | None = None,
    attr: Float[Tensor, "E C"] | None = None,
) -> Egonets:
    """Graphs of a batch in the form of egonets, one for each graph, so that the same loops walk on them."""
    check_edge_index(edge_index, edge_weight=weight, edge_attr=attr)
    size = torch.bincount(batch, minlength=num_graphs or 0)
    ends = graphs_of_edges(edge_index, batch, num_graphs)
    first, member = size.cumsum(0) - size, torch.arange(batch.numel(), device=batch.device)
    position = member
    if bool((batch[1:] < batch[:-1]).any()):
        member = batch.argsort(stable=True)
        position = torch.empty_like(member).index_copy_(0, member, position)
    link = (position[edge_index] - first[ends]).t()
    if bool((ends[0, 1:] < ends[0, :-1]).any()):
        order = ends[0].argsort(stable=True)
        link, ends = link[order], ends[:, order]
        weight, attr = (None if part is None else part[order] for part in (weight, attr))
    return Egonets(member, size, link, torch.bincount(ends[0], minlength=size.numel()), weight, attr)


def egonet_scores(
    x: Float[Tensor, "N D"],
    egonets: Egonets,
    hidden_x: Float[Tensor, "K M _D"],
    hidden_adj: Float[Tensor, "K M M"],
    *,
    steps: int,
    match_all: bool = True,
    hidden_edge_attr: Float[Tensor, "K M M C"] | None = None,
    closed: bool = False,
    include_zero_step: bool = False,
    normalize: Normalize | None = None,
    readout: Normalize | None = None,
) -> Float[Tensor, "T B K"]:
    r"""Kernel of the egonet of every node with every hidden graph, :math:`K^{(i)}(\mathrm{Sub}_G[v], W_j)`.

    The same numbers as :func:`rwk_plus` and :func:`rwk_minus` with egonets as graphs of their own, but nodes meet
    hidden nodes once, not once per egonet. :class:`rwkplus.nn.KernelConv` gives the same by compiled loops where it
    can.

    Args:
        x: Node features.
        egonets: Neighborhood of every node.
        hidden_x: Node features of the hidden graphs.
        hidden_adj: Their weighted adjacencies.
        steps: Longest walk, counted in edges.
        match_all: Match every node of a walk (RWK+) or only its ends (RWK-).
        hidden_edge_attr: Edge colors of the hidden graphs, compared with those of ``egonets`` by inner product.
        closed: Count only walks that return to where they began.
        include_zero_step: Put the zero-edge term before the first step.
        normalize: Applied to the walks ``(R, K, M)`` of each step between lines 4 and 5, StepNorm's place.
        readout: Applied to the matched walks ``(R, K, M)`` of each step before they are summed.

    Returns:
        One score per step, egonet and hidden graph.

    Example:
        Two nodes of one color joined by an edge, against an edge of that color: four pairs of one-edge walks each.

        >>> from rwkplus.nn import extract_egonets
        >>> edges, x = torch.tensor([[0, 1], [1, 0]]), torch.ones(2, 1)
        >>> egonet_scores(x, extract_egonets(edges, 2), x[None], 1 - torch.eye(2)[None], steps=1).flatten()
        tensor([4., 4.])
    """
    check_egonets(x, egonets, hidden_x, hidden_adj, hidden_edge_attr, steps)
    y0 = color_similarity(x, hidden_x).to(hidden_adj.dtype)  # another type under autocast
    return bank_scores(
        y0.index_select(0, egonets.member),
        egonets.edge_index,
        egonets.owner,
        hidden_adj,
        steps,
        match_all=match_all,
        edge_weight=egonets.weight,
        edge_attr=None if hidden_edge_attr is None else egonets.attr,
        hidden_edge_attr=hidden_edge_attr,
        closed=closed,
        include_zero_step=include_zero_step,
        num_graphs=egonets.size.numel(),
        normalize=normalize,
        readout=readout,
    )


def check_egonets(
    x: Tensor, egonets: Egonets, hidden_x: Tensor, hidden_adj: Tensor, hidden_edge_attr: Tensor | None, steps: int
) -> None:
    """Refuse nodes, egonets and hidden graphs that do not fit together."""
    check_bank(x, hidden_x, hidden_adj, steps)
    if hidden_edge_attr is not None:
        colors = 0 if egonets.attr is None else egonets.attr.size(1)
        if colors != hidden_edge_attr.size(-1):
            raise ShapeError(
                f"edge_attr has {colors} columns but edges of hidden graphs have {hidden_edge_attr.size(-1)} colors.",
                "Give as many columns.",
                Remedy("Or make the layer with {edge_dim}.", edge_dim=colors),
            )

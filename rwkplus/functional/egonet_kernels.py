"""Random walk kernels of the neighborhood of every node with a bank of small graphs: scores ``(T, N, K)``."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from rwkplus.errors import ParameterError, ShapeError
from rwkplus.functional.kernels import bank_scores, check_bank, color_similarity, finite_scores, graphs_of_edges
from rwkplus.functional.propagate import check_edges
from rwkplus.functional.walks import Normalize
from rwkplus.ops.egonet_kinds import merge_kinds
from rwkplus.ops.egonet_walks import score_egonets
from rwkplus.ops.normalized_walks import score_normalized
from rwkplus.ops.step_statistics import StepNormState
from rwkplus.ops.transforms import is_transformed, learns


class Egonets(NamedTuple):
    """Subgraphs around B nodes, mostly all of a batch, without padding; :class:`rwkplus.graphs.EgoNets` finds them."""

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

    undirected: Bool[Tensor, " P"] | None = None
    """Whether every edge has an equal opposite, in any number of parts; knowing it halves the work."""

    kind: Int[Tensor, " B"] | None = None
    """Equal numbers for egonets that are alike in node features and edges; see :func:`merge_egonets`."""

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
    check_edges(edge_index, edge_weight=weight, edge_attr=attr)
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
    compiled: bool | None = None,
) -> Float[Tensor, "T B K"]:
    r"""Kernel of the egonet of every node with every hidden graph, :math:`K^{(i)}(\mathrm{Sub}_G[v], W_j)`.

    The same numbers as :func:`rwk_plus` and :func:`rwk_minus` with egonets as graphs of their own, much faster: nodes
    meet hidden nodes once, not once per egonet. Open walks that are not normalized run through an operator of their
    own, compiled on CPUs in float32 and float64; it has first derivatives only, and none with respect to edges: where
    these are wanted, walks run through torch.

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
        compiled: Whether to use the compiled loops; by default wherever they apply.

    Returns:
        One score per step, egonet and hidden graph.
    """
    _check(x, egonets, hidden_x, hidden_adj, hidden_edge_attr, steps)
    y0 = color_similarity(x, hidden_x).to(hidden_adj.dtype)
    edge_attr = None if hidden_edge_attr is None else egonets.attr
    walks_plainly = closed or normalize is not None or readout is not None or is_transformed()
    if walks_plainly or learns(egonets.weight, edge_attr):
        if compiled:
            raise ParameterError(
                "there are no compiled loops for closed or normalized walks, nor for gradients of edges: "
                "leave compiled out."
            )
        return bank_scores(
            y0.index_select(0, egonets.member),
            egonets.edge_index,
            egonets.owner,
            hidden_adj,
            steps,
            match_all=match_all,
            edge_weight=egonets.weight,
            edge_attr=edge_attr,
            hidden_edge_attr=hidden_edge_attr,
            closed=closed,
            include_zero_step=include_zero_step,
            num_graphs=egonets.size.numel(),
            normalize=normalize,
            readout=readout,
        )
    hidden = _channels(hidden_adj, hidden_edge_attr)
    compiled = compiles(y0) if compiled is None else compiled
    scores = score_egonets(y0, hidden, _tensors(egonets, hidden_edge_attr, y0), steps, match_all, compiled)
    return finite_scores(_with_zero_step(scores, y0, egonets) if include_zero_step else scores)


def normalized_egonet_scores(
    x: Float[Tensor, "N D"],
    egonets: Egonets,
    hidden_x: Float[Tensor, "K M _D"],
    hidden_adj: Float[Tensor, "K M M"],
    norm: StepNormState,
    *,
    match_all: bool = True,
    hidden_edge_attr: Float[Tensor, "K M M C"] | None = None,
    include_zero_step: bool = False,
) -> tuple[Float[Tensor, "T B K"], Float[Tensor, "3 t K"]]:
    """:func:`egonet_scores` with StepNorm between lines 4 and 5, by compiled loops: for CPUs, see :func:`compiles`.

    Returns:
        Scores, and the mean, variance and number of the walks that were normalized in each step, for training.
    """
    _check(x, egonets, hidden_x, hidden_adj, hidden_edge_attr, norm.weight.size(0))
    if learns(egonets.weight, None if hidden_edge_attr is None else egonets.attr):
        raise ParameterError("compiled loops have no gradients of edges: call egonet_scores with normalize.")
    y0, hidden = color_similarity(x, hidden_x).to(hidden_adj.dtype), _channels(hidden_adj, hidden_edge_attr)
    tensors = _tensors(egonets, hidden_edge_attr, y0)
    count = torch.ones_like(egonets.size) if egonets.multiplicity is None else egonets.multiplicity
    scores, moments = score_normalized(y0, hidden, tensors, count, *norm[:4], match_all, *norm[4:])
    return finite_scores(_with_zero_step(scores, y0, egonets) if include_zero_step else scores), moments


def merge_egonets(egonets: Egonets) -> tuple[Egonets, Int[Tensor, " B"]]:
    """Keep one of all egonets that are alike, which gives exactly the same scores in less time.

    Only for features that are equal wherever those that ``kind`` was read off are equal: these features themselves, or
    a function of each row. Not inside :func:`torch.compile`, because sizes depend on the data.

    Returns:
        The distinct egonets, and which of them each one is: ``scores[:, which]``.
    """
    if egonets.kind is None:
        raise ParameterError("egonets without kinds cannot be merged: EgoNets finds kinds in graphs with x.")
    merged = merge_kinds(egonets.kind, *egonets[:4])
    distinct = Egonets(
        merged.member,
        merged.size,
        merged.link,
        merged.link_count,
        None if egonets.weight is None else egonets.weight[merged.link_id],
        None if egonets.attr is None else egonets.attr[merged.link_id],
        egonets.undirected,
        multiplicity=merged.multiplicity,
    )
    return distinct, merged.which


def compiles(x: Tensor) -> bool:
    """Whether compiled loops are there for numbers of this kind and place."""
    return x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64)


def _with_zero_step(scores: Tensor, y0: Tensor, egonets: Egonets) -> Tensor:
    squares = (y0 * y0).sum(-1).index_select(0, egonets.member)
    return torch.cat([torch.zeros_like(scores[:1]).index_add(1, egonets.owner, squares.unsqueeze(0)), scores])


def _channels(hidden_adj: Tensor, hidden_edge_attr: Tensor | None) -> Float[Tensor, "K M M C"]:
    return hidden_adj.unsqueeze(-1) if hidden_edge_attr is None else hidden_adj.unsqueeze(-1) * hidden_edge_attr


def _tensors(egonets: Egonets, hidden_edge_attr: Tensor | None, y0: Tensor) -> list[Tensor]:
    """Egonets as the operators read them."""
    value = y0.new_empty(egonets.link.size(0), 0) if egonets.weight is None else egonets.weight.view(-1, 1)
    if hidden_edge_attr is not None and egonets.attr is not None:
        value = egonets.attr if egonets.weight is None else egonets.attr * value
    undirected = egonets.undirected
    if undirected is None:
        undirected = egonets.size.new_zeros(1, dtype=torch.bool)
    return [*egonets[:4], value.to(y0.dtype), undirected]


def _check(
    x: Tensor, egonets: Egonets, hidden_x: Tensor, hidden_adj: Tensor, hidden_edge_attr: Tensor | None, steps: int
) -> None:
    check_bank(x, hidden_x, hidden_adj, steps)
    if hidden_edge_attr is not None:
        colors = 0 if egonets.attr is None else egonets.attr.size(1)
        if colors != hidden_edge_attr.size(-1):
            raise ShapeError(
                f"edge_attr has {colors} columns but edges of hidden graphs have {hidden_edge_attr.size(-1)} colors: "
                "give as many columns, or another edge_dim."
            )

"""Random walk kernels of sparse graphs, or of egonets of their nodes, with a bank of small graphs: ``(T, B, K)``."""

from math import isfinite
from typing import NamedTuple, TypedDict, Unpack

import torch
from jaxtyping import Float, Int
from torch import Tensor

from rwkplus.errors import GraphError, NumericError, ParameterError, Remedy, ShapeError
from rwkplus.functional.walks import Normalize, bank_propagation, closed_walks, closed_walks_by_ends, walk_steps
from rwkplus.tensors import can_read_values, check_edge_index, full_precision


class EgonetOptions(TypedDict, total=False):
    """What kernels of egonets may be told beyond nodes, edges and steps."""

    hidden_edge_attr: Float[Tensor, "K M M C"] | None
    """Edge colors of the hidden graphs."""

    closed: bool
    """Count only walks that return to where they began, the trace of the product graph's powers.

    They see cycles, which open walks cannot; they cost M times the nodes of the largest graph more, or with
    only the ends matched hardly anything."""

    include_zero_step: bool
    """Put the zero-edge term, the squared color similarities, before the first step."""

    normalize: Normalize | None
    """Applied to the walks ``(N, K, M)`` of each step between lines 4 and 5, so that later steps see it."""

    readout: Normalize | None
    """Applied to the matched walks ``(N, K, M)`` of each step before they are summed; later steps do not see it."""


class WalkOptions(EgonetOptions, total=False):
    """What the kernels may be told beyond nodes, edges and steps."""

    edge_weight: Float[Tensor, " E"] | None
    """Weights of the edges of the input graphs; 1 by default."""

    edge_type: Int[Tensor, " E"] | None
    """Discrete edge colors, matched at every step with the channels of ``hidden_edge_attr``."""

    edge_attr: Float[Tensor, "E C"] | None
    """Continuous edge colors, compared at every step with ``hidden_edge_attr`` by inner product."""

    num_graphs: int | None
    """Number of graphs; read off ``batch`` by default."""


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
        """Links between members, counted through all egonets as if these were graphs of their own: ``(2, F)``.

        >>> from rwkplus.nn import extract_egonets
        >>> extract_egonets(torch.tensor([[0, 1], [1, 0]]), num_nodes=2).edge_index
        tensor([[0, 1, 2, 3],
                [1, 0, 3, 2]])
        """
        first = self.size.cumsum(0) - self.size
        return self.link.t() + first.repeat_interleave(self.link_count, output_size=self.link.size(0))


def rwk_plus(
    x: Float[Tensor, "N D"],
    edge_index: Int[Tensor, "2 E"],
    batch: Int[Tensor, " N"],
    hidden_x: Float[Tensor, "K M _D"],
    hidden_adj: Float[Tensor, "K M M"],
    *,
    steps: int,
    **options: Unpack[WalkOptions],
) -> Float[Tensor, "T B K"]:
    r"""Color-matching random walk kernel of every graph with every hidden graph.

    .. math:: K^{(i)}(G, H) = \mathbf{1}^\top (\mathbf{s}\mathbf{s}^\top \odot
        A_{G \otimes H})^i \mathbf{1}, \qquad \mathbf{s} = \mathrm{vec}(X_H X_G^\top)

    computed by Algorithm 1 in :math:`O(T K (E M + N M^2))` time, without the product graph.
    With one-hot colors this counts the pairs of ``i``-edge walks that agree in every color.
    Gradients flow to both sides.

    Args:
        x: Node features of all graphs.
        edge_index: Directed edges of all graphs; give undirected edges twice.
        batch: Graph of each node.
        hidden_x: Node features of the hidden graphs; zero rows are padding and match nothing.
        hidden_adj: Their weighted adjacencies; entry ``(v, w)`` is the edge from ``v`` to ``w``.
        steps: Longest walk, counted in edges.
        options: Edge weights, edge colors, closed walks: see :class:`WalkOptions`.

    Returns:
        One score per step, graph and hidden graph. Weighting the steps (the paper's lambda) is the
        caller's choice: ``scores.sum(0)`` or ``scores[-1]``.

    Example:
        A single edge, both nodes of one color, against itself. There are two one-edge
        walks on either side, hence four pairs; every longer walk just bounces.

        >>> import torch
        >>> x, edge_index = torch.ones(2, 1), torch.tensor([[0, 1], [1, 0]])
        >>> edge = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
        >>> rwk_plus(x, edge_index, torch.zeros(2).long(), x[None], edge, steps=2).flatten()
        tensor([4., 4.])
    """
    y0 = _similarity(x, edge_index, batch, hidden_x, hidden_adj, steps, options)
    return _bank_scores(y0, edge_index, batch, hidden_adj, steps, match_all=True, **options)


def rwk_minus(
    x: Float[Tensor, "N D"],
    edge_index: Int[Tensor, "2 E"],
    batch: Int[Tensor, " N"],
    hidden_x: Float[Tensor, "K M _D"],
    hidden_adj: Float[Tensor, "K M M"],
    *,
    steps: int,
    **options: Unpack[WalkOptions],
) -> Float[Tensor, "T B K"]:
    r"""RWNN's random walk kernel, which compares only the two ends of a walk (Eq. 6 and 7).

    .. math:: K^{(i)}(G, H) = \mathbf{s}^\top A_{G \otimes H}^i \mathbf{s}

    Arguments, shapes and options are those of :func:`rwk_plus`; edge colors, where given, are still
    matched at every step. At one step the two kernels are equal.

    >>> x, edge_index = torch.tensor([[2.0], [1.0]]), torch.tensor([[0, 1], [1, 0]])
    >>> edge = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
    >>> rwk_minus(x, edge_index, torch.zeros(2).long(), torch.ones(1, 2, 1), edge, steps=2).flatten()
    tensor([ 8., 10.])
    """
    y0 = _similarity(x, edge_index, batch, hidden_x, hidden_adj, steps, options)
    return _bank_scores(y0, edge_index, batch, hidden_adj, steps, match_all=False, **options)


def classical_rwk(
    label: Int[Tensor, " N"],
    edge_index: Int[Tensor, "2 E"],
    batch: Int[Tensor, " N"],
    hidden_label: Int[Tensor, "K M"],
    hidden_adj: Float[Tensor, "K M M"],
    *,
    steps: int,
    num_graphs: int | None = None,
) -> Float[Tensor, "T B K"]:
    r"""Classical random walk kernel: pairs of walks with equal label sequences (Eq. 4 and 5).

    Labels below zero match nothing; use them to pad. Equals :func:`rwk_plus` on one-hot features.

    >>> edge_index, edge = torch.tensor([[0, 1], [1, 0]]), torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
    >>> classical_rwk(torch.tensor([3, 5]), edge_index, torch.zeros(2).long(), torch.tensor([[3, 5]]), edge, steps=1)
    tensor([[[2.]]])
    """
    if steps < 1:
        raise ParameterError(f"steps must be at least 1, got {steps}.")
    y0 = (label.view(-1, 1, 1) == hidden_label) & (hidden_label >= 0)
    return _bank_scores(y0.to(hidden_adj.dtype), edge_index, batch, hidden_adj, steps, num_graphs=num_graphs)


def egonet_scores(
    x: Float[Tensor, "N D"],
    egonets: Egonets,
    hidden_x: Float[Tensor, "K M _D"],
    hidden_adj: Float[Tensor, "K M M"],
    *,
    steps: int,
    match_all: bool = True,
    **options: Unpack[EgonetOptions],
) -> Float[Tensor, "T B K"]:
    r"""Kernel of the egonet of every node with every hidden graph, :math:`K^{(i)}(\mathrm{Sub}_G[v], W_j)`.

    The same numbers as :func:`rwk_plus` and :func:`rwk_minus` with egonets as graphs of their own, but nodes meet
    hidden nodes once, not once per egonet. :class:`rwkplus.nn.KernelConv` gives the same by compiled loops where it
    can. ``match_all`` matches every node of a walk (RWK+), else only its ends (RWK-); options apply to the walks
    ``(R, K, M)`` of each step.

    Example:
        >>> from rwkplus.nn import extract_egonets
        >>> edges, x = torch.tensor([[0, 1], [1, 0]]), torch.ones(2, 1)
        >>> egonet_scores(x, extract_egonets(edges, 2), x[None], 1 - torch.eye(2)[None], steps=1).flatten()
        tensor([4., 4.])
    """
    hidden_edge_attr = options.get("hidden_edge_attr")
    check_egonets(x, egonets, hidden_x, hidden_adj, hidden_edge_attr, steps)
    y0 = color_similarity(x, hidden_x).to(hidden_adj.dtype)  # another type under autocast
    return _bank_scores(
        y0.index_select(0, egonets.member),
        egonets.edge_index,
        egonets.owner,
        hidden_adj,
        steps,
        match_all=match_all,
        edge_weight=egonets.weight,
        edge_attr=None if hidden_edge_attr is None else egonets.attr,
        num_graphs=egonets.size.numel(),
        **options,
    )


def color_similarity(x: Float[Tensor, "N D"], hidden_x: Float[Tensor, "K M D"]) -> Float[Tensor, "N K M"]:
    """Inner product of every node with every hidden node: the paper's S, and Y0 of Algorithm 1.

    >>> color_similarity(torch.tensor([[1.0, 2.0]]), torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]))
    tensor([[[1., 2.]]])
    """
    similarity: Tensor = (x @ hidden_x.flatten(0, 1).t()).unflatten(1, hidden_x.shape[:2])
    return similarity


def check_batch(x: Float[Tensor, "N D"], batch: Int[Tensor, " N"]) -> None:
    """Refuse a batch that leaves nodes without a graph."""
    if batch.shape != x.shape[:1]:
        raise ShapeError(f"batch must name a graph for each of the {x.size(0)} nodes, got {tuple(batch.shape)}.")


def _graphs_of_edges(
    edge_index: Int[Tensor, "2 E"], batch: Int[Tensor, " N"], num_graphs: int | None = None
) -> Int[Tensor, "2 E"]:
    """Graph of both ends of every edge; refuses edges between graphs, and more graphs than there should be."""
    check_edge_index(edge_index, batch.numel())
    if num_graphs is not None and batch.numel() and int(batch.max()) >= num_graphs:
        raise ShapeError(f"batch names {int(batch.max()) + 1} graphs but num_graphs is {num_graphs}.")
    ends = batch[edge_index]
    if not torch.equal(ends[0], ends[1]):
        edge = int((ends[0] != ends[1]).nonzero()[0])
        u, v = edge_index[:, edge].tolist()
        raise GraphError(
            f"edge {edge} leads from node {u} to node {v}, which batch puts into graphs {int(ends[0, edge])} and "
            f"{int(ends[1, edge])}.",
            "Let batch name the graph of each node.",
        )
    return ends


def whole_graphs(
    edge_index: Int[Tensor, "2 E"],
    batch: Int[Tensor, " N"],
    num_graphs: int | None = None,
    weight: Float[Tensor, " E"] | None = None,
    attr: Float[Tensor, "E C"] | None = None,
) -> Egonets:
    """Graphs of a batch in the form of egonets, one for each graph, so that the same loops walk on them.

    >>> whole_graphs(torch.tensor([[0, 2], [1, 1]]), torch.tensor([0, 0, 0, 1])).size
    tensor([3, 1])
    """
    check_edge_index(edge_index, edge_weight=weight, edge_attr=attr)
    size = torch.bincount(batch, minlength=num_graphs or 0)
    ends = _graphs_of_edges(edge_index, batch, num_graphs)
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


def count_graphs(batch: Int[Tensor, " N"], num_graphs: int | None = None) -> int:
    """Number of graphs, read off ``batch`` if it is not known; an accelerator has to wait for that."""
    if num_graphs is None:
        return int(batch.max()) + 1 if batch.numel() else 0
    return num_graphs


def _similarity(
    x: Tensor, edge_index: Tensor, batch: Tensor, hidden_x: Tensor, hidden_adj: Tensor, steps: int, options: WalkOptions
) -> Tensor:
    """Similarity of nodes to hidden nodes, of arguments that fit together."""
    _check_bank(x, hidden_x, hidden_adj, steps)
    check_batch(x, batch)
    if x.device.type == "cpu" and can_read_values():  # an accelerator would have to wait
        _graphs_of_edges(edge_index, batch, options.get("num_graphs"))
    return color_similarity(x, hidden_x).to(hidden_adj.dtype)  # another type under autocast


def _bank_scores(
    y0: Float[Tensor, "N K M"],
    edge_index: Int[Tensor, "2 E"],
    batch: Int[Tensor, " N"],
    hidden_adj: Float[Tensor, "K M M"],
    steps: int,
    *,
    match_all: bool = True,
    edge_weight: Float[Tensor, " E"] | None = None,
    edge_type: Int[Tensor, " E"] | None = None,
    edge_attr: Float[Tensor, "E C"] | None = None,
    hidden_edge_attr: Float[Tensor, "K M M C"] | None = None,
    closed: bool = False,
    include_zero_step: bool = False,
    num_graphs: int | None = None,
    normalize: Normalize | None = None,
    readout: Normalize | None = None,
) -> Float[Tensor, "T B K"]:
    """Scores of graphs whose similarity to the hidden nodes is known; see :func:`rwk_plus` and :class:`WalkOptions`."""
    if closed and normalize is not None:
        raise ParameterError(
            "closed walks are walked from one start after the other and cannot be normalized between their steps.",
            "Normalize the read-out.",
        )
    colors = {"edge_type": edge_type, "edge_attr": edge_attr, "hidden_edge_attr": hidden_edge_attr}
    propagate = bank_propagation(edge_index, hidden_adj, edge_weight=edge_weight, **colors)
    number = count_graphs(batch, num_graphs)
    if not closed:
        walks = walk_steps(y0, propagate, steps, match_all=match_all, normalize=normalize)
    elif match_all or hidden_edge_attr is not None:
        walks = closed_walks(y0, propagate, batch, steps, match_all=match_all, num_graphs=number)
    else:
        ends = edge_index, hidden_adj, batch, steps
        walks = closed_walks_by_ends(y0, *ends, edge_weight=edge_weight, num_graphs=number)
    if readout is not None:
        walks = (readout(y, step) for step, y in enumerate(walks, 1))

    def per_graph(y: Tensor) -> Tensor:
        return y.new_zeros(number, y.size(1)).index_add(0, batch, y.sum(-1))

    with full_precision(y0):
        scores = [per_graph(y) for y in walks]
    if include_zero_step:
        scores.insert(0, per_graph(y0 * y0))
    return finite_scores(torch.stack(scores))


def _check_bank(x: Tensor, hidden_x: Tensor, hidden_adj: Tensor, steps: int) -> None:
    """Refuse nodes and hidden graphs that do not fit together, and walks without an edge."""
    if steps < 1:
        raise ParameterError(f"steps must be at least 1 (it counts the edges of a walk), got {steps}.")
    if x.size(-1) != hidden_x.size(-1):
        raise ShapeError(
            f"input graphs have {x.size(-1)} features per node but the hidden graphs have "
            f"{hidden_x.size(-1)} (x: {tuple(x.shape)}, hidden_x: {tuple(hidden_x.shape)}).",
            "Were structural colors added to one side only?",
        )
    if hidden_adj.shape != (*hidden_x.shape[:2], hidden_x.size(1)):
        raise ShapeError(
            f"hidden_adj must be (K, M, M) for hidden_x (K, M, D), got {tuple(hidden_adj.shape)} "
            f"and {tuple(hidden_x.shape)}."
        )


def check_egonets(
    x: Tensor, egonets: Egonets, hidden_x: Tensor, hidden_adj: Tensor, hidden_edge_attr: Tensor | None, steps: int
) -> None:
    """Refuse nodes, egonets and hidden graphs that do not fit together."""
    _check_bank(x, hidden_x, hidden_adj, steps)
    if hidden_edge_attr is not None:
        colors = 0 if egonets.attr is None else egonets.attr.size(1)
        if colors != hidden_edge_attr.size(-1):
            raise ShapeError(
                f"edge_attr has {colors} columns but edges of hidden graphs have {hidden_edge_attr.size(-1)} colors.",
                "Give as many columns.",
                Remedy("Or make the layer with {edge_dim}.", edge_dim=colors),
            )


def finite_scores(scores: Tensor) -> Tensor:
    """Return scores ``(T, ...)`` unless one is inf or nan.

    >>> finite_scores(torch.tensor([[1.0], [float("inf")]]))
    Traceback (most recent call last):
    rwkplus.errors.NumericError: the kernel left the range of torch.float32 at entry 1 of 2 steps: ...
    """
    # Inside torch.compile and torch.func values cannot be looked at; there the caller owns the scale.
    if not can_read_values():
        return scores
    # A sum is finite only if all its terms are, and cheaper to look at.
    if isfinite(scores.detach().sum()) or bool(scores.isfinite().all()):
        return scores
    step = int((~torch.isfinite(scores)).flatten(1).any(1).nonzero()[0])
    raise NumericError(
        f"the kernel left the range of {scores.dtype} at entry {step} of {scores.size(0)} steps: the number "
        "of walks grows geometrically.",
        "Use float64 inputs or fewer steps, scale hidden_adj down (a factor c on hidden_adj is the weight c**i on step "
        "i), or check the inputs for inf and nan.",
        Remedy("Networks normalize walks with {model_params}.", model_params={"step_norm": "propagate"}),
    )

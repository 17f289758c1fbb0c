"""Walk kernels of graphs in which many nodes are alike: walkers start from one node of each kind only.

How many walks of ``i`` edges begin at a node depends on no more than its color and the kinds of its neighbors after
``i - 1`` edges. In molecules with few colors thousands of atoms are of some hundred kinds, and of fewer still where
walks are short, so that each step is taken from the kinds before to the kinds after it.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from jaxtyping import Float, Int
from torch import Tensor, einsum

from rwkplus.functional.kernels import check_bank, color_similarity, count_graphs, finite_scores
from rwkplus.functional.propagate import Propagate, check_edges, sparse_product
from rwkplus.functional.walks import walk_steps
from rwkplus.ops.csr import check_ends
from rwkplus.ops.merged_walks import Kinds, score_merged
from rwkplus.ops.precision import full_precision
from rwkplus.ops.step_statistics import StepNormState
from rwkplus.ops.walk_kinds import edges_between_kinds, first_of_walk_kinds


class WeightedNormalize(Protocol):
    """Maps the walks ``(C, K, M)`` of a step, told how often each kind occurs ``(C,)``, as StepNorm does."""

    def __call__(self, y: Tensor, step: int, *, count: Tensor) -> Tensor:
        """Normalize them."""


class MergedNodes(NamedTuple):
    """Nodes by kind, after each number of steps; :func:`merge_nodes` finds them."""

    first: Int[Tensor, " C"]
    """A node of each color."""

    kind: list[Int[Tensor, " N"]]
    """Kind of every node after no step, which is its color, after one step, and so on."""

    levels: list[Kinds]
    """The kinds after one step, two steps, and so on, and where their edges lead."""


def merge_nodes(kinds: Int[Tensor, "N T1"], edge_index: Int[Tensor, "2 E"]) -> MergedNodes:
    """Merge nodes of one kind, given what :func:`rwkplus.ops.walk_kinds.walk_kinds` tells of them.

    On the CPU, and not inside :func:`torch.compile`, because sizes depend on the data.
    """
    check_edges(edge_index)
    check_ends(edge_index, kinds.size(0))
    color, first_of_color = first_of_walk_kinds(kinds[:, 0])
    kind, levels = [color], []
    for column in kinds[:, 1:].unbind(1):
        own, first = first_of_walk_kinds(column)
        count = torch.bincount(own, minlength=first.numel())
        levels.append(Kinds(color[first], count, *edges_between_kinds(edge_index, first, kind[-1])))
        kind.append(own)
    return MergedNodes(first_of_color, kind, levels)


def merged_scores(
    x: Float[Tensor, "N D"],
    nodes: MergedNodes,
    batch: Int[Tensor, " N"],
    hidden_x: Float[Tensor, "K M D"],
    hidden_adj: Float[Tensor, "K M M"],
    *,
    match_all: bool = True,
    include_zero_step: bool = False,
    num_graphs: int | None = None,
    normalize: WeightedNormalize | None = None,
) -> Float[Tensor, "T B K"]:
    """Return what :func:`rwkplus.functional.rwk_plus` or ``rwk_minus`` do, walking once for all nodes of a kind.

    Args:
        x: Node features; those of nodes of one kind must be equal.
        nodes: The same nodes by kind.
        batch: Graph of each node.
        hidden_x: Node features of the hidden graphs.
        hidden_adj: Their adjacencies.
        match_all: RWK+ if true, RWK- otherwise.
        include_zero_step: Put the zero-edge term first.
        num_graphs: Number of graphs; read off ``batch`` by default.
        normalize: ``normalize(y, step, count=...)`` between lines 4 and 5, told how often each row occurs.
    """

    def weighted(y: Tensor, step: int) -> Tensor:
        assert normalize is not None  # handed over only if it is there
        return normalize(y, step, count=nodes.levels[step - 1].nodes.to(y.dtype))

    y0 = _similarity(x, nodes, hidden_x, hidden_adj)
    walks = walk_steps(
        [y0, *(y0.index_select(0, level.color) for level in nodes.levels)],
        [_propagation(level, hidden_adj) for level in nodes.levels],
        len(nodes.levels),
        match_all=match_all,
        normalize=None if normalize is None else weighted,
    )
    with full_precision(y0):
        scores = [y.sum(-1) for y in walks]
    return _per_graph(scores, nodes, batch, num_graphs, y0 if include_zero_step else None)


def normalized_merged_scores(
    x: Float[Tensor, "N D"],
    nodes: MergedNodes,
    batch: Int[Tensor, " N"],
    hidden_x: Float[Tensor, "K M D"],
    hidden_adj: Float[Tensor, "K M M"],
    norm: StepNormState,
    *,
    match_all: bool = True,
    include_zero_step: bool = False,
    num_graphs: int | None = None,
) -> tuple[Float[Tensor, "T B K"], Float[Tensor, "3 T1 K"]]:
    """Return what :func:`merged_scores` does with StepNorm, by compiled loops, and its moments.

    These are mean, variance and the number of values they were taken of.
    """
    y0 = _similarity(x, nodes, hidden_x, hidden_adj)
    scores, moments = score_merged(y0, hidden_adj, nodes.levels, norm, match_all)
    return _per_graph(scores, nodes, batch, num_graphs, y0 if include_zero_step else None), moments


def _similarity(x: Tensor, nodes: MergedNodes, hidden_x: Tensor, hidden_adj: Tensor) -> Tensor:
    """Compare every color with every hidden node."""
    check_bank(x, hidden_x, hidden_adj, len(nodes.levels))
    return color_similarity(x.index_select(0, nodes.first), hidden_x).to(hidden_adj.dtype)  # autocast has another


def _propagation(level: Kinds, hidden_adj: Tensor) -> Propagate:
    number = level.color.numel()
    rows = torch.arange(number, device="cpu").repeat_interleave(level.ptr.diff(), output_size=level.col.numel())
    edges = torch.stack([rows, level.col])
    return lambda y: sparse_product(edges, einsum("klm,ckm->ckl", hidden_adj, y), num_rows=number)


def _per_graph(
    scores: Sequence[Tensor], nodes: MergedNodes, batch: Tensor, num_graphs: int | None, y0: Tensor | None
) -> Tensor:
    """Add up the scores ``(C, K)`` of the nodes of each graph, after those of no step if there is ``y0``."""
    zero = [] if y0 is None else [y0.square().sum(-1)]
    kinds = nodes.kind[-len(scores) - len(zero) :]
    own = torch.cat([score.index_select(0, kind) for score, kind in zip([*zero, *scores], kinds, strict=True)], 1)
    totals = own.new_zeros(count_graphs(batch, num_graphs), own.size(1)).index_add(0, batch, own)
    return finite_scores(totals.unflatten(1, (len(kinds), -1)).transpose(0, 1))

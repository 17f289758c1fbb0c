"""RWK+Conv: a graph convolution that walks several steps and matches colors at each, in the place of ``GCNConv``."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from torch_geometric.nn import Aggregation, GCNConv, MessagePassing
from torch_geometric.nn.dense.linear import Linear
from torch_geometric.nn.inits import glorot, zeros
from torch_geometric.typing import Adj

from rwkplus.errors import ParameterError, Remedy
from rwkplus.functional.convolution import Readout, rwk_plus_conv
from rwkplus.nn.conv_inputs import (
    Adjacency,
    Edges,
    adjacency,
    check_colors,
    check_finite,
    check_nodes,
    normalized,
    read_edges,
)
from rwkplus.nn.conv_operator import fused_conv
from rwkplus.tensors import is_transformed
from rwkplus.types import check_choice, check_integer

# How much larger than Glorot's parameters begin. Where similarities begin, around 1/2, the slope of the sigmoid and the
# square that colors an intermediate node are both 1/4, and signals must not fade over the steps. Rows of the hidden
# adjacency begin with a sum of zero, so that they do not drown in what all nodes have in common.
GAIN = 4.0
CACHES = ("_cached", "_cached_edge_index", "_cached_adj_t")
"""Where ``RWKPlusConv`` and ``GCNConv`` keep a normalized adjacency."""
OVERRIDABLE = ("message", "aggregate", "update")
# Where PyG lets hooks watch or change what a layer does: compiled loops would go past them.
HOOKED = [f"{part}_forward{when}" for part in ("propagate", "message", "aggregate") for when in ("_pre", "")]


class RWKPlusConv(MessagePassing):
    r"""Graph convolution by color-matching random walks (RWK+Conv, Section 3.5).

    .. math::
        Y_0 = \sigma(X X_H^\top + b_0), \qquad
        Y^{(i)} = Y_0 \odot \left( \hat A \, (Y_0 \odot Y^{(i-1)}) \, A_H^\top + b \right)

    where the first step begins with :math:`Y_0` itself, :math:`\hat A` is the symmetrically normalized adjacency of
    ``GCNConv`` with :math:`\hat A_{ij}` the edge from :math:`j` to :math:`i`, and :math:`X_H` and :math:`A_H` are a
    learned hidden graph of ``out_channels`` nodes: features ``(M, D)`` and an adjacency ``(M, M)``, free in sign and
    direction. In :math:`O(T (E M + N M^2))` time.

    With ``edge_dim``, edge colors are matched at every step too. :math:`A_H` then has a matrix per color,

    .. math:: Y^{(i)} = Y_0 \odot \Big( \sum_c \hat A^{(c)} (Y_0 \odot Y^{(i-1)}) A_H^{(c)\top} + b \Big),
        \qquad \hat A^{(c)}_{ij} = \hat A_{ij} \, e_{ij}[c]

    so that :math:`A_H^{(c)}[v, w]` is the weight of the hidden edge times entry :math:`c` of its color, compared with
    the color of the input edge by inner product. Self-loops that the layer adds have a color of their own.

    It can be compiled, exported and traced; ``torch.jit.script`` does not know it.

    Args:
        in_channels: Features of a node, or -1 to read them off the first input.
        out_channels: Hidden nodes M, the width of a step's output.
        steps: Longest walk, counted in edges.
        combine: Return the ``"last"`` step, the ``"sum"`` of all, or all side by side (``"concat"``, ``steps`` times
            as wide).
        edge_dim: Number of edge colors C. ``edge_attr`` is then either integers ``(E,)``, the color of each edge, or
            floats ``(E, C)``.
        improved: Weight added self-loops with 2.
        cached: Normalize and sort the adjacency once, in the first forward pass, for training on a single graph.
        add_self_loops: Whether nodes are their own neighbors; by default if ``normalize``.
        normalize: Whether to normalize the adjacency symmetrically.
        bias: Whether to learn :math:`b_0` and :math:`b`.
        fused: Use compiled loops where they can do the work: float32 and float64 on the CPU, edge weights without
            gradient, no explanation under way, no hooks, no export or tracing, no subclass with messages of its own.
            Otherwise torch does the same in more passes.
            Second derivatives need ``False``: whether they will be asked for, a layer cannot know.
        recompute: Keep only :math:`Y_0` for the backward pass and walk again there: less memory, more time.
        flow: ``"source_to_target"``, or the other way round.
        aggr: How walkers that arrive at a node are joined. Compiled loops add them up; all else goes through torch.
        node_dim: Which dimension of ``x`` counts nodes; -2 in ``(..., N, D)``.
        options: Further ones of PyG's ``MessagePassing``.

    Shapes:
        - **input:** node features ``(N, D)``; edges ``(2, E)`` as a tensor or ``EdgeIndex``, or the transposed
          adjacency as a sparse tensor ``(N, N)``; edge weights ``(E,)``; edge colors ``(E,)`` or ``(E, C)``
        - **output:** ``(N, M)``, or ``(N, steps * M)`` if concatenated

    Example:
        >>> conv = RWKPlusConv(-1, 8, steps=3)
        >>> conv(torch.rand(4, 5), torch.tensor([[0, 1, 2], [1, 2, 3]])).shape
        torch.Size([4, 8])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        steps: int = 2,
        combine: Readout = "last",
        edge_dim: int | None = None,
        *,
        improved: bool = False,
        cached: bool = False,
        add_self_loops: bool | None = None,
        normalize: bool = True,
        bias: bool = True,
        fused: bool = True,
        recompute: bool = False,
        flow: str = "source_to_target",
        aggr: str | Aggregation = "add",
        node_dim: int = -2,
        **options: Any,  # noqa: ANN401
    ) -> None:
        if isinstance(aggr, list | tuple):
            raise ParameterError(
                f"walks go on from what is reached, which several aggregations would widen; got aggr={aggr!r}.",
                Remedy("Give a single one, such as {aggr}.", aggr="mean"),
            )
        super().__init__(aggr, flow=flow, **options)
        self._nodes_at = node_dim  # walks see (..., N, M) whatever the input has
        self._adds_up = aggr in ("add", "sum") and not options
        if add_self_loops is None:
            add_self_loops = normalize
        _check_arguments(in_channels, out_channels, steps, combine, edge_dim, add_self_loops and not normalize)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.steps = steps
        self.combine = combine
        self.edge_dim = edge_dim
        self.improved = improved
        self.cached = cached
        self.add_self_loops = add_self_loops
        self.normalize = normalize
        self.fused = fused
        self.recompute = recompute
        self.num_colors = 1 if edge_dim is None else edge_dim + add_self_loops
        self.hidden_x = _HiddenColors(in_channels, out_channels, bias)
        self.hidden_adj = nn.Parameter(torch.empty(self.num_colors, out_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew and forget the cached adjacency."""
        super().reset_parameters()
        self.hidden_x.reset_parameters()
        _draw_hidden_adj(self.hidden_adj)
        zeros(self.bias)
        self.reset_cache()

    def reset_cache(self) -> None:
        """Forget the cached adjacency, before another graph.

        >>> conv = RWKPlusConv(2, 4, cached=True)
        >>> _ = conv(torch.rand(2, 2), torch.tensor([[0], [1]]))
        >>> conv.reset_cache()
        >>> conv(torch.rand(3, 2), torch.tensor([[0], [1]])).shape
        torch.Size([3, 4])
        """
        self._cached: Adjacency | None = None

    def forward(
        self, x: Tensor, edge_index: Adj, edge_weight: Tensor | None = None, edge_attr: Tensor | None = None
    ) -> Tensor:
        """Walk ``steps`` steps from every node."""
        if self._nodes_at != -2 and isinstance(x, Tensor) and x.dim() > 1:
            x = x.movedim(self._nodes_at, -2)
        walked = self._walks_of(x, edge_index, edge_weight, edge_attr)
        return walked if self._nodes_at == -2 else walked.movedim(-2, self._nodes_at)

    def _walks_of(self, x: Tensor, edge_index: Adj, edge_weight: Tensor | None, edge_attr: Tensor | None) -> Tensor:
        check_nodes(x, self.hidden_x)
        logits = self.hidden_x(x)
        check_finite(logits, x)
        matrix = self._adjacency(logits, edge_index, edge_weight, edge_attr)
        # All colors side by side, to be multiplied from the right: (M, C * M).
        hidden_adj = self.hidden_adj.permute(2, 0, 1).flatten(1)
        if self._can_fuse(logits, matrix):
            return fused_conv(
                logits,
                matrix.by_rows or self._sorted(matrix).by_rows,
                hidden_adj,
                hidden_adj.new_zeros(self.out_channels) if self.bias is None else self.bias,
                steps=self.steps,
                combine=self.combine,
                recompute=self.recompute,
            )
        if self.recompute and torch.is_grad_enabled() and not is_transformed():
            walked: Tensor = checkpoint(self._walk, logits, matrix, hidden_adj, use_reentrant=False)
            return walked
        return self._walk(logits, matrix, hidden_adj)

    def message(self, x_j: Tensor, edge_weight: Tensor) -> Tensor:
        """One edge of a walk, of one color or mixed of all ``(E, C)``."""
        if edge_weight.dim() == 2:
            return torch.einsum("ec,...ecm->...em", edge_weight, x_j.unflatten(-1, (-1, self.out_channels)))
        return edge_weight.view(-1, 1) * x_j

    def _walk(self, logits: Tensor, matrix: Adjacency, hidden_adj: Tensor) -> Tensor:
        """The steps in plain PyG, for everything that compiled loops cannot do."""
        mixed = matrix.weight.dim() == 2
        num_sources = matrix.num_nodes if mixed else matrix.num_nodes * self.num_colors
        ends, size = (matrix.col, matrix.row), (num_sources, matrix.num_nodes)
        if self.flow == "target_to_source":
            ends, size = ends[::-1], size[::-1]
        edge_index = torch.stack(ends)

        def propagate(y: Tensor) -> Tensor:
            moved = y @ hidden_adj
            if not mixed:
                moved = moved.unflatten(-1, (self.num_colors, self.out_channels)).flatten(-3, -2)
            reached: Tensor = self.propagate(edge_index, x=moved, edge_weight=matrix.weight, size=size)
            return reached if self.bias is None else reached + self.bias

        return rwk_plus_conv(logits, propagate, steps=self.steps, combine=self.combine)

    def _adjacency(
        self, logits: Tensor, edge_index: Adj, edge_weight: Tensor | None, edge_attr: Tensor | None
    ) -> Adjacency:
        if self._cached is not None and not self.explain and self._cached.fits(logits):
            return self._cached
        n, dtype = logits.size(-2), logits.dtype
        edges = check_colors(read_edges(edge_index, edge_weight, edge_attr, logits, self.flow), self.edge_dim)
        if self.normalize:
            how = {"loops": self.add_self_loops, "improved": self.improved, "flow": self.flow}
            edges = normalized(edges, n, self.num_colors, dtype=dtype, **how)
        if self.explain:
            return self._whole_edges(edges, n, dtype)
        matrix = adjacency(edges, n, self.num_colors, self.flow, dtype)
        if self.cached:
            self._cached = matrix
        return matrix

    def _whole_edges(self, edges: Edges, num_nodes: int, dtype: torch.dtype) -> Adjacency:
        """Edges whose colors are mixed in their messages: an explanation has one number for an edge, not per color."""
        if edges.color is None or not edges.color.is_floating_point():
            return adjacency(edges, num_nodes, self.num_colors, self.flow, dtype)
        matrix = adjacency(edges._replace(color=None), num_nodes, self.num_colors, self.flow, dtype)
        return matrix._replace(weight=matrix.weight.unsqueeze(-1) * edges.color.to(dtype))

    def _sorted(self, matrix: Adjacency) -> Adjacency:
        matrix = matrix.sorted(both=self.cached)
        if self.cached:
            self._cached = matrix
        return matrix

    def _can_fuse(self, logits: Tensor, matrix: Adjacency) -> bool:
        return (
            self.fused
            and self._adds_up
            and logits.device.type == "cpu"
            and logits.dim() == 2
            and logits.dtype in (torch.float32, torch.float64)
            and logits.dtype == self.hidden_adj.dtype
            and not matrix.weight.requires_grad
            and not self.explain
            and not any(getattr(self, f"_{place}_hooks") for place in HOOKED)
            and all(getattr(type(self), part) is getattr(RWKPlusConv, part) for part in OVERRIDABLE)
            and not torch.compiler.is_exporting()
            and not is_transformed()
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, steps={self.steps})"


def _check_arguments(
    in_channels: int, out_channels: int, steps: int, combine: str, edge_dim: int | None, bare_loops: bool
) -> None:
    if isinstance(steps, bool):
        raise ParameterError(
            "steps must be a number of edges: what GCNConv calls improved is given by name here.",
            Remedy("Give {improved}.", improved=True),
        )
    check_integer("in_channels", in_channels, -1)
    check_integer("out_channels", out_channels, 1)
    check_integer("steps", steps, 1)
    if edge_dim is not None:
        check_integer("edge_dim", edge_dim, 1)
    check_choice("combine", combine, Readout)
    if bare_loops:
        raise ParameterError(
            "add_self_loops needs normalize.",
            Remedy("Use {normalize}.", normalize=True),
            "Or add self-loops to edge_index beforehand.",
        )


@contextmanager
def one_graph(model: nn.Module) -> Iterator[None]:
    """Let the convolutions inside a network cache the adjacency of the one graph they see in this block.

    Afterwards it is forgotten: a cache that lived on would be used for the next graph of the same size, silently.

    >>> conv = RWKPlusConv(2, 4)
    >>> with one_graph(conv):
    ...     conv.cached
    True
    >>> conv.cached
    False
    """
    convs = [part for part in model.modules() if isinstance(part, RWKPlusConv | GCNConv)]
    before = [conv.cached for conv in convs]
    try:
        for conv in convs:
            conv.cached = True
            _forget(conv)
        yield
    finally:
        for conv, cached in zip(convs, before, strict=True):
            conv.cached = cached
            _forget(conv)


def _forget(conv: nn.Module) -> None:
    for cache in CACHES:
        if hasattr(conv, cache):
            setattr(conv, cache, None)


class _HiddenColors(Linear):
    """Similarity to the hidden nodes: a linear layer that begins four times as large, also when its size comes late."""

    def __init__(self, in_channels: int, out_channels: int, bias: bool) -> None:
        super().__init__(in_channels, out_channels, bias, weight_initializer="glorot", bias_initializer="zeros")

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw the parameters anew, if their sizes are known."""
        super().reset_parameters()
        if self.in_channels > 0:
            self.weight *= GAIN


@torch.no_grad()
def _draw_hidden_adj(hidden_adj: Tensor) -> None:
    """Fill adjacencies ``(C, M, M)``; a single hidden node has nothing to be balanced with."""
    glorot(hidden_adj)
    hidden_adj *= GAIN
    if hidden_adj.size(-1) > 1:
        hidden_adj -= hidden_adj.mean(-1, keepdim=True)

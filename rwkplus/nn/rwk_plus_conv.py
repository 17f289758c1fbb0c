"""RWK+Conv: a graph convolution that walks several steps and matches colors at each, in the place of ``GCNConv``."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.utils.checkpoint import checkpoint
from torch_geometric import EdgeIndex
from torch_geometric.nn import Aggregation, GCNConv, MessagePassing
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.nn.dense.linear import Linear
from torch_geometric.nn.inits import glorot, zeros
from torch_geometric.typing import Adj, SparseTensor
from torch_geometric.utils import add_remaining_self_loops, is_torch_sparse_tensor, to_edge_index

from rwkplus.errors import NumericError, ParameterError, Remedy, ShapeError
from rwkplus.functional.walks import Readout, rwk_plus_conv, split_by_color
from rwkplus.nn.conv_operator import fused_conv, to_csr, transpose
from rwkplus.tensors import can_read_values, check_device, check_dtype, check_edge_index, check_range, is_transformed
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


class _Edges(NamedTuple):
    """Edges as coordinates."""

    ends: Tensor  # (2, E)
    weight: Tensor | None  # (E,)
    color: Tensor | None = None  # (E,) integers or (E, C) floats


class _Adjacency(NamedTuple):
    """Entries of a normalized adjacency ``(N, N * C)``, with a column for each node and edge color."""

    row: Tensor  # (E,)
    col: Tensor  # (E,)
    weight: Tensor  # (E,)
    num_nodes: int
    by_rows: tuple[Tensor, ...] = ()  # the same, sorted, perhaps with its transpose: for compiled loops

    def fits(self, x: Tensor) -> bool:
        """Whether a cached matrix has the type and place of ``x``; another number of nodes is refused."""
        if x.size(-2) != self.num_nodes:
            raise ShapeError(
                f"RWKPlusConv(cached=True) holds a graph of {self.num_nodes} nodes but got {x.size(-2)}.",
                "Cache only where there is a single graph, or call reset_cache() between graphs.",
            )
        return self.weight.dtype == x.dtype and self.weight.device == x.device


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
        glorot(self.hidden_adj)
        with torch.no_grad():
            self.hidden_adj.mul_(GAIN)
            if self.out_channels > 1:  # a single hidden node has nothing to be balanced with
                self.hidden_adj.sub_(self.hidden_adj.mean(-1, keepdim=True))
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
        self._cached: _Adjacency | None = None

    def forward(
        self, x: Tensor, edge_index: Adj, edge_weight: Tensor | None = None, edge_attr: Tensor | None = None
    ) -> Tensor:
        """Walk ``steps`` steps from every node."""
        if self._nodes_at != -2 and isinstance(x, Tensor) and x.dim() > 1:
            x = x.movedim(self._nodes_at, -2)
        walked = self._walks_of(x, edge_index, edge_weight, edge_attr)
        return walked if self._nodes_at == -2 else walked.movedim(-2, self._nodes_at)

    def _walks_of(self, x: Tensor, edge_index: Adj, edge_weight: Tensor | None, edge_attr: Tensor | None) -> Tensor:
        _check_nodes(x, self.hidden_x)
        logits = self.hidden_x(x)
        _check_finite(logits, x)
        matrix = self._adjacency(logits, edge_index, edge_weight, edge_attr)
        # All colors side by side, to be multiplied from the right: (M, C * M).
        hidden_adj = self.hidden_adj.permute(2, 0, 1).flatten(1)
        if self._can_fuse(logits, matrix):
            return fused_conv(
                logits,
                matrix.by_rows or self._sorted(matrix),
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

    def _walk(self, logits: Tensor, matrix: _Adjacency, hidden_adj: Tensor) -> Tensor:
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
    ) -> _Adjacency:
        if self._cached is not None and not self.explain and self._cached.fits(logits):
            return self._cached
        edges = _read_edges(edge_index, edge_weight, edge_attr, logits, self.flow)
        edges = edges._replace(color=_colors(edges, self.edge_dim))
        n, dtype = logits.size(-2), logits.dtype
        if self.normalize:
            edges = self._normalized(edges, n, dtype)
        # A row for the node that an edge leads to.
        col, row = edges.ends if self.flow == "source_to_target" else edges.ends.flip(0)
        weight = col.new_ones(col.size(0), dtype=dtype) if edges.weight is None else edges.weight.to(dtype)
        if self.explain and edges.color is not None and edges.color.is_floating_point():
            # An explanation has one number for an edge, not per color: colors are mixed in its message.
            weight = weight.unsqueeze(-1) * edges.color.to(dtype)
        elif edges.color is not None:
            row, col, weight = split_by_color(row, col, weight, edges.color, self.num_colors)
        matrix = _Adjacency(row, col, weight, n)
        if self.cached and not self.explain:
            self._cached = matrix
        return matrix

    def _normalized(self, edges: _Edges, num_nodes: int, dtype: torch.dtype) -> _Edges:
        """Normalize symmetrically, as ``GCNConv`` does; self-loops that are added get the last color."""
        ends, weight, color = edges
        if self.add_self_loops and color is not None:
            color = _colored_loops(ends, color, num_nodes, self.num_colors - 1)
        if weight is None and self.improved:  # without weights, PyG forgets what added loops should weigh
            weight = ends.new_ones(ends.size(1), dtype=dtype)
        if weight is not None and not weight.is_floating_point():
            weight = weight.to(dtype)
        ends, weight = gcn_norm(ends, weight, num_nodes, self.improved, self.add_self_loops, self.flow, dtype)
        return _Edges(ends, weight, color)

    def _sorted(self, matrix: _Adjacency) -> tuple[Tensor, ...]:
        """Sort the entries by rows and, for the many backward passes of a cached matrix, by columns too."""
        width = matrix.num_nodes * self.num_colors
        by_rows = to_csr(matrix.row, matrix.col, matrix.weight, matrix.num_nodes, width)
        if not self.cached:
            return by_rows
        both = *by_rows, *transpose(by_rows, width)
        self._cached = matrix._replace(by_rows=both)
        return both

    def _can_fuse(self, logits: Tensor, matrix: _Adjacency) -> bool:
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


def _check_nodes(x: Tensor | tuple[Tensor, ...], linear: Linear) -> None:
    """Refuse node features that ``linear``, the first thing to touch them, was not made for."""
    if isinstance(x, tuple | list):
        raise ParameterError(
            f"RWKPlusConv got a {type(x).__name__} of node features: its walks go on from the nodes they reach, so "
            "bipartite graphs have no second step.",
            "SAGEConv and GraphConv take them.",
        )
    weight = linear.weight
    check_device("x", x, weight.device, "RWKPlusConv")
    check_dtype(x, weight.dtype, "RWKPlusConv")
    # Compared one by one: sizes are symbols inside of torch.compile(dynamic=True), which no tuple can be asked for.
    if x.dim() < 2 or (linear.in_channels != -1 and x.size(-1) != linear.in_channels):
        raise ShapeError(f"x is {tuple(x.shape)} but RWKPlusConv takes (N, {linear.in_channels}).")


def _check_finite(logits: Tensor, x: Tensor) -> None:
    """Refuse nan and inf in node features, which a sigmoid would turn into colors."""
    if _is_finite(logits):
        return
    wrong = (~(x.to_dense() if x.layout != torch.strided else x).isfinite()).flatten().nonzero()
    if wrong.numel() == 0:
        raise NumericError(
            "RWKPlusConv has parameters that are not finite, or too large for its features.",
            "If training has diverged, use a smaller learning rate; or scale the features down.",
        )
    row = int(wrong[0]) // x.size(-1)
    raise NumericError(f"x holds nan or inf in row {row}.", "Replace such values, or leave those nodes out.")


def _read_edges(edge_index: Adj, weight: Tensor | None, color: Tensor | None, x: Tensor, flow: str) -> _Edges:
    """Read edges from a ``(2, E)`` tensor, an ``EdgeIndex`` or a sparse tensor; refuse what cannot be meant."""
    for field, values in (("edge_weight", weight), ("edge_attr", color)):
        if values is not None:
            check_device(field, values, x.device, "x")
    num_nodes = x.size(-2)
    if isinstance(edge_index, SparseTensor) or is_torch_sparse_tensor(edge_index):
        return _from_sparse(edge_index, weight, color, num_nodes, flow)
    if isinstance(edge_index, EdgeIndex):
        edge_index = edge_index.as_tensor()
    check_edge_index(edge_index, edge_weight=weight)
    check_device("edge_index", edge_index, x.device, "x")
    if weight is not None and not _is_finite(weight):
        edge = int((~weight.isfinite()).nonzero()[0, 0])
        raise NumericError(
            f"edge_weight of edge {edge} is nan or inf.", "Replace such weights, or leave those edges out."
        )
    if _can_read(edge_index):
        check_range("edge_index", edge_index, num_nodes, "nodes")
    return _Edges(edge_index.long(), None if weight is None else weight.flatten(), color)


def _from_sparse(adj: Adj, weight: Tensor | None, color: Tensor | None, num_nodes: int, flow: str) -> _Edges:
    if (adj.size(0), adj.size(1)) != (num_nodes, num_nodes):
        raise ShapeError(f"the sparse adjacency is {adj.size(0)} x {adj.size(1)} but x has {num_nodes} nodes.")
    if weight is not None or color is not None:
        raise ParameterError(
            "a sparse adjacency carries its own weights and no edge colors.",
            "Pass edge_index as (2, E) together with edge_weight or edge_attr.",
        )
    if flow != "source_to_target":
        raise ParameterError(
            "a sparse adjacency is read as transposed.", Remedy("Use {flow}.", flow="source_to_target")
        )
    ends, weight = to_edge_index(adj)
    return _Edges(ends.flip(0), weight)  # rows of the transposed adjacency are targets


def _colors(edges: _Edges, edge_dim: int | None) -> Tensor | None:
    """Colors of edges, which must fit ``edge_dim``; a column of integers becomes flat."""
    color, num_edges = edges.color, edges.ends.size(1)
    if color is None and edge_dim is None:
        return None
    if color is None or edge_dim is None:
        have, made = ("no edge_attr", f"edge_dim={edge_dim}") if color is None else ("edge_attr", "no edge_dim")
        raise ParameterError(f"forward got {have} but the layer was made with {made}.", "Give both or neither.")
    discrete = not color.is_floating_point()
    if color.shape not in ([(num_edges,), (num_edges, 1)] if discrete else [(num_edges, edge_dim)]):
        raise ShapeError(
            f"edge_attr is {tuple(color.shape)} of {color.dtype}; expected the color of each edge as integers "
            f"({num_edges},) below {edge_dim}, or as floats ({num_edges}, {edge_dim})."
        )
    if not discrete:
        return color
    color = color.flatten().long()
    if _can_read(color):
        check_range("edge_attr", color, edge_dim, "colors")
    return color


def _colored_loops(ends: Tensor, color: Tensor, num_nodes: int, loop_color: int) -> Tensor:
    fill: float | Tensor = float(loop_color)
    if color.is_floating_point():
        color = pad(color, (0, 1))
        fill = pad(color.new_ones(1), (loop_color, 0))
    colors: Tensor = add_remaining_self_loops(ends, color, fill, num_nodes)[1]
    return colors


def _is_finite(values: Tensor) -> bool:
    """Whether all values are finite, as far as they can be looked at; then so is their sum, which is cheaper."""
    return not _can_read(values) or isfinite(values.detach().sum()) or bool(values.isfinite().all())


def _can_read(values: Tensor) -> bool:
    """Whether to look at values, which would break torch.compile and make an accelerator wait."""
    return values.device.type == "cpu" and can_read_values()

"""The inputs of a graph convolution: whatever PyG takes as edges, checked and normalized."""

from math import isfinite
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad
from torch_geometric import EdgeIndex
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.nn.dense.linear import Linear
from torch_geometric.typing import Adj, SparseTensor
from torch_geometric.utils import add_remaining_self_loops, is_torch_sparse_tensor, to_edge_index

from rwkplus.errors import NumericError, ParameterError, Remedy, ShapeError
from rwkplus.functional.convolution import split_by_color
from rwkplus.nn.conv_operator import to_csr, transpose
from rwkplus.tensors import can_look, check_edge_index, check_place, check_range, check_type


class Adjacency(NamedTuple):
    """Entries of a normalized adjacency ``(N, N * C)``, with a column for each node and edge color."""

    row: Tensor  # (E,)
    col: Tensor  # (E,)
    weight: Tensor  # (E,)
    num_nodes: int
    num_colors: int
    by_rows: tuple[Tensor, ...] = ()  # the same, sorted, perhaps with its transpose: for compiled loops

    def fits(self, x: Tensor) -> bool:
        """Whether a cached matrix has the type and place of ``x``; another number of nodes is refused."""
        if x.size(-2) != self.num_nodes:
            raise ShapeError(
                f"RWKPlusConv(cached=True) holds a graph of {self.num_nodes} nodes but got {x.size(-2)}.",
                "Cache only where there is a single graph, or call reset_cache() between graphs.",
            )
        return self.weight.dtype == x.dtype and self.weight.device == x.device

    def sorted(self, *, both: bool) -> "Adjacency":
        """Sort the entries by rows and, for many backward passes, by columns too."""
        width = self.num_nodes * self.num_colors
        matrix = to_csr(self.row, self.col, self.weight, self.num_nodes, width)
        return self._replace(by_rows=(*matrix, *transpose(matrix, width)) if both else tuple(matrix))


class Edges(NamedTuple):
    """Edges as coordinates."""

    ends: Tensor  # (2, E)
    weight: Tensor | None  # (E,)
    color: Tensor | None = None  # (E,) integers or (E, C) floats


def check_nodes(x: Tensor | tuple[Tensor, ...], linear: Linear) -> None:
    """Refuse node features that ``linear``, the first thing to touch them, was not made for."""
    if isinstance(x, tuple | list):
        raise ParameterError(
            f"RWKPlusConv got a {type(x).__name__} of node features: its walks go on from the nodes they reach, so "
            "bipartite graphs have no second step.",
            "SAGEConv and GraphConv take them.",
        )
    weight = linear.weight
    check_place("x", x, weight.device, "RWKPlusConv")
    check_type(x, weight.dtype, "RWKPlusConv")
    # Compared one by one: sizes are symbols inside of torch.compile(dynamic=True), which no tuple can be asked for.
    if x.dim() < 2 or (linear.in_channels != -1 and x.size(-1) != linear.in_channels):
        raise ShapeError(f"x is {tuple(x.shape)} but RWKPlusConv takes (N, {linear.in_channels}).")


def check_finite(logits: Tensor, x: Tensor) -> None:
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


def read_edges(edge_index: Adj, weight: Tensor | None, color: Tensor | None, x: Tensor, flow: str) -> Edges:
    """Read edges from a ``(2, E)`` tensor, an ``EdgeIndex`` or a sparse tensor; refuse what cannot be meant.

    Args:
        edge_index: The edges.
        weight: Their weights.
        color: Their colors.
        x: Rows for the nodes ``(..., N, D)``.
        flow: PyG's name for the direction of edges.
    """
    for field, values in (("edge_weight", weight), ("edge_attr", color)):
        if values is not None:
            check_place(field, values, x.device, "x")
    num_nodes = x.size(-2)
    if isinstance(edge_index, SparseTensor) or is_torch_sparse_tensor(edge_index):
        return _from_sparse(edge_index, weight, color, num_nodes, flow)
    if isinstance(edge_index, EdgeIndex):
        edge_index = edge_index.as_tensor()
    check_edge_index(edge_index, edge_weight=weight)
    check_place("edge_index", edge_index, x.device, "x")
    if weight is not None and not _is_finite(weight):
        edge = int((~weight.isfinite()).nonzero()[0, 0])
        raise NumericError(
            f"edge_weight of edge {edge} is nan or inf.", "Replace such weights, or leave those edges out."
        )
    if _can_read(edge_index):
        check_range("edge_index", edge_index, num_nodes, "nodes")
    return Edges(edge_index.long(), None if weight is None else weight.flatten(), color)


def _from_sparse(adj: Adj, weight: Tensor | None, color: Tensor | None, num_nodes: int, flow: str) -> Edges:
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
    return Edges(ends.flip(0), weight)  # rows of the transposed adjacency are targets


def check_colors(edges: Edges, edge_dim: int | None) -> Edges:
    """Return edges whose colors fit ``edge_dim``; a column of integers becomes flat."""
    color, num_edges = edges.color, edges.ends.size(1)
    if color is None and edge_dim is None:
        return edges
    if color is None or edge_dim is None:
        have, made = ("no edge_attr", f"edge_dim={edge_dim}") if color is None else ("edge_attr", "no edge_dim")
        raise ParameterError(f"forward got {have} but the layer was made with {made}.", "Give both or neither.")
    discrete = not color.is_floating_point()
    if color.shape not in ([(num_edges,), (num_edges, 1)] if discrete else [(num_edges, edge_dim)]):
        raise ShapeError(
            f"edge_attr is {tuple(color.shape)} of {color.dtype}; expected the color of each edge as integers "
            f"({num_edges},) below {edge_dim}, or as floats ({num_edges}, {edge_dim})."
        )
    if discrete:
        color = color.flatten().long()
        if _can_read(color):
            check_range("edge_attr", color, edge_dim, "colors")
    return edges._replace(color=color)


def normalized(
    edges: Edges, num_nodes: int, num_colors: int, *, loops: bool, improved: bool, flow: str, dtype: torch.dtype
) -> Edges:
    """Normalize symmetrically, as ``GCNConv`` does; self-loops that are added get the last color."""
    ends, weight, color = edges
    if loops and color is not None:
        color = _colored_loops(ends, color, num_nodes, num_colors - 1)
    if weight is None and improved:  # without weights, PyG forgets what added loops should weigh
        weight = ends.new_ones(ends.size(1), dtype=dtype)
    if weight is not None and not weight.is_floating_point():
        weight = weight.to(dtype)
    ends, weight = gcn_norm(ends, weight, num_nodes, improved, loops, flow, dtype)
    return Edges(ends, weight, color)


def adjacency(edges: Edges, num_nodes: int, num_colors: int, flow: str, dtype: torch.dtype) -> Adjacency:
    """Lay out the entries of the matrix: a row for the node that an edge leads to, after ``flow``."""
    col, row = edges.ends if flow == "source_to_target" else edges.ends.flip(0)
    weight = col.new_ones(col.size(0), dtype=dtype) if edges.weight is None else edges.weight.to(dtype)
    if edges.color is not None:
        row, col, weight = split_by_color(row, col, weight, edges.color, num_colors)
    return Adjacency(row, col, weight, num_nodes, num_colors)


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
    return values.device.type == "cpu" and can_look()

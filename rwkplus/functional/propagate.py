"""Line 4 of Algorithm 1: one step of both walkers at once, ``Y <- A_G Y A_H^T``, and its edge-colored form."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, einsum

from rwkplus.errors import ShapeError

Propagate = Callable[[Tensor], Tensor]


def sparse_product(
    edge_index: Int[Tensor, "2 E"],
    y: Float[Tensor, "S ..."],
    weight: Float[Tensor, " E"] | None = None,
    num_rows: int | None = None,
) -> Float[Tensor, "N ..."]:
    """Multiply the sparse matrix with entries ``weight`` at ``(edge_index[0], edge_index[1])`` by ``y``.

    Entry ``(u, v)`` is the edge from ``u`` to ``v``: row ``u`` of the result gathers the rows ``v``
    that a walker standing on ``u`` can reach next. The result has the type of ``y``.
    """
    source, target = edge_index
    reached = y.index_select(0, target)
    if weight is not None:
        reached = reached * weight.view(-1, *[1] * (y.dim() - 1)).to(y.dtype)
    total = y.new_zeros(y.size(0) if num_rows is None else num_rows, *y.shape[1:])
    return total.index_add(0, source, reached)


def bank_propagation(
    edge_index: Int[Tensor, "2 E"],
    hidden_adj: Float[Tensor, "K M M"],
    *,
    edge_weight: Float[Tensor, " E"] | None = None,
    edge_type: Int[Tensor, " E"] | None = None,
    edge_attr: Float[Tensor, "E C"] | None = None,
    hidden_edge_attr: Float[Tensor, "K M M C"] | None = None,
) -> Propagate:
    r"""Return the function :math:`Y \mapsto \sum_c A_G^{(c)} Y A_H^{(c)\top}` on tensors ``(N, K, M, ...)``.

    Without edge colors there is a single channel. Discrete edge colors (``edge_type``) split the
    edges of G among the channels, so all channels together cost one sparse product; continuous ones
    (``edge_attr``) cost one per channel. Both compare with ``hidden_edge_attr`` by inner product.
    """
    check_edges(edge_index, edge_weight=edge_weight, edge_type=edge_type, edge_attr=edge_attr)
    if edge_type is None and edge_attr is None:
        if hidden_edge_attr is not None:
            raise ShapeError(
                "the hidden graphs have edge colors but the input graphs have none: "
                "pass edge_type or edge_attr, or leave hidden_edge_attr out."
            )
        return lambda y: sparse_product(edge_index, einsum("klm,nkm...->nkl...", hidden_adj, y), edge_weight)
    if hidden_edge_attr is None:
        raise ShapeError(
            "the input graphs have edge colors but the hidden graphs have none: "
            "pass hidden_edge_attr of shape (K, M, M, C), or leave edge_type and edge_attr out."
        )
    channels = hidden_adj.unsqueeze(-1) * hidden_edge_attr
    if edge_type is not None:
        if edge_attr is not None:
            raise ShapeError("edge_type and edge_attr are two ways to color the same edges: pass only one of them.")
        _check_types(edge_type, channels.size(-1))
        return _typed_propagation(edge_index, channels, edge_weight, edge_type)
    assert edge_attr is not None  # one of the two is given: checked above
    if edge_attr.shape[1:] != channels.shape[-1:]:
        raise ShapeError(
            f"edges must have the {channels.size(-1)} colors of the hidden graphs "
            f"(edge_attr: {tuple(edge_attr.shape)}, hidden_edge_attr: {tuple(hidden_edge_attr.shape)}): "
            "give both the same number of columns C, edge_attr as (E, C)."
        )
    return _attributed_propagation(edge_index, channels, edge_weight, edge_attr)


def check_edges(edge_index: Int[Tensor, "2 E"], **values: Tensor | None) -> None:
    """Refuse what is no list of edges, and weights, types or colors that are not one for each of them.

    Torch would read two rows of a matrix as edges, and give a single weight to all edges.
    """
    integers = not edge_index.is_floating_point() and edge_index.dtype != torch.bool
    if edge_index.layout != torch.strided or edge_index.dim() != 2 or edge_index.size(0) != 2 or not integers:
        raise ShapeError(
            f"edge_index must hold both ends of every edge as integers (2, E), got {edge_index.dtype} "
            f"{tuple(edge_index.shape)}. See torch_geometric.utils for matrices: dense_to_sparse, to_edge_index."
        )
    num_edges = edge_index.size(1)
    for name, value in values.items():
        if value is None:
            continue
        single = name != "edge_attr"
        if value.shape[:1] != (num_edges,) or (single and value.numel() != num_edges):
            what = "number" if single else "row of colors"
            raise ShapeError(
                f"there are {num_edges} edges but {name} is {tuple(value.shape)}: give one {what} for each edge."
            )


def _check_types(edge_type: Tensor, num_types: int) -> None:
    # A type out of range would silently read the row of another node. No check inside torch.compile.
    if torch.compiler.is_compiling() or edge_type.numel() == 0:
        return
    lowest, highest = (int(bound) for bound in edge_type.aminmax())
    if lowest < 0 or highest >= num_types:
        raise ShapeError(
            f"edge_type holds types from {lowest} to {highest} but hidden_edge_attr has {num_types} channels: "
            "types count from 0 and each needs a channel."
        )


def _typed_propagation(
    edge_index: Tensor, channels: Tensor, edge_weight: Tensor | None, edge_type: Tensor
) -> Propagate:
    num_types = channels.size(-1)
    source, target = edge_index
    # Rows (node, type): an edge of type c only reads the copy of its target mixed by A_H^(c).
    typed_index = torch.stack([source, target * num_types + edge_type])

    def propagate(y: Tensor) -> Tensor:
        mixed = einsum("klmc,nkm...->nckl...", channels, y).flatten(0, 1)
        return sparse_product(typed_index, mixed, edge_weight, num_rows=y.size(0))

    return propagate


def _attributed_propagation(
    edge_index: Tensor, channels: Tensor, edge_weight: Tensor | None, edge_attr: Tensor
) -> Propagate:
    weights = edge_attr if edge_weight is None else edge_attr * edge_weight.view(-1, 1)

    def propagate(y: Tensor) -> Tensor:
        total = torch.zeros_like(y)
        for c in range(channels.size(-1)):
            mixed = einsum("klm,nkm...->nkl...", channels[..., c], y)
            total = total + sparse_product(edge_index, mixed, weights[:, c])
        return total

    return propagate

"""Which nodes of a graph are meant: by a mask, by their numbers, or at the ends of edges."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rwkplus.errors import ParameterError, ShapeError
from rwkplus.ops.csr import check_ends

Nodes: TypeAlias = Tensor | NDArray[Any] | Sequence[int] | Sequence[bool]
"""Some nodes of a graph: a mask ``(N,)`` or their numbers."""


def node_numbers(nodes: Nodes, num_nodes: int, name: str) -> NDArray[np.int64]:
    """Numbers of the nodes that are meant, in their order, each once; ``name`` says in errors what was read.

    Raises:
        ShapeError: A mask is not one for all nodes.
        ParameterError: There are neither truth values nor numbers, or numbers of nodes that are not there, or twice.
    """
    given = nodes.numpy(force=True) if isinstance(nodes, Tensor) else np.asarray(nodes)
    if given.dtype == bool:
        return _of_mask(given, num_nodes, name)
    if given.size == 0:  # of no particular type
        return np.zeros(0, np.int64)
    # Bytes are masks of earlier days: they would be read as the numbers 0 and 1.
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer) or given.dtype == np.uint8:
        raise ParameterError(
            f"{name} must be a mask (N,) of bool or node numbers (n,), got {given.dtype} {given.shape}. "
            "Call .bool() on a mask of other numbers."
        )
    if given.min() < 0 or given.max() >= num_nodes:
        raise ParameterError(
            f"{name} holds numbers from {given.min()} to {given.max()} but the nodes are 0 to {num_nodes - 1}: "
            "give numbers of nodes in the whole graph."
        )
    numbers = given.astype(np.int64)
    times = np.bincount(numbers)
    if times.max() > 1:  # most likely a mask of 0 and 1, which would be read as the first two nodes
        raise ParameterError(
            f"{name} names node {times.argmax()} more than once: call numpy.unique on numbers, or .bool() on a mask."
        )
    return numbers


def check_edge_index(edges: object, num_nodes: int) -> None:
    """Refuse edges that are no tensor ``(2, E)`` of numbers of nodes.

    Raises:
        ShapeError: They are of another kind or shape.
        GraphError: They name nodes that are not there.
    """
    found = type(edges).__name__
    if isinstance(edges, Tensor):
        found = f"{edges.dtype} {tuple(edges.shape)} with {edges.layout}"
        numbers = edges.layout == torch.strided and not edges.is_floating_point() and edges.dtype != torch.bool
        if numbers and edges.dim() == 2 and edges.size(0) == 2:
            check_ends(edges, num_nodes)
            return
    raise ShapeError(f"edge_index must be a tensor (2, E) of node numbers, got {found}.")


def _of_mask(mask: NDArray[np.bool_], num_nodes: int, name: str) -> NDArray[np.int64]:
    if mask.ndim == 2:
        raise ShapeError(f"{name} holds {mask.shape[1]} splits, one per column: choose one, such as mask[:, 0].")
    if mask.shape != (num_nodes,):
        raise ShapeError(
            f"the mask {name} is {mask.shape} but the graph has {num_nodes} nodes: give one bool for each, "
            "or the numbers of nodes."
        )
    return np.flatnonzero(mask)

"""Which nodes of a graph are meant: by a mask, or by their numbers."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from rwkplus.errors import ParameterError, ShapeError

Nodes: TypeAlias = Tensor | NDArray[Any] | Sequence[int] | Sequence[bool]
"""Some nodes of a graph: a mask ``(N,)`` or their numbers."""


def node_numbers(nodes: Nodes, num_nodes: int, name: str) -> NDArray[np.int64]:
    """Numbers of the nodes that are meant, in their order, each once; ``name`` says in errors what was read.

    Raises:
        ShapeError: A mask is not one for all nodes.
        ParameterError: There are neither truth values nor numbers, or numbers of nodes that are not there, or twice.

    Example:
        >>> node_numbers(np.array([True, False, True]), 3, "train_mask"), node_numbers([2, 0], 3, "train_mask")
        (array([0, 2]), array([2, 0]))
    """
    given = nodes.numpy(force=True) if isinstance(nodes, Tensor) else np.asarray(nodes)
    if given.dtype == bool:
        return _of_mask(given, num_nodes, name)
    if given.size == 0:  # of no particular type
        return np.zeros(0, np.int64)
    # Bytes are masks of earlier days: they would be read as the numbers 0 and 1.
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer) or given.dtype == np.uint8:
        raise ParameterError(
            f"{name} must be a mask (N,) of bool or node numbers (n,), got {given.dtype} {given.shape}.",
            "Call .bool() on a mask of other numbers.",
        )
    if given.min() < 0 or given.max() >= num_nodes:
        raise ParameterError(
            f"{name} holds numbers from {given.min()} to {given.max()} but the nodes are 0 to {num_nodes - 1}.",
            "Give numbers of nodes in the whole graph.",
        )
    numbers = given.astype(np.int64)
    times = np.bincount(numbers)
    if times.max() > 1:  # most likely a mask of 0 and 1, which would be read as the first two nodes
        raise ParameterError(
            f"{name} names node {times.argmax()} more than once.",
            "Call numpy.unique on numbers, or .bool() on a mask.",
        )
    return numbers


def _of_mask(mask: NDArray[np.bool_], num_nodes: int, name: str) -> NDArray[np.int64]:
    if mask.ndim == 2:
        raise ShapeError(f"{name} holds {mask.shape[1]} splits, one per column.", "Choose one, such as mask[:, 0].")
    if mask.shape != (num_nodes,):
        raise ShapeError(
            f"the mask {name} is {mask.shape} but the graph has {num_nodes} nodes.",
            "Give one bool for each, or the numbers of nodes.",
        )
    return np.flatnonzero(mask)

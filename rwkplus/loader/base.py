"""What all loaders of parts of a large graph have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from rwkplus.data.csr_graph import CSRGraph
from rwkplus.errors import ParameterError
from rwkplus.ops.random_streams import new_key
from rwkplus.ops.sampling import Part, Sampler

Index = NDArray[np.int64]
Nodes: TypeAlias = NDArray[Any] | Tensor | Sequence[int] | Sequence[bool]
OWN = ("edge_index", "n_id", "batch_size", "num_nodes")
"""What a batch is given beside the arrays of the graph."""
Share = Callable[[], tuple[int, int]]


def alone() -> tuple[int, int]:
    """The share of a process that is not one of several: number 0 of 1."""
    return 0, 1


class PartLoader(ABC):
    """Iterates over parts of a graph as PyG's loaders do.

    A batch is a ``Data`` with ``edge_index``, the numbers ``n_id`` of its nodes in the whole graph, and their rows of
    every array of the graph. The first ``batch_size`` nodes are the ones the batch was drawn for.

    What is drawn is divided into batches, and each batch among the processes, as evenly as possible: no batch is
    small, and no process waits for another one in vain. All of it depends on ``seed``, the attribute ``epoch``, which
    counts how often the loader was begun, and the number of the batch alone.

    Args:
        graph: The graph.
        items: What is divided into batches.
        batch_size: Most items per batch, over all processes.
        seed: Seed of order and draws; None keeps the order.
        share: Gives number of this process and of all processes, at the time of iterating.
        fields: Arrays of the graph to give; all by default.
    """

    def __init__(
        self,
        graph: CSRGraph,
        items: Index,
        batch_size: int,
        seed: int | None,
        share: Share,
        fields: tuple[str, ...] | None,
    ) -> None:
        if batch_size < 1 or items.size < 1:
            raise ParameterError(
                f"there must be something to draw and batch_size >= 1, got {items.size}, {batch_size}."
            )
        if seed is not None and (not isinstance(seed, Integral) or seed < 0):
            raise ParameterError(f"seed must be None or an integer of at least 0, got {seed!r}.")
        if not isinstance(graph, CSRGraph):
            raise ParameterError(f"graph must be a CSRGraph, got {type(graph).__name__}: give CSRGraph.of(data).")
        self.graph, self.items, self.seed, self.share = graph, items, seed, share
        self.arrays = {name: graph[name] for name in (graph.nodes if fields is None else fields)}
        taken = [name for name in self.arrays if name in OWN]
        if taken:
            raise ParameterError(
                f"batches have {taken[0]} of their own: rename the graph's, or leave it out of fields."
            )
        self.sampler = Sampler(graph.indptr, graph.indices)
        self.epoch = 0
        self.num_batches = -(-items.size // batch_size)

    def __len__(self) -> int:
        return self.num_batches

    def __iter__(self) -> Iterator[Data]:
        rank, world = self.share()
        if self.items.size // self.num_batches < world:
            raise ParameterError(
                f"{self.items.size} items in {self.num_batches} batches are too few for {world} processes: each needs "
                "one of every batch. Use fewer processes or larger batches."
            )
        order, key = self.items, (self.seed or 0, 0)
        if self.seed is not None:
            key = self.seed, self.epoch
            self.epoch += 1
            order = np.random.default_rng(new_key(*key)).permutation(order)
        for number, batch in enumerate(np.array_split(order, self.num_batches)):
            yield self._batch(np.array_split(batch, world)[rank], (*key, number))

    @abstractmethod
    def _batch(self, items: Index, key: tuple[int, int, int]) -> Data:
        """The part of the graph for some items; draws depend on seed, epoch and number of the batch."""

    def _data(self, part: Part, batch_size: int) -> Data:
        rows = {name: torch.from_numpy(_take(values, part.nodes)) for name, values in self.arrays.items()}
        return Data(
            edge_index=torch.from_numpy(part.edge_index),
            n_id=torch.from_numpy(part.nodes),
            batch_size=batch_size,
            num_nodes=part.nodes.size,
            **rows,
        )


def node_numbers(nodes: Nodes | None, num_nodes: int) -> Index:
    """Numbers of the nodes that ``input_nodes`` means: distinct numbers in their order, a mask, or None for all.

    Raises:
        ParameterError: They name nodes that are not there, or some node twice.
    """
    if nodes is None:
        return np.arange(num_nodes)
    given = nodes.numpy(force=True) if isinstance(nodes, Tensor) else np.asarray(nodes)
    if given.dtype == bool:
        return _of_mask(given, num_nodes)
    if given.size == 0:  # of no particular type
        return np.zeros(0, np.int64)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise ParameterError(
            f"input_nodes must be a mask (N,) of bool or node numbers (n,), got {given.dtype} {given.shape}. "
            "Call .bool() on a mask of other numbers."
        )
    if given.min() < 0 or given.max() >= num_nodes:
        raise ParameterError(
            f"input_nodes holds numbers from {given.min()} to {given.max()} but the nodes are 0 to {num_nodes - 1}: "
            "give numbers of nodes in the whole graph."
        )
    if np.bincount(given, minlength=num_nodes).max() > 1:
        twice = int(np.bincount(given).argmax())
        raise ParameterError(
            f"input_nodes names node {twice} more than once: call numpy.unique on numbers, or .bool() on a mask."
        )
    return given.astype(np.int64)


def _of_mask(mask: NDArray[np.bool_], num_nodes: int) -> Index:
    if mask.shape != (num_nodes,):
        raise ParameterError(
            f"the mask input_nodes is {mask.shape} but the graph has {num_nodes} nodes: give one bool for each, "
            "or the numbers of nodes."
        )
    return np.flatnonzero(mask)


def _take(values: NDArray[Any], nodes: Index) -> NDArray[Any]:
    """Rows in memory, whatever the array lies in."""
    return np.asarray(values)[nodes]

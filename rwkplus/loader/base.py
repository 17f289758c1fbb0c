"""What all loaders of parts of a large graph have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from rwkplus.data.csr_graph import CSRGraph, check_stored
from rwkplus.errors import ParameterError
from rwkplus.graphs.node_numbers import Nodes, node_numbers
from rwkplus.loops.random_streams import new_key
from rwkplus.ops.collective import share_of_batches
from rwkplus.ops.sampling import Part, Sampler
from rwkplus.types import check_integer

Index = NDArray[np.int64]
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
        check_integer("batch_size", batch_size, 1)
        if seed is not None:
            check_integer("seed", seed, 0)
        if items.size < 1:
            raise ParameterError("there must be something to draw: input_nodes names no node.")
        check_stored(graph)
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
        order, key = self.items, (self.seed or 0, 0)
        if self.seed is not None:
            key = self.seed, self.epoch
            order = np.random.default_rng(new_key(*key)).permutation(order)
        share = share_of_batches(order, self.num_batches, *self.share(), things="items")
        self.epoch += self.seed is not None
        for number, items in enumerate(share):
            yield self._batch(items, (*key, number))

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


def input_numbers(nodes: Nodes | None, num_nodes: int) -> Index:
    """Numbers of the nodes that ``input_nodes`` means, in their order; None means all."""
    return np.arange(num_nodes) if nodes is None else node_numbers(nodes, num_nodes, "input_nodes")


def _take(values: NDArray[Any], nodes: Index) -> NDArray[Any]:
    """Rows in memory, whatever the array lies in."""
    return np.asarray(values)[nodes]

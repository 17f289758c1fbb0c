"""Mini-batches of one large graph: nodes with sampled neighborhoods, or clusters of nodes with all edges inside."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from rwkplus.errors import ParameterError, ShapeError
from rwkplus.large.csr_graph import CSRGraph, check_stored
from rwkplus.large.parts import Part, Sampler
from rwkplus.loops.random_streams import new_key
from rwkplus.tensors import share_of_batches
from rwkplus.types import check_integer

Index = NDArray[np.int64]
OWN = ("edge_index", "n_id", "batch_size", "num_nodes")
"""What a batch is given beside the arrays of the graph."""
Share = Callable[[], tuple[int, int]]
Nodes: TypeAlias = Tensor | NDArray[Any] | Sequence[int] | Sequence[bool]
"""Some nodes of a graph: a mask ``(N,)`` or their numbers."""


def alone() -> tuple[int, int]:
    """The share of a process that is not one of several: number 0 of 1."""
    return 0, 1


class PartLoader(ABC):
    """Iterates over parts of a graph as PyG's loaders do.

    A batch is a ``Data`` with ``edge_index``, the numbers ``n_id`` of its nodes in the whole graph, and their rows of
    every array of the graph. The first ``batch_size`` nodes are the ones the batch was drawn for.

    What is drawn is divided into batches, and each batch among the processes, as evenly as possible: no batch is
    small, and no process waits for another one in vain. All depends on ``random_state``, the attribute ``epoch``, which
    counts how often the loader was begun, and the number of the batch alone.

    Args:
        graph: The graph.
        items: What is divided into batches.
        batch_size: Most items per batch, over all processes.
        random_state: Seed of order and draws; None keeps the order.
        share: Gives number of this process and of all processes, at the time of iterating.
        fields: Arrays of the graph to give; all by default.
    """

    def __init__(
        self,
        graph: CSRGraph,
        items: Index,
        batch_size: int,
        random_state: int | None,
        share: Share,
        fields: tuple[str, ...] | None,
    ) -> None:
        check_integer("batch_size", batch_size, 1)
        if random_state is not None:
            check_integer("random_state", random_state, 0)
        if items.size < 1:
            raise ParameterError("there is nothing to draw: input_nodes names no node.", "Name some, or all with None.")
        check_stored(graph)
        self.graph, self.items, self.random_state, self.share = graph, items, random_state, share
        self.arrays = {name: graph[name] for name in (graph.nodes if fields is None else fields)}
        taken = [name for name in self.arrays if name in OWN]
        if taken:
            raise ParameterError(
                f"batches have {taken[0]} of their own.", "Rename the graph's, or leave it out of fields."
            )
        self.sampler = Sampler(graph.indptr, graph.indices)
        self.epoch = 0
        self.num_batches = -(-items.size // batch_size)

    def __len__(self) -> int:
        return self.num_batches

    def __iter__(self) -> Iterator[Data]:
        order, key = self.items, (self.random_state or 0, 0)
        if self.random_state is not None:
            key = self.random_state, self.epoch
            order = np.random.default_rng(new_key(*key)).permutation(order)
        share = share_of_batches(order, self.num_batches, *self.share(), things="items")
        self.epoch += self.random_state is not None
        for number, items in enumerate(share):
            yield self._batch(items, (*key, number))

    @abstractmethod
    def _batch(self, items: Index, key: tuple[int, int, int]) -> Data:
        """The part of the graph for some items; draws depend on random_state, epoch and number of the batch."""

    def _data(self, part: Part, batch_size: int) -> Data:
        # Rows in memory, whatever the arrays lie in.
        rows = {name: torch.from_numpy(np.asarray(values)[part.nodes]) for name, values in self.arrays.items()}
        return Data(
            edge_index=torch.from_numpy(part.edge_index),
            n_id=torch.from_numpy(part.nodes),
            batch_size=batch_size,
            num_nodes=part.nodes.size,
            **rows,
        )


class NeighborLoader(PartLoader):
    """Some nodes at a time, with neighbors sampled hop by hop, as PyG's ``NeighborLoader``.

    A network sees as many hops as its layers take steps together: two layers of ``RWKPlusConv`` with two steps walk
    four edges. Nodes of the last hop come without edges that lead to them, so that layers that divide by degrees, as
    ``GCNConv`` and a normalizing ``RWKPlusConv`` do, take theirs for smaller than they are: with one hop more, and all
    neighbors, outputs are those on the whole graph.

    Args:
        graph: The graph.
        num_neighbors: Most neighbors drawn for a node, for each hop; -1 takes all.
        input_nodes: Nodes to learn from, as distinct numbers ``(n,)`` or a mask ``(N,)``; all by default.
        batch_size: Most of them per batch, over all processes.
        replace: Whether a neighbor may be drawn again.
        induced: Whether all edges among the sampled nodes belong to the batch, instead of those drawn: walks can then
            go back.

    ``random_state``, ``share`` and ``fields`` are those of :class:`PartLoader`; without a seed, draws repeat, too.

    Example:
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> ring = torch.stack([torch.arange(6), torch.arange(6).roll(1)])
        >>> graph = CSRGraph.of(Data(x=torch.rand(6, 3), edge_index=ring))
        >>> batch = next(iter(NeighborLoader(graph, [1, 1], batch_size=2)))
        >>> batch.n_id
        tensor([0, 1, 2, 3])
    """

    def __init__(
        self,
        graph: CSRGraph,
        num_neighbors: Sequence[int],
        input_nodes: Nodes | None = None,
        batch_size: int = 1024,
        *,
        replace: bool = False,
        induced: bool = False,
        random_state: int | None = None,
        share: Share = alone,
        fields: tuple[str, ...] | None = None,
    ) -> None:
        hops = tuple(num_neighbors) if isinstance(num_neighbors, Iterable) else ()
        if not hops:
            raise ParameterError(f"num_neighbors must hold a number for each hop, got {num_neighbors!r}.")
        for number in hops:
            check_integer("num_neighbors of a hop", number, -1)
        super().__init__(graph, _input_numbers(input_nodes, graph.num_nodes), batch_size, random_state, share, fields)
        self.num_neighbors, self.replace, self.induced = hops, replace, induced

    def _batch(self, items: Index, key: tuple[int, int, int]) -> Data:
        part: Part = self.sampler.neighborhood(items, self.num_neighbors, new_key(*key), replace=self.replace)
        return self._data(self.sampler.induced(part.nodes) if self.induced else part, items.size)


class ClusterLoader(PartLoader):
    """Some clusters at a time, drawn anew for every epoch, as PyG's ``ClusterLoader``.

    Every node is computed once per epoch however long the walks are, and they lose only the edges between batches.
    One cluster is the whole graph; it is cut out once and kept. Its tensors, which may be most of the memory, are the
    same in every epoch: put others in their place, ``batch.x = batch.x * 2``, instead of writing into them.

    Args:
        graph: The graph.
        clusters: Cluster of each node, ``(N,)``, counted from 0; see :func:`rwkplus.large.clusters`.
        input_nodes: Nodes to learn from, as distinct numbers ``(n,)`` or a mask ``(N,)``; all by default. They come
            first in every batch.
        batch_size: Most clusters per batch, over all processes.

    ``random_state``, ``share`` and ``fields`` are those of :class:`PartLoader`.

    Example:
        >>> ring = torch.stack([torch.arange(6), torch.arange(6).roll(1)])
        >>> graph = CSRGraph.of(Data(x=torch.rand(6, 3), edge_index=ring))
        >>> [batch.n_id.tolist() for batch in ClusterLoader(graph, np.array([0, 0, 0, 1, 1, 1]))]
        [[0, 1, 2], [3, 4, 5]]
    """

    def __init__(
        self,
        graph: CSRGraph,
        clusters: NDArray[np.int32],
        input_nodes: Nodes | None = None,
        batch_size: int = 1,
        *,
        random_state: int | None = None,
        share: Share = alone,
        fields: tuple[str, ...] | None = None,
    ) -> None:
        clusters = np.asarray(clusters)
        if clusters.shape != (graph.num_nodes,) or clusters.dtype.kind not in "iu" or clusters.min() < 0:
            raise ParameterError(f"clusters must be an integer from 0 for each of the {graph.num_nodes} nodes.")
        sizes = np.bincount(clusters)
        super().__init__(graph, np.nonzero(sizes)[0], batch_size, random_state, share, fields)
        self.is_input = np.zeros(graph.num_nodes, bool)
        self.is_input[_input_numbers(input_nodes, graph.num_nodes)] = True
        self.members = np.split(np.argsort(clusters, kind="stable"), np.cumsum(sizes)[:-1])
        self._whole: Data | None = None

    def _batch(self, items: Index, key: tuple[int, int, int]) -> Data:
        if self._whole is not None:
            return copy(self._whole)
        nodes = np.concatenate([self.members[item] for item in items])
        chosen = self.is_input[nodes]
        nodes = np.concatenate([nodes[chosen], nodes[~chosen]])
        batch = self._data(self.sampler.induced(nodes), int(chosen.sum()))
        if self.items.size == 1:
            self._whole = copy(batch)  # users may replace fields of what they get
        return batch


def _input_numbers(nodes: Nodes | None, num_nodes: int) -> Index:
    """Numbers of the nodes that ``input_nodes`` means, in their order; None means all."""
    return np.arange(num_nodes) if nodes is None else node_numbers(nodes, num_nodes, "input_nodes")


def node_numbers(nodes: Nodes, num_nodes: int, name: str) -> NDArray[np.int64]:
    """Numbers of the nodes that are meant, in their order, each once; ``name`` says in errors what was read.

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

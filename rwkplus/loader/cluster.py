"""Mini-batches of clusters of nodes, with all edges inside."""

from copy import copy

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from rwkplus.data.csr_graph import CSRGraph
from rwkplus.errors import ParameterError
from rwkplus.graphs.node_numbers import Nodes
from rwkplus.loader.base import Index, PartLoader, Share, alone, input_numbers


class ClusterLoader(PartLoader):
    """Some clusters at a time, drawn anew for every epoch, as PyG's ``ClusterLoader``.

    Every node is computed once per epoch however long the walks are, and they lose only the edges between batches.
    One cluster is the whole graph; it is cut out once and kept. Its tensors, which may be most of the memory, are the
    same in every epoch: put others in their place, ``batch.x = batch.x * 2``, instead of writing into them.

    Args:
        graph: The graph.
        clusters: Cluster of each node, ``(N,)``, counted from 0; see :func:`rwkplus.ops.clusters.clusters`.
        input_nodes: Nodes to learn from, as distinct numbers ``(n,)`` or a mask ``(N,)``; all by default. They come
            first in every batch.
        batch_size: Most clusters per batch, over all processes.
        seed: Seed of the order; None keeps it.
        share: Gives number of this process and of all processes.
        fields: Arrays of the graph to give; all by default.
    """

    def __init__(
        self,
        graph: CSRGraph,
        clusters: NDArray[np.int32],
        input_nodes: Nodes | None = None,
        batch_size: int = 1,
        *,
        seed: int | None = None,
        share: Share = alone,
        fields: tuple[str, ...] | None = None,
    ) -> None:
        clusters = np.asarray(clusters)
        if clusters.shape != (graph.num_nodes,) or clusters.dtype.kind not in "iu" or clusters.min() < 0:
            raise ParameterError(f"clusters must be an integer from 0 for each of the {graph.num_nodes} nodes.")
        sizes = np.bincount(clusters)
        super().__init__(graph, np.nonzero(sizes)[0], batch_size, seed, share, fields)
        self.is_input = np.zeros(graph.num_nodes, bool)
        self.is_input[input_numbers(input_nodes, graph.num_nodes)] = True
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

"""Mini-batches of nodes with sampled neighborhoods."""

from collections.abc import Iterable, Sequence

from torch_geometric.data import Data

from rwkplus.data.csr_graph import CSRGraph
from rwkplus.errors import ParameterError
from rwkplus.graphs.node_numbers import Nodes
from rwkplus.loader.base import Index, PartLoader, Share, alone, input_numbers
from rwkplus.loops.random_streams import new_key
from rwkplus.ops.sampling import Part
from rwkplus.types import check_integer


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
        seed: Seed of order and draws, which differ from epoch to epoch; None keeps the order and always draws the same.
        share: Gives number of this process and of all processes.
        fields: Arrays of the graph to give; all by default.

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
        seed: int | None = None,
        share: Share = alone,
        fields: tuple[str, ...] | None = None,
    ) -> None:
        hops = tuple(num_neighbors) if isinstance(num_neighbors, Iterable) else ()
        if not hops:
            raise ParameterError(f"num_neighbors must hold a number for each hop, got {num_neighbors!r}.")
        for number in hops:
            check_integer("num_neighbors of a hop", number, -1)
        super().__init__(graph, input_numbers(input_nodes, graph.num_nodes), batch_size, seed, share, fields)
        self.num_neighbors, self.replace, self.induced = hops, replace, induced

    def _batch(self, items: Index, key: tuple[int, int, int]) -> Data:
        part: Part = self.sampler.neighborhood(items, self.num_neighbors, new_key(*key), replace=self.replace)
        return self._data(self.sampler.induced(part.nodes) if self.induced else part, items.size)

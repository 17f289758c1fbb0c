"""Mini-batches of one large graph, in the manner of ``torch_geometric.loader``."""

import rwkplus.tensors  # noqa: F401
from rwkplus.loader.cluster import ClusterLoader
from rwkplus.loader.neighbor import NeighborLoader

__all__ = ["ClusterLoader", "NeighborLoader"]

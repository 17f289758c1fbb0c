"""One large graph: stored on disk, drawn at web scale, cut into clusters, and read in mini-batches (extra: ``nn``).

Imports the table's plumbing, :mod:`rwkplus.loops` and :mod:`rwkplus.tensors`; networks and training are above.
"""

import rwkplus.tensors  # noqa: F401
from rwkplus.large.csr_graph import CSRGraph
from rwkplus.large.loaders import ClusterLoader, NeighborLoader
from rwkplus.large.parts import clusters
from rwkplus.large.web_graph import WebGraph

__all__ = ["CSRGraph", "ClusterLoader", "NeighborLoader", "WebGraph", "clusters"]

"""How a graph is cut into batches to learn from."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rwkplus.errors import ParameterError
from rwkplus.files import whole_file
from rwkplus.large import ClusterLoader, NeighborLoader
from rwkplus.large.csr_graph import CSRGraph
from rwkplus.large.loaders import PartLoader
from rwkplus.large.node_clusters import clusters
from rwkplus.tasks.settings import Settings
from rwkplus.tensors import rank_and_world
from rwkplus.types import check_choice

Cut = Literal["clusters", "neighbors", "full"]
FIELDS = ("x", "y")


@dataclass(frozen=True)
class Cutting:
    """How to cut a graph into batches of ``settings.batch_size`` nodes.

    Args:
        cut: Whole ``"clusters"`` with the edges among them, some nodes with sampled ``"neighbors"``, or the
            ``"full"`` graph in one batch.
        cluster_size: Nodes of a cluster; several make a batch, others in every epoch.
        num_neighbors: Neighbors drawn in each hop.
        induced: Whether sampled neighborhoods have all edges among their nodes.
    """

    cut: Cut = "clusters"
    cluster_size: int = 500
    num_neighbors: tuple[int, ...] = (10, 5, 3, 2)
    induced: bool = False

    def __post_init__(self) -> None:
        check_choice("cut", self.cut, Cut)
        if self.cluster_size < 1:
            raise ParameterError(f"cluster_size must be at least 1, got {self.cluster_size}.")

    def loader(self, graph: CSRGraph, nodes: NDArray[np.int64], settings: Settings) -> PartLoader:
        """Batches to learn from ``nodes``, divided among the processes of a run."""
        seed = settings.random_state
        if self.cut == "neighbors":
            return NeighborLoader(
                graph, self.num_neighbors, nodes, settings.batch_size, induced=self.induced, seed=seed,
                share=rank_and_world, fields=FIELDS,
            )  # fmt: skip
        number = 1 if self.cut == "full" else max(1, round(graph.num_nodes / self.cluster_size))
        together = max(1, round(settings.batch_size * number / graph.num_nodes))
        parts = stored_clusters(graph, number)
        return ClusterLoader(graph, parts, nodes, together, seed=seed, share=rank_and_world, fields=FIELDS)


def stored_clusters(graph: CSRGraph, number: int) -> NDArray[np.int32]:
    """Clusters of a graph, kept beside its files if it has any and there can be more."""
    if number == 1 or graph.folder is None:
        return clusters(graph.indptr, graph.indices, number)
    path = graph.folder / f"clusters-{number}.npy"
    found = _read_clusters(path, graph.num_nodes, number)
    if found is None:
        found = clusters(graph.indptr, graph.indices, number)
        # Processes may get here at the same time, and a shared folder may not be ours to write into.
        with suppress(OSError), whole_file(path) as scratch:
            np.save(scratch, found)
    return found


def _read_clusters(path: Path, num_nodes: int, number: int) -> NDArray[np.int32] | None:
    """What a file holds, or None if there is none, or not one of these clusters for these nodes."""
    try:
        found: NDArray[np.int32] = np.load(path)
    except (OSError, ValueError, EOFError):
        return None
    fits = found.shape == (num_nodes,) and found.dtype == np.int32 and 0 <= found.min() <= found.max() < number
    return found if fits else None

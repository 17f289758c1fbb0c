"""Large graphs: how they are cut into batches to learn from, and outputs of all their nodes, one layer at a time.

Training on parts of a graph leaves the question what the network says about all of it. Node by node, neighborhoods
would be computed again and again; here every layer is finished for all nodes before the next one begins. Sparse
products go row by row and dense ones by blocks of nodes, so that nothing is as large as edges times channels: memory is
a few arrays of nodes times channels, and a few numbers for every edge.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import singledispatchmethod
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, GINConv

from rwkplus.errors import ParameterError
from rwkplus.files import whole_file
from rwkplus.large import ClusterLoader, NeighborLoader
from rwkplus.large.csr_graph import CSRGraph, check_stored
from rwkplus.large.loaders import PartLoader
from rwkplus.large.parts import clusters
from rwkplus.models.gnn import GNN
from rwkplus.nn.conv_loops import over_rows, sparse_product
from rwkplus.nn.conv_operator import CSR, fused_conv
from rwkplus.nn.rwk_plus_conv import RWKPlusConv
from rwkplus.tensors import rank_and_world
from rwkplus.training.inputs import dtype_of
from rwkplus.training.loop import Settings
from rwkplus.types import check_choice

BLOCK = 1 << 14
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

    Example:
        >>> Cutting("neighbors", num_neighbors=(5, 5)).cut
        'neighbors'
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
                graph, self.num_neighbors, nodes, settings.batch_size, induced=self.induced, random_state=seed,
                share=rank_and_world, fields=FIELDS,
            )  # fmt: skip
        number = 1 if self.cut == "full" else max(1, round(graph.num_nodes / self.cluster_size))
        together = max(1, round(settings.batch_size * number / graph.num_nodes))
        parts = stored_clusters(graph, number)
        return ClusterLoader(graph, parts, nodes, together, random_state=seed, share=rank_and_world, fields=FIELDS)


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


@torch.inference_mode()
def layerwise_outputs(model: GNN, graph: CSRGraph, *, block: int = BLOCK) -> Tensor:
    """Outputs of every node: those of ``model(graph.data())`` in evaluation, up to rounding.

    Args:
        model: A backbone for nodes without edge features, on the CPU.
        graph: The graph; its ``x`` is read block by block.
        block: Nodes at a time in dense layers.

    Returns:
        ``(N, out_channels)``.

    Example:
        >>> from torch_geometric.data import Data
        >>> graph = CSRGraph.of(Data(x=torch.rand(4, 2), edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]])))
        >>> layerwise_outputs(GNN(2, 3, level="node"), graph).shape
        torch.Size([4, 3])
    """
    check_stored(graph)
    if not isinstance(model, GNN) or model.level != "node" or model.edge_encoder is not None:
        raise ParameterError("layer-wise inference is for a GNN with level='node' and without edge features.")
    was_training = model.training
    model.eval()
    layers = _Layers(graph, block)
    features = graph["x"]
    dtype = torch.long if model.categories is not None else dtype_of(model)
    try:
        x = layers.by_blocks(lambda rows: model.encoder(torch.from_numpy(np.array(features[rows])).to(dtype)))
        for conv, norm in zip(model.convs, model.norms, strict=True):
            layers.finish(x, layers.convolve(conv, x), norm, residual=model.residual)
        return layers.by_blocks(lambda rows: model.head(x[rows]))
    finally:
        model.train(was_training)


class _Layers:
    """Layers of a network on all nodes of one graph."""

    def __init__(self, graph: CSRGraph, block: int) -> None:
        self.graph = graph
        self.blocks = [slice(i, min(i + block, graph.num_nodes)) for i in range(0, graph.num_nodes, block)]

    def by_blocks(self, function: Callable[[slice], Tensor]) -> Tensor:
        """Put the rows together that a function gives for each block."""
        whole = torch.empty(0)
        for rows in self.blocks:
            part = function(rows)
            if rows.start == 0:
                whole = part.new_empty(self.graph.num_nodes, part.size(1))
            whole[rows] = part
        return whole

    def finish(self, x: Tensor, y: Tensor, norm: nn.Module, *, residual: bool) -> None:
        """What follows a convolution, written into ``x``."""
        for rows in self.blocks:
            part = norm(y[rows]).relu()
            x[rows] = x[rows] + part if residual else part

    @singledispatchmethod
    def convolve(self, conv: nn.Module, x: Tensor) -> Tensor:
        """One convolution."""
        raise ParameterError(f"layer-wise inference does not know {type(conv).__name__}.")

    @convolve.register
    def _(self, conv: RWKPlusConv, x: Tensor) -> Tensor:
        logits = self.by_blocks(lambda rows: conv.hidden_x(x[rows]))
        bias = logits.new_zeros(conv.out_channels) if conv.bias is None else conv.bias
        matrix = self._prepared(conv, logits.dtype)
        hidden_adj = conv.hidden_adj[0].t().contiguous()
        return fused_conv(logits, matrix, hidden_adj, bias, steps=conv.steps, combine=conv.combine)

    @convolve.register
    def _(self, conv: GCNConv, x: Tensor) -> Tensor:
        moved = self.by_blocks(lambda rows: conv.lin(x[rows]))
        reached = _product(self._prepared(conv, moved.dtype), moved)
        return reached if conv.bias is None else reached.add_(conv.bias)

    @convolve.register
    def _(self, conv: GINConv, x: Tensor) -> Tensor:
        reached = _product(self._given(x.dtype), x)
        return self.by_blocks(lambda rows: conv.nn(reached[rows] + (1 + conv.eps) * x[rows]))

    def _prepared(self, conv: RWKPlusConv | GCNConv, dtype: torch.dtype) -> CSR:
        """The adjacency as the layer prepares it."""
        if conv.improved or conv.flow != "source_to_target":
            raise ParameterError("layer-wise inference is for layers with the default flow, not improved.")
        if not conv.normalize:
            return self._given(dtype)
        ptr, col = self._with_loops() if conv.add_self_loops else (self.graph.indptr, self.graph.indices)
        degree = torch.from_numpy(np.diff(ptr))
        scale = torch.where(degree > 0, degree.to(dtype).rsqrt(), 0)
        sources = torch.from_numpy(col)
        value = scale.repeat_interleave(degree, output_size=col.size).mul_(scale[sources])
        return CSR(torch.from_numpy(ptr), sources, value)

    def _given(self, dtype: torch.dtype) -> CSR:
        """The adjacency as it is."""
        ptr, col = (torch.from_numpy(ends) for ends in (self.graph.indptr, self.graph.indices))
        return CSR(ptr, col, torch.ones(col.numel(), dtype=dtype))

    def _with_loops(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Rows with one self-loop at their end, however many there were."""
        ptr, col = self.graph.indptr, self.graph.indices
        nodes = np.arange(self.graph.num_nodes, dtype=col.dtype)
        targets = np.repeat(nodes, np.diff(ptr))
        others = targets != col
        ends = np.cumsum(np.bincount(targets[others], minlength=nodes.size))
        return np.append(0, ends + np.arange(1, nodes.size + 1)), np.insert(col[others], ends, nodes)


def _product(matrix: CSR, dense: Tensor) -> Tensor:
    product = torch.empty_like(dense)
    work = matrix.col.numel() * dense.size(1)
    over_rows(sparse_product, dense.size(0), work, *(part.numpy() for part in (*matrix, dense, product)))
    return product

"""Outputs of all nodes of a large graph, one layer at a time.

Training on parts of a graph leaves the question what the network says about all of it. Node by node, neighborhoods
would be computed again and again; here every layer is finished for all nodes before the next one begins. Sparse
products go row by row and dense ones by blocks of nodes, so that nothing is as large as edges times channels: memory is
a few arrays of nodes times channels, and a few numbers for every edge.
"""

import copy
from collections.abc import Callable
from functools import singledispatchmethod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, GINConv

from rwkplus.errors import ParameterError
from rwkplus.large.csr_graph import CSRGraph, check_stored
from rwkplus.models.gnn import GNN
from rwkplus.nn.conv_loops import over_rows, sparse_product
from rwkplus.nn.conv_operator import CSR, fused_conv
from rwkplus.nn.rwk_plus_conv import RWKPlusConv
from rwkplus.training.dataset import device_of, dtype_of

BLOCK = 1 << 14


def outputs_of_all(model: GNN, graph: CSRGraph) -> Tensor:
    """Outputs of every node of a large graph ``(N, C)``, on the CPU, where the graph is."""
    here = device_of(model).type == "cpu"
    return layerwise_outputs(model if here else copy.deepcopy(model).cpu(), graph)


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
        x = layers._by_blocks(lambda rows: model.encoder(torch.from_numpy(np.array(features[rows])).to(dtype)))
        for conv, norm in zip(model.convs, model.norms, strict=True):
            layers._finish(x, layers._convolve(conv, x), norm, residual=model.residual)
        return layers._by_blocks(lambda rows: model.head(x[rows]))
    finally:
        model.train(was_training)


class _Layers:
    """Layers of a network on all nodes of one graph."""

    def __init__(self, graph: CSRGraph, block: int) -> None:
        self.graph = graph
        self.blocks = [slice(i, min(i + block, graph.num_nodes)) for i in range(0, graph.num_nodes, block)]

    def _by_blocks(self, function: Callable[[slice], Tensor]) -> Tensor:
        """Put the rows together that a function gives for each block."""
        whole = torch.empty(0)
        for rows in self.blocks:
            part = function(rows)
            if rows.start == 0:
                whole = part.new_empty(self.graph.num_nodes, part.size(1))
            whole[rows] = part
        return whole

    def _finish(self, x: Tensor, y: Tensor, norm: nn.Module, *, residual: bool) -> None:
        """What follows a convolution, written into ``x``."""
        for rows in self.blocks:
            part = norm(y[rows]).relu()
            x[rows] = x[rows] + part if residual else part

    @singledispatchmethod
    def _convolve(self, conv: nn.Module, x: Tensor) -> Tensor:
        """One convolution."""
        raise ParameterError(f"layer-wise inference does not know {type(conv).__name__}.")

    @_convolve.register
    def _(self, conv: RWKPlusConv, x: Tensor) -> Tensor:
        logits = self._by_blocks(lambda rows: conv.hidden_x(x[rows]))
        bias = logits.new_zeros(conv.out_channels) if conv.bias is None else conv.bias
        matrix = self._prepared(conv, logits.dtype)
        hidden_adj = conv.hidden_adj[0].t().contiguous()
        return fused_conv(logits, matrix, hidden_adj, bias, steps=conv.steps, combine=conv.combine)

    @_convolve.register
    def _(self, conv: GCNConv, x: Tensor) -> Tensor:
        moved = self._by_blocks(lambda rows: conv.lin(x[rows]))
        reached = _product(self._prepared(conv, moved.dtype), moved)
        return reached if conv.bias is None else reached.add_(conv.bias)

    @_convolve.register
    def _(self, conv: GINConv, x: Tensor) -> Tensor:
        reached = _product(self._given(x.dtype), x)
        return self._by_blocks(lambda rows: conv.nn(reached[rows] + (1 + conv.eps) * x[rows]))

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

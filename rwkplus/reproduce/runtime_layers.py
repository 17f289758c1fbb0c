"""The networks whose run time is compared: two layers of GCNConv, or of RWKPlusConv computed in several ways."""

import time
from collections.abc import Mapping
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import to_torch_csr_tensor

from rwkplus.nn.rwk_plus_conv import RWKPlusConv

FEATURES, HIDDEN = 500, 128
DEFAULT, ON_CSR = "GCNConv", "GCNConv on a cached CSR adjacency"
COMPARED: Mapping[str, Mapping[str, Any]] = {
    DEFAULT: {},
    "GCNConv, normalized once": {"cached": True},
    ON_CSR: {"normalize": False},
} | {f"RWKPlusConv, {steps} steps": {"steps": steps, "cached": True} for steps in (2, 3, 4, 5)}
LAYERS: Mapping[str, Mapping[str, Any]] = (
    {**COMPARED}
    | {"RWKPlusConv, 2 steps, not cached": {"steps": 2}}
    | {f"RWKPlusConv, {s} steps, recomputed": {"steps": s, "cached": True, "recompute": True} for s in (2, 5)}
    | {f"RWKPlusConv, {s} steps, torch only": {"steps": s, "cached": True, "fused": False} for s in (2, 5)}
)


class TwoLayers(nn.Module):
    """A named kind of layer, twice, with a ReLU between."""

    def __init__(self, name: str, features: int, hidden: int) -> None:
        super().__init__()
        conv = RWKPlusConv if name.startswith("RWK") else GCNConv
        self.convs = nn.ModuleList(conv(width, hidden, **LAYERS[name]) for width in (features, hidden))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Outputs ``(N, hidden)``."""
        outputs: Tensor = self.convs[1](self.convs[0](x, edges).relu(), edges)
        return outputs


class Worker:
    """One network and its input."""

    def __init__(self, name: str, graph: Data, features: int = FEATURES, hidden: int = HIDDEN) -> None:
        draw = torch.Generator().manual_seed(0)
        n = int(graph.num_nodes)
        # Like the words of PubMed: a tenth of them, with weights that sum to one.
        x = torch.rand(n, features, generator=draw) * (torch.rand(n, features, generator=draw) < 0.1)
        self.x, self.edges = x / x.sum(1, keepdim=True).clamp(min=1e-6), graph.edge_index
        if name == ON_CSR:
            ends, weight = gcn_norm(graph.edge_index, None, n)
            self.edges = to_torch_csr_tensor(ends.flip(0), weight, (n, n))
        self.gradient = torch.randn(n, hidden, generator=draw)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)
            self.model = TwoLayers(name, features, hidden)

    def seconds(self) -> float:
        """CPU time of one pass forward and backward."""
        begin = time.process_time()
        self.model(self.x, self.edges).backward(self.gradient)
        return time.process_time() - begin

    def results(self) -> list[NDArray[Any]]:
        """Output and gradients, to be compared."""
        out = self.model(self.x, self.edges)
        parts = (out, *torch.autograd.grad(out, list(self.model.parameters()), self.gradient))
        return [part.detach().numpy() for part in parts]

    def megabytes(self) -> float:
        """Activations that autograd keeps for the backward pass, the input included, parameters and edges not."""
        parameters = {parameter.data_ptr() for parameter in self.model.parameters()}
        kept: dict[int, int] = {}

        def keep(tensor: Tensor) -> Tensor:
            if tensor.layout == torch.strided and tensor.dim() > 1 and tensor.data_ptr() not in parameters:
                kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            out = self.model(self.x, self.edges)
        del out
        return sum(kept.values()) / 1e6

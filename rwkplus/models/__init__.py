"""Networks: no data, no optimizer, no loss (extra: ``nn``). Imports layers and formulas, nothing of training."""

import rwkplus.tensors  # noqa: F401
from rwkplus.models.gnn import GIN, GNN
from rwkplus.models.igad import IGAD
from rwkplus.models.kernel_networks import RWNN, KerGNN
from rwkplus.models.registry import register

__all__ = ["GIN", "GNN", "IGAD", "RWNN", "KerGNN", "register"]

_KERNELS = {"steps": [2, 3], "num_hidden": [8, 16, 32], "hidden_nodes": [4, 6, 8]}
_LAYERS = {"layers": [2, 3, 4], "dropout": [0.0, 0.3, 0.5]}
register("kergnn", KerGNN, _KERNELS | {"kernel": ["rwk+", "rwk-"], "layers": [1, 2]})
register("rwnn", RWNN, _KERNELS)
register("gin", GIN, {"hidden_channels": [16, 32, 64], **_LAYERS})
register("igad", IGAD, {"num_hidden": [8, 16], "hidden_nodes": [5, 10], "steps": [2, 3], "kernel": ["rwk+", "rwk-"]})
register("gnn", GNN, {"hidden_channels": [32, 64, 128], **_LAYERS})

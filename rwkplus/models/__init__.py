"""Networks: no data, no optimizer, no loss (extra: ``nn``). Imports layers and formulas, nothing of training."""

import rwkplus.tensors  # noqa: F401
from rwkplus.models.gnn import GIN, GNN
from rwkplus.models.igad import IGAD
from rwkplus.models.kernel_networks import RWNN, KerGNN
from rwkplus.models.registry import register

__all__ = ["GIN", "GNN", "IGAD", "RWNN", "KerGNN", "register"]

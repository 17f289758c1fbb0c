"""Architectures: no data, no optimizer, no loss."""

import rwkplus.tensors  # noqa: F401
from rwkplus.models.gin import GIN
from rwkplus.models.gnn import GNN
from rwkplus.models.igad import IGAD
from rwkplus.models.kcn import KCN
from rwkplus.models.kergnn import KerGNN
from rwkplus.models.registry import register
from rwkplus.models.rwnn import RWNN

__all__ = ["GIN", "GNN", "IGAD", "KCN", "RWNN", "KerGNN", "register"]

"""Graphs for networks: PyG's ``Data`` and ``Batch``, checked, and their features (extra: ``nn``)."""

import rwkplus.tensors  # noqa: F401
from rwkplus.graphs.convert import as_batch
from rwkplus.graphs.features import constant_features, one_hot, one_hot_degree
from rwkplus.graphs.schema import Schema

__all__ = [
    "Schema",
    "as_batch",
    "constant_features",
    "one_hot",
    "one_hot_degree",
]

"""Graphs for networks: PyG's ``Data`` and ``Batch``, checked, and transforms of them (extra: ``nn``)."""

import rwkplus.tensors  # noqa: F401
from rwkplus.graphs.closed_walks import ClosedWalks
from rwkplus.graphs.convert import as_batch
from rwkplus.graphs.egonets import EgoNets, egonets_of, extract_egonets
from rwkplus.graphs.features import constant_features, one_hot, one_hot_degree
from rwkplus.graphs.schema import Schema
from rwkplus.graphs.walk_kinds import WalkKinds

__all__ = [
    "ClosedWalks",
    "EgoNets",
    "Schema",
    "WalkKinds",
    "as_batch",
    "constant_features",
    "egonets_of",
    "extract_egonets",
    "one_hot",
    "one_hot_degree",
]

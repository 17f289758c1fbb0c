"""Transforms of graphs for networks (extra: ``nn``)."""

import rwkplus.tensors  # noqa: F401
from rwkplus.graphs.closed_walks import ClosedWalks
from rwkplus.graphs.egonets import EgoNets, egonets_of, extract_egonets
from rwkplus.graphs.walk_kinds import WalkKinds

__all__ = ["ClosedWalks", "EgoNets", "WalkKinds", "egonets_of", "extract_egonets"]

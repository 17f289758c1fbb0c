"""Layers, with the transforms and compiled operators that they need beside them (extra: ``nn``).

Parameters and state live here, formulas in :mod:`rwkplus.functional`. Imports that, and nothing of the rooms above.
"""

import rwkplus.tensors  # noqa: F401
from rwkplus.nn.kernel_conv import HiddenGraphs, KernelConv, KernelLayer, KernelOptions
from rwkplus.nn.norms import FixedScale, StepNorm
from rwkplus.nn.rwk_plus_conv import RWKPlusConv
from rwkplus.nn.transforms import ClosedWalks, EgoNets, egonets_of, extract_egonets, merge_egonets

__all__ = [
    "ClosedWalks",
    "EgoNets",
    "FixedScale",
    "HiddenGraphs",
    "KernelConv",
    "KernelLayer",
    "KernelOptions",
    "RWKPlusConv",
    "StepNorm",
    "egonets_of",
    "extract_egonets",
    "merge_egonets",
]

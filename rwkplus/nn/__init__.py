"""PyTorch shell: parameters and a call into :mod:`rwkplus.functional`."""

import rwkplus.tensors  # noqa: F401
from rwkplus.nn.fixed_scale import FixedScale
from rwkplus.nn.hidden_graphs import HiddenGraphs
from rwkplus.nn.kernel_conv import KernelConv
from rwkplus.nn.kernel_layer import KernelLayer
from rwkplus.nn.kernel_module import KernelOptions
from rwkplus.nn.rwk_plus_conv import RWKPlusConv
from rwkplus.nn.step_norm import StepNorm

__all__ = ["FixedScale", "HiddenGraphs", "KernelConv", "KernelLayer", "KernelOptions", "RWKPlusConv", "StepNorm"]

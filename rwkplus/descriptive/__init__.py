"""RWK+CN, pattern mining by gradient: hidden graphs of kernel convolution networks that describe a database.

Needs PyTorch; imports the networks, and from :mod:`rwkplus.mining` what counts patterns.
"""

import rwkplus.tensors  # noqa: F401
from rwkplus.descriptive.gradient import explained_patterns
from rwkplus.descriptive.gradient_miner import GradientMiner

__all__ = ["GradientMiner", "explained_patterns"]

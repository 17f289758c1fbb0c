"""Pattern mining by gradient: RWK+CN as in the paper, and hidden graphs that explain most of a database."""

import rwkplus.tensors  # noqa: F401
from rwkplus.descriptive.gradient import ExplainedPatterns, explained_patterns
from rwkplus.descriptive.rwk_cn import DescriptiveKCN

__all__ = ["DescriptiveKCN", "ExplainedPatterns", "explained_patterns"]

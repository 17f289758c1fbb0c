"""The few hot inner loops, compiled by numba on the CPU. Each has a slow twin in ``functional``."""

from rwkplus.ops.pairs import PackedGraphs, pair_scores, self_scores

__all__ = ["PackedGraphs", "pair_scores", "self_scores"]
